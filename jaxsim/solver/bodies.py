"""Jacobian of contacts between bodies known at compile time. Native layout.

The motion of a body is the spatial velocity `V_b`, the sum of `cdof_d x_d` over the dofs that move it, and a contact
row is a wrench `w` on it: `J x = w . V_b`, of body 2 less that of body 1. So products with J go through the few
bodies in contact. Only the Hessian needs the entries `w . cdof_d`; they are formed for the dofs that move a contact.

Dofs with the same contacts below them form a block of rows of the Hessian; blocks of the same shape (the legs of a
robot) are computed together. Terms of light dofs far from the tree's centre of mass would drown in round-off if
stiffnesses were summed by body first, which is why `J` is formed before it is squared.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math.axis import add_rows, concat, contract, mask_product, take
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, Static, leaf, record, static
from jaxsim.solver.jacobian import Curvature, weighted
from jaxsim.structure.sparsity import TreeStructure
from jaxsim.structure.trees import tree

__all__ = ["BodyJacobian", "Sides", "sides"]

_TERMS = 32
"""Products summed in one kernel: more take longer to compile than they save in memory traffic."""


class Batch(NamedTuple):
    """Blocks of Hessian rows of one shape, G of them.

    Attributes:
      contacts: contacts below the dofs, `(G, k)`.
      cols: dofs of the columns, ascending, `(G, p)`.
      rows: where the dofs of the rows are among the columns, `(s,)`.
      moves: by side, +1 where a dof moves that side of the contact, `(2, G, k, p)`.
    """

    contacts: np.ndarray
    cols: np.ndarray
    rows: np.ndarray
    moves: np.ndarray


class Sides(NamedTuple):
    """Which bodies the contacts of a group move, and the blocks of the Hessian they make.

    Attributes:
      contact: contact of each side, `(m,)`.
      body: body of each side, `(m,)`.
      sign: +1 for body 2, -1 for body 1, `(m,)`.
      place: side of each contact, first and second, `(n, 2)`; repeated where there is only one.
      bodies: the distinct bodies, `(b,)`.
      slot: which of these each side is on, `(m,)`.
      path: 1 where a dof moves a distinct body, `(b, nv)`.
      batches: blocks of the Hessian.
    """

    contact: np.ndarray
    body: np.ndarray
    sign: np.ndarray
    place: np.ndarray
    bodies: np.ndarray
    slot: np.ndarray
    path: np.ndarray
    batches: tuple[Batch, ...]


def sides(static: Static, body1: np.ndarray, body2: np.ndarray) -> Sides:
    """The sides of contacts between two lists of bodies; cached."""
    return _sides(static, tuple(int(b) for b in body1), tuple(int(b) for b in body2))


@functools.lru_cache(maxsize=256)
def _sides(static: Static, body1: tuple[int, ...], body2: tuple[int, ...]) -> Sides:
    path = tree(static).path
    found: list[tuple[int, int, int]] = []
    place = np.zeros((len(body1), 2), int)
    moves = np.zeros((2, len(body1), static.nv))
    for c, pair in enumerate(zip(body1, body2, strict=True)):
        mine = [(c, body, sign) for body, sign in zip(pair, (-1, 1), strict=True) if path[body].any()]
        for k, side in enumerate(mine):
            moves[k, c] = path[side[1]]
        if not mine:
            mine = [(c, pair[1], 1)]
        place[c] = len(found), len(found) + len(mine) - 1
        found += mine
    contact, body, sign = (np.array(x, int) for x in zip(*found, strict=True))
    bodies, slot = np.unique(body, return_inverse=True)
    involved = path[list(body1)] != path[list(body2)]
    return Sides(contact, body, sign, place, bodies, slot, path[bodies], _batches(involved, moves))


def _batches(involved: np.ndarray, moves: np.ndarray) -> tuple[Batch, ...]:
    """Groups dofs by the contacts they are involved in, then groups such blocks by shape."""
    blocks: dict[tuple[int, ...], list[int]] = {}
    for d in range(involved.shape[1]):
        contacts = tuple(np.flatnonzero(involved[:, d]).tolist())
        if contacts:
            blocks.setdefault(contacts, []).append(d)
    shapes: dict[tuple[int, int, tuple[int, ...]], list[tuple[tuple[int, ...], np.ndarray]]] = {}
    for contacts, dofs in blocks.items():
        cols = np.flatnonzero(involved[list(contacts)].any(axis=0))
        cols = cols[cols <= dofs[-1]]
        rows = tuple(np.searchsorted(cols, dofs).tolist())
        shapes.setdefault((len(contacts), len(cols), rows), []).append((contacts, cols))
    out = []
    for (_, _, rows), members in shapes.items():
        contacts = np.array([m[0] for m in members])
        cols = np.array([m[1] for m in members])
        picked = moves[:, contacts[:, :, None], cols[:, None, :]]
        picked = picked * involved[contacts[:, :, None], cols[:, None, :]]
        out.append(Batch(contacts, cols, np.array(rows), picked))
    return tuple(out)


@functools.lru_cache(maxsize=256)
def _entry_index(
    structure: TreeStructure, static: Static, body1: tuple[int, ...], body2: tuple[int, ...]
) -> np.ndarray:
    """For each entry of the Hessian its place among the flattened blocks; the last place is a zero."""
    where: dict[tuple[int, int], int] = {}
    start = 0
    for batch in _sides(static, body1, body2).batches:
        n_group, n_cols = batch.cols.shape
        for g in range(n_group):
            for s, r in enumerate(batch.rows):
                for p in range(r + 1):
                    key = int(batch.cols[g, r]), int(batch.cols[g, p])
                    where[key] = start + (g * len(batch.rows) + s) * n_cols + p
        start += n_group * len(batch.rows) * n_cols
    pairs = zip(structure.rows.tolist(), structure.cols.tolist(), strict=True)
    index = np.array([where.pop(pair, start) for pair in pairs], int)
    if where:
        raise ValueError(f"the Hessian's structure lacks entries for dofs {sorted(where)[:4]}")
    return index


@record
class BodyJacobian(Record):
    """Contacts `(n, dim)` between known bodies."""

    model: Static = static("the model's static part")
    body1: tuple[int, ...] = static("first body of each contact")
    body2: tuple[int, ...] = static("second body of each contact")
    wrench: Array = leaf(
        "m dim 6", "signed wrench of each side's rows, torque first, about its tree's centre of mass"
    )
    cdof: Array = leaf("nv 6", "motion axes")
    entries: tuple[Array, ...] | None = leaf(
        "", "entries of J by batch, (G, k, dim, p, W); None: formed when needed"
    )

    @property
    def sides(self) -> Sides:
        """The static description."""
        return _sides(self.model, self.body1, self.body2)

    def formed(self) -> BodyJacobian:
        """With the entries, for several Hessians."""
        return self.replace(entries=self._entries())

    def _entries(self) -> tuple[Array, ...]:
        known = {"model": self.model, "body1": self.body1, "body2": self.body2}
        batches = range(len(self.sides.batches))
        return tuple(_entries(self.wrench, self.cdof, batch=b, **known) for b in batches)

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        return _product(self.wrench, self.cdof, x, model=self.model, body1=self.body1, body2=self.body2)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        return _transpose(self.wrench, self.cdof, f, model=self.model, body1=self.body1, body2=self.body2)

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`."""
        entries = self._entries() if self.entries is None else self.entries
        blocks = []
        for batch, J in zip(self.sides.batches, entries, strict=True):
            curvature = [[None if c is None else _pick(c, batch.contacts) for c in row] for row in C]
            blocks.append(_products(weighted(curvature, _some_columns(J, batch.rows)), J))
        index = _entry_index(structure, self.model, self.body1, self.body2)
        return take(concat([*blocks, jnp.zeros((1, blocks[0].shape[-1]), blocks[0].dtype)]), index)


@stage
def _product(
    wrench: Array, cdof: Array, x: Array, *, model: Static, body1: tuple[int, ...], body2: tuple[int, ...]
) -> Array:
    s = _sides(model, body1, body2)
    motion = take(mask_product(s.path, cdof * x[:, None]), s.slot)
    rows = contract(jnp.moveaxis(wrench, 2, 0), jnp.moveaxis(motion, 1, 0)[:, :, None])
    return add_rows(rows, s.contact, len(body1))


@stage
def _transpose(
    wrench: Array, cdof: Array, f: Array, *, model: Static, body1: tuple[int, ...], body2: tuple[int, ...]
) -> Array:
    s = _sides(model, body1, body2)
    force = take(f, s.contact)
    on_sides = contract(jnp.moveaxis(wrench, 1, 0), jnp.moveaxis(force, 1, 0)[:, :, None])
    on_dofs = mask_product(s.path.T, add_rows(on_sides, s.slot, len(s.bodies)))
    return contract(jnp.moveaxis(cdof, 1, 0), jnp.moveaxis(on_dofs, 1, 0))


@stage
def _entries(
    wrench: Array, cdof: Array, *, batch: int, model: Static, body1: tuple[int, ...], body2: tuple[int, ...]
) -> Array:
    """Entries of J of the contacts and dofs of a batch, `(G, k, dim, p, W)`."""
    s = _sides(model, body1, body2)
    this = s.batches[batch]
    place = s.place[this.contacts]
    axes = _pick(cdof, this.cols)
    total: Array | int = 0
    for side in range(2):
        moves = this.moves[side]
        if not moves.any():
            continue
        w = _pick(wrench, place[..., side])
        terms = [w[:, :, :, None, c] * axes[:, None, None, :, c] for c in range(6)]
        entry = functools.reduce(jnp.add, terms)
        if not moves.all():
            entry = entry * jnp.asarray(moves, entry.dtype)[:, :, None, :, None]
        total = total + entry
    return jnp.asarray(total)


def _some_columns(J: Array, rows: np.ndarray) -> Array:
    """Columns of J `(G, k, dim, p, W)`."""
    tail = len(rows) and np.array_equal(rows, np.arange(rows[0], J.shape[3]))
    return J[:, :, :, int(rows[0]) :] if tail else J[:, :, :, rows.astype(np.int32)]


def _products(CJ: Array, J: Array) -> Array:
    """Blocks of `J^T C J`, flattened, from rows of `C J (G, k, dim, s, W)` and columns of `J (G, k, dim, p, W)`."""
    CJ, J = (x.reshape(x.shape[0], -1, *x.shape[3:]) for x in (CJ, J))
    total: Array | None = None
    for start in range(0, J.shape[1], _TERMS):
        total = _partial_products(CJ, J, total, start=start)
    assert total is not None
    return total.reshape(-1, total.shape[-1])


@stage
def _partial_products(CJ: Array, J: Array, total: Array | None, *, start: int) -> Array:
    for i in range(start, min(start + _TERMS, J.shape[1])):
        term = CJ[:, i, :, None] * J[:, i, None]
        total = term if total is None else total + term
    assert total is not None
    return total


def _pick(x: Array, index: np.ndarray) -> Array:
    """`x[index]` for a constant index of any shape."""
    return take(x, index.reshape(-1)).reshape(*index.shape, *x.shape[1:])
