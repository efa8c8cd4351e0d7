"""Jacobians of contacts by the degrees of freedom that move the two bodies. Native layout."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import contract, take
from jaxsim.math.gather import add_by_world, rows_by_world, width_of
from jaxsim.math.linear import bilinear
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver.axes import along_axes
from jaxsim.solver.blocks import MANY, block_of, each_block
from jaxsim.solver.curvature import Curvature, Entries, Numbers, curvature_of, entries_of, weighted_rows
from jaxsim.solver.frames import Frames
from jaxsim.structure.rows import Chains
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["ChainFrames", "ChainJacobian", "Side", "joining"]

_FEW = 4
"""Contacts between two trees that are looked at together: of those that touch they are few."""


class ChainFrames(Frames):
    """What a `ChainJacobian` is computed from."""

    _own = "bodies"
    bodies: Array = leaf("n 2", "body 1 and body 2", dtype=int)
    chains: Chains = static("", "what moves each body", dtype=Chains)

    @property
    def trees(self) -> Array:
        """The kinematic trees of body 1 and of body 2, -1 of one that does not move, `(n, 2, W)`."""
        return rows_by_world(jnp.asarray(self.chains.tree[..., None]), self.bodies)

    def jacobian(self) -> ChainJacobian:
        """The Jacobian of all of them."""
        nv = len(self.moves)
        moved = jnp.asarray(self.chains.moved.reshape(-1, 1))
        sides = []
        for side, direction in enumerate((-1, 1)):
            own, other = self.bodies[:, side], self.bodies[:, 1 - side]
            dofs = rows_by_world(jnp.asarray(self.chains.dofs[..., None]), own)
            fills, dofs = dofs < 0, jnp.maximum(dofs, 0)
            both = rows_by_world(moved, other[:, None] * nv + dofs)
            sign = jnp.where(fills | both, 0, direction).astype(self.pos.dtype)
            J = along_axes(self.pos, self.frame, rows_by_world(self.moves, dofs), sign, dim=self.dim)
            sides.append(Side(J=J, dofs=dofs))
        return ChainJacobian(sides=tuple(sides), trees=self.trees, nv=nv, within=self.chains.within)


class Side(Record):
    """What the bodies on one side of contacts do, by the dofs that move them.

    A dof that moves both bodies, or that fills up a short chain, has entries of zero.
    """

    J: Array = leaf("n dim k", "the entries")
    dofs: Array = leaf("n k", "the dofs that they belong to", dtype=int)

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        return _along(self.J, rows_by_world(x, self.dofs))

    def add(self, total: Array, f: Array) -> Array:
        """`total (nv, W)` and J^T f, for `f (n, dim, W)`."""
        return add_by_world(total, _against(self.J, f), self.dofs)


class ChainJacobian(Record):
    """As `ContactJacobian`, by the dofs that move the two bodies: few in a model of many trees."""

    sides: tuple[Side, Side] = leaf("", "body 1 and body 2")
    trees: Array = leaf("n 2", "the kinematic trees of body 1 and of body 2, -1: it does not move", dtype=int)
    used: Array | None = leaf("", "as of `ContactJacobian`", dtype=int, default=None)
    joining: Array | None = leaf(
        "", "how many of these, the first, are between two trees", dtype=int, default=None
    )
    nv: int = static("", "degrees of freedom")
    within: bool = static("", "whether bodies may move with one tree", dtype=bool)

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        if self.used is None:
            first, second = self.sides
            return first.product(x) + second.product(x)

        def some(start: Array, found: Array) -> Array:
            return lax.dynamic_update_slice_in_dim(found, self._block(start, MANY).product(x), start, 0)

        J = self.sides[0].J
        none = jnp.zeros((*J.shape[:2], width_of((self.sides, x))), x.dtype)
        return each_block(self.used, MANY, some, none)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""

        def add(own: ChainJacobian, f: Array, total: Array) -> Array:
            first, second = own.sides
            return second.add(first.add(total, f), f)

        return self._sum(add, f, jnp.zeros((self.nv, width_of((self.sides, f))), f.dtype), self.used, MANY)

    def _block(self, start: Array, size: int) -> ChainJacobian:
        """That of the contacts of a block."""
        sides, trees = block_of((self.sides, self.trees), start, size)
        return self.replace(sides=sides, trees=trees, used=None, joining=None)

    def _sum(
        self,
        add: Callable[[ChainJacobian, Any, Array], Array],
        given: Any,
        total: Array,
        among: Array | None,
        size: int,
    ) -> Array:
        """A total to which all contacts add, or block by block those that are looked at.

        Args:
          add: a function of some contacts' Jacobian, what is given of them, and the total so far.
          given: of all contacts, a tree of arrays `(n, ..., W)`.
          total: at the start.
          among: how many contacts are looked at, the first, `(W,)`; None: all.
          size: contacts of a block.
        """
        if among is None:
            return add(self, given, total)

        def more(start: Array, total: Array) -> Array:
            return add(self._block(start, size), block_of(given, start, size), total)

        return each_block(among, size, more, total)

    def factors(self, C: Curvature) -> None:
        """None: `gram` knows better."""
        del C

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`, without those between bodies of different trees (`between`)."""
        numbers, entries = entries_of(C)

        def add(own: ChainJacobian, numbers: Numbers, total: Array) -> Array:
            """Those of each side, and of both where one tree moves them; on a CPU if any contact has some."""
            first, second = own.sides
            moves = own.trees >= 0
            same = moves[:, 0] & (own.trees[:, 0] == own.trees[:, 1])
            inside = first.replace(J=jnp.where(same[:, None, None], first.J, 0))
            squares = [(moves[:, 0], first, first), (moves[:, 1], second, second)]
            for some, one, other in squares + [(same, inside, second)] * own.within:
                more = functools.partial(
                    _add_squares, structure=structure, numbers=numbers, one=one, other=other, entries=entries
                )
                if isinstance(numbers, tuple):
                    total = more(total)
                else:  # the curvature's first entry is 0 where a contact does not push
                    asked = jnp.any(some & (numbers[:, 0] > 0))
                    total = lax.cond(asked, more, lambda total: total, total)
            return total

        none = jnp.zeros((structure.size + 1, width_of((self.sides, C))), self.sides[0].J.dtype)
        return self._sum(add, numbers, none, self.used, MANY)[:-1]

    def between(self, C: Curvature, x: Array) -> Array:
        """The part of J^T C J x that is between bodies of different trees, `(nv, W)`.

        Args:
          C: dim by dim, `(n, W)`.
          x: `(nv, W)`.
        """
        numbers, entries = entries_of(C)

        def add(own: ChainJacobian, numbers: Numbers, total: Array) -> Array:
            first, second = own.sides
            apart = joining(own.trees)[:, None]
            on_first, on_second = (
                jnp.where(apart, _curved(numbers, side.product(x), entries=entries), 0)
                for side in (second, first)
            )
            return second.add(first.add(total, on_first), on_second)

        none = jnp.zeros((self.nv, width_of((self.sides, C, x))), x.dtype)
        return self._sum(add, numbers, none, self.joining, _FEW)

    def matrix(self) -> Array:
        """J by all dofs, `(n, dim, nv, W)`."""
        total: Array | int = 0
        for side in self.sides:
            own = side.dofs[:, None, :, None] == np.arange(self.nv)[:, None]
            total = total + jnp.sum(jnp.where(own, side.J[:, :, :, None], 0), axis=2)
        return jnp.asarray(total)


def joining(trees: Array) -> Array:
    """Which contacts are between two kinematic trees, `(n, W)`, by those of their bodies, `(n, 2, W)`."""
    return (trees[:, 0] != trees[:, 1]) & jnp.all(trees >= 0, axis=1)


def _add_squares(
    total: Array, structure: TreeStructure, numbers: Numbers, one: Side, other: Side, entries: Entries
) -> Array:
    """Adds to entries, and one more number, what J^T C J has of two sides, or of one; C as of `entries_of`."""
    starts = np.array(structure.offset[:-1], np.int32)
    depths = np.array([len(path) - 1 for path in structure.paths], np.int32)
    dofs = [jnp.moveaxis(side.dofs, 1, 0) for side in ([one] if one is other else [one, other])]
    chains = [[own, *(rows_by_world(jnp.asarray(x[:, None]), own) for x in (starts, depths))] for own in dofs]
    places = _places(*chains, last=structure.size)
    squares = _products(_weighted(numbers, one.J, entries=entries), other.J, same=one is other)
    return add_by_world(total, squares, places)


@stage
def _weighted(numbers: Numbers, J: Array, *, entries: Entries) -> Array:
    """C J as J, `(n, dim, k, W)`."""
    return weighted_rows(curvature_of(numbers, entries, J.shape[1]), J).reshape(J.shape)


@stage
def _curved(numbers: Numbers, x: Array, *, entries: Entries) -> Array:
    """C x for x `(n, dim, W)`."""
    C = curvature_of(numbers, entries, x.shape[1])
    sums = [functools.reduce(jnp.add, [c * x[:, j] for j, c in enumerate(row) if c is not None]) for row in C]
    return jnp.stack(sums, axis=1)


_along = bilinear(
    "chain_product",
    stage(lambda J, x: contract(jnp.moveaxis(J, 2, 0), jnp.moveaxis(x, 1, 0)[:, :, None])),
    lambda ct, x: ct[:, :, None] * x[:, None],
    lambda ct, J: _against(J, ct),
)
_against = bilinear(
    "chain_transpose",
    stage(lambda J, f: contract(jnp.moveaxis(J, 1, 0), jnp.moveaxis(f, 1, 0)[:, :, None])),
    lambda ct, f: f[:, :, None] * ct[:, None],
    lambda ct, J: _along(J, ct),
)


@stage
def _places(first: list[Array], second: list[Array] | None = None, *, last: int) -> Array:
    """Where products of the dofs of two chains, or of one, are in a tree matrix; `(k^2, n, W)` as `_products` has them.

    An entry is where its row starts, and as far on as its column is below the root. Others, whose products are zero,
    are somewhere.

    Args:
      first: dofs of a chain, where their rows start, and how far they are below the root, each `(k, n, W)`.
      second: the same of another; None: the same chain, which goes down from the root.
      last: the last place there is.
    """
    k = len(first[0])
    if second is None:
        row, column = np.tril_indices(k)
        return jnp.minimum(take(first[1], row) + take(first[2], column), last)
    row, column = (x.reshape(-1) for x in np.indices((k, k)))
    one, other = ([take(x, at) for x in side] for side, at in ((first, row), (second, column)))
    lower = one[0] >= other[0]
    return jnp.minimum(jnp.where(lower, one[1] + other[2], other[1] + one[2]), last)


@stage
def _products(CJ: Array, J: Array, *, same: bool) -> Array:
    """Of each contact J1^T (C J2) or, if sides are the same, its lower triangle: entries row by row, `(k^2, n, W)`."""
    CJ, J = (jnp.moveaxis(x, 2, 0) for x in (CJ, J))
    k = len(J)
    first, second = np.tril_indices(k) if same else (x.reshape(-1) for x in np.indices((k, k)))
    one, other = take(CJ, first), take(J, second)
    return functools.reduce(jnp.add, [one[:, :, d] * other[:, :, d] for d in range(J.shape[2])])
