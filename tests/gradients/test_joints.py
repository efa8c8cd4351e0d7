"""Steps of chains of joints: limits, dry friction, springs, servos, equalities; Euler and Runge-Kutta."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import jaxsim
from tests.gradients import scenes
from tests.gradients.jacobians import Jacobians, Scene

LEAVES = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "jnt_solref",
    "jnt_solimp",
    "jnt_range",
    "jnt_stiffness",
    "dof_damping",
    "dof_frictionloss",
    "dof_solref",
    "dof_armature",
    "tendon_stiffness",
    "tendon_damping",
    "tendon_range",
    "actuator_gainprm",
    "actuator_biasprm",
    "actuator_dynprm",
    "actuator_gear",
    "eq_solref",
    "eq_solimp",
    "eq_data",
    "opt.gravity",
    "opt.timestep",
)
RUNGE_KUTTA_LEAVES = (
    "body_mass",
    "geom_friction",
    "jnt_range",
    "dof_damping",
    "actuator_gainprm",
    "actuator_dynprm",
    "opt.gravity",
    "opt.timestep",
)
BODIES = ("limited arm", "sticking", "slipping", "spring", "servo", "flyer", "connected", "welded")
FIRST, TENTH = 0, 1


@functools.cache
def jacobians(state: str) -> Jacobians:
    if state == "runge_kutta":
        s = Scene(scenes.RUNGE_KUTTA, RUNGE_KUTTA_LEAVES)
        return s.at(scenes.runge_kutta(s.mj_model))
    s = _euler()
    return s.at({"moving": scenes.moving, "satisfied": scenes.satisfied}[state](s.mj_model))


@functools.cache
def _euler() -> Scene:
    return Scene(scenes.JOINTS, LEAVES)


def check(found: Jacobians, body: str, tolerance: float, step: int) -> None:
    for quantity in found.scene.columns:
        assert found.error(body, quantity, step) < tolerance, quantity


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("step", [FIRST, TENTH])
def test_moving(body, step):
    # the differences of ten steps carry the rounding of ten solutions
    stiff = body in ("limited arm", "servo", "connected")
    check(jacobians("moving"), body, (3e-6 if step else 3e-7) if stiff else 1e-7, step)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("step", [FIRST, TENTH])
def test_equalities_without_error(body, step):
    """Impedance depends on the size of the error, which has a kink at zero: there the differences lose an order."""
    check(jacobians("satisfied"), body, 1e-5 if body in ("connected", "welded") else 1e-7, step)


@pytest.mark.parametrize("body", ["limited arm", "sphere"])
@pytest.mark.parametrize("step", [FIRST, TENTH])
def test_runge_kutta(body, step):
    check(jacobians("runge_kutta"), body, 2e-6 if step else 1e-7, step)


@pytest.mark.parametrize("state", ["moving", "satisfied", "runge_kutta"])
def test_modes_agree(state):
    found = jacobians(state)
    assert np.isfinite(found.forward).all()
    assert found.duality_error() < 1e-10


def test_the_scene_is_what_it_is_called():
    """The limits push, dry friction holds the one and not the other."""
    found = jacobians("moving")
    s = found.scene

    def speed(body: str) -> np.ndarray:
        return np.abs(found.value[:, s.mj_model.nq + s.mj_model.body(body).dofadr[0]])

    assert (speed("sticking") < 0.01).all()
    assert (speed("slipping") > 0.4).all()

    def block(body: str, quantity: str) -> float:
        return float(np.abs(found.forward[FIRST, s.rows(body)][:, s.columns[quantity]]).max())

    for body, quantity in (
        ("limited arm", "jnt_range"),
        ("limited arm", "jnt_solimp"),
        ("slipping", "dof_frictionloss"),
        ("sticking", "dof_solref"),
        ("servo", "tendon_range"),
        ("servo", "actuator_dynprm"),
        ("servo", "tendon_stiffness"),
        ("spring", "jnt_stiffness"),
        ("connected", "eq_solref"),
        ("welded", "eq_data"),
    ):
        assert block(body, quantity) > 1e-6, (body, quantity)


def test_turns_from_standstill_have_the_right_derivative():
    """Weightless at zero velocity, a ball joint's quaternion moves by dt / 2 times its next velocity."""
    s = _euler()
    model = s.model.replace(opt=s.model.opt.replace(gravity=0.0 * s.model.opt.gravity))
    found = s.at(scenes.satisfied(s.mj_model), model)
    for name in ("wrist", "flyer"):
        joint = s.mj_model.jnt(name if name == "wrist" else s.mj_model.body(name).jntadr[0])
        skip = 0 if name == "wrist" else 3
        q, v = joint.qposadr[0] + skip, s.mj_model.nq + joint.dofadr[0] + skip
        columns = s.columns["qvel"]
        for jacobian in (found.forward, found.reverse):
            velocity = jacobian[FIRST, v : v + 3, columns]
            assert np.abs(velocity).max() > 0.5
            np.testing.assert_allclose(
                jacobian[FIRST, q + 1 : q + 4, columns], 0.001 * velocity, rtol=0, atol=1e-12
            )
            np.testing.assert_allclose(jacobian[FIRST, q, columns], 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sweeps", [0, 20])
def test_dry_friction_that_may_begin(sweeps):
    """Where there is none its derivative is that of more: a sliding joint is held, one at rest is not moved."""
    joints = "".join(
        f'<body><joint type="slide" axis="{axis}" frictionloss="{loss}"/><geom size=".1"/>{end}'
        for axis, loss, end in (("1 0 0", ".1", ""), ("0 1 0", "0", "</body></body>"))
    )
    option = f"<option noslip_iterations='{sweeps}'/>"
    model = jaxsim.load_model(f"<mujoco>{option}<worldbody>{joints}</worldbody></mujoco>")
    data = jaxsim.make_data(model)

    def speed(loss: jax.Array, speed: jax.Array) -> jax.Array:
        sliding = model.replace(dof_frictionloss=model.dof_frictionloss.at[1].set(loss))
        return jaxsim.step(sliding, data.replace(qvel=jnp.zeros(2).at[1].set(speed))).qvel[1]

    speeds = jnp.array([0.0, 0.5, -0.5])
    ours = jax.vmap(jax.grad(speed), (None, 0))(0.0, speeds)
    right = (jax.vmap(speed, (None, 0))(1e-6, speeds) - jax.vmap(speed, (None, 0))(0.0, speeds)) / 1e-6
    np.testing.assert_allclose(ours, right, rtol=1e-6)
    assert np.abs(right[1:]).min() > 1e-4


OPEN_ENDED = """
<mujoco>
  <worldbody>
    <body>
      <joint name="below" axis="0 1 0" range="-inf 10" damping="0.1"/>
      <geom size="0.1" pos="0.3 0 0"/>
      <body pos="0.5 0 0">
        <joint name="above" axis="0 1 0" range="-10 inf"/>
        <geom size="0.1" pos="0.3 0 0"/>
        <body pos="0.5 0 0"><joint axis="0 1 0" range="-inf inf"/><geom size="0.1" pos="0.3 0 0"/></body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed range="-inf -0.1"><joint joint="below" coef="1"/><joint joint="above" coef="1"/></fixed></tendon>
</mujoco>
"""


def test_ranges_may_have_one_end_or_none():
    """Of two joints and a tendon the end that there is pushes; another limit is never met."""
    model = jaxsim.load_model(OPEN_ENDED)
    assert np.isinf(model.jnt_range).sum() == 4
    data = jaxsim.make_data(model)

    def stepped(qpos, qvel):
        after = jaxsim.step(model, data.replace(qpos=qpos, qvel=qvel))
        return after.qvel, after.nl

    args = jnp.array([0.2, -0.2, 0.1]), jnp.array([0.5, -0.7, 0.2])
    assert stepped(*args)[1] == 3
    check_grads(jax.jit(lambda *a: stepped(*a)[0]), args, order=1, modes=("fwd", "rev"), atol=1e-6, rtol=1e-6)
