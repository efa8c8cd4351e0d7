"""The compiler's settings, one set for each model of an assembly: an attached model keeps its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any

from jaxsim.mjcf import Document, Element

__all__ = ["Settings", "SettingsOf", "is_limited"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Attributes of `compiler` that apply to the elements of one model.

    Attributes:
        degree: whether angles are written in degrees.
        eulerseq: axes of Euler angles, e.g. `xyz`; lower case rotates with the frame.
        autolimits: whether a given range switches its limit on.
        inertiafromgeom: `true`, `false` or `auto`.
        inertiagrouprange: geom groups that have mass.
        boundmass: least mass of a body, kg.
        boundinertia: least principal moment of a body, kg m^2.
        balanceinertia: whether to repair moments that violate the triangle inequality.
        alignfree: whether free bodies get the frame of their principal axes.
        fitaabb: whether primitives are fitted to the bounding box of a mesh, not to its inertia box. As in C the
            whole model's setting counts for attached ones too.
    """

    degree: bool
    eulerseq: str
    autolimits: bool
    inertiafromgeom: str
    inertiagrouprange: tuple[int, int]
    boundmass: float
    boundinertia: float
    balanceinertia: bool
    alignfree: bool
    fitaabb: bool

    def radians(self, angle: float) -> float:
        """Returns an angle of the file in radians."""
        return angle * (pi / 180.0) if self.degree else angle


class SettingsOf:
    """Looks up the settings in force for an element."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[int, Settings] = {}

    def __call__(self, element: Element) -> Settings:
        """Returns the settings of the model that the element was written in."""
        key = id(element.scope.compiler) if element.scope else 0
        if key not in self._known:
            self._known[key] = _read(self._document.compiler_of(element), self._document.compiler)
        return self._known[key]


def _read(compiler: Any, whole: Any) -> Settings:
    low, high = compiler["inertiagrouprange"].tolist()
    return Settings(
        degree=compiler["angle"] == "degree",
        eulerseq=compiler["eulerseq"],
        autolimits=compiler["autolimits"],
        inertiafromgeom=compiler["inertiafromgeom"],
        inertiagrouprange=(low, high),
        boundmass=compiler["boundmass"],
        boundinertia=compiler["boundinertia"],
        balanceinertia=compiler["balanceinertia"],
        alignfree=compiler["alignfree"],
        fitaabb=whole["fitaabb"],
    )


def is_limited(
    element: Element,
    values: Mapping[str, Any],
    autolimits: bool,
    limited: str,
    bounds: str,
    ordered: bool = True,
) -> bool:
    """Decides whether a limit is on: `limited` says so, or is `auto` and the range is not empty.

    Args:
        element: the element, for the error.
        values: its resolved attributes.
        autolimits: the compiler's setting.
        limited: name of the attribute that switches the limit.
        bounds: name of the attribute that holds the range.
        ordered: whether a range in force must not be empty.

    Raises:
        MjcfError: there is a range but nothing says whether it is in force, or it is in force and empty.
    """
    word, (low, high) = values[limited], values[bounds]
    if word == "auto" and not autolimits and (low or high):
        raise element.error(
            f'has a range but no {limited}: set {limited} to true or false, or compiler autolimits="true"',
            attribute=bounds,
        )
    on = word == "true" or (word == "auto" and bool(low < high))
    if on and ordered and low >= high:
        raise element.error("range[0] must be below range[1]", attribute=bounds)
    return on
