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
from jaxsim.math.in_use import block_of, each_block
from jaxsim.math.linear import bilinear
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver.axes import along_axes
from jaxsim.solver.blocks import MANY
from jaxsim.solver.curvature import Curvature, Entries, Numbers, curvature_of, entries_of, weighted_rows
from jaxsim.solver.frames import Frames
from jaxsim.structure.rows import Chains
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["ChainFrames", "ChainJacobian", "Side", "mutual"]

_FEW = 4
"""Contacts of two moving bodies that are looked at together: of those that touch they are few."""


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
        still = self.trees[:, 0] < 0  # body 1: then body 2 comes first
        bodies, trees = (jnp.where(still[:, None], x[:, ::-1], x) for x in (self.bodies, self.trees))
        sides = []
        for side, direction in enumerate((-1, 1)):
            own, other = bodies[:, side], bodies[:, 1 - side]
            dofs = rows_by_world(jnp.asarray(self.chains.dofs[..., None]), own)
            fills, dofs = dofs < 0, jnp.maximum(dofs, 0)
            both = rows_by_world(moved, other[:, None] * nv + dofs)
            sign = jnp.where(fills | both, 0, jnp.where(still[:, None], -direction, direction))
            moves = rows_by_world(self.moves, dofs)
            J = along_axes(self.pos, self.frame, moves, sign.astype(self.pos.dtype), dim=self.dim)
            sides.append(Side(J=J, dofs=dofs))
        return ChainJacobian(sides=tuple(sides), trees=trees, nv=nv, within=self.chains.within)


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

    sides: tuple[Side, Side] = leaf(
        "", "the bodies; of one that does not move and one that does, this comes first"
    )
    trees: Array = leaf("n 2", "the kinematic trees of the two bodies, -1: it does not move", dtype=int)
    used: Array | None = leaf("", "as of `ContactJacobian`", dtype=int, default=None)
    mutual: Array | None = leaf(
        "", "how many of these, the first, have two bodies that move", dtype=int, default=None
    )
    nv: int = static("", "degrees of freedom")
    within: bool = static("", "whether bodies may move with one tree", dtype=bool)

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        first, second = self.sides
        if self.used is None or self.mutual is None:
            return first.product(x) + second.product(x)

        def more(side: Side, size: int, start: Array, found: Array) -> Array:
            own, before = block_of((side, found), start, size)
            return lax.dynamic_update_slice_in_dim(found, before + own.product(x), start, 0)

        none = jnp.zeros((*first.J.shape[:2], width_of((self.sides, x))), x.dtype)
        found = each_block(self.used, MANY, functools.partial(more, first, MANY), none)
        return each_block(self.mutual, _FEW, functools.partial(more, second, _FEW), found)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        total = jnp.zeros((self.nv, width_of((self.sides, f))), f.dtype)
        for side in range(2):
            total = self._more(side, lambda own, f, total, side=side: own.sides[side].add(total, f), f, total)
        return total

    def _more(
        self, side: int, add: Callable[[ChainJacobian, Any, Array], Array], given: Any, total: Array
    ) -> Array:
        """A total to which contacts add by what their first or second body does, block by block those it matters for.

        Args:
          side: 0, for all contacts, or 1, for those whose second body moves.
          add: a function of some contacts' Jacobian, what is given of them, and the total so far.
          given: of all contacts, a tree of arrays `(n, ..., W)`.
          total: at the start.
        """
        among, size = ((self.used, MANY), (self.mutual, _FEW))[side]
        if among is None:
            return add(self, given, total)

        def more(start: Array, total: Array) -> Array:
            sides, trees, own = block_of((self.sides, self.trees, given), start, size)
            return add(self.replace(sides=sides, trees=trees, used=None, mutual=None), own, total)

        return each_block(among, size, more, total)

    def factors(self, C: Curvature) -> None:
        """None: `gram` knows better."""
        del C

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`, without those between bodies of different trees (`between`)."""
        numbers, entries = entries_of(C)
        squares = functools.partial(_add_squares, structure=structure, entries=entries)

        def of_first(own: ChainJacobian, numbers: Numbers, total: Array) -> Array:
            first, _ = own.sides
            return squares(total, numbers=numbers, one=first, other=first)

        def of_second(own: ChainJacobian, numbers: Numbers, total: Array) -> Array:
            """Those of the second side, and of both where one tree moves them; on a CPU if there are such contacts."""
            first, second = own.sides
            total = squares(total, numbers=numbers, one=second, other=second)
            if not self.within:
                return total
            same = (own.trees[:, 0] == own.trees[:, 1]) & (own.trees[:, 0] >= 0)
            inside = first.replace(J=jnp.where(same[:, None, None], first.J, 0))
            more = functools.partial(squares, numbers=numbers, one=inside, other=second)
            if self.mutual is None:
                return more(total)
            return lax.cond(jnp.any(same), more, lambda total: total, total)

        total = jnp.zeros((structure.size + 1, width_of((self.sides, C))), self.sides[0].J.dtype)
        for side, add in enumerate((of_first, of_second)):
            total = self._more(side, add, numbers, total)
        return total[:-1]

    def between(self, C: Curvature, x: Array) -> Array:
        """The part of J^T C J x that is between bodies of different trees, `(nv, W)`.

        Args:
          C: dim by dim, `(n, W)`.
          x: `(nv, W)`.
        """
        numbers, entries = entries_of(C)

        def add(own: ChainJacobian, numbers: Numbers, total: Array) -> Array:
            first, second = own.sides
            apart = _joining(own.trees)[:, None]
            on_first, on_second = (
                jnp.where(apart, _curved(numbers, side.product(x), entries=entries), 0)
                for side in (second, first)
            )
            return second.add(first.add(total, on_first), on_second)

        return self._more(1, add, numbers, jnp.zeros((self.nv, width_of((self.sides, C, x))), x.dtype))

    def matrix(self) -> Array:
        """J by all dofs, `(n, dim, nv, W)`."""
        total: Array | int = 0
        for side in self.sides:
            own = side.dofs[:, None, :, None] == np.arange(self.nv)[:, None]
            total = total + jnp.sum(jnp.where(own, side.J[:, :, :, None], 0), axis=2)
        return jnp.asarray(total)


def mutual(trees: Array) -> Array:
    """Which contacts have two bodies that move, `(n, W)`, by the trees of their bodies, `(n, 2, W)`."""
    return jnp.all(trees >= 0, axis=1)


def _joining(trees: Array) -> Array:
    """Which of them are between two kinematic trees."""
    return mutual(trees) & (trees[:, 0] != trees[:, 1])


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
