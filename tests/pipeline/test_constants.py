"""set_const against mj_setConst, its derivatives, and its use in a step."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from tests.pipeline import scenes
from tests.pipeline.oracle import error

DEGENERATE = """
<mujoco>
  <asset>
    <hfield name="h" nrow="2" ncol="2" size="1 2 .3 .1" elevation="0 1 2 3"/>
    <mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <geom type="hfield" hfield="h"/>
    <site name="s0"/>
    <body name="static" pos="3 0 0"><geom size="0.1"/>
      <body name="on_static"><joint name="j"/><geom type="box" size="0.3 0.2 0.1" fluidshape="ellipsoid"/></body></body>
    <body name="massless" pos="0 3 0"><joint axis="0 1 0"/>
      <body name="arm" pos="0.1 0 0"><geom size="0.1" fluidshape="ellipsoid"/></body>
      <body name="carried" pos="0.4 0 0.1" euler="10 20 30"><joint axis="1 0 0"/>
        <geom type="cylinder" size="0.3 0.2" fluidshape="ellipsoid"/>
        <body name="welded" pos="0 0.1 0"><geom type="mesh" mesh="m" fluidshape="ellipsoid"/>
          <site name="s1"/></body></body></body>
    <body name="free" pos="0 0 2"><freejoint/><geom size="0.1"/><camera mode="trackcom" pos="1 0 0"/></body>
    <body name="ball" pos="0 6 0"><joint type="ball"/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>
    <body name="slider" pos="0 0 6">
      <joint name="x" type="slide" axis="1 0 0" armature="0.5"/><joint type="slide" axis="0 1 0"/>
      <geom size="0.1"/>
    </body>
    <body name="general" pos="0 9 0" simple="false"><joint type="slide" axis="1 0 0"/><geom size="0.1"/></body>
    <body name="mocap" mocap="true" pos="6 0 0"><geom size="0.1"/></body>
  </worldbody>
  <equality>
    <connect body1="carried" body2="free" anchor="0.1 0.2 0.3"/>
    <connect body1="ball" anchor="0.1 0.2 0.3"/>
    <connect site1="s0" site2="s1"/>
    <weld body1="free" body2="mocap" anchor="0.1 0 0.2"/>
    <weld body1="ball" body2="carried" relpose="1 2 3 1 0.2 0.3 0.4"/>
    <weld site1="s0" site2="s1"/>
    <joint joint1="j" joint2="x" polycoef="0 2 0 0 0"/>
  </equality>
</mujoco>"""
"""Static, massless, welded, mocap and sliding bodies, centres of mass on joints, one geom of every type."""

CHAINS = (
    "<mujoco><worldbody>"
    + "".join(
        f"""<body pos="{i} 0 1"><joint axis="1 2 3" pos="0.1 0 0"/><geom type="capsule" size="0.05 0.2"/>
        <body pos="0 0.1 0.4"><joint axis="0 1 0" armature="0.1"/><geom type="box" size="0.1 0.2 0.05"/></body>
        </body>"""
        for i in range(3)
    )
    + "</worldbody></mujoco>"
)
"""Equal trees, which are computed together."""

XML = {"mixed": scenes.MIXED, "degenerate": DEGENERATE, "chains": CHAINS}

LEAVES = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "body_ipos",
    "body_iquat",
    "jnt_pos",
    "jnt_axis",
    "dof_armature",
    "geom_pos",
    "geom_size",
    "hfield_size",
    "tendon_armature",
    "wrap_prm",
    "actuator_gear",
    "actuator_armature",
    "cam_pos",
    "light_pos",
    "light_dir",
    "eq_data",
    "qpos0",
)
FIELDS = tuple(f.name for f in Model.leaf_fields() if f.metadata["dtype"] is float and f.name != "onset")


@functools.cache
def engine(name):
    return mujoco.MjModel.from_xml_string(XML[name])


@functools.cache
def compiled():
    return jax.jit(jaxsim.set_const)


def compare(m, ours):
    theirs = put_model(m)
    for field in FIELDS:
        assert error(getattr(ours, field), getattr(theirs, field)) < 1e-9, field


@pytest.mark.parametrize("name", XML)
def test_changes_nothing_that_is_up_to_date(name):
    compare(engine(name), compiled()(put_model(engine(name))))
    ours = jaxsim.load_model(XML[name])
    after = compiled()(ours)
    for field in FIELDS:
        assert error(getattr(after, field), getattr(ours, field)) < 1e-9, field
    assert [x.dtype for x in jax.tree.leaves(after)] == [x.dtype for x in jax.tree.leaves(ours)]


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("name", XML)
def test_after_a_change(name, leaf):
    m = mujoco.MjModel.from_xml_string(XML[name])
    values = getattr(m, leaf)
    if not values.size:
        pytest.skip("the model has no such numbers")
    rng = np.random.default_rng(0)
    values *= 1 + 0.3 * rng.random(values.shape)
    if leaf == "jnt_pos":  # where a free joint turns is not the model's to say
        values[m.jnt_type == mujoco.mjtJoint.mjJNT_FREE] = 0.1
    if leaf == "qpos0":
        d = mujoco.MjData(m)
        d.qpos[:] = values
        mujoco.mj_normalizeQuat(m, d.qpos)
        values[:] = d.qpos
    if leaf == "body_iquat":
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    ours = put_model(m)
    mujoco.mj_setConst(m, mujoco.MjData(m))
    compare(m, compiled()(ours))


def test_everything_at_once_and_resting_lengths_stay():
    m = mujoco.MjModel.from_xml_string(scenes.MIXED)
    rng = np.random.default_rng(1)
    for leaf in LEAVES:
        if leaf not in ("qpos0", "body_iquat"):
            getattr(m, leaf)[...] *= 1 + 0.3 * rng.random(getattr(m, leaf).shape)
    m.tendon_lengthspring[:] = -1
    m.actuator_biasprm[8, 2] = 1
    ours = put_model(m)
    mujoco.mj_setConst(m, mujoco.MjData(m))
    compare(m, compiled()(ours))


def test_singular_inertia():
    """Two joints that do the same: a pivot of zero counts as 1e-15 kg m^2."""
    twice = "<joint axis='0 1 0'/>" * 2
    xml = f"<mujoco><worldbody><body>{twice}<geom type='box' size='.1 .2 .3'/></body></worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(xml)
    after = jaxsim.set_const(put_model(m))
    ours, theirs = np.asarray(after.dof_invweight0), m.dof_invweight0
    assert np.isfinite(ours).all()
    assert min(ours.min(), theirs.min()) > 1e12
    np.testing.assert_allclose(after.dof_M0, m.dof_M0, rtol=1e-12)


def test_model_without_motion():
    xml = "<mujoco><worldbody><geom type='box' size='1 2 3'/><camera/></worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(xml)
    m.geom_size[:] *= 2
    ours = put_model(m)
    mujoco.mj_setConst(m, mujoco.MjData(m))
    compare(m, jaxsim.set_const(ours))


def test_computes_where_a_step_is_refused():
    """Unsupported solvers and collisions do not matter."""
    geom = '<body><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geom * 2}</worldbody></mujoco>")
    m.opt.solver = mujoco.mjtSolver.mjSOL_PGS
    m.body_mass *= 2
    ours = put_model(m)
    mujoco.mj_setConst(m, mujoco.MjData(m))
    compare(m, jaxsim.set_const(ours))


def test_single_precision():
    with jax.enable_x64(False):
        m = engine("mixed")
        after = jaxsim.set_const(put_model(m))
        assert after.body_invweight0.dtype == jnp.float32
        for field in ("body_invweight0", "dof_invweight0", "actuator_acc0", "tendon_invweight0"):
            assert error(getattr(after, field), getattr(m, field)) < 1e-4, field  # rounding times condition


def test_several_worlds_at_once_are_refused_in_words():
    model = jaxsim.load_model(
        "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    heavier = model.replace(body_mass=jnp.stack([model.body_mass] * 3))
    with pytest.raises(ValueError, match=r"set_const: model\.body_mass has shape \(3, 2\).*jax\.vmap"):
        jaxsim.set_const(heavier)


def test_batch_of_masses_equals_loop():
    model = put_model(engine("mixed"))
    masses = model.body_mass * jnp.linspace(0.5, 2, 3)[:, None]

    def constants(mass):
        after = jaxsim.set_const(model.replace(body_mass=mass))
        return {field: getattr(after, field) for field in FIELDS}

    together = jax.jit(jax.vmap(constants))(masses)
    for i, mass in enumerate(masses):
        one = compiled()(model.replace(body_mass=mass))
        for field, value in together.items():
            assert error(value[i], getattr(one, field)) < 1e-12, field


@functools.cache
def problem(name):
    model = put_model(engine(name))
    varied = tuple(leaf for leaf in LEAVES if getattr(model, leaf).size)

    def function(x):
        after = jaxsim.set_const(model.replace(**{leaf: getattr(model, leaf) + x[leaf] for leaf in varied}))
        return {field: getattr(after, field) for field in FIELDS}

    zero = {leaf: jnp.zeros_like(getattr(model, leaf)) for leaf in varied}
    push = jax.jit(lambda x, dx: jax.jvp(function, (x,), (dx,)))
    pull = jax.jit(lambda dy: jax.vjp(function, zero)[1](dy)[0])
    return model, varied, zero, push, pull


@pytest.mark.parametrize("name", [pytest.param("mixed", marks=pytest.mark.slow), "degenerate"])
def test_derivatives_against_differences_and_duality(name):
    model, varied, zero, push, pull = problem(name)
    rng = np.random.default_rng(2)
    h = 1e-6
    for leaf in varied:
        direction = rng.standard_normal(zero[leaf].shape)
        if leaf in ("body_ipos", "body_iquat"):  # a point mass that loses its frame is another formula
            direction[model.body_simple == 2] = 0
        if leaf == "eq_data":  # not a number but a mark
            direction[:, 11] = 0
        dx = zero | {leaf: jnp.asarray(direction)}
        (ahead, _), (behind, _) = (push(jax.tree.map(lambda v, s=s: s * h * v, dx), dx) for s in (1, -1))
        tangent = push(zero, dx)[1]
        dy = {
            k: jnp.asarray(rng.standard_normal(v.shape)) / (1 + jnp.max(jnp.abs(v), initial=0))
            for k, v in tangent.items()
        }
        reverse = pull(dy)
        for field, value in tangent.items():
            numeric = (ahead[field] - behind[field]) / (2 * h)
            assert error(value, numeric) < 1e-6, (leaf, field)  # h^2 and rounding / h
        left = sum(float(jnp.vdot(reverse[k], dx[k])) for k in dx)
        right = sum(float(jnp.vdot(dy[k], tangent[k])) for k in dy)
        assert abs(left - right) < 1e-9 * (1 + abs(right)), leaf
        assert all(bool(jnp.isfinite(v).all()) for v in reverse.values()), leaf


RESTING = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.099"><freejoint/><geom size="0.1"/></body>
    <body pos="1 0 1"><joint axis="0 1 0" range="-0.5 -0.01" limited="true"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/></body>
  </worldbody>
</mujoco>"""


def test_gradient_through_a_step():
    """Contact and limit forces depend on masses through the inverse weights too."""
    model = jaxsim.load_model(RESTING)
    data = jaxsim.make_data(model)

    def loss(scale):
        heavier = model.replace(body_mass=model.body_mass * jnp.stack([1.0, scale, scale**2]))
        after = jaxsim.step(jaxsim.set_const(heavier), data)
        return jnp.sum(after.qvel * jnp.arange(1.0, 8.0))

    h = 1e-5
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(loss)))(jnp.array([1.3, 1.3 + h, 1.3 - h]))
    numeric = (value[1] - value[2]) / (2 * h)
    assert abs(slope[0] - numeric) < 1e-6 * (1 + abs(numeric))
    assert abs(numeric) > 1e-3
