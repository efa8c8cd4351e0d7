"""Default classes of attached models, which take nothing from those of the whole model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from jaxsim.mjcf.element import Element

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["free_name", "hoisted", "nest_sections"]

_D = TypeVar("_D", bound="Document")


def hoisted(document: _D) -> _D:
    """Returns the model as it is to be written: a copy if it has default classes of attached models.

    The copy's top class holds nothing. Below it stand the classes of attached models and, beside them, one that holds
    what the top class held, which the model's own elements name.
    """
    sources = [default.source for default in document.defaults.values() if default.source is not None]
    if not any(_apart(source) for source in sources):
        return document
    copy = document.copy()
    sections = copy.root.find_all("default")
    theirs = [element for section in sections for element in section.walk() if _apart(element)]
    top = copy.root.new("default", copy.root.children.index(sections[0]))
    for element in theirs:
        assert element.parent is not None
        element.parent.children.remove(element)
        element.parent = top
    copy.root.children = [child for child in copy.root.children if child not in sections]
    name = free_name("own", document.defaults)
    nest_sections(sections, top, name, document.defaults)
    top.children += theirs
    _name_class(copy, name)
    return copy


def nest_sections(sections: Sequence[Element], around: Element, name: str, taken: Collection[str]) -> None:
    """Makes the sections of a top class ordinary classes: each within the one before, as a class is declared once.

    Args:
        sections: the `default` elements; the last gets the name, and has all that the top class had.
        around: the class that they come into.
        name: of the last.
        taken: names that the others must not have.
    """
    names = [name]
    while len(names) < len(sections):
        names.append(free_name(names[-1] + "_", taken))
    for section, own in zip(sections, reversed(names), strict=True):
        section.attrib["class"] = own
        section.parent = around
        around.children.append(section)
        around = section


def _apart(element: Element) -> bool:
    """Whether a default element is the top class of an attached model."""
    around = element.parent
    return around is not None and around.tag == "default" and element.scope is not around.scope


def free_name(name: str, taken: Collection[str]) -> str:
    """Returns the name, with underscores behind it if it is taken."""
    while name in taken:
        name += "_"
    return name


def _name_class(document: Document, name: str) -> None:
    """Makes the elements of the top class those of another."""
    for section in document.root.children:
        for element in section.walk() if section.tag != "default" else ():
            for attribute in element.type.attributes.keys() & {"class", "childclass"}:
                inherited = "" if element.parent is not section else "main"
                if element.get(attribute, inherited) == "main":
                    element.attrib[attribute] = name
