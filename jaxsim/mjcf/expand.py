"""Expansion of replicate and attach elements, in the order of the file and from the inside out."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from jaxsim.mjcf.attach import expand_attach
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.keyframes import Keyframes
from jaxsim.mjcf.limits import MAX_DEPTH, MAX_ELEMENTS, MAX_XML_BYTES
from jaxsim.mjcf.replicate import expand_replicate

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["expand"]


def expand(document: Document, opened: tuple[str, ...]) -> None:
    """Replaces every replicate and attach element of a model by what it stands for.

    Args:
        document: the model, changed in place.
        opened: paths of the model files that led here, the model's own last.

    Raises:
        MjcfError: an element cannot be expanded, models attach each other in a circle, or the result is too large.
    """
    models = _models(document, opened)
    world = document.root.find("worldbody")
    if world is None:
        return
    elements = _postorder(world)
    if not elements:
        return
    keyframes = Keyframes(document, own=False)
    for element in elements:
        if element.tag == "attach":
            expand_attach(document, element, models, keyframes)
        else:
            expand_replicate(document, element, keyframes)
        if sum(1 for _ in document.root.walk()) > MAX_ELEMENTS:
            raise element.error(f"the model grows beyond {MAX_ELEMENTS:,} elements")
    document.refresh()
    keyframes.finish()
    _check_depth(document.root)


def _postorder(top: Element) -> list[Element]:
    """Returns the elements to be expanded, inner ones before those that hold them."""
    found: list[Element] = []
    stack = [(top, False)]
    while stack:
        element, done = stack.pop()
        if done or element.tag == "attach":
            found.append(element)
            continue
        if element.tag == "replicate":
            stack.append((element, True))
        stack.extend((child, False) for child in reversed(element.children))
    return found


def _models(document: Document, opened: tuple[str, ...]) -> dict[str, Document]:
    """Reads the sub-models of the asset section, and removes them from there."""
    assets = document.root.find("asset")
    if assets is None:
        return {}
    models: dict[str, Document] = {}
    for element in assets.find_all("model"):
        folder = element.scope.folder if element.scope else ""
        file = str(element["file"]).replace("\\", "/")
        places = (posixpath.join(folder, file), posixpath.join(folder, element.folder, file))
        try:
            path = document.files.find(places)
            if path is None:
                raise element.error("no such file", attribute="file")
            data = document.files.read(path, MAX_XML_BYTES)
        except MjcfError:
            raise
        except (OSError, ValueError) as error:
            raise element.error(f"cannot read the file: {error}", attribute="file") from None
        if posixpath.normpath(path) in opened:
            raise element.error("models attach each other in a circle", attribute="file")
        child = type(document).read(data, document.files, path, posixpath.dirname(path), opened)
        name = element.get("name") or child.modelname
        if name in models:
            raise element.error("repeated name: another model asset is called so", attribute="name")
        models[name] = child
        assets.children.remove(element)
    return models


def _check_depth(root: Element) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH + 1:
            raise level[0].error(f"elements nested deeper than {MAX_DEPTH}")
        level = [child for element in level for child in element.children]
