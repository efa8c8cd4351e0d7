"""The simulation behind the viewer: time, pulling, recordings; and what the browser is sent."""

import dataclasses

import numpy as np
import pytest

import jaxsim
from jaxsim.viewer.session import Session

BALL = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<geom name="floor" type="plane" size="0 0 1"/>
<body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size="0.1"/></body>
<body name="hand" mocap="true" pos="0 0 2"><geom size="0.05" contype="0" conaffinity="0"/></body>
<body name="arm" pos="2 0 1"><joint name="hinge" axis="0 1 0" damping="1"/>
<geom name="arm" type="capsule" size="0.05 0.2"/></body>
</worldbody><actuator><motor name="turn" joint="hinge" ctrlrange="-2 2"/></actuator>
<sensor><jointpos name="angle" joint="hinge"/></sensor>
<keyframe><key name="high" qpos="0 0 3 1 0 0 0 0.5" ctrl="1" mpos="0 0 2" mquat="1 0 0 0"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def model():
    return jaxsim.load_model(BALL)


@pytest.fixture(scope="module")
def session(model):
    return Session(model, 2)


def test_time_goes_on_while_playing(session):
    session.reset()
    assert session.tick(0.1) == 0
    session.playing = True
    session.speed = 2.0
    session.tick(0.005)
    before = session.moment
    taken = session.tick(0.05)
    session.playing, session.speed = False, 1.0
    assert session.moment - before == pytest.approx(0.01 * taken)
    assert taken <= 12


def test_a_pulled_body_comes_to_rest_at_the_point_without_swinging(session):
    """The spring is critically damped at 10 rad/s as if the body were alone: after 2 s it is there."""
    session.reset()
    session.refresh()
    ball = session.body("ball")
    session.pull(ball, np.array([0.5, 0.0, 1.5]))
    heights = []
    for _ in range(20):
        session.step(10)
        heights.append(float(session.data.qpos[0, 2]))
    session.release()
    np.testing.assert_allclose(session.data.qpos[0, :3], [0.5, 0.0, 1.5], atol=1e-3)
    assert max(heights) < 1.5 + 1e-3
    assert np.asarray(session.data.xfrc_applied).max() == 0
    # the other world is left alone, but for the velocity that sets it apart
    assert abs(float(session.data.qpos[1, 0])) < 0.2


def test_the_spring_is_the_models():
    """Of stiffness 25 1/s^2 it has gone 1 - (1 + 2) exp(-2) of the way after 2/5 s, if time were continuous."""
    visual = '<visual><map stiffness="25"/><global realtime="0.5"/></visual><worldbody>'
    session = Session(jaxsim.load_model(BALL.replace("<worldbody>", visual)))
    assert session.speed == 0.5
    session.refresh()
    session.pull(session.body("ball"), np.array([0.0, 0.0, 2.0]))
    session.step(40)
    # it goes at 25 * 0.4 * exp(-2) = 1.35 m/s: three steps of 10 ms are 0.04 m
    assert float(session.data.qpos[0, 2]) == pytest.approx(2 - 3 * np.exp(-2), abs=0.04)


def test_push_change_and_reset(session):
    session.reset()
    session.push(session.body("ball"), np.array([1.0, 0, 0, 0, 0, 0]), world=0)
    session.change(ctrl=[0.5], mocap_pos=[[1.0, 0, 2]])
    session.step(10)
    speed = 0.1 / float(session.model.body_mass[1])
    assert float(session.data.qvel[0, 0]) == pytest.approx(speed, rel=1e-6)
    np.testing.assert_allclose(session.data.ctrl, 0.5)
    assert float(session.data.qpos[0, 7]) > 0
    session.reset("high")
    assert session.moment == 0
    np.testing.assert_allclose(session.data.qpos[:, 2], 3.0)
    with pytest.raises(KeyError, match="low"):
        session.reset("low")
    with pytest.raises(ValueError, match="shape"):
        session.change(ctrl=[1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        session.change(ctrl=[np.nan])


def test_a_recording_is_played_and_sought(model):
    qpos = np.repeat(np.asarray(model.qpos0)[None], 11, 0)
    qpos[:, 0] = np.arange(11)
    played = Session(model, 8, trajectory={"qpos": qpos, "time": 0.1 * np.arange(11)})
    assert played.worlds == 1
    played.playing = True
    played.tick(0.35)
    assert float(played.data.qpos[0, 0]) == 3
    played.step(1)
    assert float(played.data.qpos[0, 0]) == 4
    played.tick(10.0)  # from the end back to the start
    assert float(played.data.qpos[0, 0]) == 0
    played.seek(0.95)
    assert float(played.data.qpos[0, 0]) == 9
    with pytest.raises(ValueError, match="expected"):
        Session(model, trajectory={"qpos": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="needs qpos"):
        Session(model, trajectory={})
    with pytest.raises(ValueError, match="moments"):
        Session(model, trajectory={"qpos": qpos, "time": np.zeros(3)})


class Handle:
    """Stands in for what viser returns: it remembers what is set."""

    def __init__(self, *args, **fields):
        self.args = args
        self.visible = True
        self.__dict__.update(fields)


class Canvas:
    def __init__(self):
        self.added = {}

    def __getattr__(self, name):
        def add(path, *args, **fields):
            self.added[path] = Handle(*args, **fields)
            return self.added[path]

        return add


def test_the_stage_moves_bodies_of_all_worlds_side_by_side(session):
    pytest.importorskip("trimesh")
    from jaxsim.viewer.stage import Stage

    canvas = Canvas()
    stage = Stage(canvas, session.model, 2)
    gap = stage.offsets[1] - stage.offsets[0]
    assert np.linalg.norm(gap) > 0.5
    session.reset("high")
    session.refresh()
    over = dict.fromkeys(("contacts", "forces", "frames", "inertia"), True)
    stage.overlays = dataclasses.replace(stage.overlays, **over)
    (frame, *_) = stage.show(session.data)
    ball = next(h for path, h in canvas.added.items() if path.startswith("/bodies/1/"))
    np.testing.assert_allclose(ball.batched_positions, [frame.xpos[1], frame.xpos[1] + gap], atol=1e-5)
    np.testing.assert_allclose(ball.batched_wxyzs, [[1, 0, 0, 0]] * 2, atol=1e-6)
    # one floor, which does not move; axes of three bodies in two worlds
    assert [path for path in canvas.added if "floor" in path] == ["/bodies/0/geom/0/floor"]
    assert canvas.added["/overlays/frames"].batched_positions.shape == (6, 3)
    assert canvas.added["/overlays/inertia"].batched_colors.tolist() == [204, 51, 51]  # as `visual` says
    assert canvas.added["/overlays/inertia"].batched_positions.shape == (6, 3)
    stage.overlays = dataclasses.replace(stage.overlays, geoms={3})
    stage.show(session.data)
    assert not ball.visible
