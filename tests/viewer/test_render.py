"""Pictures show what is there, where the camera's geometry says; no picture is compared with a stored one."""

import mujoco
import numpy as np
import pytest
from PIL import Image

import jaxsim
from jaxsim.cli import main
from jaxsim.viewer import FreeCamera, Show, render, write
from jaxsim.viewer.cameras import model_view
from jaxsim.viewer.poses import frames
from jaxsim.viewer.scene import make_scene

pytest.importorskip("embreex")

WIDTH, HEIGHT = 160, 120

BOX = """<mujoco>
<asset>
  <texture name="half" type="2d" builtin="checker" width="64" height="64" rgb1="1 0 0" rgb2="0 0 1"/>
  <texture name="faces" type="cube" builtin="flat" width="8" height="8" rgb1="0 1 0" rgb2="1 1 0"/>
  <material name="half" texture="half"/>
  <material name="faces" texture="faces"/>
  <hfield name="hill" nrow="3" ncol="3" size="0.4 0.4 0.5 0.1" elevation="0 0 0 0 1 0 0 0 0"/>
  <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
</asset>
<worldbody>
  <light pos="0 0 5" dir="0 0 -1" directional="true"/>
  <camera name="above" pos="0 0 6" fovy="40"/>
  <camera name="level" pos="0 -6 0.5" xyaxes="1 0 0 0 0 1" fovy="30"/>
  <camera name="flat" pos="0 0 6" projection="orthographic" fovy="4"/>
  <camera name="sensor" pos="0 0 6" focal="0.01 0.012" sensorsize="0.008 0.006" principal="0.001 -0.0005"
    resolution="160 120"/>
  <geom type="plane" size="3 3 0.1" rgba="0.9 0.9 0.9 1"/>
  <body name="box" pos="0.5 0.3 1"><freejoint/>
    <camera name="rider" pos="0 0 3" mode="track"/>
    <geom name="box" type="box" size="0.2 0.1 0.1" rgba="1 0 0 1"/>
  </body>
  %s
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def model():
    return jaxsim.load_model(BOX % "")


def red(picture):
    x = picture.astype(int)
    return x[..., 0] > x[..., 1:].max(-1) + 60


def middle(mask):
    """Centre of the pixels of a mask, from the left and from the top."""
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean() + 0.5, rows.mean() + 0.5])


@pytest.mark.parametrize("camera", ["above", "level", "flat", "sensor", "rider"])
def test_a_red_box_is_where_the_camera_sees_it(model, camera):
    number = model.find(jaxsim.enums.ObjType.CAMERA, camera)
    (frame,) = frames(model, model.qpos0)
    expected = model_view(model, frame, number).project(frame.geom_xpos[1:2], WIDTH, HEIGHT)[0]
    (picture,) = render(model, model.qpos0, camera=camera, size=(WIDTH, HEIGHT))
    # the near face looks larger than the far one: a few pixels where the view is oblique
    np.testing.assert_allclose(middle(red(picture)), expected, atol=3)


@pytest.mark.parametrize("camera", range(5))
def test_projection_is_that_of_the_c_engine(model, camera):
    c_model = mujoco.MjModel.from_xml_string(BOX % "")
    c_data = mujoco.MjData(c_model)
    mujoco.mj_forward(c_model, c_data)
    scene, chosen = mujoco.MjvScene(c_model, 100), mujoco.MjvCamera()
    chosen.type, chosen.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera
    every = mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(c_model, c_data, mujoco.MjvOption(), None, chosen, every, scene)
    eyes = scene.camera
    (frame,) = frames(model, model.qpos0)
    view = model_view(model, frame, camera)
    np.testing.assert_allclose(view.pos, np.mean([e.pos for e in eyes], 0), atol=1e-6)
    np.testing.assert_allclose(-view.mat[:, 2], eyes[0].forward, atol=1e-6)
    np.testing.assert_allclose(view.mat[:, 1], eyes[0].up, atol=1e-6)
    np.testing.assert_allclose(view.near, eyes[0].frustum_near, rtol=1e-5)
    # the frustum at the near plane; C's is of single precision
    near = 1.0 if view.orthographic else eyes[0].frustum_near
    low, high = view.center[1] - view.half[1], view.center[1] + view.half[1]
    np.testing.assert_allclose(
        [low * near, high * near], [eyes[0].frustum_bottom, eyes[0].frustum_top], rtol=1e-5
    )
    if view.half[0]:
        np.testing.assert_allclose(view.half[0] * near, eyes[0].frustum_width, rtol=1e-5)
        centre = np.mean([e.frustum_center for e in eyes])
        np.testing.assert_allclose(view.center[0] * near, centre, rtol=1e-5)


@pytest.mark.parametrize(
    ("geom", "across", "up"),
    [
        ('type="sphere" size="0.5"', 1.0, 1.0),
        ('type="capsule" size="0.3 0.4"', 0.6, 1.4),
        ('type="cylinder" size="0.3 0.4"', 0.6, 0.8),
        ('type="ellipsoid" size="0.6 0.2 0.3"', 1.2, 0.6),
        ('type="box" size="0.6 0.01 0.3"', 1.2, 0.6),
    ],
)
def test_a_geom_covers_its_outline(geom, across, up):
    lone = jaxsim.load_model(
        f'<mujoco><worldbody><body><geom {geom} mass="1" rgba="1 0 0 1"/></body></worldbody></mujoco>'
    )
    camera = FreeCamera((0, 0, 0), distance=50.0, azimuth=90, elevation=0, fovy=3)
    picture = render(lone, lone.qpos0, camera=camera, size=(200, 200))[0].astype(int)
    rows, columns = np.nonzero(picture[..., 0] > picture[..., 1] + 20)  # dark edges too; the sky is blue
    scale = 100 / (50 * np.tan(np.radians(1.5)))  # pixels a m
    # one pixel at each end, and at most 2% because the near side looks larger and round outlines have 32 corners
    for at, length in ((columns, across), (rows, up)):
        assert np.ptp(at) + 1 == pytest.approx(length * scale, abs=2, rel=0.02)
        assert abs(at.min() + at.max() - 199) <= 2


def test_a_body_throws_a_shadow_where_the_light_sends_it(model):
    from_aside = FreeCamera((0.5, 0.3, 0.0), 6.0, 90, -35, 30)
    seen = render(model, model.qpos0, camera=from_aside, size=(WIDTH, HEIGHT))[0]
    view = from_aside.view(make_scene(model), frames(model, model.qpos0), WIDTH, HEIGHT)
    under, beside = view.project(np.array([[0.5, 0.3, 0.0], [1.2, 0.3, 0.0]]), WIDTH, HEIGHT).astype(int)
    assert seen[under[1], under[0]].sum() < 0.75 * seen[beside[1], beside[0]].sum()


def test_states_and_trajectories(model):
    size = (32, 24)
    one = render(model, jaxsim.make_data(model), camera="above", size=size)
    assert one.shape == (1, 24, 32, 3)
    assert one.dtype == np.uint8
    path = np.repeat(np.asarray(model.qpos0)[None], 3, 0)
    path[:, 0] = [-0.5, 0.0, 0.5]
    moved = render(model, {"qpos": path}, camera="flat", size=(WIDTH, HEIGHT))
    columns = [middle(red(p))[0] for p in moved]
    # an orthographic picture of 4 m in 120 pixels
    np.testing.assert_allclose(np.diff(columns), 0.5 * 120 / 4, atol=0.6)
    # a tracking camera keeps the body in its place
    told = []
    ridden = render(model, path, camera="rider", size=(WIDTH, HEIGHT), progress=lambda *n: told.append(n))
    assert told == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_allclose(*[middle(red(p)) for p in ridden[[0, 2]]], atol=0.6)


def test_textures_height_fields_meshes_sites_and_tendons():
    more = """<geom type="plane" material="half" pos="-1 0 0.02" size="0.5 0.5 0.1"/>
      <geom type="box" material="faces" size="0.2 0.2 0.2" pos="1.2 -0.8 0.2"/>
      <geom type="hfield" hfield="hill" rgba="0 0 1 1" pos="0 -1 0.1"/>
      <geom type="mesh" mesh="wedge" rgba="0 1 1 1" pos="-1.5 1.2 0.1" contype="0" conaffinity="0"/>
      <site name="a" pos="0.8 1.2 0.5" size="0.05" rgba="1 0 1 1"/>
      <site name="b" pos="1.6 1.2 0.5" size="0.05" rgba="1 0 1 1"/>
      <site name="hidden" pos="1.2 0.6 0.5" size="0.2" rgba="1 0 1 1" group="4"/>"""
    tendon = (
        """<tendon><spatial width="0.03" rgba="1 1 0 1"><site site="a"/><site site="b"/></spatial></tendon>"""
    )
    model = jaxsim.load_model((BOX % more).replace("</mujoco>", tendon + "</mujoco>"))
    (picture,) = render(model, model.qpos0, camera="flat", size=(WIDTH, HEIGHT))

    def colour(x, y):
        pixel = picture[int(60 - 30 * y), int(80 + 30 * x)]
        return pixel > 0.9 * pixel.max()

    # a checker: red at the upper left of its plane, blue at the upper right
    assert colour(-1.25, 0.25).tolist() == [True, False, False]
    assert colour(-0.75, 0.25).tolist() == [False, False, True]
    assert colour(-0.75, -0.25).tolist() == [True, False, False]
    assert colour(1.2, -0.8).tolist() == [False, True, False]  # the cube's front is up
    assert colour(0.0, -1.0).tolist() == [False, False, True]
    assert colour(-1.35, 1.35).tolist() == [False, True, True]
    assert colour(0.8, 1.2).tolist() == [True, False, True]
    assert colour(1.2, 1.2).tolist() == [True, True, False]  # the tendon, half way
    assert colour(1.2, 0.6).tolist() == [True, True, True]  # a group that is not shown
    shown = render(model, model.qpos0, camera="flat", size=(WIDTH, HEIGHT), show=Show(sites=(4,)))[0]
    assert shown[60 - 18, 80 + 36, 1] < 0.9 * shown[60 - 18, 80 + 36, 0]


def test_one_sees_through_what_is_transparent_and_planes_from_below():
    glass = BOX.replace('rgba="1 0 0 1"', 'rgba="1 0 0 0.4"') % ""
    model = jaxsim.load_model(glass)
    view = FreeCamera((0.5, 0.3, 1.0), 3.0, 90, -89)
    through = render(model, model.qpos0, camera=view, size=(32, 24))[0, 12, 16].astype(int)
    assert through[0] > through[1] + 20
    assert through[1] > 40
    below = FreeCamera((0.5, 0.3, 1.0), 3.0, 90, 60)
    assert render(model, model.qpos0, camera=below, size=(32, 24))[0, 0, 0, 2] > 150  # the sky


def test_contacts_forces_frames_and_inertia():
    model = jaxsim.load_model((BOX % "").replace('pos="0.5 0.3 1"', 'pos="0.5 0.3 0.0999"'))
    import jax

    data = jax.jit(jaxsim.forward)(model, jaxsim.make_data(model))
    (frame,) = frames(model, data)
    assert frame.contacts is not None
    assert len(frame.contacts.pos) == int(data.ncon)
    total = frame.contacts.force.sum(0)
    # on the box, the second geom of each contact; what lifts it stops its fall as well
    assert total[2] > 0
    plain = render(model, data, camera="above", size=(WIDTH, HEIGHT))[0]
    for name in ("contacts", "forces", "frames", "inertia"):
        # a box of inertia lies in the geom that it is of
        show = Show(geoms=() if name == "inertia" else (0,), **{name: True})
        drawn = render(model, data, camera="above", size=(WIDTH, HEIGHT), show=show)[0]
        assert (drawn != plain).any(), name
        assert name != "inertia" or red(drawn).any()


def test_files(model, tmp_path):
    path = np.repeat(np.asarray(model.qpos0)[None], 3, 0)
    path[:, 0] = [-0.5, 0.0, 0.5]
    pictures = render(model, path, camera="above", size=(33, 25))
    for name in ("a.png", "a.gif"):
        write(tmp_path / name, pictures)
        with Image.open(tmp_path / name) as image:
            assert image.size == (33, 25)
            assert getattr(image, "n_frames", 1) == (3 if name == "a.gif" else 1)
    with pytest.raises(ValueError, match="suffix"):
        write(tmp_path / "a.tiff", pictures)
    with pytest.raises(FileNotFoundError, match="no folder"):
        write(tmp_path / "no" / "a.png", pictures)
    with pytest.raises(ValueError, match="uint8"):
        write(tmp_path / "a.png", pictures.astype(float))


def test_an_mp4(model, tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    pictures = render(model, np.repeat(model.qpos0[None], 5, 0), camera="above", size=(33, 25))
    write(tmp_path / "a.mp4", pictures, fps=10)
    assert (tmp_path / "a.mp4").read_bytes()[4:8] == b"ftyp"
    assert imageio_ffmpeg.get_ffmpeg_exe()


def test_what_is_refused(model):
    with pytest.raises(KeyError, match="nowhere"):
        render(model, model.qpos0, camera="nowhere")
    with pytest.raises(IndexError):
        render(model, model.qpos0, camera=9)
    with pytest.raises(ValueError, match=r"expected \(7,\)"):
        render(model, np.zeros(3))
    with pytest.raises(ValueError, match="needs qpos"):
        render(model, {"qvel": np.zeros((3, 6))})
    with pytest.raises(ValueError, match="at least one pixel"):
        render(model, model.qpos0, size=(0, 4))


def test_the_command(tmp_path, capsys):
    file, out = tmp_path / "box.xml", tmp_path / "box.gif"
    file.write_text(BOX % "")
    main(
        ["render", str(file), "--out", str(out), "--camera", "above", "--steps", "100", "--size", "40", "30"]
    )
    with Image.open(out) as image:
        # Pillow makes one frame of pictures that are equal
        durations = []
        for k in range(image.n_frames):
            image.seek(k)
            durations.append(image.info["duration"])
    assert sum(durations) == 30 * (1 + 100 // 17)
    np.savez(tmp_path / "t.npz", qpos=np.zeros((2, 4, 7)), time=0.1 * np.arange(4))
    still = tmp_path / "box.png"
    main(
        ["render", str(file), "-o", str(still), "--trajectory", str(tmp_path / "t.npz"), "--size", "40", "30"]
    )
    with Image.open(still) as image:
        assert image.size == (40, 30)
    for wrong, message in (
        (["--camera", "nowhere"], "cameras of the model: above, level"),
        (["--out", "box.tiff"], "the suffix is one of"),
        (["--keyframe", "home"], "keyframes of the model: none"),
        (["--show", "ghosts"], "there are contacts"),
        (["--trajectory", str(tmp_path / "t.npz"), "--world", "2"], "has 2 worlds"),
        (["--trajectory", "no.npz"], "no file"),
        (["--steps", "5", "--seconds", "1"], "not both"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["render", str(file), "--out", str(still), *wrong])
        assert caught.value.code == 2
        error = capsys.readouterr().err
        assert message in " ".join(error.split())
        assert "Traceback" not in error
