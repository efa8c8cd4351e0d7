"""URDF to a tree of MJCF elements.

Links become bodies, joints become the joints of their child's body, `mimic` becomes an equality constraint, and
geometry becomes geoms. What MJCF alone can say stands in a `mujoco` element of the robot: compiler, option, size.
Angles are in radian. Unlike in MJCF, static bodies are fused and visual geometry is discarded, unless the
compiler element there says otherwise.
"""

from __future__ import annotations

import posixpath
import warnings
from typing import Any

import numpy as np
from lxml import etree

from jaxsim.hints import nearest
from jaxsim.math import rotations
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.frames import from_euler, from_zaxis
from jaxsim.mjcf.limits import MAX_DEPTH, MAX_ELEMENTS
from jaxsim.mjcf.reader import Reader
from jaxsim.mjcf.schema import root_type
from jaxsim.mjcf.urdfxml import UrdfXml

__all__ = ["UrdfReader"]

_EXTENSION = ("compiler", "option", "size")
_JOINT_TYPES = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "fixed": "",
    "floating": "free",
    "planar": "planar",
    "spherical": "ball",
}
_ONE_AXIS = ("revolute", "continuous", "prismatic")
_SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


class UrdfReader:
    """Reads one URDF document.

    Args:
        reader: reads the `mujoco` extension element.
        file: the file's name in error messages.
    """

    def __init__(self, reader: Reader, file: str | None) -> None:
        self._reader = reader
        self._xml = UrdfXml(file)
        self._root = Element(root_type(), None, file)
        self._bodies: dict[str, Element] = {}
        self._colors: dict[str, np.ndarray] = {}
        self._geom_names: set[str] = set()
        self._meshes: dict[str, list[Element]] = {}

    def read(self, tree: etree._Element) -> Element:
        """Returns the MJCF tree of a document whose root is `robot`.

        Raises:
            MjcfError: the document is not a valid URDF.
        """
        if sum(1 for _ in tree.iter()) > MAX_ELEMENTS:
            raise self._xml.error(tree, f"more than {MAX_ELEMENTS:,} elements")
        self._root.line = tree.sourceline
        if tree.get("name"):
            self._root["model"] = tree.get("name")
        self._settings(tree)
        for node in tree.iter("material"):
            color = self._xml.one(node, "color")
            name = node.get("name")
            if color is not None and name:
                self._colors.setdefault(name, self._xml.numbers(color, "rgba", 4, required=True))
        self._link_tree(tree)
        for node in tree.iterchildren("link"):
            self._link(node)
        for node in tree.iterchildren("joint"):
            self._joint(node)
        self._mimics(tree)
        return self._root

    def _settings(self, tree: etree._Element) -> None:
        """Reads the extension element and sets what URDF implies."""
        extension = self._xml.one(tree, "mujoco")
        if extension is not None:
            for node in list(extension):
                if node.tag not in _EXTENSION:
                    extension.remove(node)
            self._reader.read_children(self._root, extension)
        compiler = self._root.find("compiler") or self._root.new("compiler")
        compiler["angle"] = "radian"
        for name in ("fusestatic", "discardvisual"):
            compiler.attrib.setdefault(name, True)

    def _link_tree(self, tree: etree._Element) -> None:
        """Adds a body for each link, nested as the joints say."""
        links = {}
        for node in tree.iterchildren("link"):
            name = self._xml.text(node, "name")
            if name in links:
                raise self._xml.error(node, "repeated link name", "name")
            links[name] = node
        children: dict[str, list[str]] = {name: [] for name in links}
        parents: dict[str, str] = {}
        for node in tree.iterchildren("joint"):
            parent, child = (
                self._xml.text(self._xml.one(node, tag, required=True), "link") for tag in ("parent", "child")
            )
            for tag, name in (("parent", parent), ("child", child)):
                if name not in links:
                    holder = self._xml.one(node, tag, required=True)
                    raise self._xml.error(holder, "unknown link", "link", suggestion=nearest(name, links))
            if child in parents:
                raise self._xml.error(node, f"link {child!r} has several parents")
            parents[child] = parent
            children[parent].append(child)
        world = self._root.new("worldbody")
        stack = [(name, world, 1) for name in reversed(links) if name not in parents]
        while stack:
            name, parent, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise self._xml.error(links[name], f"links nested deeper than {MAX_DEPTH}")
            body = world if name == "world" else self._new(parent, "body", links[name], name=name)
            self._bodies[name] = body
            stack.extend((child, body, depth + 1) for child in reversed(children[name]))
        lost = next((node for name, node in links.items() if name not in self._bodies), None)
        if lost is not None:
            raise self._xml.error(lost, "this link is its own ancestor")

    def _link(self, node: etree._Element) -> None:
        """Adds a link's inertia and geometry to its body."""
        body = self._bodies[self._xml.text(node, "name")]
        inertial = self._xml.one(node, "inertial")
        if inertial is not None and body.tag != "worldbody":
            self._inertial(inertial, body)
        rgba: np.ndarray | None = None
        for child in node:
            if child.tag == "visual":
                rgba = self._color(child, rgba)
            if child.tag not in ("visual", "collision"):
                continue
            compiler = self._root.find("compiler")
            if child.tag == "visual" and compiler is not None and compiler["discardvisual"]:
                continue
            geom = self._geom(child, body, child.tag == "collision")
            geom["rgba"] = rgba
            name = child.get("name", "")
            if name and name not in self._geom_names:
                self._geom_names.add(name)
                geom["name"] = name

    def _inertial(self, node: etree._Element, body: Element) -> None:
        """Adds the inertial element; its tensor is turned into the axes of the body."""
        mass = self._xml.numbers(self._xml.one(node, "mass", required=True), "value", 1, required=True)
        tensor = self._xml.one(node, "inertia", required=True)
        full = np.concatenate([self._xml.numbers(tensor, name, 1, required=True) for name in _INERTIA])
        inertial = self._new(body, "inertial", node, mass=mass[0])
        self._origin(node, inertial)
        inertial.attrib.setdefault("pos", np.zeros(3))
        quat = inertial.attrib.pop("quat", None)
        if full.any():
            inertial["fullinertia"] = full if quat is None else _turned(full, np.asarray(quat))
        else:
            inertial["diaginertia"], inertial["quat"] = np.zeros(3), quat

    def _color(self, node: etree._Element, before: np.ndarray | None) -> np.ndarray | None:
        material = self._xml.one(node, "material")
        if material is None:
            return before
        color = self._xml.one(material, "color")
        if color is not None:
            return self._xml.numbers(color, "rgba", 4, required=True)
        return self._colors.get(self._xml.text(material, "name"), before)

    def _geom(self, node: etree._Element, body: Element, collision: bool) -> Element:
        geometry = self._xml.one(node, "geometry", required=True)
        shape = next((s for tag in _SHAPES if (s := self._xml.one(geometry, tag)) is not None), None)
        if shape is None:
            raise self._xml.error(geometry, f"expected one of {', '.join(_SHAPES)}")
        geom = self._new(body, "geom", node, type=shape.tag)
        if not collision:
            for name, value in (("contype", 0), ("conaffinity", 0), ("group", 1), ("density", 0.0)):
                geom[name] = value
        if shape.tag == "box":
            geom["size"] = self._xml.numbers(shape, "size", 3, required=True) / 2
        elif shape.tag == "mesh":
            geom["mesh"] = self._mesh(shape)
        else:
            size = [self._xml.numbers(shape, "radius", 1, required=True)]
            if shape.tag != "sphere":
                size.append(self._xml.numbers(shape, "length", 1, required=True) / 2)
            geom["size"] = np.concatenate(size)
        self._origin(node, geom)
        return geom

    def _mesh(self, node: etree._Element) -> str:
        """Returns the name of the mesh asset of a file and scale, adding it if it is new."""
        file = self._xml.text(node, "filename")
        scale = self._xml.numbers(node, "scale", 3)
        scale = np.ones(3) if scale is None else scale
        name = posixpath.splitext(posixpath.basename(file.replace("\\", "/")))[0]
        known = self._meshes.setdefault(name, [])
        for mesh in known:
            if np.array_equal(mesh["scale"], scale):
                return mesh.name
        if known:
            name = f"{name}{len(known)}"
        assets = self._root.find("asset") or self._root.new("asset")
        known.append(self._new(assets, "mesh", node, name=name, file=file, scale=scale))
        return name

    def _joint(self, node: etree._Element) -> None:
        kind = self._xml.text(node, "type")
        if kind not in _JOINT_TYPES:
            expected = f"expected one of {', '.join(_JOINT_TYPES)}"
            raise self._xml.error(node, expected, "type", suggestion=nearest(kind, _JOINT_TYPES))
        name = self._xml.text(node, "name")
        body = self._bodies[self._xml.text(self._xml.one(node, "child", required=True), "link")]
        if body.tag == "worldbody":
            raise self._xml.error(node, "the world link cannot have a joint")
        self._origin(node, body)
        holder = self._xml.one(node, "axis")
        axis = (
            np.array([1.0, 0.0, 0.0])
            if holder is None
            else self._xml.numbers(holder, "xyz", 3, required=True)
        )
        mapped = _JOINT_TYPES[kind]
        if mapped == "":
            return
        if mapped == "free":
            joints = [self._new(body, "joint", node, name=name, type="free")]
        elif mapped == "planar":
            try:
                frame = rotations.matrix(np.array(from_zaxis(axis.tolist())))
            except ValueError:
                raise self._xml.error(node, "a planar joint needs an axis") from None
            joints = [
                self._new(body, "joint", node, name=f"{name}_TX", type="slide", axis=frame[:, 0]),
                self._new(body, "joint", node, name=f"{name}_TY", type="slide", axis=frame[:, 1]),
                self._new(body, "joint", node, name=f"{name}_RZ", type="hinge", axis=axis),
            ]
        else:
            joints = [self._new(body, "joint", node, name=name, type=mapped, axis=axis)]
        self._dynamics(node, joints)
        self._limit(node, joints[0])

    def _dynamics(self, node: etree._Element, joints: list[Element]) -> None:
        dynamics = self._xml.one(node, "dynamics")
        for source, target in (("damping", "damping"), ("friction", "frictionloss")):
            value = None if dynamics is None else self._xml.numbers(dynamics, source, 1)
            if value is not None:
                for joint in joints:
                    joint[target] = value if target == "damping" else value[0]

    def _limit(self, node: etree._Element, joint: Element) -> None:
        limit = self._xml.one(node, "limit")
        if limit is None:
            return
        lower, upper = (self._xml.numbers(limit, name, 1) for name in ("lower", "upper"))
        bounds = [0.0 if bound is None else float(bound[0]) for bound in (lower, upper)]
        if lower is not None or upper is not None:
            joint["range"] = bounds
        if (lower is None) != (upper is None) or bounds[0] > bounds[1]:
            joint["limited"] = "false"
        effort = self._xml.numbers(limit, "effort", 1)
        if effort is not None and effort[0] != 0:
            joint["actuatorfrcrange"] = [-abs(effort[0]), abs(effort[0])]

    def _mimics(self, tree: etree._Element) -> None:
        """Adds an equality constraint for each joint that follows another; only joints of one axis can."""
        kinds = {self._xml.text(node, "name"): node.get("type") for node in tree.iterchildren("joint")}
        for node in tree.iterchildren("joint"):
            mimic = self._xml.one(node, "mimic")
            if mimic is None:
                continue
            pair = self._xml.text(node, "name"), self._xml.text(mimic, "joint")
            if pair[1] not in kinds:
                hint = nearest(pair[1], kinds)
                raise self._xml.error(mimic, "unknown joint", "joint", suggestion=hint)
            if any(kinds[name] not in _ONE_AXIS for name in pair):
                both = f"{pair[0]} and {pair[1]} must both be {', '.join(_ONE_AXIS[:-1])} or {_ONE_AXIS[-1]}"
                ignored = self._xml.error(mimic, f"ignored: {both}", "joint")
                warnings.warn(str(ignored), UserWarning, stacklevel=2)
                continue
            multiplier, offset = (self._xml.numbers(mimic, name, 1) for name in ("multiplier", "offset"))
            slope = 1.0 if multiplier is None else float(multiplier[0])
            start = 0.0 if offset is None else float(offset[0])
            section = self._root.find("equality") or self._root.new("equality")
            polynomial = [start, slope, 0.0, 0.0, 0.0]
            self._new(section, "joint", mimic, joint1=pair[0], joint2=pair[1], polycoef=polynomial)

    def _origin(self, node: etree._Element, element: Element) -> None:
        """Sets pos and quat from an origin element."""
        origin = self._xml.one(node, "origin")
        if origin is None:
            return
        xyz, rpy = self._xml.numbers(origin, "xyz", 3), self._xml.numbers(origin, "rpy", 3)
        if xyz is not None:
            element["pos"] = xyz
        if rpy is not None and rpy.any():
            element["quat"] = np.array(from_euler(rpy.tolist(), "XYZ", degree=False))

    def _new(self, parent: Element, tag: str, node: etree._Element, **attributes: Any) -> Element:
        element = parent.new(tag)
        element.line = node.sourceline
        for name, value in attributes.items():
            element[name] = value
        return element


def _turned(full: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Returns the inertia (xx yy zz xy xz yz) of a turned frame in its parent's axes."""
    xx, yy, zz, xy, xz, yz = full
    turn = rotations.matrix(quat)
    tensor = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
    return np.array([tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]])
