"""Default classes, and what an element's attributes are once its class has been consulted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxsim.hints import nearest
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.schema import Attribute, Value, schema

__all__ = ["ACTUATORS", "DefaultClass", "Resolved", "class_of", "default_tag", "overlay", "read_defaults"]

ACTUATORS = frozenset(schema()["actuator"].children)
"""Elements of the actuator section: all share one set of defaults."""

_TENDONS = frozenset(schema()["tendon"].children)


@dataclass(eq=False, slots=True)
class DefaultClass:
    """One default class.

    Attributes:
        name: unique in the model; the top class is `main`.
        parent: the class it refines, None for `main` and for the top class of an attached model.
        elements: the elements given in the class itself, in file order.
        inherited: all elements of the parent when this class was declared, its own inheritance first.
        source: the first `default` element that declares it, None for an absent `main`.
    """

    name: str
    parent: DefaultClass | None = None
    elements: list[Element] = field(default_factory=list)
    inherited: list[Element] = field(default_factory=list)
    source: Element | None = None

    @property
    def chain(self) -> list[Element]:
        """All elements in force, the oldest ancestor's first; later ones override earlier ones."""
        return [*self.inherited, *self.elements]


class Resolved(Mapping[str, Any]):
    """The attributes of an element after its own values, its default classes and the schema's defaults.

    A vector of fewer numbers than the schema allows overrides only the first entries of what it inherits, as in C.
    Every attribute of the schema is a key; its value is None where nothing gives one. A number that is given as
    nan, where the schema has no default, means: not given.
    """

    __slots__ = ("_chain", "_element", "_values")

    def __init__(self, element: Element, chain: list[Element]) -> None:
        self._element = element
        self._chain = chain
        self._values: dict[str, Value | None] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            attribute = self._element.type.attributes[name]
            self._values[name] = self._resolve(attribute)
        return self._values[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._element.type.attributes)

    def __len__(self) -> int:
        return len(self._element.type.attributes)

    def given(self, name: str) -> bool:
        """Whether the file sets this attribute, in the element or in one of its default classes."""
        return any(name in element.attrib for element in (*self._chain, self._element))

    def own(self, name: str) -> bool:
        """Whether the element itself sets this attribute."""
        return name in self._element.attrib

    def last(self, *names: str) -> str | None:
        """Which of these attributes is given last: in the element, else in the innermost of its default classes."""
        for element in (self._element, *reversed(self._chain)):
            for name in names:
                if name in element.attrib:
                    return name
        return None

    def _resolve(self, attribute: Attribute) -> Value | None:
        value = attribute.default
        for element in (*self._chain, self._element):
            if attribute.name in element.attrib:
                value = overlay(attribute, value, element.attrib[attribute.name])
        if isinstance(value, np.ndarray):
            value = value.copy()
        return value


def overlay(attribute: Attribute, under: Value | None, over: Value) -> Value | None:
    """Returns `over`, completed by the trailing entries of `under` if it is a shorter vector."""
    if (
        attribute.kind == "float"
        and attribute.default is None
        and np.size(over)
        and np.isnan(np.ravel(over)[0])
    ):
        return None
    if not isinstance(over, np.ndarray) or not isinstance(under, np.ndarray) or attribute.most is None:
        return over
    if attribute.repeat and over.size == 1:
        return np.repeat(over, under.size)
    return np.concatenate([over, under[over.size :]])


def read_defaults(root: Element) -> dict[str, DefaultClass]:
    """Returns the default classes of a model by name; `main` is always there.

    Raises:
        MjcfError: a class has no name, or a name is used twice.
    """
    classes = {"main": DefaultClass("main")}
    for section in root.find_all("default"):
        name = section.get("class", "")
        if name not in ("", "main"):
            raise section.error("the top class is always called main", attribute="class")
        main = classes["main"]
        main.source = main.source or section
        main.elements.extend(child for child in section.children if child.tag != "default")
        _read_nested(section, main, classes)
    return classes


def _read_nested(section: Element, parent: DefaultClass, classes: dict[str, DefaultClass]) -> None:
    for nested in section.find_all("default"):
        name = nested.get("class", "")
        if not name:
            raise nested.error("a nested default class needs a name", attribute="class")
        if name in classes:
            raise nested.error("repeated default class name", attribute="class")
        own = [child for child in nested.children if child.tag != "default"]
        if nested.scope is section.scope:
            classes[name] = DefaultClass(name, parent, own, parent.chain, nested)
        else:
            classes[name] = DefaultClass(name, None, own, [], nested)
        _read_nested(nested, classes[name], classes)


def class_of(element: Element, classes: Mapping[str, DefaultClass]) -> DefaultClass:
    """Returns the default class in force for an element: its own, else the nearest ancestor's childclass.

    Raises:
        MjcfError: the class does not exist.
    """
    if "class" in element.attrib:
        return _lookup(element, "class", classes)
    for ancestor in element.ancestors():
        if "childclass" in ancestor.attrib:
            return _lookup(ancestor, "childclass", classes)
    return classes["main"]


def default_tag(element: Element) -> str:
    """Returns the tag under which default classes hold an element's attributes, "" if they hold none."""
    parent = element.parent.tag if element.parent is not None else ""
    if parent == "actuator":
        return "actuator"
    if parent == "equality" or element.tag in _TENDONS:
        return parent if parent in ("equality", "tendon") else "tendon"
    return element.tag


def _lookup(element: Element, attribute: str, classes: Mapping[str, DefaultClass]) -> DefaultClass:
    name = element.attrib[attribute]
    if name not in classes:
        raise element.error(
            "unknown default class", attribute=attribute, suggestion=nearest(str(name), classes)
        )
    return classes[str(name)]
