"""Checks of a whole model: values fit each other, names are unique, references lead somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.hints import nearest
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.namespace import reference
from jaxsim.mjcf.rules import check_values
from jaxsim.mjcf.schema import namespaces

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["check"]

_GENERATORS = ("composite", "flexcomp")


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
        known = {space: known.get(space, set()) for space in (*namespaces(), *known)}
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
    space, value = reference(element, name) or ("", "")
    if space in known and value not in known[space]:
        what = "default class" if space == "default" else space
        raise element.error(f"unknown {what}", attribute=name, suggestion=nearest(value, known[space]))
