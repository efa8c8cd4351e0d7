"""First hits of rays with items: each large mesh is met in its own frame, the small ones together in the world's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from jaxsim.viewer.decor import Item
from jaxsim.viewer.scene import Look
from jaxsim.viewer.shapes import joined
from jaxsim.viewer.solid import Solid, solid_of

__all__ = ["Hits", "Surfaces"]

_FAR = 1e7
"""Distance of what is not there, m."""

_LARGE = 2000
"""Triangles from which a mesh is not searched with others: their common tree is made anew for every picture."""

_ALONG = 1e-6
"""Cosine up to which a smooth normal lies in its triangle, whose sides are then the same to it."""

_SLACK = 1.001
"""Factor on the radii of balls around meshes, against rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class Hits:
    """Where rays meet surfaces.

    Attributes:
        ray: Which rays do, `(n,)`.
        distance: From the origin, m, `(n,)`.
        point: m, world frame, `(n, 3)`.
        normal: Unit, smooth, on the side of `face`, `(n, 3)`.
        face: Unit, of the flat triangle, towards the origin, `(n, 3)`.
        uv: Texture coordinates, `(n, 3)`.
        density: Texture coordinates per m, `(n,)`.
        item: Which item, `(n,)`.
    """

    ray: np.ndarray
    distance: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    face: np.ndarray
    uv: np.ndarray
    density: np.ndarray
    item: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class _Piece:
    """A solid in its place: one large item, or all small ones that cast shadows, or all that do not.

    Attributes:
        solid: The triangles.
        pos: m, world frame, `(3,)`.
        mat: `(3, 3)`.
        item: Which item each triangle is of, `(m,)`.
        shadow: Whether it casts one.
    """

    solid: Solid
    pos: np.ndarray
    mat: np.ndarray
    item: np.ndarray
    shadow: bool


class Surfaces:
    """The triangles of all items, ready to meet rays.

    Attributes:
        looks: Of the items.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.looks: list[Look] = [item.look for item in items]
        # casters first: shadows look at these alone
        self._pieces = [*_pieces(items, shadow=True), *_pieces(items, shadow=False)]

    def first(self, origins: np.ndarray, dirs: np.ndarray) -> Hits:
        """First hits of rays; origins and unit directions `(n, 3)`, m, world frame."""
        count = len(origins)
        best, triangle = np.full(count, _FAR), np.full(count, -1)
        owner, weights = np.zeros(count, int), np.zeros((count, 2))
        for k, piece, near, start, way in self._meetings(origins, dirs, best):
            found, distance, at = piece.solid.first(start, way, best[near])
            nearer = (found >= 0) & (distance < best[near])
            ray = near[nearer]
            best[ray], triangle[ray], weights[ray] = distance[nearer], found[nearer], at[nearer]
            owner[ray] = k
        ray = np.flatnonzero(triangle >= 0)
        normal, face, uv, density, item = self._surface(owner[ray], triangle[ray], weights[ray])
        normal /= np.maximum(np.sqrt(_dot(normal, normal)), 1e-12)[:, None]
        face *= np.where(_dot(face, dirs[ray]) > 0, -1, 1)[:, None]
        # which side is seen is the triangle's to say: a smooth normal may look away at an outline
        normal *= np.where(_dot(normal, face) < -_ALONG, -1, 1)[:, None]
        point = origins[ray] + best[ray, None] * dirs[ray]
        return Hits(ray, best[ray], point, normal, face, uv, density, item)

    def blocked(self, origins: np.ndarray, dirs: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Whether something that casts shadows is nearer than `distance` `(n,)` along rays."""
        reach = distance.astype(float)
        for _, piece, near, start, way in self._meetings(origins, dirs, reach, casters=True):
            reach[near[piece.solid.blocks(start, way, reach[near])]] = -np.inf
        return reach < 0

    def _meetings(
        self, origins: np.ndarray, dirs: np.ndarray, reach: np.ndarray, *, casters: bool = False
    ) -> Iterator[tuple[int, _Piece, np.ndarray, np.ndarray, np.ndarray]]:
        """Pieces that rays may meet within their reach `(n,)`, m, which may shrink from one to the next.

        Args:
            origins: m, world frame, `(n, 3)`.
            dirs: Unit, `(n, 3)`.
            reach: How far the rays go, m, `(n,)`.
            casters: Leave out pieces that cast no shadow.

        Yields:
            The number of the piece; the piece; which rays; their origins and directions in the piece's frame.
        """
        along, square = _dot(origins, dirs), _dot(origins, origins)
        for k, piece in enumerate(self._pieces):
            if casters and not piece.shadow:
                continue
            centre, radius = piece.mat @ piece.solid.centre + piece.pos, _SLACK * piece.solid.radius
            # along the ray to the point nearest to the centre; what is left of the distance from there, squared
            ahead = dirs @ centre - along
            beside = centre @ centre - 2 * (origins @ centre) + square - ahead * ahead
            near = np.flatnonzero((beside <= radius**2) & (ahead >= -radius) & (ahead - radius < reach))
            if len(near):
                yield (
                    k,
                    piece,
                    near,
                    (origins.take(near, 0) - piece.pos) @ piece.mat,
                    dirs.take(near, 0) @ piece.mat,
                )

    def _surface(
        self, owner: np.ndarray, triangle: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """What `Solid.surface` says of triangles of pieces, in the world frame, and their items `(n,)`."""
        normal, face, uv = (np.zeros((len(owner), 3)) for _ in range(3))
        density, item = np.zeros(len(owner)), np.zeros(len(owner), int)
        for k in np.unique(owner):
            at, piece = np.flatnonzero(owner == k), self._pieces[k]
            smooth, flat, uv[at], density[at] = piece.solid.surface(triangle[at], weights[at])
            normal[at], face[at] = smooth @ piece.mat.T, flat @ piece.mat.T
            item[at] = piece.item[triangle[at]]
        return normal, face, uv, density, item


def _pieces(items: Sequence[Item], *, shadow: bool) -> Iterator[_Piece]:
    """The items that cast shadows, or those that do not."""
    mine = [k for k, item in enumerate(items) if item.shadow == shadow and len(item.mesh.faces)]
    counts = {k: len(items[k].mesh.faces) for k in mine}
    small = [k for k in mine if counts[k] < _LARGE]
    if small:
        mesh = joined([items[k].mesh.placed(items[k].pos, items[k].mat) for k in small])
        numbers = np.repeat(small, [counts[k] for k in small])
        yield _Piece(Solid(mesh), np.zeros(3), np.eye(3), numbers, shadow)
    for k in mine:
        if counts[k] >= _LARGE:
            number = np.broadcast_to(k, counts[k])
            yield _Piece(solid_of(items[k].mesh), items[k].pos, items[k].mat, number, shadow)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products `(n,)` of the rows of two arrays `(n, 3)`."""
    return np.einsum("nk,nk->n", a, b)
