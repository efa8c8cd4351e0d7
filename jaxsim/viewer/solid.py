"""Meshes ready to meet rays in their own frames, by Embree (I. Wald et al., "Embree", SIGGRAPH 2014)."""

from __future__ import annotations

import weakref

import numpy as np

from jaxsim.viewer.needs import needs
from jaxsim.viewer.shapes import Mesh, crossed

__all__ = ["Solid", "solid_of"]


class Solid:
    """The triangles of a mesh and Embree's search tree of them.

    Attributes:
        centre: Of a ball around the mesh, m, `(3,)`.
        radius: Of the ball, m.
    """

    def __init__(self, mesh: Mesh) -> None:
        embree = needs("embreex.rtcore_scene", "pictures need")
        mesh_construction = needs("embreex.mesh_construction", "pictures need")
        self._corners, self._normals = mesh.faces, mesh.normals
        self._uv = mesh.uv if mesh.uv.shape[1] == 3 else np.pad(mesh.uv, ((0, 0), (0, 1)))
        triangles = mesh.vertices[mesh.faces]
        self._faces = crossed(triangles)
        area = np.maximum(np.linalg.norm(self._faces, axis=1), 1e-20)
        self._faces /= area[:, None]
        self._density = np.sqrt(np.linalg.norm(crossed(self._uv[mesh.faces]), axis=1) / area)
        self._tree = embree.EmbreeScene(robust=True)
        mesh_construction.TriangleMesh(self._tree, triangles.astype(np.float32))
        low, high = mesh.vertices.min(0), mesh.vertices.max(0)
        self.centre = (low + high) / 2
        self.radius = float(np.linalg.norm(mesh.vertices - self.centre, axis=1).max())

    def first(
        self, origins: np.ndarray, dirs: np.ndarray, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First hits of rays, in the mesh's frame.

        Args:
            origins: m, `(n, 3)`.
            dirs: Unit, `(n, 3)`.
            distance: How far the rays go, m, `(n,)`.

        Returns:
            The triangles, `(n,)`, -1 where a ray meets none; distances, m, `(n,)`; weights of the triangles' second
            and third corners, `(n, 2)`.
        """
        reach = distance.astype(np.float32)
        hit = self._tree.run(origins.astype(np.float32), dirs.astype(np.float32), dists=reach, output=True)
        return hit["primID"], hit["tfar"], np.stack([hit["u"], hit["v"]], 1)

    def blocks(self, origins: np.ndarray, dirs: np.ndarray, distance: np.ndarray) -> np.ndarray:
        """Whether rays, as those of `first`, meet a triangle, `(n,)`."""
        reach = distance.astype(np.float32)
        start, way = origins.astype(np.float32), dirs.astype(np.float32)
        return self._tree.run(start, way, dists=reach, query="OCCLUDED") >= 0

    def surface(
        self, triangles: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is at points of triangles.

        Args:
            triangles: Which, `(n,)`.
            weights: Of their second and third corners, `(n, 2)`.

        Returns:
            Normals, smooth, of any length but 0, `(n, 3)`; normals of the triangles, unit, `(n, 3)`; texture
            coordinates, `(n, 3)`, and how many of them there are in a m, `(n,)`.
        """
        at = self._corners.take(triangles, 0)
        mix = np.stack([1 - weights.sum(1), *weights.T], 1)
        normal, uv = (np.einsum("nk,nkj->nj", mix, x.take(at, 0)) for x in (self._normals, self._uv))
        return normal, self._faces.take(triangles, 0), uv, self._density.take(triangles)


_solids: weakref.WeakKeyDictionary[Mesh, Solid] = weakref.WeakKeyDictionary()


def solid_of(mesh: Mesh) -> Solid:
    """The mesh ready to meet rays: made once, and kept as long as the mesh is."""
    solid = _solids.get(mesh)
    if solid is None:
        solid = _solids[mesh] = Solid(mesh)
    return solid
