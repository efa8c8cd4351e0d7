"""Every dynamics, gain and bias of actuators: against the C engine, and their derivatives."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.enums import BiasType, DynType, GainType
from jaxsim.pipeline.actuation import BIASES, DYNAMICS, GAINS, force_slope, next_activation
from tests.pipeline.derivatives import check, draw, dual, problem
from tests.pipeline.oracle import error, load, put_state, smooth

FIELDS = ("actuator_length", "actuator_velocity", "actuator_force", "act_dot", "qfrc_actuator")
TOLERANCE = 1e-9

_BODIES = """
<body pos="0 0 {z}"><joint name="h{i}" axis="0 1 0.2" damping="0.1"/><geom size="0.1" pos="0.2 0 0.1" mass="1"/>
  <body pos="0.3 0 0"><joint name="b{i}" type="ball" damping="0.1"/><geom type="box" size="0.1 .05 .02" mass="0.4"/>
  </body></body>"""


def scene(actuators, option=""):
    bodies = "".join(_BODIES.format(i=i, z=2 * i) for i in range(2))
    joints = '<joint joint="h0" coef="2"/><joint joint="h1" coef="1"/>'
    tendon = f'<fixed name="t0" actuatorfrcrange="-0.5 0.4">{joints}</fixed>'
    return f"""<mujoco><compiler autolimits="true"/>
      <option timestep="0.003" {option}><flag contact="disable"/></option>
      <worldbody>{bodies}</worldbody><tendon>{tendon}</tendon><actuator>{actuators}</actuator></mujoco>"""


ACTUATORS = {
    "plain": """
      <motor joint="h0" gear="3" ctrlrange="-1 1"/>
      <general joint="h0" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0.1 -2 -0.3" forcerange="-3 2"/>
      <position joint="h1" kp="3" kv="0.2" timeconst="0.02"/>
      <general joint="h1" dyntype="filter" dynprm="0.05" gainprm="2" actrange="-0.1 0.2" actearly="true"/>
      <intvelocity joint="h1" kp="4" actrange="-1 1"/>
      <velocity joint="h1" kv="0.5" group="3"/>
      <cylinder joint="h0" timeconst="0.1" area="2" bias="0.1 0.2 0.3" group="3"/>
      <damper joint="h0" kv="0.7" ctrlrange="0 1"/>
      <motor tendon="t0" gear="0.4"/><position tendon="t0" kp="2"/>
      <position joint="b0" gear="1 0.2 0.1" kp="3" timeconst="0"/>
      <intvelocity joint="b1" gear="0.3 1 0.1" kp="3" actrange="-9 9"/>""",
    "muscle": """
      <muscle joint="h0" lengthrange="-1 1"/>
      <muscle joint="h0" lengthrange="-0.3 0.3" force="20" tausmooth="0.3" gear="0.2"/>
      <muscle tendon="t0" lengthrange="-0.2 0.4" scale="80" lmin="0.6" lmax="1.5" vmax="2" fpmax="1.2" fvmax="1.4"
        timeconst="0.02 0.06" tausmooth="1.5" range="0.6 1.1"/>
      <general joint="h1" dyntype="muscle" dynprm="0.01 0.04" actearly="true" gainprm="3"/>
      <general joint="h1" gaintype="muscle" biastype="muscle" gainprm="0.7 1.1 5 100 0.4 1.7 3 1.2 1.3"
        biasprm="0.7 1.1 5 100 0.4 1.7 3 1.2 1.3" lengthrange="-0.5 0.5"/>""",
    "pid": """
      <pid joint="h0" kp="4" kv="0.3"/>
      <pid joint="h0" kp="4" kv="0.3" ki="2" imax="0.3"/>
      <pid joint="h1" kp="4" ki="1" slewmax="3" input="pos vel ff" velrange="-1 1" ffrange="-0.2 0.2" posrange="-1 1"/>
      <pid joint="h1" kp="2" slewmax="5"/>
      <pid joint="h1" kp="2" kv="0.1" input="vel ff"/>
      <pid joint="b0" gear="0.5 1 0.1" kp="3" ki="1" slewmax="4"/>
      <general joint="h1" dyntype="pid" gaintype="pid" biastype="affine" dynprm="0.2 1" gainprm="0.4"
        biasprm="0 -2 -0.1" actearly="true" actlimited="true" actrange="-0.3 0.3"/>""",
    "dcmotor": """
      <dcmotor joint="h0" motorconst="0.3" resistance="2"/>
      <dcmotor joint="h0" motorconst="0.3" resistance="2" inductance="0 0.01" saturation="0.3 0 40"/>
      <dcmotor joint="h1" motorconst="0.2" resistance="1" thermal="2 3 0 0.004 20 25" cogging="0.1 6 0.4"/>
      <dcmotor joint="h1" motorconst="0.2" resistance="1" lugre="5 0.2 0.1 0.15 0.3" cogging="0.1 6 0.4"/>
      <dcmotor joint="h1" motorconst="0.2" resistance="1" input="pos vel ff voltage"
        controller="4 2 0.3 3 0.4 9" inductance="0 0.004" thermal="2 3 0 0.004 20 25" lugre="5 0.2 0.1 0.15 0.3"/>
      <dcmotor joint="h0" motorconst="0.2" resistance="1" input="pos" controller="4 2 0.3 0 0.02 9"/>
      <dcmotor joint="h0" motorconst="0.2" resistance="1" input="none" group="2"/>""",
}


def states(m, n=4):
    """Random states, with controls and activations that reach beyond their limits."""
    rng = np.random.default_rng(3)
    for k in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, 0.4 * k * rng.standard_normal(m.nv), 1.0)
        d.qvel[:] = 2 * rng.standard_normal(m.nv) * (k > 0)
        d.ctrl[:] = rng.uniform(-2, 4, m.nu) * (k > 0)
        d.act[:] = rng.uniform(-0.4, 1.3, m.na) * (k > 0)
        yield d


@functools.cache
def compiled():
    return jax.jit(jaxsim.step)


def compare(m, model, tolerance=TOLERANCE):
    for k, d in enumerate(states(m)):
        ours = compiled()(model, put_state(model, d))
        before = mujoco.MjData(m)
        for name in ("qpos", "qvel", "act", "ctrl"):
            getattr(before, name)[:] = getattr(d, name)
        mujoco.mj_forward(m, before)
        mujoco.mj_step(m, d)
        errors = {name: error(getattr(ours, name), getattr(before, name)) for name in FIELDS}
        errors |= {name: error(getattr(ours, name), getattr(d, name)) for name in ("act", "qvel", "qpos")}
        assert max(errors.values()) < tolerance, (k, {n: e for n, e in errors.items() if e >= tolerance})


@pytest.mark.parametrize("kind", ACTUATORS)
def test_equals_the_c_engine(kind):
    m, model = load(scene(ACTUATORS[kind]))
    compare(m, model)
    m.opt.disableactuator = 0b1100
    compare(m, model.replace(opt=model.opt.replace(disableactuator=0b1100)))


def test_all_kinds_at_once():
    compare(*load(scene("".join(ACTUATORS.values()))))


@pytest.mark.parametrize("kind", ACTUATORS)
def test_slope_is_that_of_the_c_engine(kind):
    """Implicit integrators need the derivative of forces by velocity; qDeriv also holds dampers."""
    m, model = load(scene(ACTUATORS[kind], 'integrator="implicitfast"'))
    slope = jax.jit(lambda model, data: force_slope(worlds.expand(model), worlds.expand(data))[..., 0])
    forward = jax.jit(jaxsim.forward)
    model = model.replace(opt=model.opt.replace(integrator=0))
    for d in list(states(m))[1:]:
        ours = slope(model, forward(model, put_state(model, d)))
        mujoco.mj_step(m, d)
        moment = np.zeros((m.nout, m.nv))
        mujoco.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        theirs, kept = np.zeros((2, m.nv, m.nv))
        for dense, values in ((theirs, d.qDeriv), (kept, np.ones(m.nD))):
            mujoco.mju_sparse2dense(dense, values, m.D_rownnz, m.D_rowadr, m.D_colind)
        ours = moment.T * np.asarray(ours) @ moment - np.diag(m.dof_damping)
        assert error(ours * kept, theirs) < TOLERANCE


def observe(model, data):
    found = {name: getattr(data, name) for name in FIELDS}
    return found | {"act": next_activation(model, data, data.act_dot), "slope": force_slope(model, data)}


@functools.cache
def derivatives(kind):
    m, model = load(scene(ACTUATORS[kind]))
    leaves = ("actuator_dynprm", "actuator_gainprm", "actuator_biasprm") if kind != "plain" else ()
    return m, model, *problem(model, observe, leaves)


@pytest.mark.parametrize("kind", ACTUATORS)
def test_derivatives(kind):
    m, model, push, pull, zeros = derivatives(kind)
    for k, d in enumerate(list(states(m, n=3))[1:]):
        x = worlds.expand(put_state(model, d))
        check(push, pull, zeros, x, seed=k)


@pytest.mark.parametrize("kind", ACTUATORS)
def test_derivatives_at_rest_are_finite(kind):
    """Activation and control are zero: a kink of muscles, no torque, no bristle, no current."""
    m, model, push, pull, zeros = derivatives(kind)
    data = worlds.expand(put_state(model, next(iter(states(m)))))
    dual(push, pull, data, zeros(data), draw(zeros(data), 1))


def test_derivatives_at_the_ends_of_a_range_are_those_inside():
    xml = scene('<motor joint="h0" ctrlrange="0 1"/><muscle joint="h1" lengthrange="-1 1"/>')
    m, model = load(xml)

    def torque(u):
        data = put_state(model, mujoco.MjData(m)).replace(ctrl=jnp.array([u, 0.0]))
        return smooth(model, data).qfrc_actuator[0]

    slopes = jax.jit(jax.vmap(jax.grad(torque)))(jnp.array([-1e-9, 0, 0.5, 1, 1 + 1e-9]))
    assert slopes.tolist() == [0, 1, 1, 1, 0]


def test_muscles_without_activation_feel_a_control():
    """Nothing but more can be asked of them: the derivative is that of activation, of full ones that of less."""
    model = jaxsim.load_model(scene('<muscle joint="h0" lengthrange="-1 1"/>'))
    data = jaxsim.make_data(model)

    def act(level: float, change: jax.Array) -> jax.Array:
        state = data.replace(ctrl=jnp.full(1, level) + change, act=jnp.full(1, level))
        return jaxsim.step(model, state).act[0]

    for level, change in ((0.0, 1e-6), (1.0, -1e-6)):
        slope = (act(level, change) - act(level, 0.0)) / change
        np.testing.assert_allclose(jax.grad(act, argnums=1)(level, 0.0), slope, rtol=1e-4)
        assert slope > 0.1


def test_muscle_curves_have_continuous_slopes():
    """At every knot of length and velocity the derivatives from both sides agree with that at the knot."""
    lmin, lmax, fvmax = 0.5, 1.6, 1.2
    prm = f"0.75 1.05 10 200 {lmin} {lmax} 1.5 1.3 {fvmax}"
    curves = f'gaintype="muscle" biastype="muscle" gainprm="{prm}" biasprm="{prm}"'
    m, model = load(scene(f'<general joint="h0" {curves} lengthrange="-1 1"/>'))
    optimum = 2 / 0.3

    def force(x):
        data = put_state(model, mujoco.MjData(m))
        data = data.replace(
            qpos=data.qpos.at[0].set((x[0] - 0.75) * optimum - 1),
            qvel=data.qvel.at[0].set(x[1] * optimum * 1.5),
            ctrl=jnp.ones(1),
        )
        return smooth(model, data).actuator_force[0]

    slope = jax.jit(jax.vmap(jax.grad(force)))
    lengths = [lmin, (lmin + 1) / 2, 1, (1 + lmax) / 2, lmax]
    knots = jnp.array([(x, -0.3) for x in lengths] + [(0.9, v) for v in (-1, 0, fvmax - 1)])
    at, below, above = (slope(knots + shift) for shift in (0, -1e-7, 1e-7))
    np.testing.assert_allclose(below, at, atol=1e-4)  # curvature times the shift
    np.testing.assert_allclose(above, at, atol=1e-4)
    assert np.isfinite(at).all()
    assert (np.abs(at) > 0.1).any()


def test_the_tables_are_those_of_the_enumerations():
    for table, kinds in ((DYNAMICS, DynType), (GAINS, GainType), (BIASES, BiasType)):
        assert {kind.name for kind in kinds if kind not in table} <= {"USER"}


KNOTS = """<mujoco><worldbody><body><joint name="j" axis="0 0 1"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
  <actuator><muscle joint="j" lengthrange="-.5 .5" range=".75 1.25" force="10" lmin=".5" lmax="1.5" fvmax="1.5"
    vmax="1.5"/></actuator></mujoco>"""


@pytest.mark.parametrize("activation", [0.0, 0.5])
@pytest.mark.parametrize(
    ("length", "velocity"), [(0.0, 0.2), (-1.0, 0.2), (1.0, 0.2), (0.1, 0.0), (0.1, -3.0), (0.1, 1.5)]
)
def test_second_derivatives_of_muscles_at_knots_are_of_one_side(length, velocity, activation):
    model = jaxsim.load_model(KNOTS)
    data = jaxsim.make_data(model).replace(act=jnp.array([activation]))

    def force(x):
        return jaxsim.forward(model, data.replace(qpos=x[:1], qvel=x[1:])).qfrc_actuator[0]

    x, h = jnp.array([length, velocity]), 1e-5
    slope, found = jax.jit(jax.grad(force)), jax.jit(jax.hessian(force))(x)
    for k, step in enumerate(np.eye(2) * h):
        sides = [(slope(x + step) - slope(x))[k] / h, (slope(x) - slope(x - step))[k] / h]
        assert min(abs(found[k, k] - side) for side in sides) < 1e-3 * (1 + abs(found[k, k])), (k, sides)
