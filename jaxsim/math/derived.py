"""Native functions of flat lists of arrays (worlds last), their derivatives, and their programs.

The derivative of a function is two more: `Tangent` (the Jacobian times tangents) and `Cotangent` (its transpose), both
linear in their trailing arguments and so each the other's transpose. Both take the primal arguments as residuals and
run the function again.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr

from jaxsim.math.collector import paused_collector
from jaxsim.math.gather import widen, width_of
from jaxsim.math.stage import lowering_for, x64

__all__ = ["Cotangent", "Leaves", "Tangent", "trace"]

Leaves = Sequence[Any]

_REMEMBERED = 256
"""Most programs that are kept."""


@dataclasses.dataclass(frozen=True)
class Tangent:
    """Jacobian of `of` times tangents: leaves are the arguments, the solution, then the tangents of `wrt`."""

    of: Any
    wrt: tuple[int, ...]
    n_args: int
    outputs: tuple[int, ...]

    @property
    def n_linear(self) -> int:
        """Arguments in which it is linear, the last ones."""
        return len(self.wrt)

    def split(self, leaves: Leaves) -> tuple[Leaves, Leaves, Leaves]:
        """The arguments, the solution, and the tangents."""
        n = len(leaves) - len(self.wrt)
        return leaves[: self.n_args], leaves[self.n_args : n], leaves[n:]

    def partial(self, args: Leaves, solution: Leaves) -> Callable[..., list[Any]]:
        """The function of the differentiated arguments alone, its outputs at full width."""
        width = width_of((args, solution))

        def function(*points: Any) -> list[Any]:
            full = list(args)
            for i, x in zip(self.wrt, points, strict=True):
                full[i] = x
            widest = max(width, width_of(points))
            known = ([widen(x, widest) for x in solution],) if solution else ()
            flat = _unmasked(self.of)(full, *known)
            return [widen(flat[i], widest) for i in self.outputs]

        return function

    def __call__(self, leaves: Leaves) -> list[Any]:
        """The tangents of `outputs`."""
        args, solution, tangents = self.split(leaves)
        widths = [max(args[i].shape[-1], t.shape[-1]) for i, t in zip(self.wrt, tangents, strict=True)]
        points = [widen(args[i], n) for i, n in zip(self.wrt, widths, strict=True)]
        tangents = [widen(t, n) for t, n in zip(tangents, widths, strict=True)]
        return jax.jvp(self.partial(args, solution), points, tangents)[1]


@dataclasses.dataclass(frozen=True)
class Cotangent:
    """Transpose of a linear native function: leaves are its residuals, then the cotangents of `outputs`.

    A world whose cotangents are all zero contributes zero, also where the function's derivative is not finite: a world
    that a loss leaves out cannot spoil the derivative by what all worlds share.
    """

    of: Any
    linear: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    wanted: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def n_linear(self) -> int:
        """Arguments in which it is linear, the last ones."""
        return len(self.outputs)

    def __call__(self, leaves: Leaves) -> list[Any]:
        """The cotangents of the `wanted` linear arguments."""
        cotangents = leaves[len(leaves) - len(self.outputs) :]
        live = functools.reduce(jnp.logical_or, [_any_world(c) for c in cotangents])
        return [jnp.where(live, x, 0) for x in self.unmasked(leaves)]

    def unmasked(self, leaves: Leaves) -> list[Any]:
        """The transpose alone: linear in the cotangents, as its own derivatives need it."""
        n = len(leaves) - len(self.outputs)
        residuals, cotangents = list(leaves[:n]), leaves[n:]
        width = width_of(leaves)
        cotangents = [widen(c, width) for c in cotangents]
        if isinstance(self.of, Tangent):
            args, solution, _ = self.of.split([*residuals, *self.linear])
            outputs = tuple(self.of.outputs[i] for i in self.outputs)
            of = dataclasses.replace(self.of, wrt=tuple(self.of.wrt[i] for i in self.wanted), outputs=outputs)
            points = [widen(args[i], width) for i in of.wrt]
            return list(jax.vjp(of.partial(args, solution), *points)[1](list(cotangents)))

        def function(*wanted: Any) -> list[Any]:
            linear: list[Any] = [jnp.zeros((*s, width), d) for s, d in self.linear]
            for i, x in zip(self.wanted, wanted, strict=True):
                linear[i] = x
            flat = _unmasked(self.of)([*residuals, *linear])
            return [widen(flat[i], width) for i in self.outputs]

        types = [jax.ShapeDtypeStruct((*self.linear[i][0], width), self.linear[i][1]) for i in self.wanted]
        return list(jax.linear_transpose(function, *types)(list(cotangents)))


def _unmasked(function: Any) -> Callable[..., list[Any]]:
    return function.unmasked if isinstance(function, Cotangent) else function


def _any_world(x: Any) -> Any:
    """Worlds (W,) in which any number of x (..., W) is not zero."""
    return jnp.any(x != 0, axis=tuple(range(x.ndim - 1)))


def trace(function: Any, signature: tuple[Any, ...], width: int, kind: str, divided: bool) -> ClosedJaxpr:
    """The program of a function at types of its arguments, for a kind of platform; its results have all worlds.

    Traced once for type inference and lowering, once more if it is lowered for another platform than the default one,
    with other stage boundaries, or if XLA divides it (`divided`), where some loops are no kernels.

    Raises:
      TypeError: a function of the user's, part of a model, uses what is traced outside of it.
    """
    return _trace(function, signature, width, kind, divided, *_context())


def _context() -> tuple[Any, ...]:
    """What else a trace depends on."""
    config: Any = jax.config
    return x64(), config.jax_default_matmul_precision, jax.sharding.get_abstract_mesh()


@functools.lru_cache(maxsize=_REMEMBERED)
def _trace(
    function: Any, signature: tuple[Any, ...], width: int, kind: str, divided: bool, *context: Any
) -> ClosedJaxpr:
    del context

    def full_width(*leaves: Any) -> list[Any]:
        return [widen(jnp.asarray(x), width) for x in function(leaves)]

    with lowering_for(kind, divided, width <= 1), paused_collector():
        program = jax.make_jaxpr(full_width)(*(jax.ShapeDtypeStruct(s, d) for s, d in signature))
    if any(isinstance(x, Tracer) for x in program.consts):
        raise TypeError(
            "a function of the model's (a hook, user sensor, collider or distance function) uses a number from outside "
            "that is traced by jit, grad or vmap. Functions are a static part of a model: give them what changes, or "
            "is differentiated, in data.userdata, or in a field of the model such as numeric_data"
        )
    return program
