"""Keyframes of a model whose tree changes: attached models bring theirs, and replicated parts widen them.

A keyframe is split into the pieces that belong to each joint, actuator and mocap body before the tree changes,
and put together again afterwards. What has no piece is nan, which means the reference value, or 0 where that is
the reference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from jaxsim.mjcf.element import Element
from jaxsim.mjcf.namespace import Namespace

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["Keyframes"]

_QPOS = {"free": 7, "ball": 4, "slide": 1, "hinge": 1}
_QVEL = {"free": 6, "ball": 3, "slide": 1, "hinge": 1}
_STATEFUL = frozenset({"intvelocity", "cylinder", "muscle"})
_STATELESS = frozenset({"motor", "velocity", "damper", "adhesion"})
_WIDE = frozenset({"orientation", "pid", "dcmotor", "plugin"})
_FILL = {"qpos": np.nan, "mpos": np.nan, "mquat": np.nan, "qvel": 0.0, "act": 0.0, "ctrl": 0.0}

Layout = list[tuple[Element, int]]


@dataclass(eq=False, slots=True)
class _Key:
    """One keyframe: its element, and the pieces of each vector that could be split."""

    element: Element
    pieces: dict[str, dict[Element, np.ndarray]] = field(default_factory=dict)


class Keyframes:
    """The keyframes of a model while its tree changes.

    Args:
        document: the model, before the change.
        own: whether the model's own keyframes belong to the tree before the change; those of a text are for the tree
            as it is in the end.
    """

    def __init__(self, document: Document, own: bool = True) -> None:
        self._document = document
        self._keys = _split(document) if own else []

    def moved(self, original: Element, twin: Element) -> None:
        """Says that a copy takes the place of an original."""
        pairs = list(zip(original.walk(), twin.walk(), strict=True))
        for key in self._keys:
            for pieces in key.pieces.values():
                for old, new in pairs:
                    if old in pieces:
                        pieces[new] = pieces.pop(old)

    def adopt(self, child: Document, namespace: Namespace, copies: Iterable[tuple[Element, Element]]) -> None:
        """Takes over the keyframes of an attached model.

        Args:
            child: the attached model.
            namespace: how its names change.
            copies: pairs of an element of that model and its copy, each with everything below it.
        """
        keys = _split(child)
        if not keys:
            return
        twins = {old: new for top, copy in copies for old, new in zip(top.walk(), copy.walk(), strict=True)}
        section = self._document.section("keyframe")
        for key in keys:
            element = key.element.copy(section)
            name = namespace(element.name)
            if element.name or self._document.find("key", name) is None:  # C names nameless ones too
                element["name"] = name or None
            section.children.append(element)
            pieces = {
                name: {twins[old]: piece for old, piece in split.items() if old in twins}
                for name, split in key.pieces.items()
            }
            self._keys.append(_Key(element, pieces))

    def finish(self) -> None:
        """Puts the keyframes together for the tree as it is now."""
        if not self._keys:
            return
        layouts = _layouts(self._document, {name for key in self._keys for name in key.pieces})
        for key in self._keys:
            for name, pieces in key.pieces.items():
                parts = [pieces.get(e, np.full(width, _FILL[name])) for e, width in layouts[name]]
                key.element.attrib[name] = np.concatenate(parts) if parts else np.zeros(0)


def _split(document: Document) -> list[_Key]:
    section = document.root.find("keyframe")
    if section is None or not section.children:
        return []
    layouts = _layouts(document, {name for element in section.children for name in element.attrib})
    keys = []
    for element in section.children:
        key = _Key(element)
        for name, layout in layouts.items():
            numbers = element.get(name)
            missing = 0 if numbers is None else sum(width for _, width in layout) - numbers.size
            if numbers is not None and missing >= 0:
                ends = np.cumsum([width for _, width in layout])
                whole = np.append(numbers, np.full(missing, _FILL[name]))
                parts = np.split(whole, ends[:-1]) if layout else []
                key.pieces[name] = {e: part for (e, _), part in zip(layout, parts, strict=True)}
        keys.append(key)
    return keys


def _layouts(document: Document, names: Collection[str]) -> dict[str, Layout]:
    """Returns which element owns how many numbers of each of the named vectors, in the order of the compiled model.

    Raises:
        MjcfError: there are controls or activations among them, and an actuator whose numbers are not counted here.
    """
    joints, mocap = [], []
    for body in _bodies(document):
        if document.resolve(body).get("mocap"):
            mocap.append(body)
        for joint in _held(body, "joint", "freejoint"):
            kind = "free" if joint.tag == "freejoint" else str(document.resolve(joint)["type"])
            joints.append((joint, kind))
    section = document.root.find("actuator") if "act" in names or "ctrl" in names else None
    children = section.children if section is not None else []
    actuators = [(actuator, _activations(document, actuator)) for actuator in children]
    layouts = {
        "qpos": [(joint, _QPOS[kind]) for joint, kind in joints],
        "qvel": [(joint, _QVEL[kind]) for joint, kind in joints],
        "act": actuators,
        "ctrl": [(actuator, 1) for actuator, _ in actuators],
        "mpos": [(body, 3) for body in mocap],
        "mquat": [(body, 4) for body in mocap],
    }
    return {name: layout for name, layout in layouts.items() if name in names}


def _bodies(document: Document) -> Iterable[Element]:
    """Yields the bodies in the order of the compiled model: depth first."""
    stack = [document.worldbody]
    while stack:
        body = stack.pop()
        yield body
        stack.extend(reversed(_held(body, "body")))


def _held(body: Element, *tags: str) -> list[Element]:
    """Returns what a body holds directly or in frames (and in what becomes frames), in file order."""
    found = []
    stack = list(reversed(body.children))
    while stack:
        element = stack.pop()
        if element.tag in tags:
            found.append(element)
        elif element.tag in ("frame", "replicate"):
            stack.extend(reversed(element.children))
    return found


def _activations(document: Document, actuator: Element) -> int:
    """Returns the count of an actuator's activations."""
    chain = [*document.default_chain(actuator), actuator]
    count = 0
    for element in chain:
        if element.tag in _WIDE:
            raise element.error(f"keyframes together with attach or replicate do not support <{element.tag}>")
        if element.tag in _STATEFUL or element.get("timeconst", 0.0) > 0:
            count = 1
        elif element.tag in _STATELESS or "timeconst" in element:
            count = 0
        if "dyntype" in element:
            count = int(element["dyntype"] != "none")
        if element.get("actdim", -1) >= 0:
            count = element["actdim"]
    return count
