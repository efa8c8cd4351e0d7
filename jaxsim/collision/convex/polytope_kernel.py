"""The growing polytope of two cores in one kernel of a GPU, whose lanes are pairs in worlds.

The same rounds as of `polytope`, whose tables are a scratch in the cache here: a round changes a few rows of them,
where XLA writes all, in dozens of kernels. Lanes wait for those of their warp alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, Vertex, farthest
from jaxsim.collision.convex.planes import FAR, corners_of_face, face_of, plane
from jaxsim.collision.vec import Vec
from jaxsim.math.lanes import wait_for_lanes
from jaxsim.math.one_kernel import Lanes, in_one_kernel

__all__ = ["grow_in_kernel"]

_BLOCK = 8
"""Faces that are looked at together, and most that a round replaces."""
_FAN = 16
"""Room for the faces that replace them, a power of two."""
_NONE = -1
_FEW = 8
"""Pairs of a program, as those that need many rounds hold up its others: of 4,096 G1s 174 us on an H200, of 32 269."""


def grow_in_kernel(
    pairs: Sequence[Pair],
    first: tuple[Vertex, Array, Vec, Array],
    running: Array,
    tolerances: tuple[Array, Array],
    most: Array,
    rows: tuple[int, int],
    interpret: bool = False,
) -> Vertex:
    """The corners of the nearest face, (3, 1, W).

    Args:
      pairs: the cores.
      first: vertices, faces, normals and distances of the first polytope, (4, 1, W).
      running: which pairs are asked, (1, W).
      tolerances: the error of the depth, and of the side of a plane that a vertex is on, m (1, W).
      most: most rounds.
      rows: room for vertices and for faces, the latter a multiple of eight.
      interpret: whether to run the kernel without compiling it, for tests.
    """
    vertices, faces = rows
    dtype, width = first[3].dtype, running.shape[-1]
    real = [vertices] * 3 + [faces + 1] * 4
    whole = [vertices] * 2 + [faces + 1, _FAN + 1, _FAN + 1]
    scratch = [jax.ShapeDtypeStruct((n, width), dtype) for n in real]
    scratch += [jax.ShapeDtypeStruct((n, width), jnp.int32) for n in whole]
    corner: list[Any] = [jax.ShapeDtypeStruct((3, 1, width), t) for t in [dtype] * 3 + [jnp.int32] * 2]
    results = Vertex(Vec(*corner[:3]), *corner[3:])

    def body(lanes: Lanes, *trees: Any) -> Vertex:
        return _Growing(lanes, (lambda: None) if interpret else wait_for_lanes).run(*trees)

    trees = (pairs, first, running, tolerances, most)
    return in_one_kernel(body, "grow", trees, results, scratch, few=_FEW, interpret=interpret)


class _Growing:
    """The kernel's body; vectors are (lanes,), blocks of rows (n, lanes)."""

    def __init__(self, lanes: Lanes, wait: Any) -> None:
        self.lanes, self.wait = lanes, wait
        self.points, self.planes, self.codes = lanes.scratch[:3], lanes.scratch[3:7], lanes.scratch[7:9]
        self.faces, self.replaced, self.edges = lanes.scratch[9:]
        self.blank = len(self.faces) - 1
        """The row of what is not kept, as the last of the lists."""

    def number(self, n: int) -> Array:
        """The numbers of the rows of a block."""
        return lax.broadcasted_iota(jnp.int32, (n, *self.lanes.shape), 0)

    def lane(self, n: int) -> Array:
        """The lanes of a block."""
        return lax.broadcasted_iota(jnp.int32, (n, *self.lanes.shape), 1)

    def at(self, table: Any, row: Array) -> Array:
        """A row of each lane (lanes,), or of each number of a block."""
        if row.ndim == 1:
            return table[row, lax.broadcasted_iota(jnp.int32, row.shape, 0)]
        return table[row, self.lane(len(row))]

    def put(self, table: Any, row: Array, block: Array) -> None:
        """Writes numbers of a block to rows."""
        table[row, self.lane(len(row))] = jnp.broadcast_to(block, row.shape)

    def run(self, pairs: Any, first: Any, running: Any, tolerances: Any, most: Any) -> Vertex:
        """Grows the polytope; the corners of its nearest face."""
        vertices, faces, normal, dist = first
        start = self.number(_BLOCK)

        def empty(k: Array, none: None) -> None:
            self.put(self.faces, k * _BLOCK + start, jnp.full(start.shape, _NONE, jnp.int32))
            self.put(self.planes[3], k * _BLOCK + start, jnp.full(start.shape, FAR, dist.dtype))

        lax.fori_loop(0, self.blank // _BLOCK, empty, None)
        self.wait()
        self.faces[self.blank] = self.lanes.vector(np.int32(_NONE), np.int32)
        for table, x in zip((*self.points, *self.codes), (*vertices.point, *vertices[1:]), strict=True):
            for k in range(4):
                table[k] = self.lanes.vector(x.entries[k, 0, 0], x.dtype)
        for table, x in zip((*self.planes, self.faces), (*normal, dist, faces), strict=True):
            for k in range(4):
                table[k] = self.lanes.vector(x.entries[k, 0, 0], x.dtype)
        self.wait()
        gap, rounding = (self.lanes.vector(x.entries[0, 0], x.dtype) for x in tolerances)
        going = self.lanes.vector(running.entries[0, 0], bool).astype(jnp.int32)
        upper = jnp.full(gap.shape, FAR, gap.dtype)
        carry = (jnp.int32(0), going, self.lanes.vector(faces.entries[0, 0, 0], np.int32), upper)

        def go_on(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            return self.round(pairs, gap, rounding, most.entries.flat[0], carry)

        best = lax.while_loop(lambda carry: jnp.max(carry[1]) > 0, go_on, carry)[2]
        corners = corners_of_face(best)
        found = [[self.at(table, c) for c in corners] for table in (*self.points, *self.codes)]
        made = [self.lanes.value(x, rows=(3, 1)) for x in found]
        return Vertex(Vec(*made[:3]), *made[3:])

    def round(
        self, pairs: Any, gap: Array, rounding: Array, most: Array, carry: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Expands the nearest face of each lane; carried are the round, who is going, the best face, the bound."""
        count, going, best, least_upper = carry
        top = 4 + 2 * count
        lower, slot = self.nearest(top)
        face = self.at(self.faces, slot)
        normal = Vec(*(self.at(table, slot) for table in self.planes[:3]))
        new = self.lanes.run(farthest, pairs, Vec(*(self.lanes.value([c]) for c in normal)))
        w = Vec(*(self.lanes.vector(c.entries[0, 0], c.dtype) for c in new.point))
        upper = normal.dot(w)
        finished = (upper - lower <= gap) | (lower >= FAR)
        better = (going > 0) & ((upper < least_upper) | (finished & (upper <= least_upper + gap)))
        expand = (going > 0) & ~finished

        removed = self.replace(w, rounding, slot, top)
        edges, removed = self.horizon(face, removed)
        for table, c in zip((*self.points, *self.codes), (*w, *(new[1:])), strict=True):
            table[4 + count] = c if isinstance(c, Array) else self.lanes.vector(c.entries[0, 0], c.dtype)
        self.wait()
        self.fan(w, 4 + count, (edges, removed), top, expand)
        self.wait()
        going = (expand & (count + 1 < most)).astype(jnp.int32)
        least_upper = jnp.where(better, jnp.minimum(upper, least_upper), least_upper)
        return count + 1, going, jnp.where(better, face, best), least_upper

    def nearest(self, top: Array) -> tuple[Array, Array]:
        """The least distance of a face, and the last row of that."""
        number = self.number(_BLOCK)

        def look(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            least, slot = carry
            row = k * _BLOCK + number
            dist = self.at(self.planes[3], row)
            own = jnp.min(dist, axis=0)
            last = jnp.max(jnp.where(dist == own, row, 0), axis=0)
            return jnp.minimum(own, least), jnp.where(own <= least, last, slot)

        start = jnp.full(self.lanes.shape, jnp.inf, self.planes[3].dtype)
        blocks = lax.div(top + (_BLOCK - 1), jnp.int32(_BLOCK))
        return lax.fori_loop(0, blocks, look, (start, jnp.zeros(start.shape, jnp.int32)))

    def replace(self, w: Vec, rounding: Array, slot: Array, top: Array) -> Array:
        """Lists the rows of faces to be replaced, the nearest first, and those that see the vertex; how many."""
        number, first = self.number(_BLOCK), self.number(_FAN)
        self.put(self.replaced, first, jnp.where(first == 0, slot, self.blank))
        self.wait()

        def look(k: Array, count: Array) -> Array:
            row = k * _BLOCK + number
            x, y, z, dist = (self.at(table, row) for table in self.planes)
            seen = (x * w.x + y * w.y + z * w.z - dist > rounding) & (row != slot)
            seen = (seen & (self.at(self.faces, row) != _NONE)).astype(jnp.int32)
            place = 1 + count + _before(seen)
            self.put(self.replaced, jnp.where((seen > 0) & (place < _BLOCK), place, _FAN), row)
            return count + _total(seen)

        blocks = lax.div(top + (_BLOCK - 1), jnp.int32(_BLOCK))
        count = lax.fori_loop(0, blocks, look, jnp.zeros(self.lanes.shape, jnp.int32))
        self.wait()
        # if they are too many only the first is replaced: the surface stays closed around the origin
        return jnp.where(count < _BLOCK, 1 + count, 1)

    def horizon(self, face: Array, removed: Array) -> tuple[Array, Array]:
        """Lists the edges between faces that are replaced and those that stay.

        Returns:
          how many edges and faces: of the nearest face alone, if those that are replaced are no disk.
        """
        number = self.number(_BLOCK)
        valid = number < removed
        rows = self.at(self.replaced, number)
        i, j, k = corners_of_face(self.at(self.faces, jnp.where(valid, rows, self.blank)))
        there = [jnp.where(valid, a | (b << 8), _NONE) for a, b in ((i, j), (j, k), (k, i))]
        back = [b | (a << 8) for a, b in ((i, j), (j, k), (k, i))]
        total = jnp.zeros(removed.shape, jnp.int32)
        places = []
        for own, against in zip(there, back, strict=True):
            met = [(against[:, None] == other[None]).astype(jnp.int32) for other in there]
            inner = jnp.max(met[0] | met[1] | met[2], axis=1)
            outer = (valid & (inner == 0)).astype(jnp.int32)
            places.append((own, outer, total + _before(outer)))
            total = total + _total(outer)
        whole = total <= removed + 2
        for own, outer, place in places:
            self.put(self.edges, jnp.where((outer > 0) & whole & (place < _FAN), place, _FAN), own)
        i, j, k = corners_of_face(face)
        alone = jnp.where(number == 0, i | (j << 8), jnp.where(number == 1, j | (k << 8), k | (i << 8)))
        self.put(self.edges, jnp.where((number < 3) & ~whole, number, _FAN), alone)
        return jnp.where(whole, total, 3), jnp.where(whole, removed, 1)

    def fan(self, w: Vec, row: Array, counts: tuple[Array, Array], top: Array, expand: Array) -> None:
        """Puts the faces between edges and the new vertex in the places of those that they replace."""
        edges, removed = counts
        number = self.number(_FAN)
        some = number < edges
        edge = jnp.where(some, self.at(self.edges, number), 0)
        start, stop = edge & 255, (edge >> 8) & 255
        a, b = (Vec(*(self.at(table, end) for table in self.points)) for end in (start, stop))
        normal, dist = plane(a, b, Vec(*(jnp.broadcast_to(c, start.shape) for c in w)))
        place = jnp.where(number < removed, self.at(self.replaced, number), top + number - removed)
        place = jnp.where(expand & (number < removed + 2), place, self.blank)
        kept = place < self.blank
        self.put(self.faces, place, jnp.where(some & kept, face_of(start, stop, row), _NONE))
        for table, x, empty in zip(self.planes, (*normal, dist), (0, 0, 0, FAR), strict=True):
            self.put(table, place, jnp.where(some, x, empty))


def _before(marks: Array) -> Array:
    """How many earlier rows of a block are marked with 1."""
    return jnp.cumsum(marks, axis=0, dtype=marks.dtype) - marks


def _total(marks: Array) -> Array:
    return jnp.sum(marks, axis=0, dtype=marks.dtype)
