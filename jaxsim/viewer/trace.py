"""First hits of rays with items, by Embree (I. Wald et al., "Embree", SIGGRAPH 2014)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from jaxsim.viewer.decor import Item
from jaxsim.viewer.needs import needs
from jaxsim.viewer.scene import Look

__all__ = ["Hits", "Surfaces"]

_FAR = 1e7
"""Distance of what is not there, m."""


@dataclasses.dataclass(frozen=True, eq=False)
class Hits:
    """Where rays meet surfaces.

    Attributes:
        ray: Which rays do, `(n,)`.
        distance: From the origin, m, `(n,)`.
        point: m, world frame, `(n, 3)`.
        normal: Unit, smooth, towards the origin, `(n, 3)`.
        uv: Texture coordinates, `(n, 3)`.
        density: Texture coordinates per m, `(n,)`.
        item: Which item, `(n,)`.
    """

    ray: np.ndarray
    distance: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    uv: np.ndarray
    density: np.ndarray
    item: np.ndarray


class Surfaces:
    """The triangles of all items in the world frame, ready to meet rays.

    Attributes:
        looks: Of the items.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        embree = needs("embreex.rtcore_scene", "pictures need")
        mesh_construction = needs("embreex.mesh_construction", "pictures need")
        self.looks: list[Look] = [item.look for item in items]
        placed = [item.mesh.placed(item.pos, item.mat) for item in items]
        corners = [mesh.vertices[mesh.faces] for mesh in placed]
        self._shadow = np.array([item.shadow for item in items], bool)
        self._triangles = np.concatenate([*corners, np.zeros((0, 3, 3))])
        self._normals = np.concatenate([*(m.normals[m.faces] for m in placed), np.zeros((0, 3, 3))])
        self._uv = np.concatenate([*(_three(m.uv)[m.faces] for m in placed), np.zeros((0, 3, 3))])
        self._item = np.repeat(np.arange(len(items)), [len(c) for c in corners])
        self._sides = _crossed(self._triangles)
        area = np.linalg.norm(self._sides, axis=1)
        self._density = np.sqrt(np.linalg.norm(_crossed(self._uv), axis=1) / np.maximum(area, 1e-20))
        # casters first: shadows look at these alone
        casts = self._shadow[self._item] if len(items) else np.zeros(0, bool)
        self._sets = []
        for shadow in (True, False):
            which = np.flatnonzero(casts == shadow)
            if len(which):
                scene = embree.EmbreeScene(robust=True)
                mesh_construction.TriangleMesh(scene, self._triangles[which].astype(np.float32))
                self._sets.append((scene, which, shadow))

    def first(self, origins: np.ndarray, dirs: np.ndarray) -> Hits:
        """First hits of rays; origins and unit directions `(n, 3)`, m, world frame."""
        count = len(origins)
        best, triangle = np.full(count, _FAR), np.full(count, -1)
        weights = np.zeros((count, 2))
        start, way = origins.astype(np.float32), dirs.astype(np.float32)
        for scene, which, _ in self._sets:
            hit = scene.run(start, way, dists=np.full(count, _FAR, np.float32), output=True)
            nearer = (hit["primID"] >= 0) & (hit["tfar"] < best)
            best[nearer] = hit["tfar"][nearer]
            triangle[nearer] = which[hit["primID"][nearer]]
            weights[nearer] = np.stack([hit["u"], hit["v"]], 1)[nearer]
        ray = np.flatnonzero(triangle >= 0)
        t, (u, v) = triangle[ray], weights[ray].T
        mix = np.stack([1 - u - v, u, v], 1)
        normal = np.einsum("nk,nkj->nj", mix, self._normals[t])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        # which side is seen is the triangle's to say: a smooth normal may look away at an outline
        side = self._sides[t] * np.where((normal * self._sides[t]).sum(1, keepdims=True) < 0, -1, 1)
        normal *= np.where((side * dirs[ray]).sum(1, keepdims=True) > 0, -1, 1)
        point = origins[ray] + best[ray, None] * dirs[ray]
        uv = np.einsum("nk,nkj->nj", mix, self._uv[t])
        return Hits(ray, best[ray], point, normal, uv, self._density[t], self._item[t])

    def blocked(self, origins: np.ndarray, dirs: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Whether something that casts shadows is nearer than `distance` `(n,)` along rays."""
        dark = np.zeros(len(origins), bool)
        start, way = origins.astype(np.float32), dirs.astype(np.float32)
        for scene, _, casts in self._sets:
            if casts:
                dark |= scene.run(start, way, dists=distance.astype(np.float32), query="OCCLUDED") >= 0
        return dark


def _three(uv: np.ndarray) -> np.ndarray:
    return uv if uv.shape[1] == 3 else np.pad(uv, ((0, 0), (0, 1)))


def _crossed(triangles: np.ndarray) -> np.ndarray:
    """Vectors along the normals of triangles `(n, 3, 3)`, twice their areas long, `(n, 3)`."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
