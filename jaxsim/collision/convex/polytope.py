"""How deep two cores overlap: a polytope inside their difference grows until its nearest face is one of the difference.

Van den Bergen's expanding polytope algorithm (as of `difference`, section 4.3.8), arranged for many pairs and worlds at
once. Each round takes the face nearest to the origin, finds the vertex of the difference farthest along its normal, and
replaces the face and those of its three neighbours that see the vertex by a fan around it. Going no further than the
neighbours keeps a round small and free of cases; the surface may then fail to be convex, but it encloses the
origin, so the least distance of its faces' planes still bounds the depth from below, and the farthest vertex bounds
it from above.

Rounds are the same for all pairs, so a vertex and two faces go to rows that are known without looking; the others take
the places of the faces they replace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, Vertex, farthest, pick, smooth_rows
from jaxsim.collision.convex.gjk import Nearest
from jaxsim.collision.convex.planes import FAR, corners_of_face, face_of, plane
from jaxsim.collision.convex.polytope_kernel import grow_in_kernel
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.largest import entries_at
from jaxsim.collision.points import Search
from jaxsim.collision.vec import Vec
from jaxsim.math.asked import rounds_if_any
from jaxsim.math.one_kernel import fits_one_kernel, where_it_fits_in_one_kernel
from jaxsim.math.stage import stage

__all__ = ["ROUNDS", "Depth", "by_weight", "penetration"]

ROUNDS = 34
"""Most rounds, whatever the option says: sizes the buffers."""

_FIRST_VERTICES = 4
_FIRST_FACES = 4
_ROWS = -(-(_FIRST_FACES + 2 * ROUNDS) // 8) * 8
_REMOVED = 8
"""Most faces that a round replaces."""
_EDGES = _REMOVED + 2
"""Most edges of the region of so many faces."""
_NONE = -1


class Depth(NamedTuple):
    """The nearest face of the difference.

    Attributes:
      corners: its corners, (3, npair, W).
      weights: of the corners at the point nearest to the origin, (3, npair, W).
      normal: its unit normal, outwards, in the frame of geom 1, components (npair, W).
    """

    corners: Vertex
    weights: Array
    normal: Vec


class _State(NamedTuple):
    vertices: Vertex
    faces: Array
    normal: Vec
    dist: Array
    running: Array
    best: Array
    upper: Array
    rounds: Array


def penetration(pairs: Sequence[Pair], found: Nearest, search: Search) -> Depth:
    """The nearest face of the difference, for pairs whose cores meet; anything finite for the others.

    Args:
      pairs: the cores, kind by kind; below npair are all of them.
      found: where the search of the distance ended; the origin is in its simplex.
      search: most rounds, and the error of the depth of curved cores.
    """
    begin = where_it_fits_in_one_kernel(_beginning, "beginning", found.meet, pairs, found)
    vertices, faces, normal, dist, scale = begin
    rounding = 16 * jnp.finfo(scale.dtype).eps * scale
    smooth, gap = smooth_rows(pairs), rounding
    if smooth is not None:
        gap = jnp.where(smooth, jnp.maximum(search.tolerance, rounding), rounding)

    most = jnp.minimum(search.iterations, ROUNDS)
    first = (vertices, faces, normal, dist)
    if fits_one_kernel(found.meet, (pairs, first)):
        rows = (_FIRST_VERTICES + ROUNDS, _ROWS)
        return _nearest_face(grow_in_kernel(pairs, first, found.meet, (gap, rounding), most, rows))
    start = _first_state(*first, found.meet)
    end = lax.while_loop(lambda s: jnp.any(s.running), lambda s: _round(pairs, gap, rounding, most, s), start)
    return _nearest_face(_rows(end.vertices, _corners(end.best)))


def _nearest_face(corners: Vertex) -> Depth:
    """The face with three corners (3, npair, W)."""
    a, b, c = (Vec(*(x[n] for x in corners.point)) for n in range(3))
    normal, _ = plane(a, b, c)
    area = (b - a).cross(c - a).dot(normal)
    inverse = jnp.where(area > 0, 1.0 / jnp.where(area > 0, area, 1.0), 0.0)
    # triangles that the origin's projection makes with the edges; it may lie beside the triangle, on the same face
    u, v = (p.cross(q).dot(normal) * inverse for p, q in ((b, c), (c, a)))
    return Depth(corners, jnp.stack([u, v, 1 - u - v]), normal)


def _first_state(vertices: Vertex, faces: Array, normal: Vec, dist: Array, running: Array) -> _State:
    """A tetrahedron, the origin inside or on its first face."""

    def padded(x: Array, rows: int, value: float = 0) -> Array:
        return jnp.pad(x, ((0, rows - x.shape[0]), *((0, 0),) * (x.ndim - 1)), constant_values=value)

    return _State(
        jax.tree.map(lambda x: padded(x, _FIRST_VERTICES + ROUNDS), vertices),
        padded(faces, _ROWS, _NONE),
        Vec(*(padded(c, _ROWS) for c in normal)),
        padded(dist, _ROWS, FAR),
        running,
        faces[0],
        jnp.full_like(dist[0], FAR),
        jnp.zeros((), jnp.int32),
    )


def _beginning(pairs: Sequence[Pair], found: Nearest) -> tuple[Vertex, Array, Vec, Array, Array]:
    """Vertices, faces and their planes of a tetrahedron, and a length of the order of its sizes."""
    vertices, faces, scale = _tetrahedron(pairs, found)
    return vertices, faces, *_face_planes(vertices, faces), scale


def _tetrahedron(pairs: Sequence[Pair], found: Nearest) -> tuple[Vertex, Array, Array]:
    """The four vertices, the four faces, and a length of the order of the sizes.

    A simplex of few corners, or a flat one, is completed: a corner that does not span a line, a plane, a volume with
    those before it gives way to the farther one of the vertices along and against a direction across them.
    """
    order, _ = by_weight(found)

    def look(n: Array, state: tuple[Vertex, Array, Vertex]) -> tuple[Vertex, Array, Vertex]:
        """Looks along the direction for corner 1, 2 or 3, or against it and then decides."""
        vertices, whole, along = state
        flat, direction = settled(_missing(vertices.point, n // 2))
        backward = n % 2 == 1
        new = farthest(pairs, (-direction).where(backward, direction))
        beyond = pick(settled(_ahead(along.point, new.point, direction, vertices.point)), along, new)
        whole = whole & (~backward | ~flat)
        # with another base the fourth corner may be anywhere
        place = jnp.arange(_FIRST_VERTICES).reshape(-1, 1, 1) == n // 2 + 1
        given = place & backward & (flat | (~whole & (n // 2 == 2)))
        return pick(given, beyond, vertices), whole, new

    first = jax.tree.map(lambda x: x[0], order)
    # a search mostly ends with a tetrahedron
    flat = functools.reduce(jnp.logical_or, [_missing(order.point, n)[0] for n in map(jnp.int32, range(3))])
    looks = rounds_if_any(flat & found.meet, 6)
    vertices, _, _ = lax.fori_loop(0, looks, look, (order, jnp.ones_like(found.meet), first))
    return vertices, *_faces(vertices.point)


@stage
def _missing(p: Vec, count: Array) -> tuple[Array, Vec]:
    """Whether corner `count + 1` spans nothing new with those before it, and a direction across them."""
    a, b, c, d = (Vec(*(x[n] for x in p)) for n in range(4))
    edge, side = b - a, c - a
    extent = sum((jnp.abs(x) for v in (a, b, c) for x in v), start=jnp.zeros_like(a.x))
    length = _length(edge)
    normal, _ = plane(a, b, c)
    one, zero = jnp.ones_like(extent), jnp.zeros_like(extent)
    cases = (
        (length <= _tiny(extent), Vec(one, zero, zero)),
        (_length(edge.cross(side)) <= _tiny(length * (extent + length)), edge.cross(_least_axis(edge))),
        (jnp.abs((d - a).dot(normal)) <= _tiny(length + _length(side)), normal),
    )
    flat, direction = cases[2]
    for n in range(2):
        flat = jnp.where(count == n, cases[n][0], flat)
        direction = cases[n][1].where(count == n, direction)
    return flat, direction


@stage
def _ahead(along: Vec, against: Vec, direction: Vec, p: Vec) -> Array:
    """Whether the vertex along a direction is farther from the first corner than the one against it."""
    start = Vec(*(x[0] for x in p))
    return (along - start).dot(direction) >= (start - against).dot(direction)


@stage
def _faces(p: Vec) -> tuple[Array, Array]:
    """The faces of a tetrahedron, counter-clockwise from outside, and a length of the order of its sizes."""
    a, b, c, d = (Vec(*(x[n] for x in p)) for n in range(4))
    up = settled(_above(a, b, c, d))
    faces = [
        jnp.where(up, face_of(0, 2, 1), face_of(0, 1, 2)),
        jnp.where(up, face_of(0, 1, 3), face_of(1, 0, 3)),
        jnp.where(up, face_of(1, 2, 3), face_of(2, 1, 3)),
        jnp.where(up, face_of(2, 0, 3), face_of(0, 2, 3)),
    ]
    return jnp.stack(faces).astype(jnp.int32), _length(b - a) + _length(c - a) + _length(d - a)


@stage
def _above(a: Vec, b: Vec, c: Vec, d: Vec) -> Array:
    return (d - a).dot((b - a).cross(c - a)) > 0


def _tiny(scale: Array) -> Array:
    return 64 * jnp.finfo(scale.dtype).eps * scale


@stage
def _face_planes(vertices: Vertex, faces: Array) -> tuple[Vec, Array]:
    normal, dist = plane(*(_rows(vertices, k).point for k in _corners(faces)))
    return normal, dist


@stage
def by_weight(found: Nearest) -> tuple[Vertex, Array]:
    """The corners of the simplex and their weights, those of positive weight first."""
    some = found.weights > 0
    rank = jnp.cumsum(some, axis=0, dtype=jnp.int32) - 1
    rest = jnp.cumsum(~some, axis=0, dtype=jnp.int32) + rank[3]
    place = jnp.where(some, rank, rest)
    parts = [jax.tree.map(lambda x, n=n: x[n], (found.corners, found.weights)) for n in range(4)]
    ordered = []
    for n in range(4):
        chosen = parts[3]
        for k in range(3):
            chosen = jax.tree.map(lambda x, y, here=place[k] == n: jnp.where(here, x, y), parts[k], chosen)
        ordered.append(chosen)
    return jax.tree.map(lambda *x: jnp.stack(x), *ordered)


def _least_axis(v: Vec) -> Vec:
    """The coordinate axis most across a vector."""
    x, y, z = (jnp.abs(c) for c in v)
    first = (x <= y) & (x <= z)
    second = ~first & (y <= z)
    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    return Vec(
        jnp.where(first, one, zero), jnp.where(second, one, zero), jnp.where(first | second, zero, one)
    )


def _round(pairs: Sequence[Pair], gap: Array, rounding: Array, most: Array, state: _State) -> _State:
    """Expands the nearest face of each pair."""
    lower, slot = _least(state.dist)
    face, nx, ny, nz = (_row(x, slot) for x in (state.faces, *state.normal))
    normal = Vec(nx, ny, nz)
    new = farthest(pairs, normal)
    upper = _upper(normal, new.point)
    verdict = settled(_verdict(state, lower, upper, gap))
    expand, better = verdict >= _GROWS, verdict & 1 == 1

    row = state.rounds + _FIRST_VERTICES
    place = _places(settled(_seeing(state, new.point, rounding)), state.faces, slot, expand)
    edges, count = _horizon(*settled(_rim(_listed(state.faces, place))), face)
    fan, fan_normal, fan_dist = _fan(state.vertices, edges, new.point, row)
    top = _FIRST_FACES + 2 * state.rounds

    def put(table: Array, values: Array, blank: float) -> Array:
        for n in range(_REMOVED):
            table = jnp.where(place == n, values[n], table)
        extra = [_look_up(values, count + n, blank) for n in range(2)]
        fresh = jnp.where(expand, jnp.stack(extra), blank).astype(table.dtype)
        return lax.dynamic_update_slice_in_dim(table, fresh, top, 0)

    return _State(
        jax.tree.map(lambda b, x: lax.dynamic_update_slice_in_dim(b, x[None], row, 0), state.vertices, new),
        put(state.faces, fan, _NONE),
        Vec(*(put(t, x, 0) for t, x in zip(state.normal, fan_normal, strict=True))),
        put(state.dist, fan_dist, FAR),
        expand & (state.rounds + 1 < most),
        jnp.where(better, face, state.best),
        jnp.where(better, jnp.minimum(upper, state.upper), state.upper),
        state.rounds + 1,
    )


@stage
def _upper(normal: Vec, w: Vec) -> Array:
    return normal.dot(w)


_GROWS = 2
"""Verdict of a round, to which 1 is added where the face is the best yet."""


@stage
def _verdict(state: _State, lower: Array, upper: Array, gap: Array) -> Array:
    finished = (upper - lower <= gap) | (lower >= FAR)
    # of faces equally good the last, whose vertices are the nearest
    better = (upper < state.upper) | (finished & (upper <= state.upper + gap))
    verdict = jnp.where(finished, 0, _GROWS) + better
    return jnp.where(state.running, verdict, 0)


@stage
def _seeing(state: _State, w: Vec, rounding: Array) -> Array:
    """Which faces see a vertex."""
    n = state.normal
    return n.x * w.x + n.y * w.y + n.z * w.z - state.dist > rounding


@stage
def _places(seen: Array, faces: Array, slot: Array, expand: Array) -> Array:
    """The place of each face in the list of those to be replaced, -1: it stays; (rows, npair, W).

    The nearest face is the first; the others see the new vertex. If they are too many only the first is replaced:
    the surface stays closed around the origin, though not convex.
    """
    nearest = jnp.arange(_ROWS).reshape(-1, *[1] * slot.ndim) == slot
    seen = seen & ~nearest & (faces != _NONE)
    rank = _ranks(seen, 8)
    many = rank[-1] + seen[-1] > _REMOVED - 1
    return jnp.where(expand, jnp.where(nearest, 0, jnp.where(seen & ~many, rank + 1, -1)), -1)


@stage
def _listed(faces: Array, place: Array) -> Array:
    """The faces to be replaced, by place; `_NONE` beyond the last."""
    return _in_places(faces, place, _REMOVED)


@stage
def _rim(removed: Array) -> tuple[Array, Array, Array]:
    """All edges of faces that are replaced, start and end in eight bits each; those to faces that stay, counted.

    Returns:
      the edges, and the place of each in the list of those that are kept, -1: it is not, (edges, npair, W); the number
      of faces that are replaced, 0 where they are no disk.
    """
    i, j, k = _corners(removed)
    start, stop = jnp.concatenate([i, j, k]), jnp.concatenate([j, k, i])
    valid = jnp.concatenate([removed != _NONE] * 3)
    there, back = jnp.where(valid, start | (stop << 8), _NONE), stop | (start << 8)
    inner = jnp.zeros_like(valid)
    for n in range(3 * _REMOVED):
        inner = inner | (back == there[n])
    outer = valid & ~inner
    rank = _ranks(outer, 3 * _REMOVED)
    count = _total(removed != _NONE)
    # a region that is no disk has more edges than there is room for
    whole = rank[-1] + outer[-1] <= count + 2
    return there, jnp.where(outer, rank, -1), jnp.where(whole, count, 0)


@stage
def _horizon(edges: Array, place: Array, count: Array, face: Array) -> tuple[Array, Array]:
    """The edges between faces that are replaced and those that stay; of the nearest face alone if there is no disk.

    Returns:
      start and end of each edge, eight bits each, (most edges, npair, W), `_NONE` beyond the last; the number of faces
      that are replaced.
    """
    i, j, k = _corners(face)
    alone = jnp.stack([i | (j << 8), j | (k << 8), k | (i << 8), *[jnp.full_like(i, _NONE)] * (_EDGES - 3)])
    return jnp.where(count > 0, _in_places(edges, place, _EDGES), alone), jnp.maximum(count, 1)


@stage
def _fan(vertices: Vertex, edges: Array, w: Vec, row: Array) -> tuple[Array, Vec, Array]:
    """The faces between edges and the new vertex, their normals and distances."""
    some = edges != _NONE
    start, stop = jnp.where(some, edges & 255, 0), jnp.where(some, (edges >> 8) & 255, 0)
    a, b = (Vec(*(entries_at(c, n, axis=0) for c in vertices.point)) for n in (start, stop))
    normal, dist = plane(a, b, w)
    zero = jnp.zeros((), dist.dtype)
    return (
        jnp.where(some, face_of(start, stop, row), _NONE),
        Vec(*(jnp.where(some, c, zero) for c in normal)),
        jnp.where(some, dist, FAR),
    )


def _ranks(marked: Array, group: int) -> Array:
    """How many of the earlier rows are marked; groups of rows are counted by themselves, then added up."""
    x = marked.astype(jnp.int32)
    x = x.reshape(-1, group, *x.shape[1:])
    before = jnp.asarray(np.tri(group, k=-1, dtype=np.int32)).reshape(group, group, *[1] * (x.ndim - 2))
    rank = jnp.zeros_like(x)
    for n in range(group - 1):
        rank = rank + before[:, n] * x[:, n : n + 1]
    total = rank[:, -1] + x[:, -1]
    starts = [jnp.zeros_like(total[0])]
    for n in range(total.shape[0] - 1):
        starts.append(starts[-1] + total[n])
    return (rank + jnp.stack(starts)[:, None]).reshape(marked.shape)


def _in_places(values: Array, place: Array, places: int) -> Array:
    """Rows by the place each is given, `_NONE` where none is: one kernel over all places."""
    at = jnp.arange(places).reshape(-1, *[1] * (place.ndim - 1))
    result = jnp.full((places, *place.shape[1:]), _NONE, values.dtype)
    for row in range(place.shape[0]):
        result = jnp.where(place[row] == at, values[row], result)
    return result


def _look_up(table: Array, row: Array, blank: float) -> Array:
    """Row number `row` of a short table, `blank` beyond it."""
    result = jnp.full(row.shape, blank, table.dtype)
    for n in range(table.shape[0]):
        result = jnp.where(row == n, table[n], result)
    return result


def _total(marked: Array) -> Array:
    result = marked[0].astype(jnp.int32)
    for n in range(1, marked.shape[0]):
        result = result + marked[n]
    return result


def _corners(face: Array) -> Array:
    """Numbers of the corners of faces, on a new first axis."""
    return jnp.stack(corners_of_face(face))


def _least(dist: Array) -> tuple[Array, Array]:
    """The least distance, and its row."""
    least = settled(_lowest(dist))
    rows = jnp.arange(_ROWS, dtype=jnp.int32).reshape(-1, *[1] * least.ndim)
    return least, _fold(jnp.maximum, jnp.where(dist == least, rows, 0))


@stage
def _lowest(dist: Array) -> Array:
    return _fold(jnp.minimum, dist)


def _fold(operation: Callable[[Array, Array], Array], x: Array) -> Array:
    """Reduces the first axis, written out in two steps, which XLA for CPU vectorises."""
    step = x.shape[0] // 8
    parts = [x[n * step : (n + 1) * step] for n in range(8)]
    total = parts[0]
    for part in parts[1:]:
        total = operation(total, part)
    result = total[0]
    for n in range(1, step):
        result = operation(result, total[n])
    return result


def _length(v: Vec) -> Array:
    return jnp.sqrt(v.dot(v))


def _row(table: Array, index: Array) -> Array:
    return entries_at(table, index[None], axis=0)[0]


def _rows(vertices: Vertex, index: Array) -> Vertex:
    """Vertices by number, (n, npair, W)."""
    return jax.tree.map(lambda x: entries_at(x, index, axis=0), vertices)
