"""Attachment of another model, or of another part of the same model, below a body or frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxsim.hints import nearest
from jaxsim.mjcf.conflict import resolve_conflicts
from jaxsim.mjcf.defaults import class_of
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.hoist import free_name, nest_sections
from jaxsim.mjcf.keyframes import Keyframes
from jaxsim.mjcf.namespace import LISTS, Namespace, names_of, references, referring, rename
from jaxsim.mjcf.schema import schema

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["attach_model", "attach_own", "expand_attach"]


def expand_attach(
    document: Document, element: Element, models: dict[str, Document], keyframes: Keyframes
) -> None:
    """Replaces an attach element by what it names.

    Args:
        document: the model that is read.
        element: the attach element.
        models: the sub-models of the asset section, by name.
        keyframes: the model's keyframes, to which those of a sub-model are added.

    Raises:
        MjcfError: what it names does not exist, or is already there under the new name.
    """
    kind = next((tag for tag in ("body", "frame") if tag in element), None)
    name = str(element[kind]) if kind else ""
    namespace = Namespace(prefix=element["prefix"])
    model = element.get("model")
    source = document
    if model is not None:
        if model not in models:
            hint = nearest(model, models)
            raise element.error("unknown model asset", attribute="model", suggestion=hint)
        source = models[model]
    elif kind is None:
        raise element.error("body or frame must be given where no model is")
    part = source.find(kind, name) if kind else None
    if kind and part is None:
        hint = nearest(name, {e.name for e in source.elements(kind)})
        raise element.error(f"unknown {kind} to attach", attribute=kind, suggestion=hint)
    if kind and document.find(kind, namespace(name)) is not None:
        raise element.error(f"{kind} {namespace(name)!r} already exists", attribute=kind)
    parent = element.parent
    assert parent is not None
    place = parent.children.index(element)
    if part is not None and any(ancestor is part for ancestor in element.ancestors()):
        raise element.error("a part cannot be attached within itself", attribute=kind)
    parent.children.pop(place)
    if model is None:
        assert part is not None
        added = attach_own(document, part, parent, namespace)
    else:
        added = attach_model(document, source, part, parent, namespace, keyframes)
    parent.children.remove(added)
    parent.children.insert(place, added)


def attach_own(document: Document, part: Element, parent: Element, namespace: Namespace) -> Element:
    """Copies a body or frame of a model below another element, with all that refers to it; returns the copy."""
    names = names_of([part])
    referrers = referring(document.root, names, as_attached=True)
    inner = names_of([part, *referrers])
    twin = part.copy(parent)
    twin.attrib.setdefault("childclass", class_of(part, document.defaults).name)
    rename(twin, namespace, names)
    parent.children.append(twin)
    for referrer in referrers:
        assert referrer.parent is not None
        copy = referrer.copy(referrer.parent)
        rename(copy, namespace, inner)
        referrer.parent.children.append(copy)
    return twin


def attach_model(
    document: Document,
    child: Document,
    part: Element | None,
    parent: Element,
    namespace: Namespace,
    keyframes: Keyframes,
) -> Element:
    """Copies a body, a frame or the whole world of another model below an element; returns the copy.

    Default classes and assets of the other model come along, and those of its other elements whose references
    all lead to something that came along. Its own compiler settings stay in force for them; its options only as far as
    the `conflict` policy says.
    Its keyframes come along for what is copied.
    """
    resolve_conflicts(document, child)
    classes = _attach_defaults(document, child, namespace)
    if part is None:
        twin = Element(schema()["frame"], parent, parent.file, parent.line)
        twin.scope = parent.scope
        twin.children = [element.copy(twin) for element in child.worldbody.children]
        main = "main"
    else:
        twin = part.copy(parent)
        main = class_of(part, child.defaults).name
    twin.attrib.setdefault("childclass", main)
    rename(twin, namespace, None, classes)
    parent.children.append(twin)
    available = names_of([twin])
    if namespace("world") == "world":
        available.setdefault("body", set()).add("world")
    _attach_assets(document, child, namespace, classes, available)
    copies = (
        list(zip(child.worldbody.children, twin.children, strict=True)) if part is None else [(part, twin)]
    )
    for tag in LISTS:
        theirs = child.root.find(tag)
        for element in theirs.children if theirs else ():
            copy = element.copy(None)
            if "class" in copy.type.attributes:
                copy.attrib.setdefault("class", "main")
            rename(copy, namespace, None, classes)
            if _comes_along(tag, copy, available):
                _append(document.section(tag), copy)
                copies.append((element, copy))
                for space, values in names_of([copy]).items():
                    available.setdefault(space, set()).update(values)
    keyframes.adopt(child, namespace, copies)
    document.refresh()
    return twin


def _comes_along(section: str, element: Element, available: dict[str, set[str]]) -> bool:
    """Whether all references of an element lead to something that came along.

    As in C the world body may be named by excluded pairs and, beside something that came along, by sensors. An empty
    tuple stays behind.
    """
    names = [(space, name) for _, _, space, name in references(element) if space != "default"]
    inside = [name in available.get(space, ()) for space, name in names]
    either = [found or pair == ("body", "world") for found, pair in zip(inside, names, strict=True)]
    if section == "sensor":
        return all(either) and (any(inside) or not names)
    return all(either if section == "contact" else inside) and (bool(names) or element.tag != "tuple")


def _append(section: Element, element: Element) -> None:
    element.parent = section
    section.children.append(element)


def _attach_assets(
    document: Document,
    child: Document,
    namespace: Namespace,
    classes: dict[str, str],
    available: dict[str, set[str]],
) -> None:
    """Copies all assets, except those that an earlier attachment under the same names has brought.

    Textures without a name come each time.
    """
    theirs = child.root.find("asset")
    ours = document.section("asset")
    present = {(e.tag, e.name, id(e.scope)) for e in ours.children}
    for element in theirs.children if theirs else ():
        if element.tag == "model":
            continue
        copy = element.copy(None)
        copy.attrib["name"] = element.name
        if "class" in copy.type.attributes:
            copy.attrib.setdefault("class", "main")
        rename(copy, namespace, None, classes)
        for space, values in names_of([copy]).items():
            available.setdefault(space, set()).update(values)
        if not copy.name or (copy.tag, copy.name, id(copy.scope)) not in present:
            _append(ours, copy)


def _attach_defaults(document: Document, child: Document, namespace: Namespace) -> dict[str, str]:
    """Adds the other model's default classes below our top class, of which they take nothing (`DefaultClass`).

    Returns their new names by the old ones. A name that is taken, because the prefix is empty or another model was
    attached under the same, gives way: its class is another one.
    """
    key = (id(child.scope), namespace)
    if key in document.attached:
        return document.attached[key]
    taken = set(document.defaults)
    around = next(iter(document.root.find_all("default")), None) or document.root.new("default", 0)
    sections = [section.copy(around) for section in child.root.find_all("default")]
    if not sections:
        sections.append(Element(schema()["default"], around, around.file, around.line))
        sections[0].scope = child.scope
    nest_sections(sections, around, "main", child.defaults)
    classes: dict[str, str] = {}
    for element in sections[0].walk():
        if element.tag == "default":
            name = element["class"]
            classes[name] = free_name(namespace(name), taken)
            element.attrib["class"] = classes[name]
            taken.add(classes[name])
    rename(sections[0], namespace, None, classes)
    document.attached[key] = classes
    document.refresh()
    return classes
