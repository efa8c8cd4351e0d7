"""Jacobians of contacts by all degrees of freedom. Native layout."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import contract
from jaxsim.math.gather import rows_by_world, width_of
from jaxsim.math.in_use import block_of, each_block
from jaxsim.math.matrix import multiply, multiply_transposed
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver.axes import along_axes, along_axes_of_trees
from jaxsim.solver.blocks import block_size
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.frames import Frames
from jaxsim.solver.gram import Factors, gram_of
from jaxsim.structure.rows import Movers
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["ContactFrames", "ContactJacobian"]

_LARGE = 12
"""Dofs that several trees must have on average for each to have wrenches of all contacts."""


class ContactJacobian(Record):
    """Velocity of geom 2 against geom 1 along and about the axes of contact frames."""

    J: Array = leaf("n dim nv", "the entries")
    used: Array | None = leaf(
        "", "contacts that are looked at, the first; None: all", dtype=int, default=None
    )

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        if self.used is None:
            return multiply(self._flat(), x).reshape(*self.J.shape[:2], -1)

        def some(start: Array, found: Array) -> Array:
            own = _block_product(self.J, x, start, size=block_size(self.J.shape[1]))
            return lax.dynamic_update_slice_in_dim(found, own, start, 0)

        return self._each(some, jnp.zeros((*self.J.shape[:2], width_of((self.J, x))), x.dtype))

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        if self.used is None:
            return multiply_transposed(self._flat(), f.reshape(-1, f.shape[-1]))

        def some(start: Array, found: Array) -> Array:
            return _block_transpose(self.J, f, start, found, size=block_size(self.J.shape[1]))

        return self._each(some, jnp.zeros((self.J.shape[2], width_of((self.J, f))), f.dtype))

    def _each(self, step: Callable[[Array, Array], Array], found: Array) -> Array:
        """The blocks of contacts that are looked at, one after the other."""
        assert self.used is not None
        return each_block(self.used, block_size(self.J.shape[1]), step, found)

    def factors(self, C: Curvature) -> Factors:
        """J and C."""
        return Factors(self.J, C, self.used)

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`."""
        return gram_of([self.factors(C)], structure)

    def matrix(self) -> Array:
        """J by all dofs, `(n, dim, nv, W)`."""
        return self.J

    def _flat(self) -> Array:
        return self.J.reshape(-1, *self.J.shape[2:])


@stage
def _block_product(J: Array, x: Array, start: Array, *, size: int) -> Array:
    """J x of a block of contacts, `(size, dim, W)`."""
    return contract(jnp.moveaxis(block_of(J, start, size), 2, 0), x[:, None, None])


@stage
def _block_transpose(J: Array, f: Array, start: Array, found: Array, *, size: int) -> Array:
    """What was found, and J^T f of a block of contacts, `(nv, W)`."""
    own, force = (block_of(x, start, size) for x in (J, f))
    return found + contract(own.reshape(-1, *own.shape[2:]), force.reshape(-1, 1, force.shape[-1]))


class ContactFrames(Frames):
    """What a `ContactJacobian` is computed from."""

    _own = "pair"
    pair: Array = leaf("n", "which pair of bodies", dtype=int)
    movers: Movers = static("", "what moves pairs of bodies", dtype=Movers)

    def jacobian(self) -> ContactJacobian:
        """The Jacobian of all of them."""
        sign = rows_by_world(jnp.asarray(self.movers.sign[..., None], self.pos.dtype), self.pair)
        trees = self.movers.trees
        count = len(trees) - 1
        large = count == 1 or (count > 1 and len(self.moves) >= _LARGE * count)
        own = functools.partial(along_axes_of_trees, trees=trees) if large else along_axes
        return ContactJacobian(J=own(self.pos, self.frame, self.moves, sign, dim=self.dim))
