"""Mesh assets: read, moved to their inertial frame, and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxsim.compile.columns import addresses, column, columns, gated, landed
from jaxsim.compile.inertia import MESH, principal_axes
from jaxsim.compile.mesh.builtin import SHAPES
from jaxsim.compile.mesh.data import Triangles
from jaxsim.compile.mesh.faces import hull_polygons, join_polygons, polygon_normals
from jaxsim.compile.mesh.hull import Hull, convex_hull
from jaxsim.compile.mesh.moments import Corners, centroid, products, solid_center, surface_center
from jaxsim.compile.mesh.msh import read_msh
from jaxsim.compile.mesh.normals import vertex_normals
from jaxsim.compile.mesh.obj import read_obj
from jaxsim.compile.mesh.stl import read_stl
from jaxsim.enums import GeomType
from jaxsim.math import rotations
from jaxsim.math.constants import MAXVAL, MINVAL
from jaxsim.mjcf import Document, Element
from jaxsim.mjcf.frames import IDENTITY, ORIGIN, Quat, Vec3, unit_quat
from jaxsim.structure.lists import Lists

__all__ = ["Mesh", "compile_mesh", "mesh_fields"]

_READERS = {
    **dict.fromkeys((".stl", ".STL", "model/stl"), read_stl),
    **dict.fromkeys((".obj", ".OBJ", "model/obj"), read_obj),
}
"""By extension, as it is written, and by type of content."""


@dataclass(eq=False)
class Mesh:
    """A mesh in the frame of its principal axes of inertia.

    Attributes:
        pos: position of that frame in the mesh's original frame, m.
        quat: its orientation.
        volume: volume, m^3, or area, m^2, if the mass is on the surface.
        inertia_box: half sizes of the box with the same inertia, m.
        box: lowest and highest coordinates.
        material: name of its material.
        triangles: vertices, faces, normals and texture coordinates.
        hull: convex hull, None if nothing needs it.
        polygons: those that bound the hull.
        polygon_normals: their unit normals.
    """

    element: Element
    values: Any
    name: str
    id: int
    triangles: Triangles = field(default_factory=Triangles)
    hull: Hull | None = None
    polygons: Lists = field(default_factory=lambda: Lists(np.zeros(0, int), np.zeros(0, int)))
    polygon_normals: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    pos: Vec3 = ORIGIN
    quat: Quat = IDENTITY
    volume: float = 0.0
    inertia_box: Vec3 = ORIGIN
    box: tuple[Vec3, Vec3] = (ORIGIN, ORIGIN)
    material: str = ""

    @property
    def nvert(self) -> int:
        """Number of vertices."""
        return len(self.triangles.vert)

    @property
    def reach(self) -> Vec3:
        """Half sizes of the least box around the origin that holds the mesh, m."""
        x, y, z = (max(abs(a), abs(b)) for a, b in zip(*self.box, strict=True))
        return (x, y, z)

    def fit(self, type: GeomType, size: Vec3, to_box: bool) -> tuple[Vec3, Vec3]:
        """Returns centre and size of a primitive like the mesh; sizes that the type does not use are kept.

        Args:
            type: the primitive.
            size: the geom's own size.
            to_box: whether to fit the bounding box; else the inertia box.

        Raises:
            MjcfError: the type cannot be fitted.
        """
        center: Vec3 = ORIGIN
        a, b, c = self.inertia_box
        if to_box:
            low, high = self.box
            center = ((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2)
            a, b, c = (h - m for h, m in zip(high, center, strict=True))
        if type == GeomType.SPHERE:
            return center, (max(a, b, c) if to_box else (a + b + c) / 3, size[1], size[2])
        if type in (GeomType.ELLIPSOID, GeomType.BOX):
            return center, (a, b, c)
        if type not in (GeomType.CAPSULE, GeomType.CYLINDER):
            raise self.element.error(f"a {type.name.lower()} cannot be fitted to a mesh")
        radius, half = (max(a, b) if to_box else (a + b) / 2), c
        if type == GeomType.CAPSULE:
            half = half - radius if to_box else max(0.0, half - radius / 2)
        return center, (radius, half, size[2])


def compile_mesh(document: Document, element: Element, name: str, index: int, needs_hull: bool) -> Mesh:
    """Reads one mesh.

    Args:
        document: the model.
        element: its element.
        name: its name.
        index: its id.
        needs_hull: whether a geom collides with it.

    Raises:
        MjcfError: the mesh cannot be read, or has no volume.
    """
    values: Any = document.resolve(element)
    if not name:
        raise element.error("a mesh needs a name", attribute="name")
    if element.find("plugin") is not None:
        raise element.error("engine plugins are not built in jaxsim; remove the element")
    mesh = Mesh(element, values, name, index, material=values["material"] or "")
    mesh.triangles = _read(document, element, values)
    _check(element, mesh.triangles)
    try:
        _process(mesh, needs_hull or _inertia(values) == "convex")
    except ValueError as error:
        raise element.error(str(error), attribute="file" if values["file"] else "vertex") from None
    return mesh


def _read(document: Document, element: Element, values: Any) -> Triangles:
    """Takes what the file has, completed by what the element gives."""
    given = Triangles()
    for name, width, dtype in (
        ("vertex", 3, np.float32),
        ("normal", 3, np.float32),
        ("texcoord", 2, np.float32),
        ("face", 3, np.int64),
    ):
        numbers = values[name]
        if numbers is not None:
            setattr(given, {"vertex": "vert"}.get(name, name), numbers.astype(dtype).reshape(-1, width))
    if "builtin" in element:
        return _made(element, values, given)
    if not values["file"]:
        return given
    file, content = document.open_asset(element, "file")
    reader = _reader(file, values["content_type"])
    if reader is None:
        raise element.error(
            "expected an STL, OBJ or MSH file: .stl, .obj, .msh, in lower or upper case", attribute="file"
        )
    try:
        read = reader(content)
    except (ValueError, OverflowError) as error:
        raise element.error(str(error), attribute="file") from None
    for attribute, name in (
        ("vertex", "vert"),
        ("normal", "normal"),
        ("texcoord", "texcoord"),
        ("face", "face"),
    ):
        own = getattr(given, name)
        if own.size and getattr(read, name).size:
            raise element.error("the file has this too", attribute=attribute)
        if own.size:
            setattr(read, name, own)
    return read


def _reader(file: str, content_type: str | None) -> Callable[[bytes], Triangles] | None:
    """What reads a file: its extension says it, as in C, and where it does not the type of its content."""
    extension = "." + file.rsplit(".", 1)[-1] if "." in file else ""
    if content_type == "model/vnd.mujoco.msh" or extension.lower() == ".msh":
        return read_msh
    return _READERS.get(extension) or _READERS.get(content_type or "")


def _inertia(values: Any) -> str:
    """How mass is spread over the mesh."""
    shape = SHAPES.get(values["builtin"])
    return "shell" if shape is not None and shape.shell else values["inertia"]


def _made(element: Element, values: Any, given: Triangles) -> Triangles:
    """Makes a builtin shape; what it does not have is taken from the element."""
    shape = SHAPES.get(values["builtin"])
    if shape is None:
        raise element.error(f"expected one of {', '.join(SHAPES)}", attribute="builtin")
    if values["params"] is None:
        raise element.error("required attribute missing", attribute="params")
    try:
        made = shape(values["params"])
    except (ValueError, OverflowError) as error:
        raise element.error(str(error), attribute="params") from None
    for name in ("normal", "texcoord", "face"):
        if not getattr(made, name).size:
            setattr(made, name, getattr(given, name))
    return made


def _check(element: Element, t: Triangles) -> None:
    if len(t.vert) < 4:
        raise element.error("at least 4 vertices are needed", attribute="vertex")
    if not np.isfinite(t.vert).all():
        raise element.error("a vertex coordinate is not finite", attribute="vertex")
    if t.face.size and (t.face.min() < 0 or t.face.max() >= len(t.vert)):
        bad = int(np.flatnonzero(((t.face < 0) | (t.face >= len(t.vert))).any(1))[0])
        raise element.error(f"face {bad} has a vertex that does not exist", attribute="face")
    if t.texcoord.size and not t.facetexcoord.size and len(t.texcoord) != len(t.vert):
        raise element.error("expected one texture coordinate for each vertex", attribute="texcoord")


def _process(mesh: Mesh, needs_hull: bool) -> None:
    """Transforms the mesh, measures it, and moves it to its inertial frame."""
    values, t = mesh.values, mesh.triangles
    kind = _inertia(values)
    vert = t.vert.astype(np.float64)
    scale = values["scale"]
    if kind == "exact":
        _check_orientation(vert, t.face)
    if needs_hull or not t.face.size:
        mesh.hull = convex_hull(vert, values["maxhullvert"])
        mesh.polygons = hull_polygons(vert, mesh.hull.face)
    if not t.face.size:
        assert mesh.hull is not None
        t.face = mesh.hull.face.copy()
    _complete(t, vert, values["smoothnormal"])
    mirrored = np.prod(scale) <= 0
    if mirrored:
        for index in (t.face, t.facenormal, t.facetexcoord):
            index[:, [1, 2]] = index[:, [2, 1]]
        mesh.polygons = mesh.polygons.reversed()
    vert = _transform(mesh, vert)
    origin, area = centroid(Corners.of(vert, t.face))
    if area < MINVAL:
        raise ValueError("the surface of the mesh is too small")
    shell, positive = kind == "shell", kind == "legacy"
    if kind == "convex":
        assert mesh.hull is not None
        face = mesh.hull.face[:, [0, 2, 1]] if mirrored else mesh.hull.face
    else:
        face = t.face
    corners = Corners.of(vert, face)
    if shell:
        center, _ = surface_center(corners, origin)
    else:
        center, volume = solid_center(corners, origin, positive)
        if volume < MINVAL:
            what = "negative: its triangles face inwards" if volume < 0 else "too small"
            raise ValueError(f"the volume of the mesh is {what}; try inertia=shell")
    inertia, mesh.volume = products(Corners.of(vert - center, face), shell, positive)
    quat, moments = principal_axes(inertia, MESH, least=5e-324)
    a, b, c = moments
    slack = 1 - 1e-6
    if a + b < c * slack - 1e-9 or a + c < b * slack - 1e-9 or b + c < a * slack - 1e-9:
        raise ValueError("the moments of inertia of the mesh violate A + B >= C")
    box = [0.5 * np.sqrt(max(0.0, 6 * s / mesh.volume)) for s in (b + c - a, a + c - b, a + b - c)]
    mesh.inertia_box = (float(box[0]), float(box[1]), float(box[2]))
    mesh.pos = (float(center[0]), float(center[1]), float(center[2]))
    mesh.quat = quat
    turn = rotations.matrix(np.array(quat))
    vert = (vert - center) @ turn
    low, high = np.minimum(vert.min(0), MAXVAL).tolist(), vert.max(0).tolist()
    mesh.box = ((low[0], low[1], low[2]), (high[0], high[1], high[2]))
    mesh.polygon_normals = polygon_normals(vert, mesh.polygons)
    t.vert = vert.astype(np.float32)
    t.normal = (t.normal @ turn).astype(np.float32)


def _check_orientation(vert: np.ndarray, face: np.ndarray) -> None:
    """Checks that no two faces run along an edge in the same direction."""
    used = face[Corners.of(vert, face).area > MINVAL**0.5]
    edges = np.concatenate([used[:, [0, 1]], used[:, [1, 2]], used[:, [2, 0]]])
    _, counts = np.unique(edges, axis=0, return_counts=True)
    if (counts > 1).any():
        raise ValueError("the faces of the mesh have inconsistent orientation")


def _complete(t: Triangles, vert: np.ndarray, smooth: bool) -> None:
    """Adds normals, and the indices of normals and texture coordinates."""
    if not t.normal.size:
        t.normal = vertex_normals(vert, t.face, smooth).astype(np.float32)
        t.facenormal = t.face.copy()
    elif not t.facenormal.size:
        t.facenormal = t.face * (len(t.normal) // len(t.vert))
    t.facenormal = t.facenormal.copy()
    t.face = t.face.copy()
    if t.texcoord.size:
        t.facetexcoord = (t.facetexcoord if t.facetexcoord.size else t.face).copy()
    if t.facenormal.shape != t.face.shape:
        raise ValueError("as many normals as faces are needed")


def _transform(mesh: Mesh, vert: np.ndarray) -> np.ndarray:
    """Applies reference pose and scale to vertices and normals."""
    values, t = mesh.values, mesh.triangles
    refpos, refquat, scale = values["refpos"], values["refquat"].tolist(), values["scale"]
    if refpos.any():
        vert = vert - refpos
    normal = t.normal.astype(np.float64)
    if tuple(refquat) != IDENTITY:
        turn = rotations.matrix(np.array(unit_quat(refquat)))
        vert, normal = vert @ turn, normal @ turn
    if (scale != 1).any():
        vert = vert * scale
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = normal / scale
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    good = np.isfinite(length) & (length > 1e-8)
    t.normal = np.where(good, normal / np.where(good, length, 1.0), (0.0, 0.0, 1.0))
    return vert


def mesh_fields(meshes: list[Mesh]) -> dict[str, Any]:
    """Returns the fields of all meshes."""
    parts = [mesh.triangles for mesh in meshes]
    graphs = [mesh.hull.graph if mesh.hull is not None else np.zeros(0, np.int32) for mesh in meshes]

    def join(name: str, rows: list[np.ndarray]) -> np.ndarray:
        return column(name, np.concatenate(rows) if rows else np.zeros(0))

    nvert, nface = [len(t.vert) for t in parts], [len(t.face) for t in parts]
    nnormal, ntexcoord = [len(t.normal) for t in parts], [len(t.texcoord) for t in parts]
    fields: dict[str, Any] = {
        "mesh_vertadr": addresses(nvert),
        "mesh_vertnum": nvert,
        "mesh_faceadr": addresses(nface),
        "mesh_facenum": nface,
        "mesh_normaladr": addresses(nnormal),
        "mesh_normalnum": nnormal,
        "mesh_texcoordadr": gated(ntexcoord),
        "mesh_texcoordnum": ntexcoord,
        "mesh_graphadr": gated([graph.size for graph in graphs]),
        **landed("mesh", "mesh_", [mesh.values for mesh in meshes]),
        "mesh_pos": [mesh.pos for mesh in meshes],
        "mesh_quat": [mesh.quat for mesh in meshes],
    }
    fields = columns(fields)
    fields["nmesh"] = len(meshes)
    fields["mesh_face"] = join("mesh_face", [t.face for t in parts])
    fields["mesh_facenormal"] = join("mesh_facenormal", [t.facenormal for t in parts])
    blank = [t.facetexcoord if t.texcoord.size else np.zeros_like(t.face) for t in parts]
    fields["mesh_facetexcoord"] = join("mesh_facetexcoord", blank)
    fields["mesh_graph"] = join("mesh_graph", graphs)
    fields |= join_polygons([mesh.polygons for mesh in meshes], nvert)
    fields["mesh_vert"] = join("mesh_vert", [t.vert for t in parts])
    fields["mesh_normal"] = join("mesh_normal", [t.normal for t in parts])
    fields["mesh_texcoord"] = join("mesh_texcoord", [t.texcoord for t in parts])
    return fields
