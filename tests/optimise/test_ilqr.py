"""iLQR on systems that are not linear: a swing-up, its gains beside the C engine's differences, a push."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import models, optimise

pytestmark = pytest.mark.slow

XML = (
    Path(str(models.path("cartpole"))).read_text().replace("RK4", "implicitfast")
)  # C has no derivatives of RK4
CARTPOLE = jaxsim.load_model(XML)
CARTPOLE = CARTPOLE.replace(opt=CARTPOLE.opt.replace(timestep=jnp.asarray(0.02)))
WEIGHTS = np.array([0.1, 1.0, 0.01, 0.01])
END = np.array([5.0, 30.0, 1.0, 1.0])
PRICE = 0.02


def upright(data, weights):
    """A cost of the cart's place, the pole's angle (0 is up) and the speeds."""
    x = jnp.stack([data.qpos[0] ** 2 / 2, 1 - jnp.cos(data.qpos[1]), *(data.qvel**2 / 2)])
    return jnp.sum(weights * x)


SWING = optimise.Cost(
    running=lambda model, data: 0.02 * (upright(data, WEIGHTS) + PRICE * jnp.sum(data.ctrl**2) / 2),
    terminal=lambda model, data: upright(data, END),
)


@functools.cache
def swing():
    """A plan that swings the pole up, from hanging and a slight push of the cart."""
    data = jaxsim.make_data(CARTPOLE).replace(qpos=jnp.array([0.0, jnp.pi]))
    ctrl = 0.1 * jnp.sin(0.1 * jnp.arange(150.0))[:, None]
    return jax.jit(lambda u: optimise.ilqr(CARTPOLE, data, u, SWING, iterations=80))(ctrl)


def test_the_pole_swings_up():
    plan = swing()
    assert float(plan.cost) < 0.3 * float(plan.history[0])
    assert np.cos(float(plan.qpos[-1, 1])) > 0.99
    assert np.abs(plan.qvel[-1]).max() < 0.3
    assert np.abs(plan.ctrl).max() <= 1  # the model's limits
    assert float(plan.history[-10] - plan.cost) < 0.01 * float(plan.cost)


def test_gains_beside_differences_of_the_c_engine():
    """The same recursion in numpy, on mjd_transitionFD along the plan and the derivatives of the cost by hand."""
    plan = swing()
    m = mujoco.MjModel.from_xml_string(XML)
    m.opt.timestep = 0.02
    d = mujoco.MjData(m)

    def bent(q, weights):
        return np.diag(weights * np.array([1, max(np.cos(q[1]), 0), 1, 1]))

    V, free = bent(np.asarray(plan.qpos[-1]), END), 0
    for k in range(len(plan.ctrl) - 1, -1, -1):
        d.qpos[:], d.qvel[:], d.ctrl[:] = plan.qpos[k], plan.qvel[k], plan.ctrl[k]
        mujoco.mj_forward(m, d)
        A, B = np.zeros((4, 4)), np.zeros((4, 1))
        mujoco.mjd_transitionFD(m, d, 1e-6, True, A, B, None, None)
        R, S = np.array([[0.02 * PRICE]]) + B.T @ V @ B, B.T @ V @ A
        held = not np.any(plan.gains[k])  # the next control is at its limit
        free += not held
        K = np.zeros((1, 4)) if held else -np.linalg.solve(R, S)
        V = 0.02 * bent(np.asarray(plan.qpos[k]), WEIGHTS) + A.T @ V @ A + S.T @ K + K.T @ S + K.T @ R @ K
        if not held:
            np.testing.assert_allclose(plan.gains[k], K, rtol=0, atol=1e-4 * (1 + np.abs(K).max()))
    assert free > 30


PUSH = """
<mujoco>
  <compiler autolimits="true"/>
  <option timestep="0.02"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1" friction="0.4"/>
    <body name="finger" pos="-0.1 0 0.06">
      <joint name="finger" type="slide" axis="1 0 0" damping="2"/>
      <geom name="finger" type="sphere" size=".03" mass="0.2"/>
    </body>
    <body name="box" pos="0 0 .05">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom name="box" type="box" size=".05 .05 .05" mass="0.3" friction="0.4"/>
    </body>
  </worldbody>
  <actuator><motor joint="finger" gear="8" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


def test_a_finger_pushes_a_box():
    """The finger begins 2 cm away; a cost of its distance to the box leads it there, where it has a gradient."""
    model = jaxsim.load_model(PUSH)
    data = jaxsim.make_data(model)
    goal = 0.2

    def place(data):
        near = data.qpos[0] - 0.02 - data.qpos[1]
        return 40 * (data.qpos[1] - goal) ** 2 + 4 * near**2

    cost = optimise.Cost(
        running=lambda model, data: 0.02 * (place(data) + 0.05 * jnp.sum(data.ctrl**2)),
        terminal=lambda model, data: 5 * place(data) + jnp.sum(data.qvel**2),
    )
    plan = jax.jit(lambda u: optimise.ilqr(model, data, u, cost, iterations=40))(jnp.zeros((50, 1)))
    assert np.all(np.isfinite(plan.gains))
    assert abs(float(plan.qpos[-1, 1]) - goal) < 0.02
    assert np.abs(plan.ctrl).max() <= 1
    assert float(plan.history[0]) > 4 * float(plan.cost)
