"""The no-slip solver against the C engine, and its derivatives against differences."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.results import WarningBit
from jaxsim.solver import sweep
from jaxsim.structure.slots import slot_layout

from .scenes import assert_close, given

SLOPE = """
<mujoco>
  <option timestep="0.004" cone="{cone}" tolerance="0" iterations="200" ls_iterations="100" gravity="1.5 .5 -9"
          noslip_iterations="3" noslip_tolerance="0"/>
  <default><geom friction="0.7 0.05 0.01"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1" friction="0.01 0.001 0.0001"/>
    <body pos="0 0 .0995"><freejoint/><geom type="box" size=".2 .1 .1" condim="3"/></body>
    <body pos="1 0 .099"><freejoint/><geom size=".1" condim="{round}" friction="0.1 0.05 0.01"/></body>
    <body pos="1 1 .099"><freejoint/><geom size=".1" condim="1" friction="0.01 0.01 0.01"/></body>
    <body pos="2 0 .18"><freejoint/><geom type="capsule" size=".1 .1" condim="4"/>
      <body pos="0 0 .2">
        <joint axis="0 1 0" frictionloss="0.5" range="-5 5" limited="true"/>
        <joint axis="1 0 0" frictionloss=".1"/>
        <geom type="capsule" size=".05 .1" pos=".1 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

GRIPPER = """
<mujoco>
  <option cone="elliptic" tolerance="0" iterations="200" ls_iterations="100" noslip_iterations="20"
          noslip_tolerance="0" impratio="5"/>
  <worldbody>
    <body pos="0 0 1"><freejoint/><geom name="held" type="box" size=".02 .02 .05" mass=".2"/></body>
    <body pos="-.03 0 1">
      <joint name="left" type="slide" axis="1 0 0"/><geom name="a" size=".0101" condim="6"/>
    </body>
    <body pos=".03 0 1">
      <joint name="right" type="slide" axis="-1 0 0" range="0 1" frictionloss=".3"/>
      <geom name="b" size=".0101" condim="4"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both" frictionloss="0.1"><joint joint="left" coef="1"/><joint joint="right" coef="1"/></fixed>
  </tendon>
  <equality><joint joint1="left" joint2="right"/></equality>
  <actuator><motor joint="left" gear="20"/></actuator>
</mujoco>
"""

SMALL = """
<mujoco>
  <option cone="{cone}" tolerance="0" iterations="200" ls_iterations="100" gravity="1.5 .5 -9" noslip_iterations="4000"
          noslip_tolerance="0"/>
  <worldbody>
    <geom type="plane" size="5 5 .1" friction="0.01 0.001 0.0001"/>
    <body pos="0 0 .0995"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/><joint axis="0 0 1"/>
      <geom type="box" size=".2 .1 .1" friction="0.7 0.05 0.01"/>
    </body>
    <body pos="1 0 .099"><freejoint/><geom size=".1" condim="4" friction="0.1 0.05 0.01"/>
      <body pos="0 0 .3"><joint axis="0 1 0" frictionloss="2"/><geom size=".05" pos=".2 0 0"/>
        <body pos="0 0 .2"><joint axis="1 0 0" frictionloss=".01"/><geom size=".05" pos="0 .1 0"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

SCENES = {
    "pyramids": SLOPE.format(cone="pyramidal", round=6),
    "elliptic cones": SLOPE.format(cone="elliptic", round=6),
    "gripper": GRIPPER,
}

forward = jax.jit(jaxsim.forward)
step = jax.jit(jaxsim.step)


@functools.cache
def compiled(name):
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND  # an island may stop before the others
    return m, put_model(m)


def states(m, steps=(0, 3, 30)):
    """States some steps after a push, without a warm start."""
    for n in steps:
        d = mujoco.MjData(m)
        d.qvel[:] = 0.3 * np.random.default_rng(n).standard_normal(m.nv)
        d.ctrl[:] = 1
        for _ in range(n):
            mujoco.mj_step(m, d)
        d.qacc_warmstart[:] = 0
        yield d


def sweeps(model, n):
    return model.replace(
        opt=model.opt.replace(noslip_iterations=jnp.full_like(model.opt.noslip_iterations, n))
    )


@pytest.mark.parametrize("name", SCENES)
def test_after_few_sweeps_the_forces_are_the_c_engines(name):
    m, model = compiled(name)
    for n in (1, 3):
        m.opt.noslip_iterations = n
        for d in states(m):
            data = forward(sweeps(model, n), given(model, d))
            mujoco.mj_forward(m, d)
            # 1e-6: C stops its search on an elliptic cone at 1e-10 of a squared force
            assert_close(data.qacc, d.qacc, 1e-6)
            assert_close(data.qfrc_constraint, d.qfrc_constraint, 1e-6)
            # elements of efc_force that differ in order: their sorted values
            assert_close(
                np.sort(data.efc_force[data.efc_force != 0]), np.sort(d.efc_force[d.efc_force != 0]), 1e-6
            )
            assert int(data.solver_niter) >= n


@pytest.mark.parametrize("name", SCENES)
def test_sweeps_end_where_the_c_engines_do(name):
    m, model = compiled(name)
    m.opt.noslip_iterations, m.opt.noslip_tolerance = 1000, 1e-8
    option = sweeps(model, 1000).opt
    model = model.replace(opt=option.replace(noslip_tolerance=jnp.full_like(option.noslip_tolerance, 1e-8)))
    for d in states(m):
        data = forward(model, given(model, d))
        mujoco.mj_forward(m, d)
        assert_close(data.qacc, d.qacc, 1e-6)
        assert int(data.warning) == 0
    m.opt.noslip_tolerance = 0


def test_sweeps_that_run_out_are_reported_and_none_change_nothing():
    m, model = compiled("pyramids")
    d = next(states(m, (3,)))
    data = given(model, d)
    assert int(forward(sweeps(model, 1), data).warning) & WarningBit.NOT_CONVERGED
    m.opt.noslip_iterations = 0
    mujoco.mj_forward(m, d)
    off = forward(sweeps(model, 0), data)
    assert_close(off.qacc, d.qacc, 1e-9)
    assert int(off.warning) == 0


def test_without_contacts_only_friction_loss_is_swept():
    m, model = compiled("elliptic cones")
    m.opt.noslip_iterations = 3
    d = next(states(m, (0,)))
    d.qpos[[2, 9, 16, 23]] += 1
    mujoco.mj_forward(m, d)
    assert d.ncon == 0
    assert_close(forward(sweeps(model, 3), given(model, d)).qacc, d.qacc, 1e-9)


@pytest.mark.slow
def test_a_box_on_a_slope_does_not_creep():
    """Regularised friction lets it creep by more than a millimetre a second; the sweeps hold it."""
    _, model = compiled("pyramids")
    model = sweeps(model, 50)
    data = jaxsim.make_data(model)
    moved = []
    for held in (True, False):
        own, start = data, None
        for k in range(150):
            own = step(model if held else sweeps(model, 0), own)
            if k == 50:
                start = own.qpos
        moved.append(float(jnp.abs(own.qpos - start)[:2].max()))
    assert moved[0] < 1e-7
    assert moved[1] > 1e-4


@pytest.mark.slow
def test_worlds_do_not_touch_each_other():
    """In float32, worlds with different contacts in use, against each world alone."""
    m, model = compiled("elliptic cones")
    with jax.enable_x64(False):
        model = jaxsim.load_model(SCENES["elliptic cones"])
        rng = np.random.default_rng(0)
        data = jaxsim.make_data(model)
        qpos = np.tile(np.asarray(data.qpos), (4, 1))
        qpos[1, 2] += 1
        qpos[2, [2, 9, 16, 23]] += 1
        velocity = 0.3 * rng.standard_normal((4, m.nv)).astype(np.float32)
        many = jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(jnp.asarray(qpos), jnp.asarray(velocity))
        run = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))
        mixed, alike = many, jax.tree.map(lambda x: jnp.stack([x[0]] * 4), many)
        for _ in range(5):
            mixed, alike = run(model, mixed), run(model, alike)
        for name in ("qpos", "qvel", "efc_force"):
            np.testing.assert_array_equal(getattr(mixed, name)[0], getattr(alike, name)[0])


@pytest.mark.slow
def test_contacts_in_slots_of_any_pair_are_swept_in_the_c_engines_order():
    """Of many pairs, those that touch share slots; the order of visits is then each world's own."""
    place = np.random.default_rng(0).uniform(-0.09, 0.09, (13, 2))
    spheres = "".join(
        f"<body pos='{x} {y} {0.049 + 0.02 * k}'><freejoint/><geom size='.05'/></body>"
        for k, (x, y) in enumerate(place)
    )
    m = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option tolerance="0" iterations="200" noslip_iterations="2" noslip_tolerance="0"/>
        <worldbody><geom type="plane" size="1 1 1"/>{spheres}</worldbody></mujoco>"""
    )
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    model = put_model(m)
    assert any(group.selected for group in slot_layout(model).groups)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    data = forward(model, given(model, mujoco.MjData(m)))
    assert d.ncon > 12
    assert_close(data.qacc, d.qacc, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_derivatives_equal_differences(cone):
    """Of sticking and slipping contacts and losses, with redundant contacts, in both modes."""
    m = mujoco.MjModel.from_xml_string(SMALL.format(cone=cone))
    model = put_model(m)
    d = mujoco.MjData(m)
    d.qvel[4:] = 0.3 * np.random.default_rng(0).standard_normal(m.nv - 4)
    for _ in range(5):
        mujoco.mj_step(m, d)
    base = given(model, d)

    def outcome(x):
        own = model.replace(
            geom_friction=model.geom_friction * x["mu"], dof_frictionloss=model.dof_frictionloss * x["loss"]
        )
        data = jaxsim.forward(
            own, base.replace(qpos=base.qpos + x["qpos"], qvel=x["qvel"], qfrc_applied=x["force"])
        )
        return {"qacc": data.qacc, "push": data.qfrc_constraint, "warning": data.warning.astype(float)}

    rng = np.random.default_rng(1)
    x = {
        "mu": jnp.ones(()),
        "loss": jnp.ones(()),
        "qpos": jnp.zeros(m.nq),
        "qvel": base.qvel,
        "force": jnp.asarray(0.1 * rng.standard_normal(m.nv)),
    }
    turned = np.ones(m.nq)
    turned[7:11] = 0  # quaternions stay
    along = {name: jnp.asarray(rng.standard_normal(v.shape)) for name, v in x.items()}
    along["qpos"] = 1e-3 * along["qpos"] * turned
    run = jax.jit(outcome)
    out, tangent = jax.jit(lambda x, v: jax.jvp(outcome, (x,), (v,)))(x, along)
    assert float(out["warning"]) == 0
    h = 1e-6
    plus, minus = (run(jax.tree.map(lambda a, b, h=h: a + h * b, x, along)) for h in (h, -h))
    for name in ("qacc", "push"):
        difference = np.asarray(plus[name] - minus[name]) / (2 * h)
        # 1e-5: truncation of differences, and what sweeps leave
        assert_close(tangent[name], difference, 1e-5)
    weights = {name: jnp.asarray(rng.standard_normal(v.shape)) for name, v in out.items()}
    (back,) = jax.jit(lambda x, w: jax.vjp(outcome, x)[1](w))(x, weights)
    one = sum(float(jnp.vdot(weights[n], tangent[n])) for n in out)
    other = sum(float(jnp.vdot(back[n], along[n])) for n in x)
    assert abs(one - other) < 1e-9 * (1 + abs(one))


@pytest.mark.parametrize("cone", ["elliptic", pytest.param("pyramidal", marks=pytest.mark.slow)])
def test_derivatives_of_contacts_that_all_slip(cone):
    """Which stick is no matter of rounding: of 200 such states a quarter had other derivatives."""
    model = jaxsim.load_model(
        f"""<mujoco><option cone="{cone}" tolerance="1e-15" noslip_iterations="200" noslip_tolerance="1e-17"/>
        <worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .0493"><freejoint/>
        <geom type="box" size=".06 .07 .05" friction=".6 .02 .03"/></body></worldbody></mujoco>"""
    )
    data, rng = jaxsim.make_data(model), np.random.default_rng(0)
    qvel = rng.normal(size=(48, 6)) * [0.6, 0.6, 0.02, 0.05, 0.05, 0.5]
    u = jnp.asarray(rng.normal(size=6))

    def after(v):
        return jaxsim.step(model, data.replace(qvel=v)).qvel

    run, h = jax.jit(jax.vmap(lambda v: jax.jvp(after, (v,), (u,)))), 1e-6
    tangent = run(qvel)[1]
    differences = (run(qvel + h * u)[0] - run(qvel - h * u)[0]) / (2 * h)
    error = np.abs(tangent - differences).max(1)
    # a contact begins or ends within h in few
    assert np.sum(error > 1e-5) <= 1


def test_few_kernels_sort_by_counting():
    key = np.random.default_rng(4).integers(0, 9, (40, 1))
    order, place = jax.jit(sweep._sorted_by_counting)(jnp.asarray(key))
    np.testing.assert_array_equal(order, np.argsort(key, axis=0, kind="stable"))
    np.testing.assert_array_equal(place, np.argsort(order, axis=0))
