"""Distance functions of closed meshes of any shape: distances at the corners of a grid of cells, and between them.

In a cell the distance is trilinear; outside of the grid it is that of the nearest point of the grid, plus the way
there. The C engine has the same in an octree. The distance of a corner is that from the triangles nearest to it
(C. Ericson, "Real-time collision detection", 2005, section 5.1.5); a corner is inside where lines from it along most
axes cross the surface an odd number of times (as F. Nooruddin and G. Turk 2003, "Simplification and repair of
polygonal models using volumetric techniques"), so that a surface with small holes still has an inside.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe

__all__ = ["Voxels", "voxels"]

CELLS = 48
"""Cells along the longest side of a mesh, unless told otherwise: a table of them takes half a megabyte."""
_BORDER = 2
"""Cells around the mesh: gradients at its surface are those of cells within the grid."""
_NEAREST = 8
"""Parts of triangles, nearest to a corner by their centres, whose triangles its distance is from."""
_ASIDE = 1e-4
"""Lines that count crossings run aside of the corners by this share of a cell: meshes like to lie on grids."""
_NEAR = 3
"""Cells from the surface within which distances are taken from several triangles."""


@dataclasses.dataclass(frozen=True, eq=False)
class Voxels:
    """The distance function of a mesh, `(point (3,), size (3,)) -> m`; `size` does not matter.

    Two of the same mesh are equal, so that models that hold them share compiled programs. The grid is filled when the
    function is first traced, in a second or two.

    Attributes:
      vertices: m (n, 3).
      faces: rows of the vertices (m, 3); together they enclose a volume.
      cells: along the longest side.
    """

    vertices: np.ndarray
    faces: np.ndarray
    cells: int

    @functools.cached_property
    def key(self) -> str:
        """A digest of the mesh."""
        digest = hashlib.blake2b(str((self.cells, self.vertices.shape)).encode(), digest_size=16)
        digest.update(self.vertices.tobytes() + self.faces.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Voxels) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, point: Array, size: Array) -> Array:
        """The distance of a point (3,), m."""
        del size
        low, step, table = _grid(self)
        most = np.array(table.shape) - 1
        place = (point - jnp.asarray(low, point.dtype)) / step
        held = jnp.clip(place, 0, jnp.asarray(most, point.dtype))
        beyond = safe.norm((place - held) * step, axis=0)
        cell = jnp.minimum(lax.stop_gradient(held).astype(jnp.int32), most - 1)
        corners = lax.dynamic_slice(jnp.asarray(table, point.dtype), tuple(cell), (2, 2, 2))
        for share in held - cell.astype(point.dtype):
            corners = corners[0] * (1 - share) + corners[1] * share
        return corners + beyond


def voxels(vertices: np.ndarray, faces: np.ndarray, cells: int = CELLS) -> Voxels:
    """The distance function of a closed mesh of any shape.

    Args:
      vertices: m (n, 3), in the frame of the shape.
      faces: rows of the vertices (m, 3).
      cells: along the longest side of its bounds; what is thinner than two of them may be lost.

    Raises:
      ValueError: there is no triangle, or less than one cell.
    """
    faces = np.array(faces, np.int32).reshape(-1, 3)
    if not len(faces) or cells < 1:
        raise ValueError(f"voxels: {len(faces)} faces, cells={cells}: one or more of both are needed")
    return Voxels(np.array(vertices, float).reshape(-1, 3), faces, int(cells))


@functools.lru_cache(maxsize=32)
def _grid(shape: Voxels) -> tuple[np.ndarray, float, np.ndarray]:
    """The first corner, m (3,), the side of a cell, m, and the distances of all corners, m (i, j, k)."""
    corners = shape.vertices[shape.faces]
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    step = max(float((high - low).max()) / shape.cells, 1e-9)
    count = np.maximum(np.ceil((high - low) / step - 1e-9).astype(int), 1) + 2 * _BORDER
    low = 0.5 * (low + high) - 0.5 * count * step
    axes = [low[k] + step * np.arange(count[k] + 1) for k in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    votes = sum(_crossed(corners, axes, step, k) for k in range(3))
    away = _distances(points.reshape(-1, 3), corners, step).reshape(points.shape[:3])
    return low, step, np.where(votes >= 2, -away, away)


def _crossed(corners: np.ndarray, axes: list[np.ndarray], step: float, up: int) -> np.ndarray:
    """1 where a line along an axis crosses triangles (m, 3, 3) an odd number of times below a corner of the grid."""
    first, second = (up + 1) % 3, (up + 2) % 3
    start = np.array([axes[first][0], axes[second][0]]) + step * _ASIDE * np.array([1.0, np.sqrt(0.5)])
    flat, height = corners[..., [first, second]], corners[..., up]
    side = flat[:, [1, 2, 0]] - flat
    area = side[:, 0, 0] * side[:, 1, 1] - side[:, 0, 1] * side[:, 1, 0]
    # the lines that pass the bounds of each triangle, one after the other
    low = np.ceil((flat.min(axis=1) - start) / step).astype(int)
    wide = np.maximum(np.floor((flat.max(axis=1) - start) / step).astype(int) - low + 1, 0)
    many = np.where(area == 0, 0, wide[:, 0] * wide[:, 1])
    triangle = np.repeat(np.arange(len(corners)), many)
    number = np.arange(len(triangle)) - np.repeat(np.cumsum(many) - many, many)
    line = low[triangle] + np.stack(np.divmod(number, wide[triangle, 1]), axis=1)
    offset = (start + step * line)[:, None] - flat[triangle]
    # the share of each corner is the area of the part across from it
    own = side[triangle]
    share = (own[..., 0] * offset[..., 1] - own[..., 1] * offset[..., 0]) / area[triangle, None]
    hit = (share >= 0).all(axis=1)
    above = np.sum(share[hit][:, [1, 2, 0]] * height[triangle[hit]], axis=1)
    count = np.zeros((len(axes[first]), len(axes[second]), len(axes[up]) + 1), int)
    np.add.at(count, (line[hit, 0], line[hit, 1], np.searchsorted(axes[up], above)), 1)
    odd = np.cumsum(count[..., :-1], axis=2) % 2
    return np.moveaxis(odd, (0, 1, 2), (first, second, up))


def _distances(points: np.ndarray, corners: np.ndarray, step: float) -> np.ndarray:
    """Distances of points (n, 3) from triangles (m, 3, 3), m: those near the surface from several, others from one."""
    from scipy.spatial import cKDTree  # pyright: ignore

    parts, owner = _split(corners, step)
    tree = cKDTree(parts.mean(axis=1))
    away, nearest = tree.query(points)
    found = np.sqrt(_squares(points, corners[owner[nearest]]))
    near = np.flatnonzero(away < _NEAR * step)
    _, several = tree.query(points[near], k=min(_NEAREST, len(parts)))
    triangles = corners[owner[np.asarray(several).reshape(len(near), -1)]]
    found[near] = np.sqrt(_squares(points[near, None], triangles).min(axis=1))
    return found


def _split(corners: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles cut at the middle of their longest sides until none is longer, and what each was cut from."""
    owner, done, owners = np.arange(len(corners)), [], []
    while len(corners):
        length = np.linalg.norm(corners[:, [1, 2, 0]] - corners, axis=2)
        short = length.max(axis=1) <= longest
        done.append(corners[short])
        owners.append(owner[short])
        corners, owner, length = corners[~short], owner[~short], length[~short]
        turn = (length.argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.moveaxis(np.take_along_axis(corners, turn[..., None], axis=1), 1, 0)
        middle = 0.5 * (a + b)
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
        owner = np.concatenate([owner, owner])
    return np.concatenate(done), np.concatenate(owners)


def _squares(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Squared distances of points (..., 3) from triangles (..., 3, 3), m^2."""
    edges = np.roll(corners, -1, axis=-2) - corners
    offset = points[..., None, :] - corners
    lengths = np.maximum(np.sum(edges * edges, axis=-1), 1e-300)
    along = np.clip(np.sum(offset * edges, axis=-1) / lengths, 0.0, 1.0)
    rest = offset - along[..., None] * edges
    nearest = np.sum(rest * rest, axis=-1).min(axis=-1)
    normal = np.cross(edges[..., 0, :], edges[..., 1, :])
    square = np.sum(normal * normal, axis=-1)
    inner = np.sum(np.cross(edges, offset) * normal[..., None, :], axis=-1)
    over = (inner >= 0).all(axis=-1) & (square > 0)
    height = np.sum(offset[..., 0, :] * normal, axis=-1)
    return np.where(over, height * height / np.where(square > 0, square, 1.0), nearest)
