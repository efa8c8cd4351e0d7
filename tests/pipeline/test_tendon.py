"""Spatial tendons: against the C engine, their Jacobians against differences, and where a path begins to wrap."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.interop.mujoco import put_model
from jaxsim.solver.tendon_jacobian import tendon_jacobian
from tests.pipeline.derivatives import apart, check, draw, dual, problem
from tests.pipeline.oracle import error, load, native_stages, put_state

TOLERANCE = 1e-9
FIELDS = (
    "ten_length", "ten_velocity", "actuator_length", "actuator_velocity", "actuator_force", "qfrc_spring",
    "qfrc_damper", "qfrc_bias", "qfrc_actuator", "qacc_smooth",
)  # fmt: skip

PATHS = {
    "straight": """
      <spatial name="a" armature="0.3" stiffness="20 3" springlength="0.4 0.6" damping="0.3 0.1">
        <site site="w0"/><site site="s1"/><site site="s2"/><site site="s3"/></spatial>
      <spatial name="b" armature="0.1" range="0.1 0.5"><site site="w1"/><site site="s3"/></spatial>""",
    "pulley": """
      <spatial name="a" armature="0.2" stiffness="30"><site site="w0"/><site site="s1"/><pulley divisor="2"/>
        <site site="s2"/><site site="w1"/><site site="s3"/><pulley divisor="3"/><site site="s1"/><site site="s3"/>
      </spatial>""",
    "sphere": """
      <spatial name="a" stiffness="20"><site site="w0"/><geom geom="ball"/><site site="s3"/></spatial>
      <spatial name="b"><site site="w0"/><geom geom="ball" sidesite="side"/><site site="s3"/><site site="s1"/></spatial>
      <spatial name="c"><site site="w1"/><geom geom="ball" sidesite="within"/><site site="s3"/></spatial>""",
    "cylinder": """
      <spatial name="a" stiffness="20"><site site="w0"/><geom geom="roll"/><site site="s3"/></spatial>
      <spatial name="b"><site site="w0"/><geom geom="roll" sidesite="aside"/><site site="s3"/></spatial>
      <spatial name="c"><site site="w0"/><geom geom="roll" sidesite="core"/><site site="s3"/><pulley divisor="2"/>
        <site site="s1"/><geom geom="roll"/><site site="s3"/><geom geom="ball" sidesite="side"/><site site="w1"/>
      </spatial>""",
}


def scene(paths, actuators="", more="", option=""):
    return f"""<mujoco><compiler autolimits="true"/><option {option}><flag contact="disable"/></option>
    <worldbody>
      <site name="w0" pos="-0.5 0.1 0.4"/><site name="w1" pos="0.1 -0.4 0.3"/>
      <body pos="0 0 0.2"><joint name="j0" axis="0 1 0.1"/><joint name="j0b" type="slide" axis="1 0 0" damping="1"/>
        <geom name="ball" size="0.1" pos="0.02 0.01 0.1" mass="1"/>
        <site name="s1" pos="0.1 0.15 0.1"/><site name="side" pos="0 0.1 0.3"/><site name="within" pos="0.03 0 0.12"/>
        <body pos="0.3 0 0"><joint name="j1" type="ball"/>
          <geom name="roll" type="cylinder" size="0.08 0.2" euler="80 10 0" pos="0.05 0 0.05" mass="0.5"/>
          <site name="s2" pos="0.05 -0.1 0.1"/>
          <site name="aside" pos="0.05 0 -0.4"/><site name="core" pos="0.05 0 0.04"/>
          <body pos="0.25 0 0"><joint name="j2" axis="0 1 0"/><geom size="0.03" mass="0.2"/>
            <site name="s3" pos="0.1 0.02 0"/></body></body></body>
      <body pos="2 0 0"><freejoint/><geom size="0.1"/><site name="f" pos="0.1 0.1 0"/></body>
    </worldbody><tendon>{paths}</tendon><actuator>{actuators}</actuator>{more}</mujoco>"""


def states(m, n=40, seed=0, spread=0.7):
    rng = np.random.default_rng(seed)
    for k in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, spread * (k > 0) * rng.standard_normal(m.nv), 1.0)
        d.qvel[:] = rng.standard_normal(m.nv)
        d.ctrl[:] = rng.uniform(-1, 1, m.nu)
        d.act[:] = rng.uniform(size=m.na)
        yield d


def native(model, data):
    data = native_stages(model, data)
    return data.replace(work=None), tendon_jacobian(model, data, np.arange(model.ntendon))


observed = jax.jit(jax.vmap(worlds.lift(native), in_axes=(None, 0)))


def stack(many):
    return jax.tree.map(lambda *x: jnp.stack(x), *many)


def touching(m, d):
    """How many segments of all paths touch a geom."""
    return int(np.sum(d.wrap_obj.reshape(-1)[: int(d.ten_wrapnum.sum())] >= 0)) // 2


@pytest.mark.parametrize("kind", PATHS)
def test_equals_the_c_engine(kind):
    """Lengths, Jacobians, and all forces that follow from them, at poses with and without contact of path and geom."""
    m, model = load(
        scene(PATHS[kind], '<motor tendon="a" gear="2"/><muscle tendon="a" lengthrange="0.2 1"/>')
    )
    found = list(states(m))
    ours, J = observed(model, stack([put_state(model, d) for d in found]))
    counts = set()
    for k, d in enumerate(found):
        mujoco.mj_forward(m, d)
        counts.add(touching(m, d))
        theirs = np.zeros((m.ntendon, m.nv))
        mujoco.mju_sparse2dense(theirs, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        errors = {name: error(getattr(ours, name)[k], getattr(d, name)) for name in FIELDS}
        errors["ten_J"] = error(J[k], theirs)
        assert max(errors.values()) < TOLERANCE, (k, {n: e for n, e in errors.items() if e >= TOLERANCE})
    assert len(counts) > 1 or kind in ("straight", "pulley")


def test_constants_follow_parameters():
    """set_const recomputes lengths at qpos0, inverse inertias of tendons, and what a unit force of a muscle does."""
    muscles = "".join(f'<muscle tendon="{t}" lengthrange="0.2 1"/>' for t in "abc")
    m = mujoco.MjModel.from_xml_string(scene(PATHS["cylinder"], muscles))
    m.site_pos[:] += 0.03
    m.geom_size[:] *= 1.1
    m.body_mass[:] *= 2
    after = jax.jit(jaxsim.set_const)(put_model(m))
    mujoco.mj_setConst(m, mujoco.MjData(m))
    for name in ("tendon_length0", "tendon_invweight0", "actuator_length0", "actuator_acc0"):
        assert error(getattr(after, name), getattr(m, name)) < TOLERANCE, name


CONSTRAINED = """
  <spatial name="a" range="0.3 0.9" margin="0.1" frictionloss="0.3" actuatorfrcrange="-1 1">
    <site site="w0"/><geom geom="ball"/><site site="s3"/></spatial>
  <spatial name="b" range="0.2 0.7"><site site="w1"/><site site="s3"/></spatial>
  <fixed name="c"><joint joint="j0" coef="0.4"/></fixed>"""


def test_constraints_of_tendons():
    """Limits, friction loss, equalities, and a limit of the force that actuators share."""
    more = (
        "<equality><tendon tendon1='b' tendon2='c' polycoef='0 0.5 0.1 0 0'/><tendon tendon1='a'/></equality>"
    )
    motors = (
        '<motor tendon="a" gear="2"/><position tendon="a" kp="9"/><motor tendon="b" forcerange="-0.2 0.1"/>'
    )
    m, model = load(scene(CONSTRAINED, motors, more))
    found = list(states(m, n=8, spread=0.3))
    step = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))
    ours = step(model, stack([put_state(model, d) for d in found]))
    for k, d in enumerate(found):
        mujoco.mj_forward(m, d)
        assert d.nefc >= 3
        for name in ("qacc", "actuator_force", "qfrc_constraint"):
            assert error(getattr(ours, name)[k], getattr(d, name)) < 1e-6, (k, name)  # through the solver


ACTING = {
    "wrapping": (
        PATHS["cylinder"],
        '<muscle tendon="a" lengthrange="0.2 1"/><motor tendon="c" gear="-2"/>',
        "",
    ),
    "pulley": (PATHS["pulley"], '<position tendon="a" kp="3" kv="1" armature="0.1"/>', ""),
    "constrained": (
        CONSTRAINED,
        '<motor tendon="a" gear="2"/><position tendon="a" kp="9"/>',
        "<equality><tendon tendon1='b' tendon2='a' polycoef='0 0.5 0.1 0 0'/><tendon tendon1='a'/></equality>",
    ),
}


@pytest.mark.parametrize("kind", ACTING)
def test_forces_on_bodies(kind):
    """What tendons pull at counts as outer force of bodies, and so for the sensors of forces and torques."""
    paths, actuators, more = ACTING[kind]
    sensors = '<sensor><force site="s1"/><torque site="s2"/><force site="s3"/></sensor>'
    m, model = load(scene(paths, actuators, more + sensors))
    found = list(states(m, n=6, spread=0.3))
    data = stack([put_state(model, d) for d in found])
    direction = jnp.asarray(np.random.default_rng(1).normal(size=m.nv))

    def forward(data, h):
        moved = jaxsim.integrate_pos(model, data.qpos, direction, h)
        return jaxsim.forward(model, data.replace(qpos=moved))

    @jax.jit
    @jax.vmap
    def observed(data):
        ours, h = forward(data, 0.0), 1e-6
        slope = jax.jvp(lambda h: forward(data, h).sensordata, (0.0,), (1.0,))[1]
        return ours, slope, (forward(data, h).sensordata - forward(data, -h).sensordata) / (2 * h)

    ours, slope, numeric = observed(data)
    for k, d in enumerate(found):
        mujoco.mj_forward(m, d)
        assert np.abs(d.cfrc_ext).max() > 0.1
        for name in ("cfrc_ext", "cfrc_int", "sensordata"):
            assert error(getattr(ours, name)[k], getattr(d, name)) < 1e-6, (k, name)  # through the solver
        assert error(slope[k], numeric[k]) < 1e-4, k


STATIC = """<mujoco><worldbody><site name="w"/><body pos="0 0 1"><geom size=".1"/><site name="s" pos=".1 0 0"/></body>
  <body pos="1 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="t"/>
  <body pos="0 0 .3"><geom size=".1"/><site name="u" pos=".2 0 0"/></body></body></worldbody><tendon>
  <spatial stiffness="10" springlength="0"><site site="w"/><site site="s"/></spatial>
  <spatial stiffness="20" springlength="0"><site site="t"/><site site="u"/></spatial></tendon>
  <sensor><force site="s"/><force site="u"/></sensor></mujoco>"""


def test_forces_of_tendons_that_cannot_move():
    """Between static bodies and within a link no joint feels them, but bodies do."""
    m, model = load(STATIC)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    ours = jax.jit(jaxsim.forward)(model, jaxsim.make_data(model))
    assert np.abs(d.cfrc_ext).max() > 1
    for name in ("cfrc_ext", "cfrc_int", "sensordata"):
        assert error(getattr(ours, name), getattr(d, name)) < TOLERANCE, name


# the armature's part C takes of an earlier stage of the step
@pytest.mark.parametrize(("tendon", "tolerance"), [('stiffness="5"', 1e-6), ('armature=".5"', 5e-3)])
def test_delayed_sensors_of_force_with_runge_kutta(tendon, tolerance):
    """They are measured at the end of a step, where the stages' own results are gone."""
    m, model = load(f"""<mujoco><option integrator="RK4"/><worldbody><site name="w"/>
      <body pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="s" pos=".3 0 .1"/></body>
      </worldbody><tendon><spatial {tendon}><site site="w"/><site site="s"/></spatial></tendon>
      <sensor><force site="s" nsample="2" delay=".004"/></sensor></mujoco>""")
    d = mujoco.MjData(m)
    d.qvel[:] = 1
    data, step = put_state(model, d), jax.jit(jaxsim.step)
    for _ in range(4):
        mujoco.mj_step(m, d)
        data = step(model, data)
        assert error(data.sensordata, d.sensordata) < tolerance


def observe(model, data):
    names = ("ten_length", "ten_velocity", "qfrc_spring", "qfrc_damper", "qfrc_bias", "qfrc_actuator", "M")
    return {name: getattr(data, name) for name in names}


@pytest.mark.parametrize("kind", PATHS)
def test_derivatives(kind):
    """Also: the velocity that follows from the Jacobian is the derivative of length along the motion."""
    m, model = load(scene(PATHS[kind], '<muscle tendon="a" lengthrange="0.2 1"/>'))
    push, pull, zeros = problem(model, observe, ("site_pos", "geom_size", "tendon_stiffness", "wrap_prm"))
    for k, d in enumerate(states(m, n=4)):
        data = worlds.expand(put_state(model, d))
        check(push, pull, zeros, data, seed=k, tolerance=1e-6)  # curvature near where a path begins to wrap
        moved = zeros(data) | {"qpos": data.qvel}
        value, tangent = push(zeros(data), data, moved)
        assert (
            error(tangent["ten_length"], value["ten_velocity"]) < 1e-6
        )  # how well the path through a ring is solved


TRANSITIONS = {
    "sphere": ("<geom geom='ball'/>", 0.0),
    "cylinder": ("<geom geom='roll'/>", 0.1),
    "around": ("<geom geom='roll' sidesite='above'/>", 0.1),
    "through": ("<geom geom='roll' sidesite='core'/>", 0.1),
    "through a sphere": ("<geom geom='ball' sidesite='core'/>", 0.0),
}


@pytest.mark.parametrize("precision", [jnp.float64, jnp.float32])
@pytest.mark.parametrize("shape", ['type="sphere" size=".3"', 'type="cylinder" size=".3 .5" zaxis="0 1 0"'])
def test_paths_that_hardly_touch_go_the_short_way(shape, precision):
    """Where the two tangents are nearly one line, rounding must not take them for crossed."""
    model = jaxsim.load_model(f"""
    <mujoco>
      <worldbody>
        <site name="a" pos="-1 0 .3"/><geom name="round" {shape} contype="0" conaffinity="0"/>
        <body pos="1 0 .3"><joint type="slide" axis="0 0 1"/><geom size=".05"/><site name="b"/></body>
      </worldbody>
      <tendon><spatial><site site="a"/><geom geom="round"/><site site="b"/></spatial></tendon>
    </mujoco>""")
    rng = np.random.default_rng(0)
    depth = -np.geomspace(1e-12, 1e-3, 2000) * rng.uniform(1, 1.5, 2000)
    model, data = jax.tree.map(
        lambda x: x.astype(precision) if x.dtype == jnp.float64 else x, (model, jaxsim.make_data(model))
    )

    def length(height):
        moved = jaxsim.kinematics(model, data.replace(qpos=height[None]))
        return jaxsim.tendon(model, jaxsim.com_pos(model, moved)).ten_length[0]

    found = jax.jit(jax.vmap(length))(jnp.asarray(depth, precision))
    np.testing.assert_allclose(found, np.hypot(2, depth), rtol=2e-6)


def lever(wrap, height):
    """An arm that swings the end of a path past a geom at the origin."""
    return f"""<mujoco><worldbody><site name="w" pos="-0.5 0.02 0.3"/>
      <geom name="ball" size="0.1"/><geom name="roll" type="cylinder" size="0.1 0.3" euler="90 0 0"/>
      <site name="above" pos="0 0 0.3"/><site name="core" pos="0.001 0 0.002"/>
      <body pos="0.2 0 0"><joint axis="0 1 0"/><geom size="0.02"/><site name="s" pos="0.3 {height} 0"/></body>
      </worldbody>
      <tendon><spatial><site site="w"/>{wrap}<site site="s"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize("kind", TRANSITIONS)
def test_smooth_where_a_path_begins_to_wrap(kind):
    """Length and Jacobian are continuous there, derivatives finite on it and right on both sides."""
    m, model = load(lever(*TRANSITIONS[kind]))
    push, pull, zeros = problem(model, observe, ("site_pos", "geom_size"))
    d = mujoco.MjData(m)

    def wraps(angle):
        d.qpos[:] = angle
        mujoco.mj_forward(m, d)
        return touching(m, d) > 0

    angles = np.linspace(-1.5, 1.5, 61)
    switch = [k for k in range(60) if wraps(angles[k]) != wraps(angles[k + 1])]
    assert switch
    for k in switch:
        low, high = angles[k], angles[k + 1]
        while high - low > 1e-14:
            middle = (low + high) / 2
            low, high = (middle, high) if wraps(middle) == wraps(low) else (low, middle)
        values = []
        for angle in (low - 1e-6, low, high, high + 1e-6):
            data = worlds.expand(put_state(model, d)).replace(
                qpos=jnp.full((1, 1), angle), qvel=jnp.ones((1, 1))
            )
            x = zeros(data)
            dual(push, pull, data, x, draw(x, 3))
            values.append(push(x, data, x)[0])
        before, on, after, beyond = ({n: v[n] for n in ("ten_length", "ten_velocity")} for v in values)
        assert (
            apart(before, on) < 1e-5
        )  # 1e-6 times a slope; an arc begins as the root of the way past the tangent
        assert apart(on, after) < 1e-6
        assert apart(after, beyond) < 1e-3
        for angle in (low - 1e-4, high + 1e-4):
            data = worlds.expand(put_state(model, d)).replace(
                qpos=jnp.full((1, 1), angle), qvel=jnp.ones((1, 1))
            )
            check(push, pull, zeros, data, tolerance=1e-4, h=1e-8)  # rounding / h


DEGENERATE = """<mujoco><worldbody><site name="w" pos="-0.5 0 0"/><site name="core"/><site name="pole" pos="0 0 1"/>
  <geom name="ball" size="0.1"/><geom name="roll" type="cylinder" size="0.1 0.3"/>
  <body><freejoint/><geom size="0.02"/><site name="s"/></body></worldbody><tendon>
  <spatial stiffness="3"><site site="w"/><geom geom="ball"/><site site="s"/></spatial>
  <spatial stiffness="3"><site site="w"/><geom geom="roll"/><site site="s"/></spatial>
  <spatial stiffness="3"><site site="w"/><geom geom="ball" sidesite="pole"/><site site="s"/></spatial>
  <spatial stiffness="3"><site site="w"/><geom geom="ball" sidesite="core"/><site site="s"/></spatial>
  <spatial stiffness="3"><site site="w"/><geom geom="roll" sidesite="core"/><site site="s"/></spatial>
  <spatial stiffness="3" armature="0.1"><site site="w"/><site site="s"/></spatial></tendon></mujoco>"""
POINTS = {
    "on the surface": (0.1, 0, 0),
    "on the near side": (-0.1, 0, 0),
    "above the surface": (0, 0.1, 0),
    "inside": (0.02, 0.03, 0.01),
    "at the centre": (0, 0, 0),
    "at the other end": (-0.5, 0, 0),
    "opposite": (0.5, 0, 0),
    "along the axis": (0, 0, 0.5),
    "tangent": (-0.5, 0.1, 0),
}


@functools.cache
def degenerate():
    m, model = load(DEGENERATE)
    return m, model, *problem(model, observe, ("site_pos", "geom_size"))


@pytest.mark.parametrize("place", POINTS)
def test_degenerate_places_are_finite(place):
    m, model, push, pull, zeros = degenerate()
    d = mujoco.MjData(m)
    d.qpos[:3] = POINTS[place]
    data = worlds.expand(put_state(model, d)).replace(qvel=jnp.ones((6, 1)))
    x = zeros(data)
    dual(push, pull, data, x, draw(x, 2), agree="surface" not in place and "side" not in place)
    mujoco.mj_forward(m, d)
    assert error(push(x, data, x)[0]["ten_length"], d.ten_length) < 1e-7  # acos of C near 1
