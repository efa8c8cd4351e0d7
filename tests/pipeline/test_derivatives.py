"""Derivatives of the smooth dynamics: against central differences on the manifold, and duality of both modes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim import worlds
from jaxsim.enums import IntegratorType
from jaxsim.pipeline.integrate import integrate_pos
from jaxsim.pipeline.integrators import INTEGRATORS
from tests.pipeline import scenes
from tests.pipeline.oracle import load, native_stages, put_state, states

LEAVES = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "jnt_stiffness",
    "dof_damping",
    "actuator_gainprm",
    "dof_armature",
)


@functools.cache
def problem(integrator):
    _, model = load(scenes.MIXED)
    model = worlds.expand(model)

    def function(x, data):
        """Next state and inertia from a displacement in the tangent space, velocity, control and parameters."""
        m = model.replace(**{name: getattr(model, name) + x[name] for name in LEAVES})
        qpos = integrate_pos(m, data.qpos, x["qpos"], jnp.ones(1))
        d = data.replace(qpos=qpos, qvel=data.qvel + x["qvel"], ctrl=data.ctrl + x["ctrl"])
        d = native_stages(m, d)
        after = INTEGRATORS[integrator].finish(m, d.replace(qacc=d.qacc_smooth))
        return {"qvel": after.qvel, "qpos": after.qpos, "M": d.M, "act": after.act, "bias": d.qfrc_bias}

    def push(x, data, dx):
        return jax.jvp(lambda x: function(x, data), (x,), (dx,))[1]

    def pull(x, data, dy):
        return jax.vjp(lambda x: function(x, data), x)[1](dy)[0]

    return model, jax.jit(function), jax.jit(push), jax.jit(pull)


def zeros(model, data):
    fields = {name: getattr(model, name) for name in LEAVES}
    fields |= {"qpos": data.qvel, "qvel": data.qvel, "ctrl": data.ctrl}
    return jax.tree.map(jnp.zeros_like, fields)


def like(tree, seed):
    rng = np.random.default_rng(seed)
    draw = {k: rng.standard_normal(v.shape) for k, v in tree.items()}
    return {k: jnp.asarray(v) for k, v in draw.items()}


def relative(a, b):
    a, b = (jnp.concatenate([jnp.ravel(v[k]) for k in sorted(v)]) for v in (a, b))
    return float(jnp.max(jnp.abs(a - b)) / (1 + jnp.max(jnp.abs(b))))


def start(kind):
    m, plain = load(scenes.MIXED)
    d = list(states(m))[1 if kind == "moving" else 0]
    if kind == "at rest":
        d.qvel[:] = 0
        d.qfrc_applied[:] = 0
        d.xfrc_applied[:] = 0
        d.ctrl[:] = 0
        d.act[:] = 0.05
    return worlds.expand(put_state(plain, d))


@pytest.mark.parametrize("kind", ["moving", "at qpos0", "at rest"])
@pytest.mark.parametrize("integrator", [k for k in INTEGRATORS if k != IntegratorType.RK4])
def test_against_differences_and_duality(integrator, kind):
    model, function, push, pull = problem(integrator)
    data = start(kind)
    x = zeros(model, data)
    dx = like(x, 1)
    h = 1e-6
    ahead, behind = (function(jax.tree.map(lambda v, s=s: s * h * v, dx), data) for s in (1, -1))
    numeric = jax.tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)
    forward = push(x, data, dx)
    assert relative(forward, numeric) < 1e-7  # differences of order h^2 and rounding / h
    dy = like(forward, 2)
    reverse = pull(x, data, dy)
    left = sum(float(jnp.vdot(reverse[k], dx[k])) for k in dx)
    right = sum(float(jnp.vdot(dy[k], forward[k])) for k in dy)
    assert abs(left - right) < 1e-9 * (1 + abs(right))
    assert all(bool(jnp.isfinite(v).all()) for v in reverse.values())
