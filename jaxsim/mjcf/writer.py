"""A tree of elements to MJCF text."""

from __future__ import annotations

from lxml import etree

from jaxsim.mjcf import values
from jaxsim.mjcf.element import Element

__all__ = ["to_xml"]


def to_xml(root: Element) -> str:
    """Returns the XML text of a model's tree; numbers keep every bit."""
    tree = _node(root)
    etree.indent(tree, "  ")
    return etree.tostring(tree, encoding="unicode") + "\n"


def _node(element: Element) -> etree._Element:
    node = etree.Element(element.tag)
    for name, value in element.attrib.items():
        node.set(name, values.write(element.type.attributes.get(name), value))
    for child in element.children:
        node.append(_node(child))
    return node
