"""The tree of a model: elements with typed attributes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.hints import nearest
from jaxsim.mjcf import values
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.schema import Attribute, ElementType, Value, child_type

__all__ = ["Element", "Scope"]

_NAMED_BY_FILE = frozenset({"mesh", "hfield", "texture", "skin"})


@dataclass(eq=False, slots=True)
class Scope:
    """The file-wide conventions that an element was written under.

    A model and each model attached to it have a scope of their own, so that angles and asset folders mean what
    their author meant.

    Attributes:
        compiler: the merged `compiler` element of that model.
        folder: the model file's folder, or "" for text without one.
    """

    compiler: Element
    folder: str = ""


class Element:
    """One element of a model.

    Attributes:
        tag: as in the file.
        type: its row of the schema table.
        attrib: typed values as the file gives them: float, int, bool, str, tuples of keywords, and float64 or
            int64 vectors.
        children: in file order.
        parent: None for the root.
        file: the file it was read from, or None.
        line: its line there, or None.
        scope: the conventions of the model it was written in.
        folder: the folder of the included file it was read from, relative to the model's folder.
    """

    __slots__ = ("attrib", "children", "file", "folder", "line", "parent", "scope", "tag", "type")

    def __init__(
        self,
        type: ElementType,
        parent: Element | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> None:
        self.tag = type.tag
        self.type = type
        self.attrib: dict[str, Value] = {}
        self.children: list[Element] = []
        self.parent = parent
        self.file = file
        self.line = line
        self.scope: Scope | None = parent.scope if parent is not None else None
        self.folder = ""

    @property
    def name(self) -> str:
        """The element's name; an asset without one is called as its file, without folder and ending. Else ""."""
        value = self.attrib.get("name", "")
        if not value and self.tag in _NAMED_BY_FILE:
            file = str(self.attrib.get("file", "")).replace("\\", "/")
            return posixpath.splitext(posixpath.basename(file))[0]
        return value if isinstance(value, str) else ""

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the attribute's value as given in the file, or `default`."""
        return self.attrib.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.attrib[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """Sets an attribute; the value may be typed or text. None removes it.

        Raises:
            MjcfError: the element has no such attribute, or the value does not fit it.
        """
        if value is None:
            self.attrib.pop(name, None)
            return
        attribute = self.attribute(name)
        try:
            typed = values.parse(attribute, value) if isinstance(value, str) else _typed(attribute, value)
            if typed is None:
                raise ValueError(values.expected(attribute))
            values.check(attribute, typed)
        except (ValueError, TypeError, OverflowError) as error:
            raise self.error(str(error), attribute=name, value=str(value)) from None
        self.attrib[name] = typed

    def __contains__(self, name: str) -> bool:
        return name in self.attrib

    def attribute(self, name: str) -> Attribute:
        """Returns the schema of an attribute.

        Raises:
            MjcfError: there is no such attribute.
        """
        attribute = self.type.attributes.get(name)
        if attribute is None:
            hint = nearest(name, self.type.attributes)
            raise self.error("no such attribute", attribute=name, suggestion=hint)
        return attribute

    def find(self, tag: str) -> Element | None:
        """Returns the first child with that tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def find_all(self, *tags: str) -> list[Element]:
        """Returns the children with one of these tags, in order."""
        return [child for child in self.children if child.tag in tags]

    def walk(self) -> Iterator[Element]:
        """Yields this element and everything below it, depth first in file order."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def ancestors(self) -> Iterator[Element]:
        """Yields the parent, its parent, and so on to the root."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    def new(self, tag: str, index: int | None = None, /, **attributes: Any) -> Element:
        """Adds a child element and returns it; `class_` stands for the attribute `class`.

        Raises:
            MjcfError: the schema has no such child or attribute, or a value does not fit.
        """
        type = child_type(self.type, tag)
        if type is None:
            hint = nearest(tag, self.type.children)
            raise self.error(f"<{tag}> cannot stand here", suggestion=hint)
        child = Element(type, self, self.file, self.line)
        child.folder = self.folder
        for name, value in attributes.items():
            child[name.rstrip("_")] = value
        self.children.insert(len(self.children) if index is None else index, child)
        return child

    def copy(self, parent: Element | None = None) -> Element:
        """Returns a deep copy below another parent; scopes are shared."""
        twin = Element(self.type, parent, self.file, self.line)
        twin.scope = self.scope
        twin.folder = self.folder
        twin.attrib = dict(self.attrib)
        twin.children = [child.copy(twin) for child in self.children]
        return twin

    def error(
        self,
        message: str,
        attribute: str | None = None,
        value: str | None = None,
        suggestion: str | None = None,
    ) -> MjcfError:
        """Returns an error about this element, to be raised."""
        if attribute is not None and value is None and attribute in self.attrib:
            value = values.write(self.type.attributes.get(attribute), self.attrib[attribute])
        title = f'{self.tag} name="{self.name}"' if self.name else self.tag
        return MjcfError(
            message,
            file=self.file,
            line=self.line,
            element=title,
            attribute=attribute,
            value=value,
            suggestion=suggestion,
        )

    def __repr__(self) -> str:
        return f"<{self.tag}{f' {self.name!r}' if self.name else ''} at {self.file}:{self.line}>"


def _typed(attribute: Attribute, value: Any) -> Value:
    """Converts a Python value to the exact type that the attribute takes."""
    if attribute.kind in ("float", "int"):
        array = np.asarray(value)
        cast = np.float64 if attribute.kind == "float" else np.int64
        if array.dtype.kind not in "biuf" or (attribute.kind == "int" and array.dtype.kind == "f"):
            raise ValueError(values.expected(attribute))
        return np.atleast_1d(array).astype(cast) if attribute.vector else array.astype(cast).item()
    if attribute.kind == "bool":
        return bool(value) if isinstance(value, bool | np.bool_) else value
    if attribute.kind == "enum" and "true" in attribute.words and type(value) in (bool, np.bool_):
        return "true" if value else "false"
    return tuple(value) if attribute.kind == "flags" else value
