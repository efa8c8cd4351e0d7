"""What the table cannot say: rules between values within one element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jaxsim.mjcf.element import Element

__all__ = ["check_values"]

Rule = Callable[[Element], None]


def check_values(element: Element) -> None:
    """Checks the rules of an element's own values.

    Raises:
        MjcfError: one is broken.
    """
    rule = _RULES.get(element.tag)
    if rule is not None:
        rule(element)


def _mesh(element: Element) -> None:
    if 0 <= element.get("maxhullvert", -1) < 4:
        raise element.error("expected -1 (no limit) or more than 3", attribute="maxhullvert")
    for name, width in (("vertex", 3), ("normal", 3), ("texcoord", 2), ("face", 3)):
        if name in element and element[name].size % width:
            raise element.error(f"expected a multiple of {width} numbers", attribute=name)
    if "vertex" in element and not np.all(np.isfinite(element["vertex"])):
        raise element.error("expected finite numbers", attribute="vertex")


def _texture(element: Element) -> None:
    rows, columns = element.get("gridsize", (1, 1))
    if "gridlayout" in element and len(element["gridlayout"]) != rows * columns:
        raise element.error(
            f"expected {rows * columns} characters: rows times columns", attribute="gridlayout"
        )


def _material(element: Element) -> None:
    layer = element.find("layer")
    if layer is not None and "texture" in element:
        raise layer.error("a material with a texture attribute cannot have layers")


def _hfield(element: Element) -> None:
    count = element.get("nrow", 0) * element.get("ncol", 0)
    if not element.get("file") and "elevation" in element and element["elevation"].size != count:
        raise element.error("expected nrow * ncol numbers", attribute="elevation")
    if np.any(element["size"] <= 0):
        raise element.error("expected four positive numbers", attribute="size")


def _numeric(element: Element) -> None:
    count = element["data"].size if "data" in element else 0
    size = element.get("size", count)
    if not 1 <= size <= 500:
        raise element.error("expected 1 to 500 numbers", attribute="data" if count else None)
    if count > size:
        raise element.error(f"expected at most {size} numbers, as size says", attribute="data")


def _text(element: Element) -> None:
    if not element["data"]:
        raise element.error("the text cannot be empty", attribute="data")


_RULES: dict[str, Rule] = {
    "mesh": _mesh,
    "texture": _texture,
    "material": _material,
    "hfield": _hfield,
    "numeric": _numeric,
    "text": _text,
}
