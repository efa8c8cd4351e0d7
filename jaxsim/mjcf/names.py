"""Checks of a whole model: values fit each other, names are unique, references lead somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.hints import nearest
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.rules import check_values

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["check"]

_GENERATORS = ("composite", "flexcomp")
_SAME = {"xbody": "body"}
_NAMESPACES = [
    "body",
    "joint",
    "geom",
    "site",
    "camera",
    "light",
    "frame",
    "mesh",
    "hfield",
    "texture",
    "material",
    "tendon",
    "actuator",
    "sensor",
    "equality",
    "pair",
    "exclude",
    "flex",
    "skin",
    "instance",
    "numeric",
    "text",
    "tuple",
    "key",
]


def check(document: Document) -> None:
    """Checks values, names, references and default classes of a whole model.

    References are not checked while the model holds elements that generate names (composite, flexcomp).

    Raises:
        MjcfError: a name is used twice in its namespace, or a reference or class leads nowhere.
    """
    document.refresh()
    spaces: dict[str, dict[str, Element]] = {}
    holders: list[Element] = []
    inherited: list[Element] = []
    for element in document.root.walk():
        check_values(element)
        if element.type.key.startswith("default"):
            inherited.append(element)
            continue
        holders.append(element)
        attribute = element.type.attributes.get("name")
        if attribute is not None and attribute.kind == "id" and element.name:
            _register(element, spaces.setdefault(attribute.space, {}), attribute.space)
    known = {name: set(space) for name, space in spaces.items()}
    known["body"] = {*known.get("body", ()), "world"}
    known["default"] = set(document.defaults)
    if next(document.elements(*_GENERATORS), None) is not None:
        known = {"default": known["default"]}
    else:
        known = {space: known.get(space, set()) for space in (*_NAMESPACES, *known)}
    for element in holders:
        for name in element.attrib:
            _check_reference(element, name, known)
    _check_inherited(document, holders, inherited, known)


def _register(element: Element, space: dict[str, Element], kind: str) -> None:
    if element.name in space:
        other = space[element.name]
        which = f"the {kind} at line {other.line}" if other.line is not None else f"another {kind}"
        raise element.error(f"repeated name: {which} is called so", attribute="name")
    if kind == "body" and element.name == "world":
        raise element.error("repeated name: the world body is called so", attribute="name")
    space[element.name] = element


def _check_inherited(
    document: Document, holders: list[Element], inherited: list[Element], known: dict[str, set[str]]
) -> None:
    """Checks references in default classes; those that no element uses may lead nowhere."""
    wrong: dict[tuple[Element, str], MjcfError] = {}
    for element in inherited:
        for name in element.attrib:
            try:
                _check_reference(element, name, known)
            except MjcfError as error:
                wrong[element, name] = error
    if not wrong:
        return
    for element in holders:
        if "class" not in element.type.attributes:
            continue
        chain = document.default_chain(element)
        for name in {name for source, name in wrong if source in chain} - element.attrib.keys():
            source = next(source for source in reversed(chain) if name in source.attrib)
            if (source, name) in wrong:
                raise wrong[source, name]


def _check_reference(element: Element, name: str, known: dict[str, set[str]]) -> None:
    attribute = element.type.attributes[name]
    value = element.attrib[name]
    if attribute.kind != "ref" or not isinstance(value, str) or not value:
        return
    space = attribute.space
    if space in ("objtype", "reftype"):
        space = str(element.attrib.get(space, ""))
    space = _SAME.get(space, space)
    if space in known and value not in known[space]:
        what = "default class" if space == "default" else space
        raise element.error(f"unknown {what}", attribute=name, suggestion=nearest(value, known[space]))
