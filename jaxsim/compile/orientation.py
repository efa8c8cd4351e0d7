"""The orientation of an element, in any of the five forms that MJCF has."""

from __future__ import annotations

from typing import Any

from jaxsim.compile.settings import Settings
from jaxsim.mjcf import Document, Element
from jaxsim.mjcf.frames import Quat, from_axisangle, from_euler, from_xyaxes, from_zaxis, unit_quat

__all__ = ["orientation"]

_FORMS = ("axisangle", "xyaxes", "zaxis", "euler")


def orientation(document: Document, element: Element, values: Any, settings: Settings) -> Quat:
    """Returns an element's orientation as a unit quaternion.

    A form other than `quat` wins, be it given in a default class: the last one given counts.

    Args:
        document: the model.
        element: the element.
        values: its resolved attributes.
        settings: angle unit and Euler sequence.

    Raises:
        MjcfError: the orientation has no direction.
    """
    classed = "class" in element.type.attributes
    for source in (element, *reversed(document.default_chain(element))) if classed else (element,):
        for form in _FORMS:
            if form in source.attrib:
                return _convert(element, form, source[form].tolist(), settings)
    return unit_quat(values["quat"].tolist())


def _convert(element: Element, form: str, numbers: list[float], settings: Settings) -> Quat:
    try:
        if form == "axisangle":
            return from_axisangle(numbers[:3], settings.radians(numbers[3]))
        if form == "xyaxes":
            return from_xyaxes(numbers)
        if form == "zaxis":
            return from_zaxis(numbers)
        return from_euler(numbers, settings.eulerseq, settings.degree)
    except ValueError as error:
        raise element.error(str(error), attribute=form) from None
