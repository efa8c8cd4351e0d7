"""Access to the elements of a URDF document, with its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from lxml import etree

from jaxsim.mjcf import values
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.schema import Attribute

__all__ = ["UrdfXml"]


class UrdfXml:
    """Reads elements and attributes of one URDF document.

    Args:
        file: the file's name in error messages.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file

    def one(self, node: etree._Element, tag: str, required: bool = False) -> Any:
        """Returns the only child with a tag, or None.

        Raises:
            MjcfError: there are several, or none although it is required.
        """
        found = node.findall(tag)
        if len(found) > 1:
            raise self.error(found[1], "repeated element")
        if required and not found:
            raise self.error(node, f"missing element <{tag}>")
        return found[0] if found else None

    def text(self, node: etree._Element, name: str) -> str:
        """Returns the text of an attribute.

        Raises:
            MjcfError: it is absent or empty.
        """
        text = node.get(name)
        if not text:
            raise self.error(node, "required attribute missing", name)
        return str(text)

    def numbers(self, node: etree._Element, name: str, count: int, required: bool = False) -> Any:
        """Returns the numbers of an attribute as an array, or None if it is absent.

        Raises:
            MjcfError: they are not finite numbers of that count, or absent although required.
        """
        text = node.get(name)
        attribute = Attribute(name, "float", count, count, vector=True)
        try:
            value = None if text is None else values.parse(attribute, text)
        except ValueError as error:
            raise self.error(node, str(error), name) from None
        if value is not None and not np.all(np.isfinite(value)):
            raise self.error(node, "expected finite numbers", name)
        if value is None and required:
            raise self.error(node, "required attribute missing", name)
        return value

    def error(
        self, node: etree._Element, message: str, attribute: str | None = None, suggestion: str | None = None
    ) -> MjcfError:
        """Returns an error about an element, to be raised."""
        name = node.get("name")
        title = f'{node.tag} name="{name}"' if name else str(node.tag)
        value = node.get(attribute) if attribute else None
        return MjcfError(
            message,
            file=self._file,
            line=node.sourceline,
            element=title,
            attribute=attribute,
            value=value,
            suggestion=suggestion,
        )
