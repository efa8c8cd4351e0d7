"""MJCF text to a tree of typed elements, checked against the schema."""

from __future__ import annotations

import posixpath

from lxml import etree

from jaxsim.hints import nearest
from jaxsim.mjcf import values
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.files import Files
from jaxsim.mjcf.limits import MAX_DEPTH, MAX_ELEMENTS, MAX_FILES, MAX_XML_BYTES
from jaxsim.mjcf.schema import Constraint, child_type, root_type
from jaxsim.mjcf.xmltext import parse_xml

__all__ = ["Reader"]


class Reader:
    """Reads one model file and all it includes.

    Args:
        files: opens the included files.
        file: the model's own file name, None for text.
        folder: the folder that the model's relative paths start from.
    """

    def __init__(self, files: Files, file: str | None, folder: str) -> None:
        self._files = files
        self._file = file
        self._folder = folder
        self._included = {posixpath.normpath(file)} if file else set()
        self._count = 0

    def read(self, tree: etree._Element) -> Element:
        """Returns the typed tree of a document whose root is `mujoco`.

        Raises:
            MjcfError: any element, attribute or value breaks the schema.
        """
        if tree.tag != "mujoco":
            raise MjcfError(
                "expected the root element <mujoco>, or <robot> of URDF",
                file=self._file,
                line=tree.sourceline,
                element=str(tree.tag)[:60],
            )
        root = Element(root_type(), None, self._file, tree.sourceline)
        self._attributes(root, tree)
        self._children(root, tree, self._file, "", depth=1)
        return root

    def read_children(self, parent: Element, tree: etree._Element) -> None:
        """Reads the children of an XML element into a typed one.

        Raises:
            MjcfError: any element, attribute or value breaks the schema.
        """
        self._children(parent, tree, self._file, "", depth=1)

    def _children(
        self, parent: Element, tree: etree._Element, file: str | None, folder: str, depth: int
    ) -> None:
        """Reads the children of an XML element into `parent`; those of included files too."""
        if depth > MAX_DEPTH:
            raise parent.error(f"elements nested deeper than {MAX_DEPTH}")
        for node in tree:
            if not isinstance(node.tag, str):
                raise parent.error("entities are not allowed")
            if node.tag == "include":
                self._include(parent, node, file, folder, depth)
                continue
            type = child_type(parent.type, node.tag)
            if type is None:
                raise MjcfError(
                    f"<{parent.tag}> cannot hold this element",
                    file=file,
                    line=node.sourceline,
                    element=node.tag[:60],
                    suggestion=nearest(node.tag, parent.type.children),
                )
            self._count += 1
            if self._count > MAX_ELEMENTS:
                raise parent.error(f"more than {MAX_ELEMENTS:,} elements")
            child = Element(type, parent, file, node.sourceline)
            child.folder = folder
            if parent.type.children[node.tag] == "?" and parent.find(node.tag):
                raise child.error(f"repeated element: <{parent.tag}> takes at most one")
            parent.children.append(child)
            self._attributes(child, node)
            self._children(child, node, file, folder, depth + 1)

    def _attributes(self, element: Element, node: etree._Element) -> None:
        """Reads and checks the attributes of one element."""
        for name, text in _texts(node):
            attribute = element.type.attributes.get(name)
            if attribute is None:
                raise element.error(
                    f"<{element.tag}> has no such attribute",
                    attribute=name[:60],
                    value=text,
                    suggestion=nearest(name, element.type.attributes),
                )
            try:
                value = values.parse(attribute, text)
            except ValueError as error:
                hint = nearest(text, attribute.words) if attribute.kind == "enum" else None
                raise element.error(str(error), attribute=name, value=text, suggestion=hint) from None
            if value is not None:
                element.attrib[name] = value
        for name, attribute in element.type.attributes.items():
            if attribute.required and name not in element.attrib:
                raise element.error("required attribute missing", attribute=name)
        for rule in element.type.constraints:
            problem = broken(rule, element)
            if problem:
                raise element.error(problem)

    def _include(
        self, parent: Element, node: etree._Element, file: str | None, folder: str, depth: int
    ) -> None:
        """Reads the children of an included file's root into `parent`."""
        where = {"file": file, "line": node.sourceline, "element": "include"}
        if len(node):
            raise MjcfError("an include element cannot have children", **where)
        unknown = next((name for name, _ in _texts(node) if name != "file"), None)
        if unknown is not None:
            raise MjcfError("<include> has no such attribute", attribute=unknown[:60], **where)
        name = node.get("file")
        if not name:
            raise MjcfError("required attribute missing", attribute="file", **where)
        where |= {"attribute": "file", "value": name}
        name = name.replace("\\", "/")
        places = (posixpath.join(self._folder, name), posixpath.join(self._folder, folder, name))
        try:
            path = self._files.find(places)
            if path is None:
                raise MjcfError("no such file", **where)
            normal = posixpath.normpath(path)
            if normal in self._included:
                raise MjcfError("this file is already included", **where)
            self._included.add(normal)
            if len(self._included) > MAX_FILES:
                raise MjcfError(f"more than {MAX_FILES:,} files", **where)
            tree = parse_xml(self._files.read(path, MAX_XML_BYTES), path)
        except MjcfError:
            raise
        except (OSError, ValueError) as error:
            raise MjcfError(f"cannot read the file: {error}", **where) from None
        if not len(tree):
            raise MjcfError("the included file is empty", **where)
        self._children(
            parent, tree, path, posixpath.relpath(posixpath.dirname(path) or ".", self._folder or "."), depth
        )


def _texts(node: etree._Element) -> list[tuple[str, str]]:
    """Returns the attributes of an XML element: name and text."""
    return [(str(name), str(text)) for name, text in node.attrib.items()]


def broken(rule: Constraint, element: Element) -> str | None:
    """Says what is wrong if an element breaks a rule about which attributes appear together."""
    some = [any(name in element.attrib for name in bundle) for bundle in rule.bundles]
    full = [all(name in element.attrib for name in bundle) for bundle in rule.bundles]
    alternatives = ", ".join(" and ".join(bundle) for bundle in rule.bundles)
    if rule.kind == "at most one" and sum(some) > 1:
        return f"at most one of {alternatives} may be given"
    if rule.kind == "all or none" and any(some) and not all(some):
        return f"{alternatives} must be given together"
    if rule.kind == "at least one" and not any(full):
        return f"one of {alternatives} must be given"
    return None
