"""How surfaces look: mirrors, sharp edges and shadows; and that large meshes are made ready for rays once."""

import numpy as np
import pytest

import jaxsim
from jaxsim.viewer import FreeCamera, render, trace
from jaxsim.viewer.shapes import model_mesh

mesh_construction = pytest.importorskip("embreex.mesh_construction")

SIZE = (48, 36)
VIEW = FreeCamera((0, 0, 0), 2.0, 100, -25, 45)

CORNERS = "-.2 -.2 -.2 .2 -.2 -.2 .2 .2 -.2 -.2 .2 -.2 -.2 -.2 .2 .2 -.2 .2 .2 .2 .2 -.2 .2 .2"
FACES = "0 2 1 0 3 2 4 5 6 4 6 7 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7"
IMAGE = 'texcoord="0 0 1 0 1 1 0 1 0 0 1 0 1 1 0 1"'

SCENE = """<mujoco>
<asset>
  <mesh name="cube" vertex="{corners}" face="{faces}" {image}/>
  <hfield name="hills" nrow="40" ncol="40" size="0.4 0.4 0.2 0.1" elevation="{hills}"/>
  <texture type="skybox" builtin="gradient" rgb1="0.3 0.5 0.7" rgb2="0 0 0" width="32" height="32"/>
  <material name="mirror" reflectance="1" rgba="0.8 0.8 0.8 1"/>
  <material name="dull" rgba="0.8 0.8 0.8 1"/>
</asset>
<worldbody>
  <light pos="1 -1 3" dir="{light}" directional="true" {shadow}/>
  {geoms}
</worldbody></mujoco>"""


def scene(geoms, image="", shadow="", light="-1 1 -3"):
    hills = " ".join(f"{x:.3f}" for x in np.random.default_rng(0).uniform(size=1600))
    parts = {"corners": CORNERS, "faces": FACES, "image": image, "hills": hills}
    return jaxsim.load_model(SCENE.format(**parts, geoms=geoms, shadow=shadow, light=light))


def picture(*args, **keywords):
    model = scene(*args, **keywords)
    return render(model, model.qpos0, camera=VIEW, size=SIZE)[0].astype(int)


@pytest.mark.parametrize(
    ("shape", "mirrors"),
    [
        ('type="box" size="0.3 0.3 0.3"', True),
        ('type="plane" size="0.3 0.3 0.1"', True),
        ('type="sphere" size="0.3"', False),
        ('type="capsule" size="0.2 0.2"', False),
        ('type="cylinder" size="0.2 0.2"', False),
        ('type="ellipsoid" size="0.1 0.2 0.3"', False),
        ('type="mesh" mesh="cube"', False),
        ('type="hfield" hfield="hills"', False),
    ],
)
def test_planes_and_boxes_alone_are_mirrors(shape, mirrors):
    bright, dull = (picture(f'<geom {shape} material="{name}"/>') for name in ("mirror", "dull"))
    assert (bright != dull).any() == mirrors


def test_a_mesh_with_the_corners_of_a_box_looks_like_the_box():
    floor = '<geom type="plane" size="1 1 0.1" pos="0 0 -0.3"/>'
    mesh = picture('<geom type="mesh" mesh="cube" euler="0 0 25"/>' + floor)
    box = picture('<geom type="box" size="0.2 0.2 0.2" euler="0 0 25"/>' + floor)
    # a level: their triangles are not cut alike
    np.testing.assert_allclose(mesh, box, atol=1)


def test_normals_are_kept_where_a_mesh_has_texture_coordinates():
    """As in MuJoCo's renderer, which without them takes the faces' normals at sharp edges."""
    for image in ("", IMAGE):
        model = scene('<geom type="mesh" mesh="cube"/>', image)
        mesh = model_mesh(model, 0)
        sides = mesh.vertices[mesh.faces]
        across = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
        along = np.einsum("mj,mkj->mk", across, mesh.normals[mesh.faces])
        assert (along > 0.8 * np.linalg.norm(across, axis=1)[:, None]).all() == (not image)
        assert len(np.unique(mesh.faces)) == len(mesh.vertices)


def test_a_lone_convex_body_casts_no_shadow_on_what_faces_the_light():
    """Its normals lie in the faces, and shadow rays start off the faces all the same."""
    geom = '<geom type="mesh" mesh="cube" euler="0 0 45"/>'
    light = "-0.17 0.96 -0.4"  # along the view
    with_shadow, without = (
        picture(geom, IMAGE, shadow=f'castshadow="{cast}"', light=light) for cast in ("true", "false")
    )
    np.testing.assert_array_equal(with_shadow, without)


LARGE = """<geom type="plane" size="1 1 0.1" pos="0 0 -0.4" material="mirror"/>
  <body euler="20 30 40"><freejoint/><geom type="mesh" mesh="cube" pos="0.3 0.1 0.1" euler="10 0 70"/>
  <geom type="sphere" size="0.1" rgba="1 0 0 0.5" pos="-0.3 0 0.2"/></body>
  <geom type="hfield" hfield="hills" pos="-0.2 0.1 -0.3" euler="0 0 30"/>"""


def test_meshes_look_the_same_in_their_own_frames_and_in_the_worlds(monkeypatch):
    pictures = []
    for count in (0, 10**9):
        monkeypatch.setattr(trace, "_LARGE", count)
        pictures.append(picture(LARGE))
    # of single precision in two frames: a level, but where a shadow ray grazes an edge
    differing = np.abs(pictures[0] - pictures[1]).max(-1) > 1
    assert differing.sum() <= 2


def test_large_meshes_are_made_ready_once(monkeypatch):
    """Four pictures hand Embree the triangles of small meshes four times, those of the height field once."""
    model, made = scene(LARGE), []
    real = mesh_construction.TriangleMesh

    def counted(tree, triangles, *rest):
        made.append(len(triangles))
        return real(tree, triangles, *rest)

    monkeypatch.setattr(mesh_construction, "TriangleMesh", counted)
    render(model, np.repeat(np.asarray(model.qpos0)[None], 4, 0), camera=VIEW, size=(8, 6))
    assert sum(count >= 3000 for count in made) == 1


def test_nothing_to_see():
    surfaces = trace.Surfaces([])
    rays = np.zeros((2, 3)), np.tile([0.0, 0, 1], (2, 1))
    assert not len(surfaces.first(*rays).ray)
    assert not surfaces.blocked(*rays, np.ones(2)).any()
