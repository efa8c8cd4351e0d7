"""Pictures look as the sections of `visual` say; what is laid over them is compared with the C engine's scene."""

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.viewer import FreeCamera, Show, render
from jaxsim.viewer.cameras import first_camera
from jaxsim.viewer.decor import items
from jaxsim.viewer.poses import frames
from jaxsim.viewer.scene import make_scene

pytest.importorskip("embreex")

SIZE = 64, 48

SCENE = """<mujoco>
<visual>{}</visual>
<asset><texture type="skybox" builtin="flat" width="8" height="8" rgb1="0 0 0.5"/></asset>
<worldbody>
  <light pos="0 0 5" dir="0 0 -1" directional="true" diffuse="0.2 0.2 0.2"/>
  <camera name="above" pos="0 0 4"/>
  <geom type="plane" size="0 0 0.1" rgba="0.5 0.5 0.5 1"/>
  <body pos="0 0 0.199"><freejoint/><geom type="box" size="0.3 0.1 0.2" rgba="0.5 0.5 0.5 1"/></body>
  <body pos="0.6 0.3 0.099"><freejoint/><geom size="0.1" rgba="0.5 0.5 0.5 1"/></body>
</worldbody></mujoco>"""

DECOR = """<global azimuth="30" elevation="-60" ellipsoidinertia="true"/><map force="0.03"/>
<scale contactwidth="0.5" contactheight="0.05" forcewidth="0.15" framelength="1.5" framewidth="0.07" com="0.6"
  camera="0.4" light="0.2"/>
<rgba contactpoint="1 0 0 1" contactforce="0 1 0 1" com="0 0 1 0.5" inertia="1 1 0 0.5" camera="0 1 1 1"
  light="1 0 1 1"/>"""


def picture(visual="", camera=None):
    model = jaxsim.load_model(SCENE.format(visual))
    return render(model, model.qpos0, camera=camera, size=SIZE)[0].astype(int)


def test_the_headlight():
    usual = picture(camera="above")
    assert picture('<headlight active="0"/>', "above").mean() < 0.7 * usual.mean()
    assert picture('<headlight ambient="0.5 0.5 0.5"/>', "above").mean() > 1.2 * usual.mean()
    reddish = picture('<headlight ambient="0 0 0" diffuse="0.4 0 0" specular="0 0 0"/>', "above")
    assert (reddish[..., 0] > reddish[..., 1] + 20).all()


def test_the_sun_shines_less_where_the_headlight_is_bright():
    dark = SCENE.replace("<light", "<!--").replace('diffuse="0.2 0.2 0.2"/>', "-->")
    means = []
    for head in ('active="0"', 'diffuse="0.4 0.4 0.4"', 'diffuse="0.95 0.95 0.95"'):
        model = jaxsim.load_model(dark.format(f"<headlight {head}/>"))
        assert not model.nlight
        means.append(render(model, model.qpos0, camera="above", size=SIZE).mean())
    assert means == sorted(means)
    assert means[-1] < 200  # of 255: a grey floor is not white


@pytest.mark.parametrize(
    ("visual", "camera"),
    [
        ("", FreeCamera(azimuth=90, elevation=-45, fovy=45, orthographic=False)),
        ('<global azimuth="200" elevation="-15"/>', FreeCamera(azimuth=200, elevation=-15)),
        ('<global fovy="20"/>', FreeCamera(fovy=20)),
        ('<global fovy="3" orthographic="true"/>', FreeCamera(fovy=3, orthographic=True)),
    ],
)
def test_the_free_camera_is_the_models(visual, camera):
    model = jaxsim.load_model(SCENE.format(""))
    (expected,) = render(model, model.qpos0, camera=camera, size=SIZE)
    np.testing.assert_array_equal(picture(visual), expected)
    if visual:
        assert (picture() != expected).any()


def test_parallel_rays_cover_the_field_of_view():
    """A picture 3 m high shows a box of 0.6 m as a fifth of its height."""
    model = jaxsim.load_model(SCENE.format('<global fovy="3" orthographic="true" elevation="0"/>'))
    view = FreeCamera().view(make_scene(model), frames(model, model.qpos0), *SIZE)
    ends = view.project(np.array([[-0.3, 0, 0.2], [0.3, 0, 0.2]]), *SIZE)
    assert np.ptp(ends[:, 0]) == pytest.approx(SIZE[1] / 5)


def test_the_first_camera():
    np.testing.assert_array_equal(picture('<global cameraid="0"/>'), picture(camera="above"))
    assert first_camera(jaxsim.load_model(SCENE.format('<global cameraid="7"/>'))) is None


def test_what_is_nearer_than_the_near_plane_is_not_seen():
    """The camera looks down at a red box 0.1 m below it, or through its top at the floor."""
    scene = SCENE.replace('pos="0 0 4"', 'pos="0 0 0.5"').replace(
        '0.2" rgba="0.5 0.5 0.5 1', '0.2" rgba="1 0 0 1'
    )
    red = []
    for near in (0.01, 0.15):
        model = jaxsim.load_model(
            scene.replace("<visual>", '<statistic extent="1"/><visual>').format(f'<map znear="{near}"/>')
        )
        pixel = render(model, model.qpos0, camera="above", size=SIZE)[0, 24, 32].astype(int)
        red.append(pixel[0] > pixel[1] + 60)
    assert red == [True, False]


@pytest.mark.parametrize(("haze", "expected"), [("1 0 0 1", [255, 0, 0]), ("1 0 0 0", [153, 153, 153])])
def test_far_planes_fade_into_the_haze(haze, expected):
    """Rays meet the floor 12 m away, of whose light, 0.6, exp(-4) is left: haze on 0.7 of 20 m leaves 6 m clear."""
    visual = f'<rgba haze="{haze}"/><map haze="0.7"/><headlight ambient="1 1 1" diffuse="0 0 0"/>'
    model = jaxsim.load_model(SCENE.replace("<visual>", '<statistic extent="1"/><visual>').format(visual))
    low = -np.degrees(0.5 / 12)
    camera = FreeCamera((0, 12, 0), distance=12.0, azimuth=90, elevation=low, fovy=1)
    seen = render(model, model.qpos0, camera=camera, size=SIZE)[0, 24, 32]
    np.testing.assert_allclose(seen, expected, atol=8)
    up = FreeCamera((0, 0, 5), distance=1.0, azimuth=90, elevation=60)
    assert render(model, model.qpos0, camera=up, size=SIZE)[0, 24, 32].tolist() == [0, 0, 127]


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("contacts", "CONTACTPOINT"),
        ("forces", "CONTACTFORCE"),
        ("com", "COM"),
        ("inertia", "INERTIA"),
        ("frames", None),
    ],
)
@pytest.mark.parametrize("visual", ["", DECOR])
def test_decor_is_that_of_the_c_engine(visual, name, flag):
    c_model = mujoco.MjModel.from_xml_string(SCENE.format(visual))
    c_data, option = mujoco.MjData(c_model), mujoco.MjvOption()
    mujoco.mj_forward(c_model, c_data)
    if flag is None:
        option.frame = mujoco.mjtFrame.mjFRAME_BODY
    else:
        option.flags[getattr(mujoco.mjtVisFlag, f"mjVIS_{flag}")] = 1
    scene, every = mujoco.MjvScene(c_model, 100), mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(c_model, c_data, option, None, mujoco.MjvCamera(), every, scene)
    theirs = [g for g in scene.geoms[: scene.ngeom] if g.category == mujoco.mjtCatBit.mjCAT_DECOR]

    model = jaxsim.load_model(SCENE.format(visual))
    (frame,) = frames(model, jax.jit(jaxsim.forward)(model, jaxsim.make_data(model)))
    show = Show(geoms=(), sites=(), tendons=(), **{name: True})
    ours = items(model, make_scene(model), frame, show)
    assert len(ours) == len(theirs) > 0
    for item in ours:
        # the C engine's of this place, direction and colour; half sizes: of arrows all of the length
        half = np.ptp(item.mesh.vertices, axis=0) / 2
        off = [np.linalg.norm(g.pos - item.pos) + np.linalg.norm(g.rgba - item.look.rgba) for g in theirs]
        near = theirs[int(np.argmin(off))]
        assert min(off) < 1e-3
        if name == "forces":
            assert half[2] == pytest.approx(near.size[2] / 2, rel=1e-3)
            assert half[0] >= near.size[0] - 1e-6  # the head is wider
        else:
            # round outlines have 32 corners
            np.testing.assert_allclose(np.sort(half), np.sort(near.size), rtol=0.01)


def test_the_colours_of_a_picture_are_the_models():
    model = jaxsim.load_model(SCENE.format(DECOR))
    data = jax.jit(jaxsim.forward)(model, jaxsim.make_data(model))
    (seen,) = render(model, data, camera="above", size=SIZE, show=Show(geoms=(), contacts=True))
    redness = seen[..., 0].astype(int) - seen[..., 1:].max(-1)
    assert (redness > 60).sum() > 20
    blue = model.vis.rgba.replace(contactpoint=np.array([0, 0, 1, 1], np.float32))
    other = model.replace(vis=model.vis.replace(rgba=blue))
    (seen,) = render(other, data, camera="above", size=SIZE, show=Show(geoms=(), contacts=True))
    assert not (seen[..., 0].astype(int) - seen[..., 1:].max(-1) > 60).any()
