"""Derivatives of native functions of the state and of parameters: against differences, and duality of both modes."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim import worlds
from jaxsim.pipeline.integrate import integrate_pos
from tests.pipeline.oracle import native_stages

STATE = ("qpos", "qvel", "ctrl", "act")


def problem(model, observe, leaves=()):
    """Functions of a displacement x from a state: value, jvp and vjp, and a function that makes zero displacements.

    Args:
      model: of one world.
      observe: `(model, data) -> {name: array}`, native, of the data after all smooth stages.
      leaves: parameters of the model that are scaled by 1 + x; those that are zero mark what is not there.
    """
    model = worlds.expand(model)

    def function(x, data):
        m = model.replace(**{name: getattr(model, name) * (1 + x[name]) for name in leaves})
        fields = {name: getattr(data, name) + x[name] for name in STATE if name != "qpos"}
        fields["qpos"] = integrate_pos(m, data.qpos, x["qpos"], jnp.ones(1))
        return observe(m, native_stages(m, data.replace(**fields)))

    def zeros(data):
        fields = {name: getattr(data, name) for name in STATE} | {"qpos": data.qvel}
        return jax.tree.map(jnp.zeros_like, fields | {name: getattr(model, name) for name in leaves})

    push = jax.jit(lambda x, data, dx: jax.jvp(lambda x: function(x, data), (x,), (dx,)))
    pull = jax.jit(lambda x, data, dy: jax.vjp(lambda x: function(x, data), x)[1](dy)[0])
    return push, pull, zeros


def draw(like, seed):
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(rng.standard_normal(x.shape)) for name, x in sorted(like.items())}


def scaled(x, factor):
    return jax.tree.map(lambda v: factor * v, x)


def apart(a, b):
    """The greatest difference of two results, relative to the largest entry of each field."""
    return max(
        float(jnp.max(jnp.abs(a[k] - b[k]), initial=0) / (1 + jnp.max(jnp.abs(b[k]), initial=0))) for k in b
    )


def dual(push, pull, data, x, dx, agree=True):
    """Checks that both modes are finite, and that they agree; returns the tangent.

    Exactly where a formula changes they need not agree: two programs round differently.
    """
    tangent = push(x, data, dx)[1]
    dy = draw(tangent, 5)
    cotangent = pull(x, data, dy)
    left = sum(float(jnp.vdot(cotangent[k], dx[k])) for k in dx)
    right = sum(float(jnp.vdot(dy[k], tangent[k])) for k in dy)
    assert all(bool(jnp.isfinite(v).all()) for v in (*tangent.values(), *cotangent.values()))
    terms = sum(float(jnp.sum(jnp.abs(cotangent[k] * dx[k]))) for k in dx)
    assert not agree or abs(left - right) < 1e-9 * (1 + terms), (left, right, terms)  # rounding of the sums
    return tangent


def check(push, pull, zeros, data, seed=0, tolerance=1e-7, h=1e-6):
    """Checks both modes against central differences in a random direction."""
    x = zeros(data)
    dx = draw(x, seed)
    tangent = dual(push, pull, data, x, dx)
    ahead, behind = (push(scaled(dx, sign * h), data, dx)[0] for sign in (1, -1))
    numeric = jax.tree.map(lambda a, b: (a - b) / (2 * h), ahead, behind)
    assert apart(tangent, numeric) < tolerance, {k: apart({k: tangent[k]}, {k: numeric[k]}) for k in numeric}
