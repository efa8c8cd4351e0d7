"""Where rays first meet triangles of meshes and height fields: the search, without derivatives."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.vec import Frame, Vec
from jaxsim.math.axis import take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import rows_by_world
from jaxsim.model import Model
from jaxsim.pipeline.ray.box import passage
from jaxsim.structure.triangles import CLUSTER, Triangles

__all__ = ["LocalRays", "TriangleHit", "local_rays", "meet_triangles", "vertices"]

_SLACK = 16
"""By how many roundings of the coordinates boxes are widened, so that no triangle in them is missed."""


class TriangleHit(NamedTuple):
    """Where rays first meet triangles, (k, W).

    Attributes:
      t: parameter along the ray, infinite if there is none.
      geom: row in the list of geoms.
      triangle: row of `Triangles.corners`.
    """

    t: Array
    geom: Array
    triangle: Array


def vertices(model: Model, table: Triangles) -> Array:
    """Vertices (nvertex, 3, 1 or W) of the meshes and height fields of a table, in the frames of their geoms."""
    parts = [
        model.mesh_vert[int(model.mesh_vertadr[i]) :][: int(model.mesh_vertnum[i])] for i in table.meshes
    ]
    parts += [_hfield_vertices(model, i) for i in table.hfields]
    width = max(p.shape[-1] for p in parts)
    return jnp.concatenate([jnp.broadcast_to(p, (*p.shape[:-1], width)) for p in parts])


def _hfield_vertices(model: Model, i: int) -> Array:
    """Vertices in the order of `structure.triangles.hfield_triangles`."""
    nrow, ncol, first = int(model.hfield_nrow[i]), int(model.hfield_ncol[i]), int(model.hfield_adr[i])
    size, data = model.hfield_size[i], model.hfield_data[first : first + nrow * ncol]
    row, column = np.meshgrid(np.linspace(-1, 1, nrow), np.linspace(-1, 1, ncol), indexing="ij")
    x, y = (jnp.asarray(k.reshape(-1, 1), data.dtype) for k in (column, row))
    x, y, z = jnp.broadcast_arrays(x * size[0], y * size[1], data * size[2])
    corner = np.array([[(k >> b & 1) for b in range(3)] for k in range(8)], float)
    box = jnp.asarray((corner * [2, 2, 1] - 1)[:, :, None], data.dtype) * size[jnp.array([0, 1, 3])]
    top, ground = jnp.stack([x, y, z], 1), jnp.stack([x, y, jnp.zeros_like(z)], 1)
    width = max(top.shape[-1], box.shape[-1])
    return jnp.concatenate([jnp.broadcast_to(p, (*p.shape[:-1], width)) for p in (top, ground, box)])


def meet_triangles(
    table: Triangles, points: Array, pos: Array, mat: Array, used: Array, pnt: Vec, vec: Vec
) -> TriangleHit:
    """The first triangles that rays meet.

    Args:
      table: the triangles.
      points: their vertices (nvertex, 3, 1 or W).
      pos: positions of the geoms (n, 3, 1 or W).
      mat: orientations of the geoms (n, 3, 3, 1 or W).
      used: which rays look at which geoms (n, k, 1 or W).
      pnt: origins of rays, world frame, components (k, W).
      vec: directions.
    """
    corners = points[jnp.asarray(table.corners)]  # (ntriangle, 3 corners, 3, .)
    corners = corners[jnp.asarray(table.clusters)]
    ray = local_rays(Frame.split(mat[:, None]), Vec.split(pos[:, None]), pnt, vec)
    entry = _entries(table, corners, ray, used)
    _, k, width = entry.shape
    flat = corners.reshape(corners.shape[0], -1, corners.shape[-1])
    rays = jnp.stack(jnp.broadcast_arrays(*ray.p, *ray.v, ray.ahead), axis=1)  # (n, 7, k, W)
    rays = jnp.broadcast_to(rays, (*rays.shape[:-1], width)).swapaxes(1, 2).reshape(-1, 7, width)
    item = lax.broadcasted_iota(jnp.int32, entry.shape, 0)
    own = lax.broadcasted_iota(jnp.int32, (k, width), 0)
    geoms, clusters = jnp.asarray(table.geom), jnp.asarray(table.cluster)

    def look(state: tuple[Array, TriangleHit]) -> tuple[Array, TriangleHit]:
        """Looks at the nearest cluster that each ray has not looked at."""
        entry, best = state
        chosen = jnp.argmin(entry, axis=0).astype(jnp.int32)
        worth = jnp.min(entry, axis=0) < best.t
        geom, cluster = geoms[chosen], clusters[chosen]
        local = rows_by_world(rays, geom * k + own)  # (k, 7, W)
        p, v, ahead = Vec(*local.swapaxes(0, 1)[:3]), Vec(*local.swapaxes(0, 1)[3:6]), local[:, 6]
        triangle = rows_by_world(flat, cluster).reshape(k, CLUSTER, 3, 3, width)
        t = _crossings(triangle, p, v, ahead)
        nearest = jnp.argmin(t, axis=1).astype(jnp.int32)
        t = jnp.min(t, axis=1) - ahead
        better = worth & (t < best.t)
        found = jnp.asarray(table.clusters)[cluster, nearest]
        best = TriangleHit(
            jnp.where(better, t, best.t),
            jnp.where(better, geom, best.geom),
            jnp.where(better, found, best.triangle),
        )
        return jnp.where(item == chosen, jnp.inf, entry), best

    none = jnp.zeros((k, width), jnp.int32)
    start = TriangleHit(jnp.full((k, width), jnp.inf, entry.dtype), none, none)
    found = lax.while_loop(lambda s: jnp.any(jnp.min(s[0], axis=0) < s[1].t), look, (entry, start))
    return found[1]


class LocalRays(NamedTuple):
    """Rays in the frames of geoms, counted from the point next to the geom's centre.

    A ray that comes from afar loses its last digits otherwise.

    Attributes:
      p: that point.
      v: direction.
      ahead: parameter, counted from that point, at which the ray begins.
    """

    p: Vec
    v: Vec
    ahead: Array


def local_rays(frame: Frame, centre: Vec, p: Vec, v: Vec) -> LocalRays:
    """Rays `p + t v` of the world in the frames of geoms, components of any shapes that broadcast."""
    p, v = frame.to_local(p - centre), frame.to_local(v)
    square = v.dot(v)
    ahead = p.dot(v) / jnp.where(square > 0, square, 1)
    return LocalRays(p - v * ahead, v, ahead)


def _entries(table: Triangles, corners: Array, ray: LocalRays, used: Array) -> Array:
    """Parameter (nitem, k, W), from the ray's beginning, at which rays enter boxes of clusters; infinity: never."""
    low = take(jnp.min(corners, axis=(1, 2)), table.cluster)[:, :, None]  # (nitem, 3, 1, .)
    high = take(jnp.max(corners, axis=(1, 2)), table.cluster)[:, :, None]
    p, v = (Vec(*(take(x, table.geom) for x in u)) for u in (ray.p, ray.v))
    ahead = take(ray.ahead, table.geom)
    eps = _SLACK * jnp.finfo(ahead.dtype).eps
    reach = jnp.max(jnp.maximum(jnp.abs(low), jnp.abs(high)), axis=1)
    slack = [eps * (reach + jnp.abs(at)) for at in p]
    lower = Vec(*(low[:, axis] - slack[axis] for axis in range(3)))
    upper = Vec(*(high[:, axis] + slack[axis] for axis in range(3)))
    enter, leave = passage(lower, upper, p, v, ahead)
    return jnp.where((enter <= leave) & take(used, table.geom), enter - ahead, jnp.inf)


def _crossings(triangle: Array, p: Vec, v: Vec, ahead: Array) -> Array:
    """Parameter (k, n, W) at which rays, (k, W) by components, cross triangles (k, n, 3, 3, W); infinity: never.

    The ray passes inside if it has all edges on one side, which the volumes of the ray and each edge tell. An edge of
    two triangles has the same volume in both up to its sign, so that no ray slips between them.
    """
    at = p.lifted()
    along = v.lifted()
    a, b, c = (Vec.split(triangle[:, :, corner]) - at for corner in range(3))
    volumes = [along.dot(x.cross(y)) for x, y in ((a, b), (b, c), (c, a))]
    inside = ((volumes[0] >= 0) & (volumes[1] >= 0) & (volumes[2] >= 0)) | (
        (volumes[0] <= 0) & (volumes[1] <= 0) & (volumes[2] <= 0)
    )
    normal = (a - c).cross(b - c)
    slope = normal.dot(along)
    crosses = jnp.abs(slope) >= MINVAL
    t = normal.dot(c) / jnp.where(crosses, slope, 1)
    return jnp.where(inside & crosses & (t >= ahead[:, None]), t, jnp.inf)
