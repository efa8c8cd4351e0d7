"""The editable model: a tree of MJCF elements, its default classes and its files."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any, Self

from jaxsim.mjcf import merge, names, writer
from jaxsim.mjcf.attach import attach_model, attach_own
from jaxsim.mjcf.defaults import ACTUATORS, DefaultClass, Resolved, class_of, default_tag, read_defaults
from jaxsim.mjcf.element import Element, Scope
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.expand import expand
from jaxsim.mjcf.files import Files
from jaxsim.mjcf.frames import ORIENTATIONS
from jaxsim.mjcf.keyframes import Keyframes
from jaxsim.mjcf.limits import MAX_ASSET_BYTES, MAX_XML_BYTES
from jaxsim.mjcf.namespace import Namespace, names_of, referring
from jaxsim.mjcf.reader import Reader
from jaxsim.mjcf.schema import child_type, namespaces, root_type, schema
from jaxsim.mjcf.urdf import UrdfReader
from jaxsim.mjcf.xmltext import parse_xml

__all__ = ["Document"]

_WORLD: Any = object()
"""Stands for the world of a model, where None may be an element that was not found."""


class Document:
    """A model's text as a tree that can be edited and written; `jaxsim.Spec` adds that it compiles.

    Attributes:
        root: the `mujoco` element. Repeated sections are merged, included files are spliced in, replicate and
            attach elements are expanded; frames stay.
        files: opens the files that the model names.
        compiler_element: the merged `compiler` element.
        scope: the conventions of the elements that were not attached from another model.
        attached: what default classes of attached models are called here, by scope and namespace.
    """

    def __init__(self, root: Element | None = None, files: Files | None = None, folder: str = "") -> None:
        self.root = Element(root_type()) if root is None else root
        self.files = files or Files()
        self._defaults: dict[str, DefaultClass] | None = None
        self.attached: dict[tuple[int, Namespace], dict[str, str]] = {}
        self.compiler_element = self.section("compiler")
        self.scope = Scope(self.compiler_element, folder)
        for element in self.root.walk():
            element.scope = element.scope or self.scope

    @classmethod
    def from_file(
        cls,
        path: str | PathLike[str],
        root: str | PathLike[str] | None = None,
        assets: Mapping[str, bytes] | None = None,
        packages: Mapping[str, str | PathLike[str]] | None = None,
    ) -> Self:
        """Reads an MJCF or URDF file.

        Args:
            path: the file.
            root: if given, a folder outside of which no file is opened.
            assets: contents of files by name, looked up before the disk.
            packages: folders of the packages that `package://` paths of a URDF name. A package that is not given
                is looked for beside the folders that hold the file.

        Raises:
            MjcfError: the file cannot be read or is not a valid model.
        """
        name = fspath(path).replace("\\", "/")
        files = Files(assets, None if root is None else fspath(root), packages)
        try:
            data = files.read(name, MAX_XML_BYTES)
        except (OSError, ValueError) as error:
            raise MjcfError(f"cannot read the file: {error}", file=name) from None
        return cls.read(data, files, name, posixpath.dirname(name))

    @classmethod
    def from_string(
        cls,
        xml: str | bytes,
        assets: Mapping[str, bytes] | None = None,
        base_dir: str | PathLike[str] | None = None,
        root: str | PathLike[str] | None = None,
        packages: Mapping[str, str | PathLike[str]] | None = None,
    ) -> Self:
        """Reads MJCF or URDF text.

        Args:
            xml: the text.
            assets: contents of files by name, looked up before the disk.
            base_dir: the folder that relative paths start from; the current one if None.
            root: if given, a folder outside of which no file is opened.
            packages: folders of the packages that `package://` paths of a URDF name.

        Raises:
            MjcfError: the text is not a valid model.
        """
        data = xml.encode("utf-8", "replace") if isinstance(xml, str) else xml
        files = Files(assets, None if root is None else fspath(root), packages)
        folder = "" if base_dir is None else fspath(base_dir).replace("\\", "/")
        return cls.read(data, files, None, folder)

    @classmethod
    def read(
        cls, data: bytes, files: Files, file: str | None, folder: str, opened: tuple[str, ...] = ()
    ) -> Self:
        """Reads a document.

        Args:
            data: its text.
            files: opens the files it names.
            file: its file name, None for text.
            folder: the folder that relative paths start from.
            opened: paths of the model files that attach this one.

        Raises:
            MjcfError: the document is not a valid model.
        """
        tree = parse_xml(data, file)
        reader = Reader(files, file, folder)
        root = UrdfReader(reader, file).read(tree) if tree.tag == "robot" else reader.read(tree)
        merge.merge_sections(root)
        document = cls(root, files, folder)
        expand(document, (*opened, posixpath.normpath(file or "")))
        names.check(document)
        return document

    @property
    def modelname(self) -> str:
        """The model's name."""
        return str(self.root.get("model", self.root.type.attributes["model"].default))

    @property
    def compiler(self) -> Resolved:
        """The compiler settings of this model; those of attached models are in `compiler_of`."""
        return self.settings("compiler")

    @property
    def option(self) -> Resolved:
        """The simulation options."""
        return self.settings("option")

    @property
    def worldbody(self) -> Element:
        """The world body's element."""
        return self.section("worldbody")

    @property
    def defaults(self) -> dict[str, DefaultClass]:
        """The default classes by name. Call `refresh` after editing `default` elements."""
        if self._defaults is None:
            self._defaults = read_defaults(self.root)
        return self._defaults

    def refresh(self) -> None:
        """Forgets what was derived from the tree, after `default` elements were edited."""
        self._defaults = None

    def section(self, tag: str) -> Element:
        """Returns a child of the root, adding it if the model has none."""
        return self.root.find(tag) or self.root.new(tag)

    def settings(self, path: str) -> Resolved:
        """Returns the attributes of a settings element, such as `option` or `option/flag`, with their defaults."""
        element = self.root
        for tag in path.split("/"):
            type = child_type(element.type, tag)
            if type is None:
                raise element.error(f"<{tag}> cannot stand here")
            element = element.find(tag) or Element(type)
        return Resolved(element, [])

    def copy(self) -> Self:
        """Returns a copy that can be edited independently."""
        root = self.root.copy()
        for element in root.walk():
            if element.scope is self.scope:
                element.scope = None
        twin = type(self)(root, self.files, self.scope.folder)
        twin.attached = dict(self.attached)
        return twin

    def compiler_of(self, element: Element) -> Resolved:
        """Returns the compiler settings of the model that an element was written in."""
        return Resolved(element.scope.compiler, []) if element.scope else self.compiler

    def class_of(self, element: Element) -> DefaultClass:
        """Returns the default class in force for an element.

        Raises:
            MjcfError: the element names a class that does not exist.
        """
        return class_of(element, self.defaults)

    def default_chain(self, element: Element) -> list[Element]:
        """Returns the default elements that apply to an element, the weakest first.

        For an actuator these are all actuator defaults of its class, of whatever shortcut, in the order in which
        they merge into one set of general defaults.

        Raises:
            MjcfError: the element names a class that does not exist.
        """
        tag = default_tag(element)
        wanted = ACTUATORS if tag == "actuator" else {tag}
        return [default for default in self.class_of(element).chain if default.tag in wanted]

    def resolve(self, element: Element) -> Resolved:
        """Returns the attributes of an element after its classes and the schema's defaults.

        For actuators only the attributes are resolved that a shortcut shares with its defaults by name.

        Raises:
            MjcfError: the element names a class that does not exist.
        """
        takes_class = "class" in element.type.attributes
        return Resolved(element, self.default_chain(element) if takes_class else [])

    def find(self, kind: str, name: str) -> Element | None:
        """Returns the element of that kind and name outside the default classes, or None.

        Args:
            kind: a namespace, such as `body`, `joint` (free ones too), `tendon`, `actuator` or `sensor`; or a tag.
            name: the name.
        """
        spaces = namespaces()
        for section in self.root.children:
            if section.tag == "default":
                continue
            for element in section.walk():
                attribute = element.type.attributes.get("name")
                space = attribute.space if attribute is not None else ""
                if element.name == name and kind == (space if kind in spaces else element.tag):
                    return element
        return None

    def elements(self, *tags: str) -> Iterator[Element]:
        """Yields the elements with one of these tags outside the default classes, in file order.

        A tag that means something else below another parent is not that tag: `joint` yields joints of bodies, not
        equality constraints, which are `equality/joint`.
        """
        table = schema()
        for section in self.root.children:
            if section.tag != "default":
                for element in section.walk():
                    key = element.type.key
                    if key in tags or (element.tag in tags and element.tag not in table):
                        yield element

    def add(self, parent: Element, tag: str, /, **attributes: Any) -> Element:
        """Adds an element below another and returns it; `class_` stands for the attribute `class`.

        Raises:
            MjcfError: the schema does not allow it.
        """
        child = parent.new(tag, **attributes)
        child.scope = parent.scope
        self.refresh()
        return child

    def remove(self, element: Element) -> None:
        """Removes an element and everything below it.

        With a body goes what refers to it or to something in it: pairs, excluded pairs, tendons, equalities, actuators
        and sensors, and their numbers in keyframes. Tuples, and cameras and lights that look at it, stay as they are.

        Raises:
            MjcfError: it is in no model; or keyframes would have to be cut whose numbers are not known one by one.
        """
        if element.parent is None:
            which = "the root" if element is self.root else "what is in no model"
            raise element.error(f"{which} cannot be removed")
        gone = [element]
        keyframes = None
        if element.tag in ("body", "frame"):
            gone += [e for e in referring(self.root, names_of([element])) if e.tag not in ("tuple", "flex")]
            stateful = {"joint", "freejoint", *ACTUATORS}
            if any(below.tag in stateful or below.get("mocap") for top in gone for below in top.walk()):
                keyframes = Keyframes(self)
        for each in gone:
            assert each.parent is not None
            each.parent.children.remove(each)
            each.parent = None
        self.refresh()
        if keyframes is not None:
            keyframes.finish()

    def attach(
        self,
        other: Document,
        parent: Element | None = _WORLD,
        prefix: str = "",
        suffix: str = "",
        part: Element | None = _WORLD,
    ) -> Element:
        """Copies another model, or a part of it, below an element of this one, and returns the copy.

        Args:
            other: the model to copy, which is not changed; or this one.
            parent: the body or frame below which it is put, or the site where; the world by default.
            prefix: put before each of its names.
            suffix: put behind each of its names.
            part: the body or frame of the other model to copy; its whole world by default.

        Raises:
            MjcfError: a name or default class is used twice, or `parent` or `part` is not what it should be.
            TypeError: something else is given, as None for an element that was not found.
        """
        if not isinstance(other, Document):
            raise TypeError(
                f"attach: other is of type {type(other).__name__}; expected a Spec, as of jaxsim.Spec.from_file(path)"
            )
        parent = self.worldbody if parent is _WORLD else self._place("parent", parent, "site")
        part = None if part is _WORLD else other._place("part", part)
        if parent.tag == "site":
            parent = self._frame_at(parent)
        namespace = Namespace(prefix, suffix)
        keyframes = Keyframes(self)
        if other is self and part is not None:
            if part is parent or any(above is part for above in parent.ancestors()):
                raise part.error("a part cannot be attached within itself")
            added = attach_own(self, part, parent, namespace)
            self.refresh()
        else:
            other = other.copy() if other is self else other
            added = attach_model(self, other, part, parent, namespace, keyframes)
        keyframes.finish()
        names.check(self)
        return added

    def _place(self, what: str, element: Any, *others: str) -> Element:
        """A body, frame or element with one of the other tags of this model.

        Raises:
            TypeError: it is no element.
            MjcfError: it is another element, or in another model.
        """
        if not isinstance(element, Element):
            raise TypeError(
                f"attach: {what} is {element!r}; expected an element, as of spec.find('body', name), which gives "
                "None where there is none of that name"
            )
        if element.tag not in ("body", "frame", "worldbody", *others):
            raise element.error(f"attach: {what} must be a body or a frame")
        if not any(above is self.root for above in element.ancestors()):
            raise element.error(f"attach: {what} is in {'another' if element.parent else 'no'} model")
        return element

    def _frame_at(self, site: Element) -> Element:
        """A new frame in the place of a site.

        Raises:
            MjcfError: the place of the site is told by its two ends.
        """
        place = self.resolve(site)
        if place["fromto"] is not None:
            raise site.error(
                "attach: the parent has `fromto`; expected a site with a position and an orientation"
            )
        turn: dict[str, Any] = {}
        for element in (*self.default_chain(site), site):
            turn = {name: element.get(name) for name in ORIENTATIONS if name in element.attrib} or turn
        assert site.parent is not None
        frame = self.add(site.parent, "frame", pos=place["pos"], **turn)
        frame.scope = site.scope
        return frame

    def asset_path(self, element: Element, attribute: str) -> str | None:
        """Returns the path of the file that an attribute names, None if there is no such file.

        The file is looked for in the folder that the compiler element of its model sets for its kind, then beside
        the included file that names it.

        Raises:
            PermissionError: the file lies outside the root folder.
        """
        return self.files.find(self._asset_places(element, attribute))

    def _asset_places(self, element: Element, attribute: str) -> tuple[str, ...]:
        compiler = self.compiler_of(element)
        name = str(element.get(attribute, "")).replace("\\", "/")
        if compiler["strippath"]:
            name = posixpath.basename(name)
        folder = (
            compiler["texturedir" if element.tag == "texture" else "meshdir"] or compiler["assetdir"] or ""
        )
        base = element.scope.folder if element.scope else ""
        if "://" in name:
            return self.files.resource_places(base, name)
        return (
            posixpath.join(base, str(folder).replace("\\", "/"), name),
            posixpath.join(base, element.folder, name),
        )

    def open_asset(self, element: Element, attribute: str) -> tuple[str, bytes]:
        """Returns path and content of the file that an attribute names; see `asset_path`.

        Raises:
            MjcfError: there is no such file, it is too large, or it lies outside the root folder.
        """
        if not element.get(attribute):
            raise element.error("required attribute missing", attribute=attribute)
        try:
            path = self.asset_path(element, attribute)
            if path is None:
                places = " or ".join(dict.fromkeys(self._asset_places(element, attribute)))
                raise element.error(f"no such file: {places}", attribute=attribute)
            return path, self.files.read(path, MAX_ASSET_BYTES)
        except MjcfError:
            raise
        except (OSError, ValueError) as error:
            raise element.error(f"cannot read the file: {error}", attribute=attribute) from None

    def to_xml(self) -> str:
        """Returns the model as MJCF text; reading it again gives the same model."""
        return writer.to_xml(self)
