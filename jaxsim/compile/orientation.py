"""The orientation of an element, in any of the five forms that MJCF has."""

from __future__ import annotations

from jaxsim.compile.settings import Settings
from jaxsim.mjcf import Element
from jaxsim.mjcf.defaults import Resolved
from jaxsim.mjcf.frames import (
    ORIENTATIONS,
    Quat,
    from_axisangle,
    from_euler,
    from_xyaxes,
    from_zaxis,
    unit_quat,
)

__all__ = ["orientation"]


def orientation(element: Element, values: Resolved, settings: Settings) -> Quat:
    """Returns an element's orientation as a unit quaternion.

    Whatever the form, the one given last counts: in the element, else in the innermost default class.

    Args:
        element: the element.
        values: its resolved attributes.
        settings: angle unit and Euler sequence.

    Raises:
        MjcfError: the orientation has no direction.
    """
    form = values.last(*ORIENTATIONS)
    if form is None or values[form] is None:
        form = "quat"
    numbers = values[form].tolist()
    try:
        if form == "quat":
            return unit_quat(numbers)
        if form == "axisangle":
            return from_axisangle(numbers[:3], settings.radians(numbers[3]))
        if form == "xyaxes":
            return from_xyaxes(numbers)
        if form == "zaxis":
            return from_zaxis(numbers)
        return from_euler(numbers, settings.eulerseq, settings.degree)
    except ValueError as error:
        raise element.error(str(error), attribute=form) from None
