"""Every transmission: against the C engine, its derivatives, and where it is degenerate."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.enums import TrnType
from jaxsim.pipeline.actuation import next_activation, rewrap_activations
from jaxsim.pipeline.transmission import TRANSMISSIONS
from tests.pipeline.derivatives import check, draw, dual, problem
from tests.pipeline.oracle import error, load, put_state

TOLERANCE = 1e-9
FIELDS = ("actuator_length", "actuator_velocity", "actuator_force", "qfrc_actuator", "act_dot")

ACTUATORS = {
    "site": """
      <motor site="s1" gear="1 2 3 0.3 0.2 0.1"/>
      <general site="s3" gear="0 0 1 0 0 0" biastype="affine" biasprm="1 2 -3"/>
      <motor site="w" gear="1 1 1 1 1 1"/><motor site="f" gear="0 0 2 0 0 0.1" ctrlrange="0 1"/>""",
    "refsite": """
      <motor site="s3" refsite="s1" gear="1 2 3 0 0 0"/><motor site="s3" refsite="w" gear="0 0 0 1 2 3"/>
      <position site="s3" refsite="s1" gear="0 0 0 0.5 1 0.2" kp="3"/>
      <position site="s3" refsite="f" gear="0.3 1 0.2 0.1 0.4 1" kp="2" kv="0.3"/>
      <intvelocity site="s2" refsite="w" gear="0 0 0 1 0.1 0.1" kp="2" actrange="-9 9"/>
      <pid site="s3" refsite="s1" gear="0 0 0 0.5 1 0.2" kp="3" ki="2"/>
      <motor site="s1" refsite="s1" gear="1 1 1 1 1 1"/>""",
    "slidercrank": """
      <motor cranksite="s1" slidersite="s3" cranklength="0.9" gear="2"/>
      <position cranksite="s3" slidersite="w" cranklength="0.8" kp="3"/>
      <motor cranksite="s2" slidersite="f" cranklength="0.1"/>""",
    "orientation": """
      <orientation joint="j1" kp="3" kv="0.2"/><orientation joint="j1" kp="2" input="quat" forcerange="0 0.5"/>
      <orientation site="s3" refsite="s1" kp="3" kv="0.2" forcerange="0 1"/>
      <general joint="j1" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="2" biasprm="0.1 -2 -0.3"/>
      <general site="s3" refsite="w" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="2" biasprm="0 -2 -0.3"
        actearly="true"/><motor joint="j0"/>""",
}


def scene(actuators, option=""):
    return f"""<mujoco><compiler autolimits="true"/><option {option}><flag contact="disable"/></option>
    <worldbody>
      <site name="w" pos="-0.2 0.1 0.4" euler="10 20 30"/>
      <body pos="0 0 0.2"><joint name="j0" axis="0 1 0.1"/><geom size="0.1" pos="0.02 0.01 0.1" mass="1"/>
        <site name="s1" pos="0.1 0.15 0.1" euler="30 60 10"/>
        <body pos="0.3 0 0" euler="0 30 0"><joint name="j1" type="ball" damping="0.1"/>
          <geom type="box" size="0.08 0.2 0.1" mass="0.5"/><site name="s2" pos="0.05 -0.1 0.1" euler="50 10 0"/>
          <body pos="0.25 0 0"><joint name="j2" axis="0 1 0"/><geom size="0.03" mass="0.2"/>
            <site name="s3" pos="0.1 0.02 0" euler="-20 70 80"/></body></body></body>
      <body pos="1 0 0"><freejoint/><geom size="0.1"/><site name="f" pos="0.1 0.1 0" euler="5 6 7"/></body>
    </worldbody><actuator>{actuators}</actuator></mujoco>"""


def states(m, n=6):
    rng = np.random.default_rng(4)
    for k in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, 0.3 * k * rng.standard_normal(m.nv), 1.0)
        d.qvel[:] = rng.standard_normal(m.nv)
        d.ctrl[:] = rng.uniform(-4, 4, m.nu)
        d.act[:] = rng.uniform(-4, 4, m.na)
        yield d


def stack(many):
    return jax.tree.map(lambda *x: jnp.stack(x), *many)


@pytest.mark.parametrize("kind", ACTUATORS)
def test_equals_the_c_engine(kind):
    m, model = load(scene(ACTUATORS[kind]))
    found = list(states(m))
    ours = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))(
        model, stack([put_state(model, d) for d in found])
    )
    for k, d in enumerate(found):
        mujoco.mj_step(m, d)
        after = {
            name: error(getattr(ours, name)[k], getattr(d, name)) for name in (*FIELDS, "qpos", "qvel", "act")
        }
        assert max(after.values()) < TOLERANCE, (k, {n: e for n, e in after.items() if e >= TOLERANCE})


def observe(model, data):
    names = ("actuator_length", "actuator_velocity", "actuator_force", "qfrc_actuator", "act_dot")
    found = {name: getattr(data, name) for name in names}
    return found | {"act": rewrap_activations(model, data, next_activation(model, data, data.act_dot))}


@pytest.mark.parametrize("kind", ACTUATORS)
def test_derivatives(kind):
    m, model = load(scene(ACTUATORS[kind]))
    leaves = ["site_pos", "site_quat", "actuator_cranklength"]
    if kind != "refsite":  # there equal gains, or a gear without translation, mark a setpoint as an angle
        leaves += ["actuator_gear", "actuator_gainprm", "actuator_biasprm"]
    push, pull, zeros = problem(model, observe, leaves)
    for k, d in enumerate(states(m, n=3)):
        check(push, pull, zeros, worlds.expand(put_state(model, d)), seed=k)


def test_derivatives_of_degenerate_places():
    """Sites that coincide with their references, at rest; a crank out of reach, and exactly at its reach."""
    actuators = """<motor site="s1" refsite="s1" gear="1 1 1 1 1 1"/><orientation joint="j1" kp="2" input="quat"/>
      <orientation joint="j1" kp="2"/><motor cranksite="s2" slidersite="f" cranklength="0.1"/>
      <motor cranksite="s1" slidersite="s1" cranklength="0.3"/><position joint="j1" gear="1 0 0" kp="1"/>"""
    m, model = load(scene(actuators))
    model = model.replace(actuator_cranklength=model.actuator_cranklength.at[4].set(0.0))
    push, pull, zeros = problem(model, observe, ("actuator_cranklength",))
    data = worlds.expand(put_state(model, mujoco.MjData(m)))
    dual(push, pull, data, zeros(data), draw(zeros(data), 1))


def test_the_table_is_that_of_the_enumeration():
    missing = {kind.name for kind in TrnType if kind not in TRANSMISSIONS}
    assert missing == {"UNDEFINED"}


ADHESIVE = """
<mujoco><option cone="{cone}"/><default><geom condim="{condim}"/></default>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="foot" pos="0 0 .09"><freejoint/><geom type="box" size=".2 .1 .1" mass="2"/>
      <body name="ball" pos=".3 0 .05"><joint axis="0 1 0"/><geom size=".15" mass=".5" margin=".05" gap=".03"/></body>
    </body>
    <body name="wall" pos="0 .29 .1"><joint type="slide" axis="0 1 0"/><geom type="box" size=".2 .2 .05"/></body>
  </worldbody>
  <actuator><adhesion body="foot" ctrlrange="0 30" gain="2"/><adhesion body="ball" ctrlrange="0 10" gain="3"/>
    <general body="wall" gear="2 0 0 0 0 0" gainprm="5"/></actuator>
</mujoco>"""


def lifted(m, height):
    d = mujoco.MjData(m)
    d.qpos[2] += height
    d.qvel[:] = np.random.default_rng(1).normal(size=m.nv)
    d.ctrl[:] = 3.0, 2.0, 1.0
    return d


@pytest.mark.parametrize(("cone", "condim"), [("pyramidal", 3), ("elliptic", 4), ("pyramidal", 1)])
def test_adhesive_bodies_are_the_c_engines(cone, condim):
    """On the floor and against each other, with a contact in the gap alone, and free."""
    m, model = load(ADHESIVE.format(cone=cone, condim=condim), tolerance=1e-14)
    found = [lifted(m, height) for height in (0.0, 0.025, 1.0)]
    ours = jax.jit(jax.vmap(jaxsim.forward, in_axes=(None, 0)))(
        model, stack([put_state(model, d) for d in found])
    )
    counts = []
    for k, d in enumerate(found):
        mujoco.mj_forward(m, d)
        counts.append(d.ncon)
        for name in ("actuator_length", "actuator_velocity", "actuator_force", "qfrc_actuator"):
            assert error(getattr(ours, name)[k], getattr(d, name)) < TOLERANCE, (k, name)
        assert error(ours.qacc[k], d.qacc) < 1e-6, k  # through constraints
    assert counts[0] > counts[1] > counts[2] == 0


def test_derivatives_of_adhesive_bodies():
    m, model = load(ADHESIVE.format(cone="pyramidal", condim=3))
    push, pull, zeros = problem(model, observe, ("actuator_gainprm",))
    for height in (0.0, 1.0):
        check(push, pull, zeros, worlds.expand(put_state(model, lifted(m, height))))


def test_constants_of_adhesive_bodies():
    """They are of no contacts: what C gives at its reference."""
    m, model = load(ADHESIVE.format(cone="pyramidal", condim=3))
    found = jaxsim.set_const(model)
    np.testing.assert_allclose(found.actuator_acc0, m.actuator_acc0, atol=TOLERANCE)

    def weight(mass):
        return jnp.sum(jaxsim.set_const(model.replace(body_mass=mass)).dof_invweight0)

    mass = jnp.asarray(model.body_mass)
    slope = jax.jvp(weight, (mass,), (mass,))[1]
    assert abs(slope) > 1e-3
    np.testing.assert_allclose(jnp.vdot(jax.grad(weight)(mass), mass), slope, rtol=1e-10)
