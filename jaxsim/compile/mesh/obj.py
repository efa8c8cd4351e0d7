"""Wavefront OBJ files: the first shape, its polygons cut into triangles."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.mesh.data import Triangles

__all__ = ["read_obj"]

Corner = tuple[int, int, int]


def read_obj(content: bytes) -> Triangles:
    """Reads an OBJ file.

    Only the faces before the second group or object that has faces are used, as the C compiler does. Texture
    coordinates are turned upside down, because images begin at the top.

    Raises:
        ValueError: it is not such a file.
    """
    lines = content.decode("utf-8", "replace").replace("\\\n", " ").splitlines()
    vert = _numbers(lines, "v", 3)
    normal = _numbers(lines, "vn", 3)
    texcoord = _numbers(lines, "vt", 2)
    if not np.isfinite(vert).all():
        raise ValueError("a vertex coordinate is not finite")
    corners = _corners(lines, vert)
    texcoord[:, 1] = 1 - texcoord[:, 1]
    table = np.array(corners, np.int64).reshape(-1, 3, 3)
    face, facetexcoord, facenormal = table[..., 0], table[..., 1], table[..., 2]
    result = Triangles(vert=vert, face=face)
    if texcoord.size and facetexcoord.size and facetexcoord.min() >= 0:
        result.texcoord, result.facetexcoord = texcoord, facetexcoord
    if normal.size and facenormal.size and facenormal.min() >= 0:
        result.normal, result.facenormal = normal, facenormal
    for name, index, count in (
        ("texture coordinate", result.facetexcoord, len(texcoord)),
        ("normal", result.facenormal, len(normal)),
    ):
        if index.size and index.max() >= count:
            raise ValueError(f"{name} {int(index.max()) + 1} does not exist")
    return result


def _numbers(lines: list[str], keyword: str, width: int) -> np.ndarray:
    """Returns the numbers of all lines with a keyword, extra ones (weights, colours) dropped."""
    starts = (keyword + " ", keyword + "\t")
    rows = [line.split()[1 : 1 + width] for line in lines if line.lstrip().startswith(starts)]
    if any(len(row) != width for row in rows):
        raise ValueError(f"a line of kind {keyword} has fewer than {width} numbers")
    return np.array([x for row in rows for x in row], np.float64).astype(np.float32).reshape(-1, width)


def _corners(lines: list[str], vert: np.ndarray) -> list[tuple[Corner, Corner, Corner]]:
    """Returns the corners of all triangles of the first shape: vertex, texture coordinate and normal indices."""
    counts = [0, 0, 0]
    kinds = {"v": 0, "vt": 1, "vn": 2}
    triangles: list[tuple[Corner, Corner, Corner]] = []
    for line in lines:
        tokens = line.split()
        if not tokens:
            continue
        if tokens[0] in kinds:
            counts[kinds[tokens[0]]] += 1
        elif tokens[0] == "f":
            polygon = [_corner(token, counts) for token in tokens[1:] if not token.startswith("#")]
            if len(polygon) == 3:
                triangles.append((polygon[0], polygon[1], polygon[2]))
            elif len(polygon) > 3:
                triangles.extend(_cut(polygon, vert))
        elif tokens[0] in ("o", "g") and triangles:
            break
    return triangles


def _corner(token: str, counts: list[int]) -> Corner:
    """Reads `vertex/texcoord/normal`; indices count from 1, or from the end if negative; -1 is absent."""
    parts = [*token.split("/"), "", ""]
    result = [-1, -1, -1]
    for k in range(3):
        if parts[k]:
            index = int(parts[k])
            result[k] = index - 1 if index > 0 else counts[k] + index
    return (result[0], result[1], result[2])


def _cut(polygon: list[Corner], vert: np.ndarray) -> list[tuple[Corner, Corner, Corner]]:
    """Cuts a polygon into triangles: a quadrangle along its shorter diagonal, others ear by ear."""
    indices = [corner[0] for corner in polygon]
    if min(indices) < 0 or max(indices) >= len(vert):
        raise ValueError(f"vertex {max(indices) + 1} does not exist")
    points = vert[indices].astype(np.float64)
    if len(polygon) == 4:
        a, b, c, d = polygon
        across, along = points[2] - points[0], points[3] - points[1]
        if across @ across < along @ along:
            return [(a, b, c), (a, c, d)]
        return [(a, b, d), (b, c, d)]
    return [(polygon[i], polygon[j], polygon[k]) for i, j, k in _ears(points)]


def _ears(points: np.ndarray) -> list[tuple[int, int, int]]:
    """Clips ears of a polygon, seen along the axis most normal to it."""
    normal = np.zeros(3)
    for p, q in zip(points, np.roll(points, -1, axis=0), strict=True):
        normal += np.cross(p, q)
    drop = int(np.argmax(np.abs(normal)))
    flat = np.delete(points, drop, axis=1)
    sign = np.sign(normal[drop] * (-1 if drop == 1 else 1))
    left = list(range(len(points)))
    result = []
    start = tries = 0
    while len(left) > 3 and tries < len(left):
        i, j, k = (left[(start + n) % len(left)] for n in range(3))
        a, b, c = flat[i], flat[j], flat[k]
        others = [flat[n] for n in left if n not in (i, j, k)]
        if sign * _turn(a, b, c) < 0 or any(_inside(p, a, b, c, sign) for p in others):
            start, tries = (start + 1) % len(left), tries + 1
            continue
        result.append((i, j, k))
        left.remove(j)
        start, tries = start % len(left), 0
    if len(left) == 3:
        result.append((left[0], left[1], left[2]))
    return result


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]))


def _inside(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, sign: float) -> bool:
    return all(sign * _turn(u, v, p) > 0 for u, v in ((a, b), (b, c), (c, a)))
