"""Wavefront OBJ files: the first shape, its polygons cut into triangles."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from jaxsim.compile.mesh.data import Triangles
from jaxsim.compile.mesh.polygons import cut_quads, ears
from jaxsim.structure.lists import starts

__all__ = ["read_obj"]

_FACE = re.compile(rb"^[ \t]*f[ \t]", re.M)
_MOST_CORNERS = 100
"""Polygons with more corners are dropped, as in C."""
_SHAPE = re.compile(rb"^[ \t]*[og][ \t]", re.M)


def read_obj(content: bytes) -> Triangles:
    """Reads an OBJ file.

    Only the faces before the second group or object that has faces are used, as the C compiler does. Texture
    coordinates are turned upside down, because images begin at the top.

    Raises:
        ValueError: it is not such a file.
    """
    content = content.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").replace(b"\r", b"\n")
    vert = _numbers(content, b"v", 3)
    if not np.isfinite(vert).all():
        raise ValueError("a vertex coordinate is not finite")
    normal, texcoord = _numbers(content, b"vn", 3), _numbers(content, b"vt", 2)
    corners, lengths = _corners(content)
    corners = _triangulate(corners, lengths, vert)
    face, facetexcoord, facenormal = (np.ascontiguousarray(corners[..., k]) for k in range(3))
    texcoord[:, 1] = 1 - texcoord[:, 1]
    result = Triangles(vert=vert, face=face)
    if facetexcoord.size and 0 <= facetexcoord.min() <= facetexcoord.max() < len(texcoord):
        result.texcoord, result.facetexcoord = texcoord, facetexcoord  # else there are none, as in C
    if normal.size and facenormal.size and facenormal.min() >= 0:
        if facenormal.max() >= len(normal):
            raise ValueError(f"normal {int(facenormal.max()) + 1} does not exist")
        result.normal, result.facenormal = normal, facenormal
    return result


def _rows(content: bytes, keyword: bytes) -> list[bytes]:
    return re.findall(rb"^[ \t]*" + keyword + rb"[ \t]+([^\n]*)", content, re.M)


def _parse(text: bytes, dtype: type) -> np.ndarray | None:
    """Parses numbers separated by blanks; None if there is anything else."""
    if b"#" in text:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text, dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def _numbers(content: bytes, keyword: bytes, width: int) -> np.ndarray:
    """Returns the numbers of all lines with a keyword, extra ones (weights, colours) dropped.

    A texture coordinate of one number has the second 0.
    """
    rows = _rows(content, keyword)
    values = _parse(b"".join(row + b" nan " for row in rows), np.float64)
    if values is not None and values.size == (width + 1) * len(rows):
        table = values.reshape(-1, width + 1)
        if np.isnan(table[:, -1]).all() and not np.isnan(table[:, :-1]).any():  # each line has as many
            return table[:, :-1].astype(np.float32)
    if rows:
        split = [row.split(b"#")[0].split()[:width] for row in rows]
        if keyword == b"vt":
            split = [[*row, b"0"] if len(row) == 1 else row for row in split]
        if any(len(row) != width for row in split):
            raise ValueError(f"a line of kind {keyword.decode()} has fewer than {width} numbers")
        return np.array([[_number(float, x) for x in row] for row in split], np.float32)
    return np.zeros((0, width), np.float32)


def _corners(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Returns vertex, texture coordinate and normal indices (n, 3) of all corners, and the polygons' lengths.

    Indices count from 0; -1 is absent.
    """
    first = _FACE.search(content)
    if first is None:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
    second = _SHAPE.search(content, first.start())
    content = content[: second.start()] if second else content
    found = _uniform(_rows(content, b"f"))
    return found if found is not None else _mixed(content)


def _uniform(rows: list[bytes]) -> tuple[np.ndarray, np.ndarray] | None:
    """Parses faces that all have the same form and count from the start; None if they do not."""
    text = b" 0 ".join(rows) + b" 0"
    if b"-" in text or b"#" in text:
        return None
    slashes, double = text.count(b"/"), text.count(b"//")
    slots = [0] if not slashes else [0, 2] if 2 * double == slashes else [0, 1, 2] if not double else None
    if slots is None:
        return None
    values = _parse(text.replace(b"/", b" "), np.int64)
    if values is None:
        return None
    ends = np.flatnonzero(values == 0)
    lengths = np.diff(ends, prepend=-1) - 1
    values = values[values != 0]
    for kept in (slots, [0, 1]) if len(slots) == 3 else (slots,):
        corners = values.size // len(kept)
        if (
            len(ends) == len(rows)
            and corners * len(kept) == values.size
            and corners * (len(kept) - 1) == slashes / (2 if len(kept) == 2 and double else 1)
        ):
            table = np.full((corners, 3), -1)
            table[:, kept] = values.reshape(-1, len(kept)) - 1
            return table, lengths // len(kept)
    return None


def _mixed(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Parses faces line by line: any mixture of forms, indices from the end."""
    counts = [0, 0, 0]
    kinds = {b"v": 0, b"vt": 1, b"vn": 2}
    corners: list[list[int]] = []
    lengths: list[int] = []
    for line in content.split(b"\n"):
        tokens = line.split(b"#")[0].split()
        if not tokens:
            continue
        if tokens[0] in kinds:
            counts[kinds[tokens[0]]] += 1
        elif tokens[0] == b"f":
            corners += [_corner(token, counts) for token in tokens[1:]]
            lengths.append(len(tokens) - 1)
    return np.array(corners, np.int64).reshape(-1, 3), np.array(lengths, np.int64)


def _corner(token: bytes, counts: list[int]) -> list[int]:
    """Reads `vertex/texcoord/normal`; indices count from 1, or from the end if negative; 0 is none.

    Raises:
        ValueError: the corner has more parts, no vertex, or counts back to before the first.
    """
    result = [-1, -1, -1]
    parts = token.split(b"/")
    for k, part in enumerate(parts[:3]):
        index = _number(int, part) if part else 0
        result[k] = index - 1 if index >= 0 else counts[k] + index
        if index < 0 and result[k] < 0:
            raise ValueError(f"index {index} counts back to before the first")
    if len(parts) > 3 or result[0] < 0:
        raise ValueError(f"{token.decode(errors='replace')!r} is no corner as in vertex/texcoord/normal")
    return result


def _number(kind: type, text: bytes) -> Any:
    """A number of a type.

    Raises:
        ValueError: the text is something else.
    """
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{text.decode(errors='replace')!r} is not {what}") from None


def _triangulate(corners: np.ndarray, lengths: np.ndarray, vert: np.ndarray) -> np.ndarray:
    """Returns the corners (n, 3, 3) of triangles, in the order of the polygons."""
    if corners.size and (corners[:, 0].min() < 0 or corners[:, 0].max() >= len(vert)):
        raise ValueError(f"vertex {int(corners[:, 0].max()) + 1} does not exist")
    begin = starts(lengths)
    parts: list[Any] = []
    order: list[np.ndarray] = []
    three, four = np.flatnonzero(lengths == 3), np.flatnonzero(lengths == 4)
    parts.append(begin[three][:, None] + np.arange(3))
    order.append(three)
    if four.size:
        index = begin[four][:, None] + np.arange(4)
        first = cut_quads(vert[corners[index, 0]])
        for near, far in (([0, 1, 2], [0, 1, 3]), ([0, 2, 3], [1, 2, 3])):
            parts.append(np.where(first[:, None], index[:, near], index[:, far]))
            order.append(four)
    for k in np.flatnonzero((lengths > 4) & (lengths <= _MOST_CORNERS)):
        found = ears(vert[corners[begin[k] : begin[k] + lengths[k], 0]])
        parts.append(begin[k] + np.array(found, np.int64).reshape(-1, 3))
        order.append(np.full(len(found), k))
    rank = np.argsort(np.concatenate(order), kind="stable")
    return corners[np.concatenate(parts)[rank]]
