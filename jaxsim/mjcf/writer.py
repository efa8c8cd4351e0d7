"""A model's tree to MJCF text.

What an attached model says under conventions of its own (angles, Euler sequence, alignment of free bodies, folders) is
rewritten to those of the whole model, so that the text means the same. Automatic limits are on if any model has them:
where they are off, no range is without a word about it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import values
from jaxsim.mjcf.defaults import Resolved
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.frames import ORIENTATIONS, from_euler
from jaxsim.mjcf.hoist import hoisted
from jaxsim.mjcf.schema import Value

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["to_xml"]

_OF_FREE = ("name", "type", "group", "pos", "axis")
"""What a joint of type free may have and still be a freejoint: it has no use for the last two."""
_ANGULAR = ("range", "ref", "springref")


def to_xml(document: Document) -> str:
    """Returns the XML text of a model; numbers keep every bit."""
    document = hoisted(document)
    ours = document.compiler
    limits = any(Resolved(compiler, [])["autolimits"] for compiler in _compilers(document))
    tree = etree.Element("mujoco")
    stack = [(document.root, tree)]
    while stack:
        element, node = stack.pop()
        attributes = _attributes(document, element, ours)
        if "align" in attributes:  # which of joints only this kind has
            node.tag = "freejoint"
        if element is document.compiler_element and limits:
            attributes.pop("autolimits", None)
        for name, value in attributes.items():
            node.set(name, values.write(element.type.attributes.get(name), value))
        stack += [(child, etree.SubElement(node, child.tag)) for child in element.children]
    for node in tree.findall("compiler"):
        if not node.attrib and not len(node):
            tree.remove(node)
    etree.indent(tree, "  ")
    return etree.tostring(tree, encoding="unicode") + "\n"


def _attributes(document: Document, element: Element, ours: Resolved) -> dict[str, Value]:
    """Returns the attributes as they are written under the whole model's conventions."""
    attributes = dict(element.attrib)
    theirs = document.compiler_of(element)
    in_default = element.type.key.startswith("default")
    if (
        element.scope is not None
        and element.scope.compiler is not document.compiler_element
        and not in_default
    ):
        if theirs["angle"] != ours["angle"] or theirs["eulerseq"] != ours["eulerseq"]:
            _rewrite_angles(document, element, attributes, theirs, ours)
        if theirs["alignfree"] != ours["alignfree"]:
            _rewrite_free(document, element, attributes, bool(theirs["alignfree"]))
    _rewrite_files(document, element, attributes)
    return attributes


def _compilers(document: Document) -> list[Element]:
    """Returns the compiler elements of the models that elements come from."""
    scopes = {id(e.scope): e.scope for e in document.root.walk() if e.scope is not None}
    return [document.compiler_element, *(scope.compiler for scope in scopes.values())]


def _rewrite_angles(
    document: Document, element: Element, attributes: dict[str, Value], theirs: Resolved, ours: Resolved
) -> None:
    """Converts orientations to quaternions or our angles, and the angles of joints."""
    factor = {"radian": 1.0, "degree": np.pi / 180}
    scale = factor[str(theirs["angle"])] / factor[str(ours["angle"])]
    resolved = document.resolve(element)
    form = resolved.last(*ORIENTATIONS)
    if form == "euler":
        degree = theirs["angle"] == "degree"
        quat = np.array(from_euler(resolved[form].tolist(), str(theirs["eulerseq"]), degree))
        attributes.pop("euler", None)
        attributes["axisangle"] = _axis_angle(quat, factor[str(ours["angle"])])
    elif form == "axisangle":
        attributes["axisangle"] = np.append(resolved[form][:3], resolved[form][3] * scale)
    if element.type.key == "joint" and resolved["type"] in ("hinge", "ball"):
        low, high = np.asarray(resolved["range"]).tolist()
        limited = resolved["limited"] == "true" or (resolved["limited"] == "auto" and low < high)
        for name in _ANGULAR:
            if resolved.given(name) and (limited or name != "range"):  # without a limit C keeps the numbers
                value = np.asarray(resolved[name]) * scale
                attributes[name] = value if value.ndim else float(value)


def _rewrite_free(
    document: Document, element: Element, attributes: dict[str, Value], alignfree: bool
) -> None:
    """Says outright whether a free body takes the frame of its principal axes."""
    if element.tag == "freejoint" and attributes.get("align", "auto") == "auto":
        attributes["align"] = "true" if alignfree else "false"
    elif element.type.key == "joint" and document.resolve(element)["type"] == "free":
        _as_freejoint(document.resolve(element), element, attributes, alignfree)


def _as_freejoint(
    resolved: Resolved, element: Element, attributes: dict[str, Value], alignfree: bool
) -> None:
    """Makes the attributes of a joint of type free those of a freejoint, if it has nothing that such a one cannot say.

    Raises:
        MjcfError: it has.
    """
    known = {name: attribute.default for name, attribute in element.type.attributes.items()}
    more = [
        name
        for name, usual in known.items()
        if name not in (*_OF_FREE, "class") and np.any(resolved[name] != usual)
    ]
    if more:
        raise element.error(
            "attached with another alignfree than the whole model's, which in a text only a freejoint can say, and "
            f"that has no {more[0]}; give both models one alignfree",
            attribute=more[0],
        )
    named = {name: x for name, x in attributes.items() if name == "name"}
    attributes.clear()
    attributes |= {**named, "group": resolved["group"], "align": "true" if alignfree else "false"}


def _rewrite_files(document: Document, element: Element, attributes: dict[str, Value]) -> None:
    """Makes paths absolute where they start from another folder than the whole model's."""
    if not element.folder and (element.scope is None or element.scope.compiler is document.compiler_element):
        return
    for name, attribute in element.type.attributes.items():
        if attribute.kind == "file" and name in attributes and (path := document.asset_path(element, name)):
            in_memory = not os.path.exists(path)
            attributes[name] = path if in_memory else os.path.abspath(path)


def _axis_angle(quat: np.ndarray, unit: float) -> np.ndarray:
    """Returns axis (3,) and angle of a unit quaternion; the angle in multiples of `unit` radian."""
    sine = float(np.linalg.norm(quat[1:]))
    axis = quat[1:] / sine if sine > MINVAL else np.array([0.0, 0.0, 1.0])
    return np.append(axis, 2 * np.arctan2(sine, quat[0]) / unit)
