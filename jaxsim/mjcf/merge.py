"""Repeated sections of a model become one."""

from __future__ import annotations

import numpy as np

from jaxsim.mjcf.element import Element

__all__ = ["merge_sections"]

_SETTINGS = frozenset({"compiler", "option", "size", "statistic", "visual"})


def merge_sections(root: Element) -> None:
    """Merges repeated sections in place: settings attribute by attribute, lists by appending.

    Default sections stay apart, since a nested class inherits what its parent holds when the class is declared.
    """
    kept: list[Element] = []
    first: dict[str, Element] = {}
    for section in root.children:
        if section.tag == "default" or section.tag not in first:
            first.setdefault(section.tag, section)
            kept.append(section)
        elif section.tag in _SETTINGS:
            _merge_settings(first[section.tag], section)
        else:
            for child in section.children:
                child.parent = first[section.tag]
            first[section.tag].children.extend(section.children)
    root.children = kept


def _merge_settings(into: Element, later: Element) -> None:
    if "assetdir" in later.attrib:
        for name in ("meshdir", "texturedir"):
            into.attrib.pop(name, None)
    for name, value in later.attrib.items():
        if name == "actuatorgroupdisable" and name in into.attrib:
            value = np.union1d(np.asarray(into.attrib[name]), np.asarray(value))
        into.attrib[name] = value
    for child in later.children:
        same = into.find(child.tag)
        if same is not None:
            _merge_settings(same, child)
        else:
            child.parent = into
            into.children.append(child)
