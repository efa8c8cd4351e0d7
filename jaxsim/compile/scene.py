"""The world body and all it holds: elements to parts, in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from jaxsim.compile.orientation import orientation
from jaxsim.compile.parts import Body, Camera, Frame, Geom, Joint, Light, Part, Site
from jaxsim.compile.settings import SettingsOf
from jaxsim.mjcf import Document, Element
from jaxsim.mjcf.defaults import Resolved
from jaxsim.mjcf.frames import accumulate
from jaxsim.mjcf.schema import schema

__all__ = ["Scene", "build_scene"]

_LISTS = {
    "joint": (Joint, "joints"),
    "geom": (Geom, "geoms"),
    "site": (Site, "sites"),
    "camera": (Camera, "cameras"),
    "light": (Light, "lights"),
}
_REFUSED = {
    "composite": "composite objects are not built",
    "flexcomp": "flexible objects are not built",
    "plugin": "engine plugins are not built",
}

_R = TypeVar("_R", bound=Part)


@dataclass(eq=False)
class Scene:
    """All objects of the kinematic tree by kind, in the order of their ids."""

    document: Document
    settings: SettingsOf
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    cameras: list[Camera] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)

    def renumber(self) -> None:
        """Rebuilds the lists and ids from the bodies: depth first, each body's objects in file order."""
        world = self.bodies[0]
        self.bodies = list(_depth_first(world))
        _number(self.bodies)
        for name in ("joints", "geoms", "sites", "cameras", "lights"):
            objects = [item for body in self.bodies for item in getattr(body, name)]
            setattr(self, name, objects)
            _number(objects)
        dof = qpos = 0
        for joint in self.joints:
            joint.dofadr, joint.qposadr = dof, qpos
            dof, qpos = dof + joint.type.nv, qpos + joint.type.nq

    def weld(self) -> None:
        """Finds for each body the topmost body that moves with it."""
        for body in self.bodies:
            if body.parent is None or body.joints or body.mocap:
                body.weld = body
            else:
                body.weld = body.parent.weld


def build_scene(document: Document) -> Scene:
    """Reads the world body of a model; attributes are resolved, nothing is computed but frame poses.

    Raises:
        MjcfError: an element is not allowed where it stands, or belongs to a feature that is not built.
    """
    scene = Scene(document, SettingsOf(document))
    element = document.worldbody
    world = Body(element, Resolved(Element(schema()["body"]), []), scene.settings(element), name="world")
    scene.bodies = [world]
    for body, child, frame in _walk(document, scene.settings, world, element):
        _add(scene, body, child, frame)
    scene.renumber()
    scene.weld()
    return scene


def _walk(
    document: Document, settings_of: SettingsOf, body: Body, parent: Element
) -> Iterator[tuple[Body, Element, Frame]]:
    """Yields what a body holds, frames opened, then the same for the bodies below."""
    stack: list[tuple[Body, list[Element], Frame]] = [(body, list(reversed(parent.children)), None)]
    while stack:
        body, pending, frame = stack[-1]
        if not pending:
            stack.pop()
            continue
        child = pending.pop()
        if child.tag == "frame":
            stack.append((body, list(reversed(child.children)), _frame(document, settings_of, child, frame)))
        elif child.tag == "body":
            inner = _body(document, settings_of, body, child, frame)
            stack.append((inner, list(reversed(child.children)), None))
        else:
            yield body, child, frame


def _frame(document: Document, settings_of: SettingsOf, element: Element, outer: Frame) -> Frame:
    values: Any = document.resolve(element)
    if (np.asarray(element.get("scale", 1.0)) != 1).any() or values["massscale"] not in (0, 1):
        raise element.error(
            "scaled frames are not built in jaxsim; have the C engine compile the model, and use jaxsim.put_model",
            attribute="scale" if "scale" in element else "massscale",
        )
    pos = tuple(values["pos"].tolist())
    quat = orientation(element, values, settings_of(element))
    return (pos, quat) if outer is None else accumulate(*outer, pos, quat)


def _body(document: Document, settings_of: SettingsOf, parent: Body, element: Element, frame: Frame) -> Body:
    values: Any = document.resolve(element)
    body = Body(element, values, settings_of(element), frame, element.name, parent=parent)
    body.mocap = values["mocap"]
    parent.bodies.append(body)
    return body


def _add(scene: Scene, body: Body, element: Element, frame: Frame) -> None:
    """Files one element under its body."""
    tag = element.tag
    if body.parent is None and tag in ("inertial", "joint", "freejoint"):
        raise element.error(f"the world body cannot have a {tag}: it does not move")
    if tag == "inertial":
        if body.inertial is not None:
            raise element.error("a body has one inertial at most")
        body.inertial, body.inertial_frame, body.explicit = element, frame, True
    elif tag == "freejoint":
        values = Resolved(Element(schema()["joint"]), [])
        _append(scene, body.joints, Joint, body, element, values, frame)
    elif tag in _LISTS:
        kind, name = _LISTS[tag]
        _append(scene, getattr(body, name), kind, body, element, scene.document.resolve(element), frame)
        for plugin in element.find_all("plugin"):
            raise plugin.error(f"{_REFUSED['plugin']} in jaxsim; remove the element")
    elif tag in _REFUSED:
        raise element.error(f"{_REFUSED[tag]} in jaxsim; remove the element")
    else:
        raise element.error(f"<{tag}> has not been expanded")


def _append(
    scene: Scene, into: list[_R], kind: type[_R], body: Body, element: Element, values: Any, frame: Frame
) -> None:
    part = kind(element, values, scene.settings(element), frame, element.name)
    part.body = body  # pyright: ignore[reportAttributeAccessIssue]
    into.append(part)


def _depth_first(body: Body) -> Iterator[Body]:
    stack = [body]
    while stack:
        body = stack.pop()
        yield body
        stack.extend(reversed(body.bodies))


def _number(objects: list[_R]) -> None:
    for index, part in enumerate(objects):
        part.id = index
