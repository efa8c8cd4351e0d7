"""Tendons and the objects on their paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jaxsim.compile.columns import addresses, columns, landed
from jaxsim.compile.names import Names
from jaxsim.compile.settings import SettingsOf, is_limited
from jaxsim.compile.userdata import user_field
from jaxsim.enums import GeomType, ObjType, WrapType
from jaxsim.mjcf import Document, Element

__all__ = ["Tendon", "compile_tendons"]


@dataclass(slots=True)
class _Wrap:
    """One object on a path: type, id and parameter, as in the Model."""

    element: Element
    type: WrapType
    id: int
    prm: float


@dataclass(eq=False)
class Tendon:
    """A tendon; `range` is what actuators may inherit."""

    element: Element
    values: Any
    name: str
    id: int
    limited: bool = False
    actfrclimited: bool = False
    material: str = ""
    path: list[_Wrap] = field(default_factory=list)

    @property
    def range(self) -> tuple[float, float]:
        """Length limits."""
        low, high = self.values["range"].tolist()
        return low, high

    @property
    def wraps(self) -> bool:
        """Whether the path may wrap around a geom."""
        return any(wrap.type in (WrapType.SPHERE, WrapType.CYLINDER) for wrap in self.path)


def compile_tendons(document: Document, names: Names, settings: SettingsOf) -> dict[str, Any]:
    """Returns the fields of tendons and their paths, and registers their names.

    Raises:
        MjcfError: a tendon is not valid.
    """
    section = document.root.find("tendon")
    tendons = []
    for index, element in enumerate(section.children if section is not None else ()):
        tendon = Tendon(element, document.resolve(element), element.name, index)
        tendon.path = [_wrap(names, child) for child in element.children]
        _check(tendon)
        auto = settings(element).autolimits
        tendon.limited = is_limited(element, tendon.values, auto, "limited", "range")
        tendon.actfrclimited = is_limited(
            element, tendon.values, auto, "actuatorfrclimited", "actuatorfrcrange"
        )
        _check_ranges(tendon)
        tendons.append(tendon)
    names.add("tendon", tendons)
    return _fields(document, names, tendons)


def _wrap(names: Names, element: Element) -> _Wrap:
    tag = element.tag
    if tag == "joint":
        return _Wrap(
            element, WrapType.JOINT, names.id("joint", element["joint"], element, "joint"), element["coef"]
        )
    if tag == "site":
        return _Wrap(element, WrapType.SITE, names.id("site", element["site"], element, "site"), 0.0)
    if tag == "pulley":
        if element["divisor"] <= 0:
            raise element.error("the divisor must be positive", attribute="divisor")
        return _Wrap(element, WrapType.PULLEY, -1, element["divisor"])
    geom = names.find("geom", element["geom"], element, "geom")
    if geom.type not in (GeomType.SPHERE, GeomType.CYLINDER):
        raise element.error("a tendon wraps only spheres and cylinders", attribute="geom")
    side = element.get("sidesite")
    sideid = names.id("site", side, element, "sidesite") if side else -1
    return _Wrap(element, WrapType[geom.type.name], geom.id, float(sideid))


_GEOMS = (WrapType.SPHERE, WrapType.CYLINDER)


def _check(tendon: Tendon) -> None:
    """Checks the order of the objects on a path."""
    path, element = tendon.path, tendon.element
    if not path:
        raise element.error("the path cannot be empty")
    if element.tag == "fixed":
        return
    if len(path) < 2:
        raise element.error("a spatial path needs at least two objects")
    if tendon.values["width"] <= 0:
        raise element.error("the width must be positive", attribute="width")
    if tendon.values["armature"] < 0:
        raise element.error("the armature cannot be negative", attribute="armature")
    for k, wrap in enumerate(path):
        before = path[k - 1] if k else None
        after = path[k + 1] if k + 1 < len(path) else None
        if wrap.type == WrapType.PULLEY:
            if before is not None and before.type == WrapType.PULLEY:
                raise wrap.element.error("a pulley cannot follow a pulley")
            if after is None:
                raise wrap.element.error("a path cannot end with a pulley")
        elif wrap.type == WrapType.SITE:
            if all(other is None or other.type == WrapType.PULLEY for other in (before, after)):
                raise wrap.element.error("a site needs a neighbour that is not a pulley")
            if after is not None and after.type == WrapType.SITE and after.id == wrap.id:
                raise after.element.error("a site cannot follow itself", attribute="site")
        else:
            if any(other is None or other.type != WrapType.SITE for other in (before, after)):
                raise wrap.element.error("a geom must stand between two sites")
            if tendon.values["armature"] > 0:
                raise wrap.element.error("a tendon with armature cannot wrap around geoms")


def _check_ranges(tendon: Tendon) -> None:
    element, values = tendon.element, tendon.values
    low, high = values["actuatorfrcrange"].tolist()
    if tendon.actfrclimited and (low > 0 or high < 0):
        raise element.error("expected a range that holds 0", attribute="actuatorfrcrange")
    low, high = values["springlength"].tolist()
    if low > high:
        raise element.error("springlength[0] cannot exceed springlength[1]", attribute="springlength")


def _drawn(document: Document, tendon: Tendon, name: str, default: Any) -> Any:
    """Returns an attribute of appearance; a fixed tendon has it only from its default class."""
    if name in tendon.values:
        return tendon.values[name]
    for source in reversed(document.default_chain(tendon.element)):
        if name in source:
            return source[name]
    return default


def _fields(document: Document, names: Names, tendons: list[Tendon]) -> dict[str, Any]:
    def take(attribute: str) -> list[Any]:
        return [t.values[attribute] for t in tendons]

    wraps = [wrap for tendon in tendons for wrap in tendon.path]
    lengths = [len(t.path) for t in tendons]
    stiffness, damping = take("stiffness"), take("damping")
    widths, rgba, materials = (
        [_drawn(document, t, name, default) for t in tendons]
        for name, default in (("width", 0.003), ("rgba", (0.5, 0.5, 0.5, 1.0)), ("material", ""))
    )
    fields: dict[str, Any] = {
        "tendon_adr": addresses(lengths),
        "tendon_num": lengths,
        "tendon_matid": [
            names.id("material", m, t.element, "material") if m else -1
            for t, m in zip(tendons, materials, strict=True)
        ],
        "tendon_limited": [t.limited for t in tendons],
        "tendon_actfrclimited": [t.actfrclimited for t in tendons],
        "tendon_width": widths,
        **landed("fixed", "tendon_", [t.values for t in tendons]),
        "tendon_stiffness": [s[0] for s in stiffness],
        "tendon_stiffnesspoly": [s[1:] for s in stiffness],
        "tendon_damping": [d[0] for d in damping],
        "tendon_dampingpoly": [d[1:] for d in damping],
        "tendon_rgba": rgba,
        "wrap_type": [wrap.type for wrap in wraps],
        "wrap_objid": [wrap.id for wrap in wraps],
        "wrap_prm": [wrap.prm for wrap in wraps],
        "wrap_sideid": [int(wrap.prm) if wrap.type in _GEOMS else -1 for wrap in wraps],
    }
    fields = columns(fields)
    fields |= user_field(document, ObjType.TENDON, [t.element for t in tendons], take("user"))
    fields["ntendon"], fields["nwrap"] = len(tendons), len(wraps)
    return fields
