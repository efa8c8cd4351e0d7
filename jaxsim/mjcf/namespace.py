"""Prefixes and suffixes: names and references of a copied part, and of the elements that refer to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from jaxsim.mjcf.element import Element

__all__ = ["LISTS", "Namespace", "names_of", "reference", "references", "referring", "rename"]

LISTS = ("deformable", "contact", "tendon", "equality", "actuator", "sensor", "custom")
"""Sections whose elements refer to the tree or to each other, in the order in which they depend on each other."""

_WHOLE = ("equality", "actuator", "custom")
"""Sections of which an element belongs to a part only if all that it names does, as in C."""

Names = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Namespace:
    """How names change when a part is copied.

    Attributes:
        prefix: put before each name.
        suffix: put behind each name.
    """

    prefix: str = ""
    suffix: str = ""

    def __call__(self, name: str) -> str:
        """Returns the new name."""
        return f"{self.prefix}{name}{self.suffix}"


def names_of(elements: Iterable[Element]) -> dict[str, set[str]]:
    """Returns the names that the elements and everything below them declare, by namespace."""
    names: dict[str, set[str]] = {}
    for top in elements:
        for element in top.walk():
            attribute = element.type.attributes.get("name")
            if attribute is not None and attribute.kind == "id" and element.name:
                names.setdefault(attribute.space, set()).add(element.name)
    return names


def reference(element: Element, attribute: str) -> tuple[str, str] | None:
    """Returns namespace and name of what an attribute refers to, None if it refers to nothing."""
    kind, value = element.type.attributes[attribute], element.attrib[attribute]
    if kind.kind != "ref" or not isinstance(value, str) or not value:
        return None
    space = kind.space
    if space in ("objtype", "reftype"):
        space = str(element.attrib.get(space, ""))
    return "body" if space == "xbody" else space, value


def references(top: Element) -> list[tuple[Element, str, str, str]]:
    """Returns (element, attribute, namespace, name) for each reference in an element and below it."""
    return [
        (element, name, *found)
        for element in top.walk()
        for name in element.attrib
        if (found := reference(element, name)) is not None
    ]


def rename(
    top: Element, namespace: Namespace, names: Names | None, classes: Mapping[str, str] | None = None
) -> None:
    """Applies a namespace to an element and everything below it, in place.

    Args:
        top: the element.
        namespace: what to apply.
        names: the names that change, by namespace; None for all but that of the world body.
        classes: new names of default classes, where the namespace alone does not make them.
    """
    for element, attribute, space, name in references(top):
        if space == "default" and classes is not None and name in classes:
            element.attrib[attribute] = classes[name]
            continue
        inside = name in names.get(space, ()) if names is not None else (space, name) != ("body", "world")
        if inside:
            element.attrib[attribute] = namespace(name)
    for element in top.walk():
        attribute = element.type.attributes.get("name")
        if attribute is not None and attribute.kind == "id" and element.name:
            element.attrib["name"] = namespace(element.name)


def referring(root: Element, names: Names, as_attached: bool = False) -> list[Element]:
    """Returns the elements outside the tree of bodies that refer to one of the names, also through each other.

    Args:
        root: the model's root.
        names: by namespace.
        as_attached: as C does for attach: equalities, actuators and tuples must name nothing else, and sensors
            that name nothing count too.
    """
    held = {space: set(values) for space, values in names.items()}
    found = []
    for tag in LISTS:
        for element in section.children if (section := root.find(tag)) else ():
            named = [(space, name) for _, _, space, name in references(element) if space != "default"]
            inside = [name in held.get(space, ()) for space, name in named]
            held_by = all if as_attached and tag in _WHOLE else any
            if held_by(inside) if inside else as_attached and tag == "sensor":
                found.append(element)
                for space, values in names_of([element]).items():
                    held.setdefault(space, set()).update(values)
    return found
