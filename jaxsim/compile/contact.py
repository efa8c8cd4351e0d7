"""Explicit contact pairs and excluded body pairs, sorted by the ids of their bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxsim.compile.columns import columns, landed
from jaxsim.compile.names import Names
from jaxsim.compile.parts import Body, Geom
from jaxsim.mjcf import Document, Element

__all__ = ["compile_contact", "paired_geoms"]


@dataclass(eq=False)
class _Pair:
    element: Element
    values: Any
    name: str
    first: Geom | Body
    second: Geom | Body
    signature: int
    id: int = -1


def paired_geoms(document: Document) -> set[str]:
    """Returns the names of the geoms that appear in explicit pairs: their meshes need convex hulls."""
    section = document.root.find("contact")
    pairs = section.find_all("pair") if section is not None else []
    return {str(pair.get(name)) for pair in pairs for name in ("geom1", "geom2")}


def compile_contact(document: Document, names: Names) -> dict[str, Any]:
    """Returns the fields of pairs and excludes, and registers their names.

    Raises:
        MjcfError: a geom or body is unknown, or a value does not fit.
    """
    section = document.root.find("contact")
    pairs = [_pair(document, names, e) for e in section.find_all("pair")] if section is not None else []
    excludes = [_exclude(names, e) for e in section.find_all("exclude")] if section is not None else []
    fields: dict[str, Any] = {"npair": len(pairs), "nexclude": len(excludes)}
    for kind, items in (("pair", pairs), ("exclude", excludes)):
        items.sort(key=lambda item: item.signature)
        for index, item in enumerate(items):
            item.id = index
        names.add(kind, items)

    rows = {
        **landed("pair", "pair_", [pair.values for pair in pairs]),
        "pair_geom1": [pair.first.id for pair in pairs],
        "pair_geom2": [pair.second.id for pair in pairs],
        "exclude_signature": [item.signature for item in excludes],
    }
    return fields | columns(rows)


def _pair(document: Document, names: Names, element: Element) -> _Pair:
    values: Any = document.resolve(element)
    if values["condim"] not in (1, 3, 4, 6):
        raise element.error("expected 1, 3, 4 or 6", attribute="condim")
    first, second = (names.find("geom", values[key], element, key) for key in ("geom1", "geom2"))
    if first.body.id > second.body.id:
        first, second = second, first
    signature = (first.body.id << 16) + second.body.id
    return _Pair(element, values, element.name, first, second, signature)


def _exclude(names: Names, element: Element) -> _Pair:
    first, second = (names.find("body", element[key], element, key) for key in ("body1", "body2"))
    if first.id > second.id:
        first, second = second, first
    return _Pair(element, None, element.name, first, second, (first.id << 16) + second.id)
