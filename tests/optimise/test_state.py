"""What planners carry from step to step: all that a rollout does, and whether the state was lost on the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import optimise


def slider(actuator):
    return jaxsim.load_model(f"""<mujoco><option timestep="0.02" gravity="0 0 0"/><worldbody><body>
      <joint name="x" type="slide" axis="1 0 0" damping=".1"/><geom size=".05" mass=".1"/></body></worldbody>
      <actuator>{actuator}</actuator></mujoco>""")


cost = optimise.Cost(
    lambda m, d: jnp.sum(d.ctrl**2), lambda m, d: jnp.sum((d.qpos - 0.3) ** 2) + jnp.sum(d.qvel**2)
)


def test_delayed_controls_act_when_they_do_in_a_rollout():
    model = slider('<motor joint="x" ctrlrange="-5 5" delay="0.1" nsample="5"/>')
    data = jaxsim.make_data(model)
    ctrl = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, (12, 1)))
    end, _ = jax.jit(lambda u: jaxsim.rollout(model, data, u))(ctrl)
    expected = jnp.sum(ctrl**2) + cost.terminal(model, end)
    found = jax.jit(lambda u: optimise.total_cost(model, data, u, cost))(ctrl)
    assert float(found) == pytest.approx(float(expected), rel=1e-12)
    assert float(found) != pytest.approx(float(jnp.sum(ctrl**2)) + 0.09, rel=1e-3)
    final, _ = jax.jit(lambda: optimise.mpc(model, data, ctrl, lambda d, c, k: c, steps=1))()
    np.testing.assert_array_equal(
        final.history, jax.jit(jaxsim.step)(model, data.replace(ctrl=ctrl[0])).history
    )
    with pytest.raises(ValueError, match="actuators with a delay"):
        optimise.ilqr(model, data, ctrl, cost)


def test_a_state_that_was_lost_is_no_plan():
    """A world that flew apart goes on at qpos0, which may be just where it should be."""
    model = slider('<general joint="x" gainprm="1e4" biastype="affine" biasprm="0 -1e4 0" ctrlrange="-2 2"/>')
    data = jaxsim.make_data(model).replace(qpos=jnp.ones(1))
    zeros = jnp.zeros((60, 1))
    assert np.isinf(jax.jit(lambda u: optimise.total_cost(model, data, u, cost))(zeros))
    assert np.isfinite(jax.jit(lambda u: optimise.total_cost(model, data, u, cost))(zeros[:3]))
    final, _ = jax.jit(lambda: optimise.mpc(model, data, zeros[:3], lambda d, c, k: c, steps=60))()
    assert int(final.warning) & int(jaxsim.WarningBit.BAD_QACC)
