"""Expansion of replicate elements: frames that hold copies of the content, each with a suffix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxsim.mjcf.element import Element
from jaxsim.mjcf.frames import from_euler, rotate
from jaxsim.mjcf.keyframes import Keyframes
from jaxsim.mjcf.limits import MAX_ELEMENTS, MAX_REPLICATE
from jaxsim.mjcf.namespace import Namespace, names_of, referring, rename
from jaxsim.mjcf.schema import schema

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["expand_replicate"]

_NOT_DIRECTLY = ("joint", "freejoint", "inertial", "flexcomp")


def expand_replicate(document: Document, element: Element, keyframes: Keyframes) -> None:
    """Replaces a replicate element by frames, and copies the elements of other sections that refer to its content.

    Copy i stands at the pose reached by i steps of `offset` and `euler`; names in it end with `sep` and i, padded
    with zeros to the width of the count. In keyframes the first copy takes the place of the original.

    Raises:
        MjcfError: the content cannot be replicated, or there would be too many elements.
    """
    for child in element.children:
        if child.tag in _NOT_DIRECTLY:
            raise child.error("this element cannot stand directly in a replicate")
    count = element["count"]
    content = sum(1 for child in element.children for _ in child.walk())
    if count > MAX_REPLICATE or count * max(content, 1) > MAX_ELEMENTS:
        raise element.error(f"more than {MAX_ELEMENTS:,} copied elements", attribute="count")
    names = names_of(element.children)
    referrers = referring(document.root, names)
    inner = names_of([*element.children, *referrers])
    if count * max(sum(1 for r in referrers for _ in r.walk()), 1) > MAX_ELEMENTS:
        raise element.error(f"more than {MAX_ELEMENTS:,} copied elements", attribute="count")

    frames = []
    for i, (position, quat) in enumerate(_poses(document, element, count)):
        suffix = Namespace(suffix=f"{element.get('sep', '')}{i:0{len(str(count))}d}")
        frame = Element(schema()["frame"], element.parent, element.file, element.line)
        frame["pos"] = position
        frame["quat"] = quat
        frame["childclass"] = element.get("childclass")
        frame.scope, frame.folder = element.scope, element.folder
        for child in element.children:
            twin = child.copy(frame)
            if i == 0:
                keyframes.moved(child, twin)
            rename(twin, suffix, names)
            frame.children.append(twin)
        frames.append(frame)
        for referrer in referrers:
            twin = referrer.copy(referrer.parent)
            if i == 0:
                keyframes.moved(referrer, twin)
            rename(twin, suffix, inner)
            if referrer.parent is not None:
                referrer.parent.children.append(twin)
    for referrer in referrers:
        if referrer.parent is not None:
            referrer.parent.children.remove(referrer)
    if element.parent is not None:
        place = element.parent.children.index(element)
        element.parent.children[place : place + 1] = frames


def _poses(document: Document, element: Element, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the pose of each copy: position (3,) and quaternion (4,)."""
    resolved = document.resolve(element)
    compiler = document.compiler_of(element)
    step = np.asarray(resolved["offset"]).tolist()
    angles = np.asarray(resolved["euler"])
    position = np.zeros(3)
    poses = []
    for i in range(count):
        quat = from_euler((i * angles).tolist(), str(compiler["eulerseq"]), compiler["angle"] == "degree")
        poses.append((position, np.array(quat)))
        position = position + rotate(step, quat)
    return poses
