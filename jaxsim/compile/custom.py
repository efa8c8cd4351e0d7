"""Custom numbers, texts and tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.compile.columns import addresses, column
from jaxsim.compile.names import Names
from jaxsim.enums import ObjType
from jaxsim.mjcf import Document, Element

__all__ = ["compile_custom"]


@dataclass(eq=False)
class _Named:
    element: Element
    name: str
    id: int


def compile_custom(document: Document, names: Names) -> dict[str, Any]:
    """Returns the fields of custom data, and registers their names.

    Raises:
        MjcfError: a tuple is empty, or names an unknown object.
    """
    section = document.root.find("custom")
    groups: dict[str, list[Element]] = {}
    for kind in ("numeric", "text", "tuple"):
        groups[kind] = section.find_all(kind) if section is not None else []
        names.add(kind, [_Named(e, e.name, k) for k, e in enumerate(groups[kind])])
    return {**_numerics(groups["numeric"]), **_texts(groups["text"]), **_tuples(names, groups["tuple"])}


def _numerics(elements: list[Element]) -> dict[str, Any]:
    data, sizes = [], []
    for element in elements:
        values = np.asarray(element.get("data", ()), float)
        size = element.get("size", values.size)
        data.append(np.concatenate([values, np.zeros(size - values.size)]))
        sizes.append(size)
    return {
        "nnumeric": len(elements),
        "numeric_adr": column("numeric_adr", addresses(sizes)),
        "numeric_size": column("numeric_size", sizes),
        "numeric_data": np.concatenate(data) if data else np.zeros(0),
    }


def _texts(elements: list[Element]) -> dict[str, Any]:
    texts = [element["data"].encode() + b"\0" for element in elements]
    sizes = [len(text) for text in texts]
    return {
        "ntext": len(texts),
        "text_adr": column("text_adr", addresses(sizes)),
        "text_size": column("text_size", sizes),
        "text_data": b"".join(texts),
    }


def _tuples(names: Names, elements: list[Element]) -> dict[str, Any]:
    sizes: list[int] = []
    objtype: list[int] = []
    objid: list[int] = []
    objprm: list[float] = []
    for element in elements:
        if not element.children:
            raise element.error("the tuple is empty")
        sizes.append(len(element.children))
        for child in element.children:
            kind = child["objtype"]
            if kind.upper() not in ObjType.__members__ or kind == "unknown":
                raise child.error("unknown object type", attribute="objtype")
            found = names.find(kind, child["objname"], child, "objname")
            objtype.append(ObjType[kind.upper()])
            objid.append(found.id)
            objprm.append(child.get("prm", 0.0))
    return {
        "ntuple": len(elements),
        "tuple_adr": column("tuple_adr", addresses(sizes)),
        "tuple_size": column("tuple_size", sizes),
        "tuple_objtype": column("tuple_objtype", objtype),
        "tuple_objid": column("tuple_objid", objid),
        "tuple_objprm": column("tuple_objprm", objprm),
    }
