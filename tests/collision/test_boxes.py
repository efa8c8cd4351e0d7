"""Boxes that turn with their geoms rule out pairs before distances are searched."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim.collision.broad import boxes_in_reach

WORLDS, REACH = 400, 0.05
SCENE = """
<mujoco>
  <asset><mesh name="wedge" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 3" scale=".1 .1 .1"/></asset>
  <worldbody>
    <body><freejoint/><geom {first}/></body>
    <body><freejoint/><geom {second}/></body>
  </worldbody>
</mujoco>
"""
MESH, ROD, BOX = 'type="mesh" mesh="wedge"', 'type="cylinder" size=".03 .3"', 'type="box" size=".3 .02 .1"'


def _asked(model, poses, reach):
    """Of each world's poses (W, 2, 7): whether the pair is asked, and its distance."""
    data, asked, dist = mujoco.MjData(model), [], []
    boxes = list(jnp.asarray(model.geom_aabb.reshape(2, 1, 6, 1)))
    for pose in poses:
        data.qpos[:] = pose.ravel()
        mujoco.mj_kinematics(model, data)
        numbers = np.concatenate([data.geom_xpos, data.geom_xmat], axis=1)
        asked.append(numbers)
        dist.append(mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None))
    sides = list(jnp.asarray(np.stack(asked, axis=-1))[:, None])
    marks = boxes_in_reach(sides, boxes, jnp.full((1, 1), reach))
    return np.asarray(marks[0]), np.asarray(dist)


@pytest.mark.parametrize(("first", "second"), [(BOX, BOX), (MESH, ROD), (ROD, BOX)])
def test_what_is_left_out_is_out_of_reach(first, second):
    rng = np.random.default_rng(0)
    model = mujoco.MjModel.from_xml_string(SCENE.format(first=first, second=second))
    poses = rng.normal(size=(WORLDS, 2, 7))
    poses[:, :, :3] *= 0.12
    asked, dist = _asked(model, poses, REACH)
    assert not np.any(~asked & (dist <= REACH))
    # it is asked of some that touch, and half of those that do not are left out
    assert asked.sum() > 40
    assert np.mean(~asked[dist > REACH]) > 0.5


def test_aligned_boxes_are_left_out_just_beyond_the_reach():
    model = mujoco.MjModel.from_xml_string(SCENE.format(first=BOX, second=BOX))
    poses = np.zeros((2, 2, 7))
    poses[:, :, 3] = 1
    poses[:, 1, 1] = 0.04 + REACH + np.array([-1e-9, 1e-9])
    np.testing.assert_array_equal(_asked(model, poses, REACH)[0], [True, False])
