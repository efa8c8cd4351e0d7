"""Fluid forces: both models against the C engine, their derivatives against jax.jacfwd and central differences."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.pipeline.fluid import fluid_force, fluid_slope, has_fluid
from jaxsim.pipeline.integrate import integrate_pos
from jaxsim.structure.trees import m_entries
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, native_stages, put_state, states

LEAVES = ("density", "viscosity", "wind")


@functools.cache
def problem():
    m, model = load(scenes.FLUID)
    native = worlds.expand(model)

    def force(x, data):
        """Fluid force at a displacement in the tangent space, with other velocities and another medium."""
        opt = native.opt.replace(**{name: getattr(native.opt, name) + x[name] for name in LEAVES})
        moved = native.replace(opt=opt, geom_size=native.geom_size + x["geom_size"])
        qpos = integrate_pos(native, data.qpos, x["qpos"], jnp.ones(1))
        return fluid_force(moved, native_stages(moved, data.replace(qpos=qpos, qvel=data.qvel + x["qvel"])))

    def jacobians(x, data):
        done = native_stages(native, data)
        by_qvel = jax.jacfwd(lambda v: force(x | {"qvel": v}, data)[:, 0])(x["qvel"])[..., 0]
        return done.qfrc_fluid[:, 0], by_qvel, *fluid_slope(native, done)

    def push(x, data, dx):
        return jax.jvp(lambda x: force(x, data), (x,), (dx,))[1]

    def pull(x, data, dy):
        return jax.vjp(lambda x: force(x, data), x)[1](dy)[0]

    zero = {name: jnp.zeros_like(getattr(native.opt, name)) for name in LEAVES}
    zero |= {k: jnp.zeros((m.nv, 1)) for k in ("qpos", "qvel")} | {"geom_size": jnp.zeros((m.ngeom, 3, 1))}
    return m, model, zero, *(jax.jit(f) for f in (force, jacobians, push, pull))


def start(kind):
    m, model = problem()[:2]
    d = list(states(m, n=2))[0 if kind == "at rest" else 1]
    if kind == "at rest":
        d.qvel[:] = 0
    return d, worlds.expand(put_state(model, d))


def test_forces_and_their_slopes():
    """In M's sparsity, entries below and above the diagonal."""
    m, model, zero, _, jacobians, *_ = problem()
    rows, cols = m_entries(model.static)
    for d in states(m):
        ours, J, lower, upper = jacobians(zero, worlds.expand(put_state(model, d)))
        mujoco.mj_forward(m, d)
        assert error(ours, d.qfrc_fluid) < 1e-12
        assert error(lower, J[rows, cols]) < 1e-12
        assert error(upper, J[cols, rows]) < 1e-12


@pytest.mark.parametrize("kind", ["moving", "at rest"])
def test_derivatives(kind):
    _, _, zero, force, _, push, pull = problem()
    data = start(kind)[1]
    rng = np.random.default_rng(0)
    dx = {k: jnp.asarray(rng.standard_normal(v.shape)) for k, v in zero.items()}
    dx["geom_size"] = 0.01 * dx["geom_size"]
    h = 1e-6
    ahead, behind = (force({k: s * h * v for k, v in dx.items()}, data) for s in (1, -1))
    forward = push(zero, data, dx)
    assert error(forward, (ahead - behind) / (2 * h)) < 1e-7  # differences of order h^2 and rounding / h
    dy = jnp.asarray(rng.standard_normal(forward.shape))
    reverse = pull(zero, data, dy)
    assert all(np.isfinite(v).all() for v in reverse.values())
    left, right = sum(float(jnp.vdot(reverse[k], dx[k])) for k in dx), float(jnp.vdot(dy, forward))
    assert abs(left - right) < 1e-9 * (1 + abs(right))


def test_small_and_slow_bodies():
    """The shadow of an ellipsoid does not depend on its size or speed."""
    shapes = (
        ("box", ".007 .006 .005"),
        ("box", ".3 .2 .1"),
        ("ellipsoid", "5e-4 3e-4 1e-4"),
        ("cylinder", ".077 .008"),
    )
    bodies = "".join(
        f"<body><freejoint/><geom type='{kind}' size='{size}' fluidshape='ellipsoid'/></body>"
        for kind, size in shapes
    )
    m = mujoco.MjModel.from_xml_string(
        "<mujoco><option density='1000' viscosity='1e-6' gravity='0 0 0'><flag contact='disable'/></option>"
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )
    model, d = jaxsim.put_model(m), mujoco.MjData(m)
    forward = jax.jit(jaxsim.forward)
    rng = np.random.default_rng(0)
    for speed in (1e-12, 1e-4, 1, 30):
        d.qvel[:] = speed * rng.normal(size=m.nv)
        mujoco.mj_forward(m, d)
        found = np.asarray(forward(model, jaxsim.put_data(m, d)).qfrc_fluid)
        for k in range(len(shapes)):
            force = d.qfrc_fluid[6 * k : 6 * k + 6]
            np.testing.assert_allclose(
                found[6 * k : 6 * k + 6], force, rtol=0, atol=1e-13 * np.abs(force).max()
            )


def test_calm_medium_at_rest_has_finite_derivatives():
    """No velocity at all, not even of the medium: norms, shadows and lifts are all zero."""
    _, _, zero, _, _, push, pull = problem()
    _, data = start("at rest")
    zero = zero | {"wind": -jnp.asarray([[0.3], [-0.2], [0.5]])}
    ones = {k: jnp.ones_like(v) for k, v in zero.items()}
    assert np.isfinite(push(zero, data, ones)).all()
    reverse = pull(zero, data, jnp.ones_like(data.qvel))
    assert all(np.isfinite(v).all() for v in reverse.values())


def test_vacuum_costs_nothing_until_it_is_filled():
    _, model = load(scenes.FLUID, density=0, viscosity=0)
    assert not has_fluid(model)
    filled = model.replace(opt=model.opt.replace(viscosity=0.1))
    assert has_fluid(filled)
    assert not has_fluid(filled.replace(opt=filled.opt.replace(viscosity=0)))
    traced = jax.jit(lambda x: has_fluid(model.replace(opt=model.opt.replace(density=x))))
    assert traced(1.0)
    no_passive = int(mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER)
    assert not has_fluid(load(scenes.FLUID, disableflags=no_passive)[1])
