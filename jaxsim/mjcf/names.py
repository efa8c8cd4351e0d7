"""Names are unique and references lead somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import nearest

if TYPE_CHECKING:
    from jaxsim.mjcf.spec import Spec

__all__ = ["check"]

_GENERATORS = ("composite", "flexcomp")
_SAME = {"xbody": "body"}


def check(spec: Spec) -> None:
    """Checks names, references and default classes of a whole model.

    References are not checked while the model holds elements that generate names (composite, flexcomp).

    Raises:
        MjcfError: a name is used twice in its namespace, or a reference or class leads nowhere.
    """
    spec.refresh()
    spaces: dict[str, dict[str, Element]] = {"default": {}}
    holders: list[Element] = []
    for element in spec.root.walk():
        if _in_default(element):
            holders.append(element)
            continue
        holders.append(element)
        attribute = element.type.attributes.get("name")
        if attribute is None or attribute.kind != "id" or not element.name:
            continue
        space = spaces.setdefault(attribute.space, {})
        if element.name in space:
            raise element.error(f"repeated name: another {attribute.space} is called so", attribute="name")
        space[element.name] = element
    bodies = spaces.setdefault("body", {})
    if "world" in bodies:
        raise bodies["world"].error("repeated name: the world body is called so", attribute="name")
    known = {name: set(space) for name, space in spaces.items()}
    known["body"] = {*bodies, "world"}
    known["default"] = set(spec.defaults)
    generates = next(spec.elements(*_GENERATORS), None) is not None
    for element in holders:
        _check_references(element, known, generates)


def _in_default(element: Element) -> bool:
    return element.type.key.startswith("default")


def _check_references(element: Element, known: dict[str, set[str]], generates: bool) -> None:
    for name, value in element.attrib.items():
        attribute = element.type.attributes[name]
        if attribute.kind != "ref" or not isinstance(value, str):
            continue
        space = attribute.space
        if space in ("objtype", "reftype"):
            space = str(element.attrib.get(space, ""))
        space = _SAME.get(space, space)
        if space not in known and space not in _NAMESPACES:
            continue
        if generates and space != "default":
            continue
        if value and value not in known.get(space, ()):
            what = "default class" if space == "default" else space
            hint = nearest(value, known.get(space, ()))
            raise element.error(f"unknown {what}", attribute=name, suggestion=hint)


_NAMESPACES = frozenset(
    "default body joint geom site camera light frame mesh hfield texture material tendon actuator sensor "
    "equality pair exclude flex skin instance numeric text tuple key".split()
)
