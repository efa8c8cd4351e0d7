"""Functions with a derivative of our own, like `jax.custom_jvp`, whose rule survives loops.

`lax.scan` (JAX 0.10) evaluates its body anew when it is differentiated in reverse, and keeps no `custom_jvp` in it: the
second derivative is then that of what the function computes, which for a solution found by searching is none. A
primitive keeps its rule wherever it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from jaxsim.math.linear import primitive

__all__ = ["Ruled", "ruled"]


class Ruled:
    """A function of pytrees of arrays, behind so many static arguments, and its rule."""

    def __init__(self, function: Callable[..., Any], static: int):
        functools.update_wrapper(self, function)
        self._function, self._static = function, static
        self._rule: Callable[..., tuple[Any, Any]] | None = None
        self._structures: dict[Any, Any] = {}
        self._primitive: Primitive = primitive(function.__name__.strip("_"), self._compute, True)
        ad.primitive_jvps[self._primitive] = self._jvp
        batching.primitive_batchers[self._primitive] = self._batch

    def defjvp(self, rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Takes a rule: of the static arguments, primals and tangents, to results and their tangents."""
        self._rule = rule
        return rule

    def __call__(self, *args: Any) -> Any:
        """What the function gives."""
        fixed, given = args[: self._static], args[self._static :]
        leaves, tree = jax.tree.flatten(given)
        leaves = [jnp.asarray(x) for x in leaves]
        found = self._primitive.bind(*leaves, fixed=fixed, tree=tree)
        return jax.tree.unflatten(self._structures[fixed, tree], found)

    def _compute(self, *leaves: Any, fixed: tuple[Any, ...], tree: Any) -> list[Any]:
        found, structure = jax.tree.flatten(self._function(*fixed, *jax.tree.unflatten(tree, leaves)))
        self._structures[fixed, tree] = structure
        return [jnp.asarray(x) for x in found]

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, fixed: Any, tree: Any) -> Any:
        if all(type(t) is ad.Zero for t in tangents):
            found = self._primitive.bind(*primals, fixed=fixed, tree=tree)
            return found, [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in found]
        assert self._rule is not None
        along = [ad.instantiate_zeros(t) for t in tangents]
        given, change = (jax.tree.unflatten(tree, x) for x in (primals, along))
        found, changes = (jax.tree.leaves(x) for x in self._rule(*fixed, given, change))
        real = [jnp.issubdtype(x.dtype, jnp.inexact) for x in found]
        return found, [
            t if own else ad.Zero(jax.typeof(x).to_tangent_aval())
            for x, t, own in zip(found, changes, real, strict=True)
        ]

    def _batch(self, leaves: Sequence[Any], dims: Sequence[Any], *, fixed: Any, tree: Any) -> Any:
        """Of what a user maps inside: with JAX's own kind of rule."""
        plain = jax.custom_jvp(lambda *given: self._function(*fixed, *given))
        plain.defjvp(lambda primals, tangents: self._rule(*fixed, primals, tangents))  # pyright: ignore

        def flat(*leaves: Any) -> list[Any]:
            return jax.tree.leaves(plain(*jax.tree.unflatten(tree, leaves)))

        found = jax.vmap(flat, in_axes=tuple(dims))(*leaves)
        return found, [0] * len(found)


def ruled(function: Callable[..., Any] | None = None, *, static: int = 0) -> Any:
    """Makes a function one whose derivative is what a rule says, given by `defjvp` as of `jax.custom_jvp`.

    Args:
      function: of so many static arguments, hashable, then of pytrees of arrays.
      static: how many.
    """
    if function is None:
        return functools.partial(ruled, static=static)
    return Ruled(function, static)
