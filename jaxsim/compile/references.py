"""Which names a model refers to, found by the schema alone."""

from __future__ import annotations

from jaxsim.mjcf import Document
from jaxsim.mjcf.namespace import references

__all__ = ["in_tuples", "referenced"]


def referenced(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind (`body`, `geom`, ...) that the model refers to."""
    sections = (section for section in document.root.children if section.tag != "default")
    return {name for top in sections for _, _, space, name in references(top) if space == kind}


def in_tuples(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind that tuples list; they stay, even if they are only seen."""
    section = document.root.find("custom")
    found = references(section) if section is not None else ()
    return {name for _, _, space, name in found if space == kind}
