"""Equality constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jaxsim.compile.columns import columns, landed
from jaxsim.compile.names import Names
from jaxsim.enums import EqType, JointType, ObjType
from jaxsim.mjcf import Document, Element

__all__ = ["compile_equality"]


@dataclass(eq=False)
class _Equality:
    element: Element
    values: Any
    type: EqType
    name: str
    id: int
    first: int = -1
    second: int = -1
    objtype: ObjType = ObjType.UNKNOWN
    data: list[float] = field(default_factory=lambda: [0.0, 1.0, *[0.0] * 8, 1.0, 0.0])


def compile_equality(document: Document, names: Names) -> dict[str, Any]:
    """Returns the fields of equality constraints, and registers their names.

    Raises:
        MjcfError: an object is unknown or does not fit the constraint.
    """
    section = document.root.find("equality")
    items = []
    for index, element in enumerate(section.children if section is not None else ()):
        if element.tag.startswith("flex"):
            raise element.error("flexible objects are not built in jaxsim; remove the element")
        item = _Equality(element, document.resolve(element), EqType[element.tag.upper()], element.name, index)
        _resolve(names, item)
        items.append(item)
    names.add("equality", items)
    rows: dict[str, list[Any]] = {
        **landed("weld", "eq_", [item.values for item in items]),
        "eq_type": [item.type for item in items],
        "eq_obj1id": [item.first for item in items],
        "eq_obj2id": [item.second for item in items],
        "eq_objtype": [item.objtype for item in items],
        "eq_data": [item.data for item in items],
    }
    return {"neq": len(items), **columns(rows)}


def _resolve(names: Names, item: _Equality) -> None:
    element, values = item.element, item.values
    if item.type in (EqType.CONNECT, EqType.WELD):
        _bodies_or_sites(names, item)
    else:
        kind = element.tag
        objects = []
        for key in (f"{kind}1", f"{kind}2"):
            if values[key]:
                objects.append(names.find(kind, values[key], element, key))
        item.first = objects[0].id
        item.second = objects[1].id if len(objects) > 1 else -1
        item.data[:5] = values["polycoef"].tolist()
        if item.type == EqType.JOINT:
            for joint in objects:
                if joint.type not in (JointType.HINGE, JointType.SLIDE):
                    raise element.error("only hinge and slide joints can be coupled", attribute="joint1")
    if item.first == item.second:
        raise element.error("the two objects must differ")


def _bodies_or_sites(names: Names, item: _Equality) -> None:
    element, values = item.element, item.values
    anchor = values["anchor"]
    weld = item.type == EqType.WELD
    if values["body1"] is not None and (weld or anchor is not None):
        item.objtype, kind = ObjType.BODY, "body"
        if weld and anchor is None:
            item.data[:3] = [0.0] * 3
    else:
        item.objtype, kind = ObjType.SITE, "site"
    if not values[f"{kind}1"]:
        raise element.error("give body1 and an anchor, or site1 and site2", attribute="anchor")
    if anchor is not None:
        item.data[:3] = anchor.tolist()
    if weld:
        if values["relpose"] is not None:
            item.data[3:10] = values["relpose"].tolist()
        item.data[10] = values["torquescale"]
    item.first = names.id(kind, values[f"{kind}1"], element, f"{kind}1")
    if values[f"{kind}2"]:
        item.second = names.id(kind, values[f"{kind}2"], element, f"{kind}2")
    elif kind == "body":
        item.second = 0
