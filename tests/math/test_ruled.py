"""A rule of our own in a loop: its second derivatives are those of the solution, not of what finds it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxsim.math.ruled import ruled


@ruled(static=1)
def _root(scale: float, right: jax.Array, found: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """The root x of x + scale sin(x) = right, which was found."""
    del scale, right
    return found


@_root.defjvp
def _root_jvp(scale, primals, tangents):
    found = _root(scale, *primals)
    return found, {"x": tangents[0] / (1 + scale * jnp.cos(found["x"])), "rounds": tangents[1]["rounds"]}


def _solved(right):
    def newton(_, x):
        return x - (x + 0.3 * jnp.sin(x) - fixed) / (1 + 0.3 * jnp.cos(x))

    fixed = lax.stop_gradient(right)
    return _root(0.3, right, {"x": lax.fori_loop(0, 30, newton, fixed), "rounds": jnp.asarray(30)})["x"]


def _exact(right):
    """The same to second order, by steps that are differentiated."""
    x = _solved(right)
    for _ in range(3):
        x = x - (x + 0.3 * jnp.sin(x) - right) / (1 + 0.3 * jnp.cos(x))
    return x


def _iterated(function, start):
    return lax.scan(lambda x, _: (function(jnp.sin(x) + x), None), start, length=3)[0] ** 2


def test_second_derivatives_in_a_loop():
    start = jnp.asarray(0.4)
    expected = jax.jacfwd(jax.jacfwd(lambda x: _iterated(_exact, x)))(start)
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            found = jax.jit(outer(inner(lambda x: _iterated(_solved, x))))(start)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches():
    starts = jnp.linspace(0.1, 0.9, 5)
    slopes = jax.vmap(jax.grad(lambda x: _iterated(_solved, x)))(starts)
    np.testing.assert_allclose(
        slopes, [jax.grad(lambda x: _iterated(_solved, x))(x) for x in starts], rtol=1e-12
    )
