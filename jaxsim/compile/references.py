"""Which names a model refers to, found by the schema alone."""

from __future__ import annotations

from jaxsim.mjcf import Document

__all__ = ["referenced"]


def referenced(document: Document, kind: str) -> set[str]:
    """Returns the names of all objects of a kind (`body`, `geom`, ...) that the model refers to."""
    found: set[str] = set()
    for section in document.root.children:
        if section.tag == "default":
            continue
        for element in section.walk():
            for name, value in element.attrib.items():
                attribute = element.type.attributes[name]
                if attribute.kind != "ref":
                    continue
                space = attribute.space
                if space in ("objtype", "reftype"):
                    space = str(element.get(space, ""))
                if {"xbody": "body"}.get(space, space) == kind:
                    found.add(str(value))
    return found
