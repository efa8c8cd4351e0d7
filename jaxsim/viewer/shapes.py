"""Triangles of geoms: every geometric type as a mesh with normals and texture coordinates, in the geom's frame.

Texture coordinates have their origin at the first pixel of an image, u along its rows and v down its columns. They
cover an object once; how often a texture repeats is the material's affair.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.model import Model

__all__ = [
    "Mesh",
    "arrow",
    "box",
    "capsule",
    "crossed",
    "cylinder",
    "ellipsoid",
    "hfield",
    "joined",
    "model_hfield",
    "model_mesh",
    "plane",
    "primitive",
]

_AROUND = 32
"""Corners of a round outline: its error is half a percent of the radius."""

_SHARP = 0.8
"""Cosine of the angle, 37 degrees, from which a corner's normal is too far from its face's to shade it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles.

    Attributes:
        vertices: m, `(n, 3)`.
        faces: Corners, counter-clockwise from outside, `(m, 3)`.
        normals: Unit normals of vertices, `(n, 3)`.
        uv: Texture coordinates, `(n, 2)`; for a texture on a cube, the directions in which it is looked up, `(n, 3)`.
        has_uv: Whether a file gave the texture coordinates.
    """

    vertices: np.ndarray
    faces: np.ndarray
    normals: np.ndarray
    uv: np.ndarray
    has_uv: bool = False

    def placed(self, pos: np.ndarray, mat: np.ndarray) -> Mesh:
        """The mesh in the frame in which it stands at `pos` `(3,)`, turned by `mat` `(3, 3)`."""
        return dataclasses.replace(self, vertices=self.vertices @ mat.T + pos, normals=self.normals @ mat.T)


def _grid(points: np.ndarray, normals: np.ndarray, uv: np.ndarray) -> Mesh:
    """A surface over a grid of points `(rows, columns, 3)`; columns cross rows counter-clockwise from outside."""
    rows, columns = points.shape[:2]
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    a, b, c, d = first, first + 1, first + columns + 1, first + columns
    faces = np.concatenate([np.stack([a, d, c], 1), np.stack([a, c, b], 1)])
    vertices = points.reshape(-1, 3)
    area = np.linalg.norm(crossed(vertices[faces]), axis=1)
    return Mesh(
        vertices, faces[area > 1e-12 * area.max(initial=0)], normals.reshape(-1, 3), uv.reshape(-1, 2)
    )


def crossed(triangles: np.ndarray) -> np.ndarray:
    """Vectors along the normals of triangles `(n, 3, 3)`, twice their areas long, `(n, 3)`."""
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Meshes of one frame as one; its texture coordinates have as many columns, 2 or 3, as the widest of them."""
    starts = np.cumsum([0] + [len(m.vertices) for m in meshes])
    wide = max(m.uv.shape[1] for m in meshes)
    uv = np.concatenate([np.pad(m.uv, ((0, 0), (0, wide - m.uv.shape[1]))) for m in meshes])
    vertices, normals = (
        np.concatenate([getattr(m, name) for m in meshes]) for name in ("vertices", "normals")
    )
    faces = np.concatenate([m.faces + start for m, start in zip(meshes, starts[:-1], strict=True)])
    return Mesh(vertices, faces, normals, uv)


def _turned(radius: np.ndarray, height: np.ndarray, outward: np.ndarray, up: np.ndarray) -> Mesh:
    """A surface of revolution about z, from a profile that goes down: radii, heights, normals `(k,)`."""
    angle = np.linspace(-np.pi, np.pi, _AROUND + 1)
    cos, sin, one = np.cos(angle), np.sin(angle), np.ones(_AROUND + 1)
    points = np.stack([np.outer(radius, cos), np.outer(radius, sin), np.outer(height, one)], -1)
    normals = np.stack([np.outer(outward, cos), np.outer(outward, sin), np.outer(up, one)], -1)
    span = np.concatenate([[0], np.cumsum(np.hypot(np.diff(radius), np.diff(height)))])
    u, v = np.broadcast_arrays((angle / (2 * np.pi) + 0.5)[None], (span / max(span[-1], 1e-12))[:, None])
    return _grid(points, normals, np.stack([u, v], -1))


def ellipsoid(size: np.ndarray) -> Mesh:
    """An ellipsoid of three half axes (m); a sphere where they are equal."""
    polar = np.linspace(0, np.pi, _AROUND // 2 + 1)
    unit = _turned(np.sin(polar), np.cos(polar), np.sin(polar), np.cos(polar))
    normals = unit.normals / size
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return dataclasses.replace(unit, vertices=unit.vertices * size, normals=normals)


def capsule(radius: float, half: float) -> Mesh:
    """A capsule about z; `half` the length of its cylinder, m."""
    polar = np.concatenate(
        [np.linspace(0, np.pi / 2, _AROUND // 4 + 1), np.linspace(np.pi / 2, np.pi, _AROUND // 4 + 1)]
    )
    shift = np.repeat([half, -half], _AROUND // 4 + 1)
    return _turned(radius * np.sin(polar), radius * np.cos(polar) + shift, np.sin(polar), np.cos(polar))


def cylinder(radius: float, half: float) -> Mesh:
    """A cylinder about z of half length `half`, m."""
    return _cone(radius, radius, -half, half)


def _cone(bottom: float, top: float, low: float, high: float) -> Mesh:
    """A cone that is cut off, with both ends closed."""
    slope = np.array([high - low, bottom - top]) / max(np.hypot(high - low, bottom - top), 1e-12)
    side = _turned(np.array([top, bottom]), np.array([high, low]), slope[[0, 0]], slope[[1, 1]])
    ends = [
        _turned(np.array([0.0, top]), np.array([high, high]), np.zeros(2), np.ones(2)),
        _turned(np.array([bottom, 0.0]), np.array([low, low]), np.zeros(2), -np.ones(2)),
    ]
    return joined([side, *ends])


def arrow(length: float, radius: float) -> Mesh:
    """An arrow along z from the origin, m."""
    head = min(6 * radius, 0.5 * length)
    return joined([_cone(radius, radius, 0.0, length - head), _cone(2 * radius, 0.0, length - head, length)])


def box(size: np.ndarray) -> Mesh:
    """A box of three half lengths, m; a texture covers each face."""
    faces = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            normal = np.eye(3)[axis] * sign
            right = np.cross([0.0, 0, 1], normal) if axis < 2 else np.array([1.0, 0, 0])
            up = np.cross(normal, right)
            u, v = np.meshgrid([0.0, 1.0], [0.0, 1.0])
            points = normal + (2 * u - 1)[..., None] * right + (1 - 2 * v)[..., None] * up
            faces.append(_grid(points * size, np.broadcast_to(normal, (2, 2, 3)), np.stack([u, v], -1)))
    return joined(faces)


def plane(half_x: float, half_y: float) -> Mesh:
    """A rectangle that looks along +z, of given half lengths, m."""
    u, v = np.meshgrid([0.0, 1.0], [0.0, 1.0])
    points = np.stack([(2 * u - 1) * half_x, (1 - 2 * v) * half_y, np.zeros((2, 2))], -1)
    return _grid(points, np.broadcast_to([0.0, 0, 1], (2, 2, 3)), np.stack([u, v], -1))


def hfield(elevation: np.ndarray, size: np.ndarray) -> Mesh:
    """The surface of a height field, with its sides.

    Args:
        elevation: In [0, 1], `(rows, columns)`; rows along y.
        size: Half width, half depth, greatest height, base, m.
    """
    rows, columns = elevation.shape
    x, y = np.linspace(-size[0], size[0], columns), np.linspace(-size[1], size[1], rows)
    z = elevation * size[2]
    slope_y, slope_x = np.gradient(z, y, x)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(z)], -1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    points = np.stack([*np.broadcast_arrays(x[None], y[:, None]), z], -1)
    u, v = np.broadcast_arrays(np.linspace(0, 1, columns)[None], np.linspace(1, 0, rows)[:, None])
    uv = np.stack([u, v], -1)
    top = _grid(points[::-1], normals[::-1], uv[::-1])
    around = (np.s_[0, :], np.s_[:, -1], np.s_[-1, ::-1], np.s_[::-1, 0])
    sides = []
    for line, at in ((points[edge], uv[edge]) for edge in around):
        wall = np.stack([line, line * [1, 1, 0] - [0, 0, size[3]]])
        along = line[-1] - line[0]
        normal = np.cross(along, [0.0, 0, 1]) / np.linalg.norm(along * [1, 1, 0])
        sides.append(_grid(wall, np.broadcast_to(normal, wall.shape), np.stack([at, at])))
    return joined([top, *sides])


def model_mesh(model: Model, mesh: int) -> Mesh:
    """A mesh of a model, its corners split where normals or texture coordinates differ.

    A vertex has but one computed normal, even at a sharp edge: a corner whose normal is far from its face's has the
    face's, unless the mesh has texture coordinates, as in MuJoCo's renderer (`mjr_uploadMesh`).
    """
    rows = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
    corners = np.asarray(model.mesh_face)[rows]
    vertices = _span(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh])
    normals = _span(model.mesh_normal, model.mesh_normaladr[mesh], model.mesh_normalnum[mesh])
    of_normal = np.asarray(model.mesh_facenormal)[rows]
    has_uv = int(model.mesh_texcoordadr[mesh]) >= 0 and int(model.mesh_texcoordnum[mesh]) > 0
    if has_uv:
        uv = _span(model.mesh_texcoord, model.mesh_texcoordadr[mesh], model.mesh_texcoordnum[mesh])
        of_uv = np.asarray(model.mesh_facetexcoord)[rows]
    else:
        uv, of_uv = np.zeros((1, 2)), np.zeros_like(corners)
        normals, of_normal = _split(vertices[corners], normals, of_normal)
    key = corners + len(vertices) * (of_normal + len(normals) * of_uv.astype(np.int64))
    unique, faces = np.unique(key, return_inverse=True)
    rest, v = np.divmod(unique, len(vertices))
    t, n = np.divmod(rest, len(normals))
    return Mesh(vertices[v], faces.reshape(-1, 3), normals[n], uv[t], has_uv)


def _split(
    triangles: np.ndarray, normals: np.ndarray, of_normal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Normals `(k, 3)` and the one of each corner of triangles `(m, 3, 3)`, with those of faces where edges are sharp.

    Args:
        triangles: m.
        normals: Unit, `(n, 3)`.
        of_normal: The normals of the corners, `(m, 3)`.
    """
    across = crossed(triangles)
    area = np.linalg.norm(across, axis=1, keepdims=True)
    faces = np.divide(across, area, out=np.zeros_like(across), where=area > 0)
    far = (np.einsum("mkj,mj->mk", normals[of_normal], faces) < _SHARP) & (area > 0)
    which = np.flatnonzero(far.any(1))
    number = np.zeros(len(faces), int)
    number[which] = len(normals) + np.arange(len(which))
    return np.concatenate([normals, faces[which]]), np.where(far, number[:, None], of_normal)


def _span(array: object, start: int, count: int) -> np.ndarray:
    return np.asarray(array, float)[int(start) : int(start) + int(count)]


def model_hfield(model: Model, field: int) -> Mesh:
    """A height field of a model."""
    rows, columns, start = (int(x[field]) for x in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    data = _span(model.hfield_data, start, rows * columns).reshape(rows, columns)
    return hfield(data, np.asarray(model.hfield_size, float)[field])


_PRIMITIVES: dict[GeomType, Callable[[np.ndarray], Mesh]] = {
    GeomType.SPHERE: lambda size: ellipsoid(size[[0, 0, 0]]),
    GeomType.CAPSULE: lambda size: capsule(size[0], size[1]),
    GeomType.ELLIPSOID: ellipsoid,
    GeomType.CYLINDER: lambda size: cylinder(size[0], size[1]),
    GeomType.BOX: box,
}


def primitive(kind: int, size: np.ndarray) -> Mesh:
    """A sphere, capsule, ellipsoid, cylinder or box of given `geom_size`, m."""
    return _PRIMITIVES[GeomType(int(kind))](np.maximum(size, 1e-9))
