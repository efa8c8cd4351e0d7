"""Orders of the integrators: how errors shrink with the timestep, and what is conserved."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxsim
from jaxsim.enums import IntegratorType
from tests.pipeline.oracle import load

PENDULUM = """
<mujoco><option gravity="0 0 -9.81"><flag energy="enable"/></option><worldbody>
  <body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".03"/>
    <body pos="0 0 -.5"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" contype="0"/></body>
  </body>
</worldbody></mujoco>"""
TUMBLING = """
<mujoco><option gravity="0 0 0"><flag energy="enable"/></option><worldbody>
  <body><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>
</worldbody></mujoco>"""
DURATION = 0.32


def start(model):
    data = jaxsim.make_data(model)
    if model.nq == 2:
        return data.replace(qpos=jnp.array([1.0, 0.5]), qvel=jnp.array([0.3, -1.0]))
    return data.replace(qvel=jnp.array([0.1, 0.2, -0.3, 2.0, 5.0, 1.0]))


@functools.cache
def end(xml, integrator):
    """A function of the number of steps: the state at the end, and the energy at the beginning of the last step."""
    _, model = load(xml, integrator=int(integrator))

    @jax.jit
    def run(steps):
        timed = model.replace(opt=model.opt.replace(timestep=DURATION / steps))
        data = lax.fori_loop(0, steps, lambda _, data: jaxsim.step(timed, data), start(model))
        return jnp.concatenate([data.qpos, data.qvel]), data.energy

    return run


@pytest.mark.parametrize(
    ("xml", "integrator", "order"),
    [
        (PENDULUM, IntegratorType.RK4, 4),
        (TUMBLING, IntegratorType.RK4, 2),
        (PENDULUM, IntegratorType.IMPLICIT, 1),
        (TUMBLING, IntegratorType.IMPLICITFAST, 1),
    ],
    ids=["RK4 pendulum", "RK4 tumbling", "implicit pendulum", "implicitfast tumbling"],
)
def test_order(xml, integrator, order):
    """Rotations advance along the mean of the stages' velocities, as in C: that is of the second order."""
    run = end(xml, integrator)
    exact = end(xml, IntegratorType.RK4)(4096)[0]
    errors = [np.abs(run(n)[0] - exact).max() for n in (16, 32, 64)]
    ratios = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (ratios > order - 0.2).all(), ratios


@pytest.mark.parametrize("xml", [PENDULUM, TUMBLING], ids=["pendulum", "tumbling"])
def test_runge_kutta_conserves_energy(xml):
    """To the second order of the tumbling body over 512 steps of 0.6 ms."""
    _, model = load(xml)
    before = jaxsim.forward(model, start(model)).energy.sum()
    assert abs(end(xml, IntegratorType.RK4)(512)[1].sum() - before) < 1e-7 * abs(before)
