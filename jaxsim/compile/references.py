"""Which names a model refers to, found by the schema alone."""

from __future__ import annotations

from collections.abc import Callable

from jaxsim.mjcf import Document
from jaxsim.mjcf.namespace import references

__all__ = ["in_tuples", "referenced"]


def referenced(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind (`body`, `geom`, ...) that the model refers to."""
    return _names(document, kind, lambda section: section != "default")


def in_tuples(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind that tuples list; they stay, even if they are only seen."""
    return _names(document, kind, lambda section: section == "custom")


def _names(document: Document, kind: str, within: Callable[[str], bool]) -> set[str]:
    sections = (section for section in document.root.children if within(section.tag))
    return {name for top in sections for _, _, space, name in references(top) if space == kind}
