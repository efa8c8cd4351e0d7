"""Which names a model refers to, found by the schema alone."""

from __future__ import annotations

from jaxsim.mjcf import Document
from jaxsim.mjcf.namespace import references

__all__ = ["referenced"]


def referenced(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind (`body`, `geom`, ...) that the model refers to."""
    sections = (section for section in document.root.children if section.tag != "default")
    return {name for top in sections for _, _, space, name in references(top) if space == kind}
