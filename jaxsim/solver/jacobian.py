"""Constraint Jacobians, kept in the form each kind of rows needs. Native layout.

A Jacobian multiplies accelerations, `product`; forces, `transpose`; and adds `J^T C J` to the entries of the Hessian
that `structure` keeps, `gram`. Jacobians of scalar rows work on one number a row, `(k, W)`; that of contacts on the
axes of each contact's frame, `(n, dim, W)`. Source: Computation chapter, "Constraint model".
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.vec import Vec
from jaxsim.math.axis import add_rows, components, concat, contract, stack, take
from jaxsim.math.gather import add_by_world, rows_by_world, widen, width_of
from jaxsim.math.linear import bilinear
from jaxsim.math.matrix import multiply, multiply_transposed
from jaxsim.math.stage import platform, stage
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver import pyramid
from jaxsim.solver.blocks import MANY, block_of, block_size, each_block
from jaxsim.solver.gram_kernel import by_rows, gram_in_kernel, weighted_rows
from jaxsim.structure.rows import Chains, Movers
from jaxsim.structure.sparsity import Patch, TreeStructure, patches_of

__all__ = [
    "ChainFrames",
    "ChainJacobian",
    "ContactFrames",
    "ContactJacobian",
    "Curvature",
    "DenseJacobian",
    "DofJacobian",
    "EdgeJacobian",
    "Factors",
    "Frames",
    "Jacobian",
    "Side",
    "along_axes",
    "along_axes_of_trees",
    "gram_of",
    "joined_frames",
    "joining",
]

Curvature = pyramid.Curvature


class Factors(NamedTuple):
    """What rows add to the Hessian, `J^T C J`.

    Attributes:
      J: `(n, dim, nv, W)`.
      C: the curvature, dim by dim.
      used: as of `ContactJacobian`.
    """

    J: Array
    C: Curvature
    used: Array | None = None


_LARGE = 12
"""Dofs that several trees must have on average for each to have wrenches of all contacts."""

_FEW = 4
"""Contacts between two trees that are looked at together: of those that touch they are few."""

_TERMS = 32
"""Products summed in one kernel: more take longer to compile than they save in memory traffic."""


class DofJacobian(Record):
    """Rows of one dof each."""

    dof: np.ndarray = static("k", "the dof of each row")
    sign: np.ndarray = static("k", "+1 or -1", dtype=float)
    nv: int = static("", "degrees of freedom")

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.dof)

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return take(x, self.dof) * jnp.asarray(self.sign, x.dtype)[:, None]

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return add_rows(f * jnp.asarray(self.sign, f.dtype)[:, None], self.dof, self.nv)

    def factors(self, c: Array) -> None:
        """None: `gram` knows better."""
        del c

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        diagonal = np.flatnonzero(structure.rows == structure.cols)
        return add_rows(c, diagonal[self.dof], structure.size)

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, 1)`."""
        return jnp.asarray(self.sign[:, None] * np.eye(nv)[self.dof])[..., None]


class DenseJacobian(Record):
    """Scalar rows with an entry for every dof."""

    J: Array = leaf("k nv", "the entries")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.J.shape[0]

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return multiply(self.J, x)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return multiply_transposed(self.J, f)

    def factors(self, c: Array) -> Factors:
        """J, each row alone, and c."""
        return Factors(self.J[:, None], [[c]])

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        return gram_of([self.factors(c)], structure)

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, W)`."""
        del nv
        return self.J


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


class Frames(Record):
    """What a Jacobian of contacts is computed from, as long as it may turn out of which of them it is needed."""

    pos: Array = leaf("n 3", "where the contacts are, m")
    frame: Array = leaf("n 3 3", "axes of their frames")
    moves: Array = leaf("nv 9", "of each dof `cdof` and the point that it refers to, m")
    dim: int = static("", "dimension of the contacts")

    _own: ClassVar[str]
    """What else belongs to each contact."""

    def jacobian(self) -> ContactJacobian | ChainJacobian:
        """The Jacobian of all of them."""
        raise NotImplementedError

    def picked(self, pick: Callable[[Array], Array]) -> ContactJacobian | ChainJacobian:
        """That of some of the contacts: `pick` chooses rows of arrays (n, ..., W)."""
        kept = {name: pick(getattr(self, name)) for name in ("pos", "frame", self._own)}
        return self.replace(**kept).jacobian()

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        return self.jacobian().product(x)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        return self.jacobian().transpose(f)

    def factors(self, C: Curvature) -> Factors | None:
        """J and C, if these are all that is needed."""
        return self.jacobian().factors(C)

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`."""
        return self.jacobian().gram(structure, C)

    def matrix(self) -> Array:
        """J by all dofs, `(n, dim, nv, W)`."""
        return self.jacobian().matrix()


def joined_frames(parts: Sequence[Frames]) -> Frames:
    """Those of contacts of several dimensions, one after the other, of the largest dimension."""
    first = parts[0]
    names = ("pos", "frame", first._own)
    own = {name: concat([getattr(part, name) for part in parts]) for name in names}
    return first.replace(**own, dim=max(part.dim for part in parts))


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
        numbers, entries = _numbers(C)

        def add(own: ChainJacobian, numbers: _Numbers, total: Array) -> Array:
            first, second = own.sides
            moves = own.trees >= 0
            same = moves[:, 0] & (own.trees[:, 0] == own.trees[:, 1])
            inside = first.replace(J=jnp.where(same[:, None, None], first.J, 0))
            squares = [(moves[:, 0], first, first), (moves[:, 1], second, second)]
            for some, one, other in squares + [(same, inside, second)] * own.within:

                def more(total: Array, one: Side = one, other: Side = other) -> Array:
                    return _add_squares(total, structure, numbers, one, other, entries)

                if isinstance(numbers, tuple):
                    total = more(total)
                    continue
                # the curvature's first entry is 0 where a contact does not push
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
        numbers, entries = _numbers(C)

        def add(own: ChainJacobian, numbers: _Numbers, total: Array) -> Array:
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
    total: Array, structure: TreeStructure, numbers: _Numbers, one: Side, other: Side, entries: _Entries
) -> Array:
    """Adds to entries, and one more number, what J^T C J has of two sides, or of one; C as of `_numbers`."""
    starts = np.array(structure.offset[:-1], np.int32)
    depths = np.array([len(path) - 1 for path in structure.paths], np.int32)
    dofs = [jnp.moveaxis(side.dofs, 1, 0) for side in ([one] if one is other else [one, other])]
    chains = [[own, *(rows_by_world(jnp.asarray(x[:, None]), own) for x in (starts, depths))] for own in dofs]
    places = _places(*chains, last=structure.size)
    squares = _products(_weighted(numbers, one.J, entries=entries), other.J, same=one is other)
    return add_by_world(total, squares, places)


_Entries = tuple[tuple[int, int], ...]
"""Rows and columns."""


_Numbers = Array | tuple[Array, ...]
"""The entries of a curvature, on a CPU as one array `(n, entries, W)`: a block of all of them is one slice."""


def _numbers(C: Curvature) -> tuple[_Numbers, _Entries]:
    """The entries of a curvature, and which they are."""
    some = {(i, j): c for i, row in enumerate(C) for j, c in enumerate(row) if c is not None}
    own = (
        jnp.stack(jnp.broadcast_arrays(*some.values()), axis=1)
        if platform() == "cpu"
        else tuple(some.values())
    )
    return own, tuple(some)


def _curvature(numbers: _Numbers, entries: _Entries, dim: int) -> Curvature:
    """A curvature of its entries."""
    C: Curvature = [[None] * dim for _ in range(dim)]
    for k, (i, j) in enumerate(entries):
        C[i][j] = numbers[k] if isinstance(numbers, tuple) else numbers[:, k]
    return C


@stage
def _weighted(numbers: _Numbers, J: Array, *, entries: _Entries) -> Array:
    """C J as J, `(n, dim, k, W)`."""
    return weighted_rows(_curvature(numbers, entries, J.shape[1]), J).reshape(J.shape)


@stage
def _curved(numbers: _Numbers, x: Array, *, entries: _Entries) -> Array:
    """C x for x `(n, dim, W)`."""
    C = _curvature(numbers, entries, x.shape[1])
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
def along_axes(pos: Array, frame: Array, moves: Array, sign: Array, *, dim: int) -> Array:
    """Velocity of body 2 against body 1 at contacts, along (and about) the axes of their frames, `(n, dim, k, W)`.

    Args:
      pos: of contacts, m.
      frame: their frames, `(n, 3, 3, W)`.
      moves: of each of k dofs `cdof` and the point that it refers to, `(k, 9, W)` or `(n, k, 9, W)`.
      sign: 1 where a dof moves body 2 alone, -1 where it moves body 1 alone, else 0, `(n, k, W)`.
      dim: dimension of the contacts.
    """
    numbers = components(moves)
    turn, slide, centre = (Vec(*numbers[i : i + 3]) for i in (0, 3, 6))
    linear = slide + turn.cross(Vec(*components(pos[:, None])) - centre)
    axes = [Vec(*components(axis[:, :, None], axis=1)) for axis in components(frame, axis=1)]
    rows = [linear.dot(axis) for axis in axes[:dim]] + [turn.dot(axis) for axis in axes[: max(0, dim - 3)]]
    return jnp.stack([row * sign for row in rows], axis=1)


def along_axes_of_trees(
    pos: Array, frame: Array, moves: Array, sign: Array, *, dim: int, trees: Sequence[int]
) -> Array:
    """As `along_axes`, where `moves (k, 9, W)` of all dofs of a tree refer to the same point, see `Movers`.

    Then an entry is a product of two vectors of six numbers, that of the dof and the wrench along (or about) the axis,
    and each derivative one more product of all.
    """
    products = []
    for start, stop in itertools.pairwise(trees):
        own = moves[start:stop]
        products.append(_screws(own[:, :6], _wrenches(pos, frame, own[:1, 6:], dim=dim)))
    return _signed(concat(products, axis=1), sign)


@stage
def _wrenches(pos: Array, frame: Array, centre: Array, *, dim: int) -> Array:
    """Unit forces along axes, and torques about them from the fourth on, around a point, `(n dim, 6, W)`."""
    arm = Vec(*components(pos)) - Vec(*components(centre))
    axes = [Vec(*components(axis, axis=1)) for axis in components(frame, axis=1)]
    zero = axes[0] * 0.0
    forces = [(*arm.cross(axis), *axis) for axis in axes[:dim]]
    torques = [(*axis, *zero) for axis in axes[: max(0, dim - 3)]]
    found = jnp.stack([stack(list(own)) for own in [*forces, *torques]], axis=1)
    return found.reshape(-1, *found.shape[2:])


@stage
def _signed(products: Array, sign: Array) -> Array:
    """Products `(n dim, k, W)` with the signs `(n, k, W)` of each contact, `(n, dim, k, W)`."""
    n, k = sign.shape[:2]
    return products.reshape(n, -1, k, products.shape[-1]) * sign[:, None]


_screws = bilinear(
    "screw_products",
    # (k, 6, W), (r, 6, W) to (r, k, W)
    stage(lambda m, w: contract(jnp.moveaxis(m, 1, 0)[:, None], jnp.moveaxis(w, 1, 0)[:, :, None])),
    stage(lambda ct, w: contract(ct[:, :, None], w[:, None])),
    stage(lambda ct, m: contract(jnp.moveaxis(ct, 1, 0)[:, :, None], m[:, None])),
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


class EdgeJacobian(Record):
    """Scalar rows of contacts: the edges of friction pyramids, or the normals of contacts without friction."""

    contacts: ContactJacobian | ChainJacobian | Frames = leaf("", "the contacts'")
    friction: Array = leaf("n dim-1", "friction coefficients; none: contacts without friction")

    @property
    def size(self) -> int:
        """Number of rows."""
        n, k = self.friction.shape[:2]
        return n * max(1, 2 * k)

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return pyramid.edges(self.friction, self.contacts.product(x))

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return self.contacts.transpose(pyramid.forces(self.friction, f))

    def factors(self, c: Array) -> Factors | None:
        """J and C by the axes of contacts, if these are all that is needed."""
        return self.contacts.factors(pyramid.curvature(self.friction, c))

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        return self.contacts.gram(structure, pyramid.curvature(self.friction, c))

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, W)`."""
        J = self.contacts.matrix()
        if not self.friction.shape[1]:
            return J[:, 0]
        normal, tangent = J[:, :1], self.friction[:, :, None] * J[:, 1:]
        return jnp.stack([normal + tangent, normal - tangent], axis=2).reshape(-1, nv, J.shape[-1])


Jacobian = DofJacobian | DenseJacobian | EdgeJacobian


def gram_of(factors: Sequence[Factors], structure: TreeStructure) -> Array:
    """Entries of the sum of `J^T C J`."""
    count = sum(own.J.shape[0] * own.J.shape[1] for own in factors)
    if platform() == "cuda" and width_of(factors) > 1 and count > _TERMS:
        return gram_in_kernel([(own.J, own.C) for own in factors])[structure.rows, structure.cols]
    if platform() != "cpu":
        total = functools.reduce(jnp.add, [_square(*by_rows(own.J, own.C)) for own in factors])
        return total[structure.rows, structure.cols]
    whole = [by_rows(own.J, own.C) for own in factors if own.used is None]
    patches = patches_of(structure)
    totals = _sums(whole, patches) if whole else _no_sums(factors[0].J.dtype, patches)
    for own in factors:
        if own.used is not None:
            totals = _more_sums(own, totals, patches)
    flat = concat([total.reshape(-1, total.shape[-1]) for total in totals])
    return take(flat, _in_patches(patches, structure.n)[structure.rows, structure.cols])


def _no_sums(dtype: Any, patches: tuple[Patch, ...]) -> list[Array]:
    """What sums begin with where no rows are always in use."""
    return [jnp.zeros((bottom - top, right - left, 1), dtype) for top, bottom, left, right in patches]


def _more_sums(own: Factors, totals: list[Array], patches: tuple[Patch, ...]) -> list[Array]:
    """The sums so far of some patches, and those of the contacts that are in use."""
    assert own.used is not None
    dim = own.J.shape[1]
    size, flat = block_size(dim), own.J.reshape(-1, *own.J.shape[2:])
    numbers, entries = _numbers(own.C)

    def add(start: Array, sums: list[Array]) -> list[Array]:
        block = flat, _block_weighted(numbers, own.J, start, entries=entries, size=size)
        starts = start * dim, jnp.int32(0)
        return _outer_products([block], sums, [starts], terms=(size * dim,), patches=patches)

    width = width_of((own, totals))
    return each_block(own.used, size, add, [widen(total, width) for total in totals])


@stage
def _block_weighted(numbers: _Numbers, J: Array, start: Array, *, entries: _Entries, size: int) -> Array:
    """C J of a block of contacts, `(size dim, nv, W)`."""
    return weighted_rows(
        _curvature(block_of(numbers, start, size), entries, J.shape[1]), block_of(J, start, size)
    )


def _sums(rows: list[tuple[Array, Array]], patches: tuple[Patch, ...]) -> list[Array]:
    """Patches of the sum of the products of all rows of J and C J."""
    count = sum(len(J) for J, _ in rows)
    trips, terms = zip(*(_loop(len(J), count) for J, _ in rows), strict=True)
    heads = tuple(len(J) - k * t for (J, _), k, t in zip(rows, trips, terms, strict=True))
    none = (jnp.int32(0), jnp.int32(0))
    totals = _outer_products(rows, [], [none] * len(rows), terms=heads, patches=patches)
    for pair, head, trip, size in zip(rows, heads, trips, terms, strict=True):

        def more(
            k: Array, sums: list[Array], pair: Any = pair, head: int = head, size: int = size
        ) -> list[Array]:
            start = head + k * size
            return _outer_products([pair], sums, [(start, start)], terms=(size,), patches=patches)

        if trip:  # a loop, so that many rows take no longer to compile than few
            totals = lax.fori_loop(0, trip, more, totals)
    return totals


def _square(J: Array, CJ: Array) -> Array:
    """`J^T (C J)`; of many rows a reduction, one kernel, where sums that are written out would be split."""
    if len(J) > _TERMS or platform() == "tpu":
        return jnp.sum(CJ[:, :, None] * J[:, None], axis=0)
    return functools.reduce(jnp.add, [CJ[k, :, None] * J[k, None] for k in range(len(J))])


def _loop(rows: int, all_rows: int) -> tuple[int, int]:
    """How many kernels of how many rows each follow a first one, which has the others."""
    if all_rows <= _TERMS + _TERMS // 2:
        return 0, 0
    kernels = -(-rows // _TERMS)
    return kernels - 1, -(-rows // kernels)


@stage
def _outer_products(
    factors: list[tuple[Array, Array]],
    totals: list[Array],
    starts: list[tuple[Array, Array]],
    *,
    terms: tuple[int, ...],
    patches: tuple[Patch, ...],
) -> list[Array]:
    """The sums so far of some patches, and more terms, of rows of J and C J, `(k, nv, W)`, from some rows on.

    Whole arrays go in, so that slices of them are not copied.
    """
    parts = [
        tuple(block_of(x, start, count) for x, start in zip(pair, own, strict=True))
        for pair, own, count in zip(factors, starts, terms, strict=True)
    ]
    found = []
    for p, (top, bottom, left, right) in enumerate(patches):
        products = [
            CJ[k, top:bottom, None] * J[k, None, left:right] for J, CJ in parts for k in range(len(J))
        ]
        found.append(functools.reduce(jnp.add, totals[p : p + 1] + products))
    return found


@functools.lru_cache(maxsize=256)
def _in_patches(patches: tuple[Patch, ...], n: int) -> np.ndarray:
    """Where each element of the matrix is among those of the patches, `(n, n)`; -1: in none."""
    places, end = np.full((n, n), -1), 0
    for top, bottom, left, right in patches:
        area = (bottom - top) * (right - left)
        places[top:bottom, left:right] = (end + np.arange(area)).reshape(bottom - top, right - left)
        end += area
    return places
