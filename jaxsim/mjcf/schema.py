"""The MJCF schema as data: which elements there are, what they may hold, and what each attribute means.

The table itself is text in `jaxsim.mjcf.tables`, written in this notation:

    $name = word word            a keyword set, used as in {$name} or {word $name}
    (name)                       a group of attributes, spliced elsewhere by +name
    [tag] child* child?          an element and its children: * any number, ? at most one. Further lines that
                                 hold only children continue the list; several [tag] [tag] share one body
    [parent/tag]                 the same, for a tag that means something else under another parent
      name, name  TYPE FLAGS = default
      at most one: a | b+c       of these alternatives at most one may appear (b+c is one alternative)
      at least one: a | b+c      one of these alternatives must appear in full
      all or none: a | b         these appear together or not at all
      into geom_*: a b c=d       these land as they are in the fields geom_a, geom_b and geom_d of a compiled model

A TYPE is `float`, `int`, `bool`, `text`, `file`, `bytes` (a byte count with a suffix), `@space` (this
element's name, unique in a namespace), `->space` (the name of an object in a namespace; `->objtype` and
`->reftype`: in the one which that attribute names), `{a b}` (one keyword), `{a b}*` (any set of
them), `{a b}+` (a set in this order; words after / stand alone) or `chars`. `float[3]` has three numbers,
`float[1..3]` one to three, `float[]` any count. FLAGS are `required`, `own` (not part of a default class),
`repeat` (a single value fills the whole vector), `inf` (numbers may be infinite) and numeric limits such as
`>0` or `<=30`.
A vector's default has full length: a shorter value overrides its first entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from jaxsim.mjcf.tables import TABLES

__all__ = [
    "Attribute",
    "Constraint",
    "ElementType",
    "Value",
    "child_type",
    "landing",
    "namespaces",
    "root_type",
    "schema",
]

Value: TypeAlias = float | int | bool | str | tuple[str, ...] | np.ndarray


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an element.

    Attributes:
        name: as written in the file.
        kind: `float`, `int`, `bool`, `text`, `file`, `bytes`, `chars`, `id`, `ref`, `enum` or `flags`.
        least: fewest numbers (or characters) of a value.
        most: most numbers (or characters), None if unlimited.
        vector: whether the value is an array, even if it holds one number.
        default: value where neither the element nor its class gives one; None if there is no such value.
        required: whether the element must give it.
        own: whether it is forbidden in default classes.
        repeat: whether one number fills the vector.
        infinite: whether its numbers may be infinite.
        limits: pairs (comparison, bound) that each number must satisfy.
        words: keywords of `enum` and `flags`.
        alone: keywords of `flags` that cannot be combined.
        ordered: whether `flags` must keep the table's order.
        space: namespace of `id` and `ref`, or the name of the attribute that holds it.
        field: field of the compiled model that holds it as it is, `opt.` or `stat.` before one of theirs; empty if the
            compiler makes something else of it.
    """

    name: str
    kind: str
    least: int = 1
    most: int | None = 1
    vector: bool = False
    default: Value | None = None
    required: bool = False
    own: bool = False
    repeat: bool = False
    infinite: bool = False
    limits: tuple[tuple[str, float], ...] = ()
    words: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    ordered: bool = False
    space: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule about which attributes appear together: `kind` as in the notation, over `bundles` of names."""

    kind: str
    bundles: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class ElementType:
    """One row of the table.

    Attributes:
        key: `tag`, or `parent/tag` where the tag has several meanings.
        tag: as written in the file.
        attributes: by name.
        children: cardinality (`*` or `?`) by tag.
        constraints: rules between attributes.
    """

    key: str
    tag: str
    attributes: dict[str, Attribute] = field(default_factory=dict)
    children: dict[str, str] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)


_LINE = re.compile(
    r"(?P<names>\w+(?:, *\w+)*)\s+"
    r"(?P<type>\{[^}]*\}[*+]?|->\w+|@\w+|\w+)(?:\[(?P<least>\d*)(?:\.\.(?P<most>\d+))?\])?"
    r"(?P<flags>(?:\s+(?!=)[^\s]+)*)\s*(?:(?<![<>])=(?P<default>.*))?$"
)
_RULE = re.compile(r"(at most one|at least one|all or none):(.*)$")
_INTO = re.compile(r"into ([\w.]*)\*:(.*)$")


@cache
def schema() -> Mapping[str, ElementType]:
    """Returns the whole table: element types by key."""
    words: dict[str, str] = {}
    groups: dict[str, ElementType] = {}
    elements: dict[str, ElementType] = {}
    current: list[ElementType] = []
    for line in _logical_lines():
        if line.startswith("$"):
            name, _, text = line.partition("=")
            words[name.strip()] = text.strip()
        elif line.startswith("("):
            current = [groups.setdefault(line.strip()[1:-1], ElementType(line, line))]
        elif line.startswith("["):
            *keys, rest = re.split(r"\s*\]\s*", line.replace("[", ""))
            current = [elements.setdefault(key, ElementType(key, key.split("/")[-1])) for key in keys]
            for element in current:
                element.children.update({child[:-1]: child[-1] for child in rest.split()})
        else:
            for element in current:
                _add_line(element, line.strip(), words, groups)
    _add_default_projections(elements)
    return elements


@cache
def landing(key: str, start: str) -> Mapping[str, Attribute]:
    """Returns which attributes of an element land in fields as they are.

    Args:
        key: of the element type.
        start: what the fields begin with, such as `geom_`.

    Returns:
        The attributes by the names of their fields, without the start if that is a record's.
    """
    attributes = schema()[key].attributes.values()
    record = start if start.endswith(".") else ""
    return {a.field.removeprefix(record): a for a in attributes if a.field and a.field.startswith(start)}


@cache
def namespaces() -> frozenset[str]:
    """Returns the namespaces in which elements have names."""
    return frozenset(a.space for t in schema().values() for a in t.attributes.values() if a.kind == "id")


def root_type() -> ElementType:
    """Returns the type of the document's root element, `mujoco`."""
    return schema()["mujoco"]


def child_type(parent: ElementType, tag: str) -> ElementType | None:
    """Returns the type of a child element, or None if `parent` cannot hold that tag."""
    if tag not in parent.children:
        return None
    table = schema()
    return table.get(f"{parent.key}/{tag}") or table[tag]


def _logical_lines() -> Iterator[str]:
    """Yields the table's lines; a header's continuation lines are joined to it."""
    for table in TABLES:
        held = ""
        for line in table.splitlines():
            if held and re.match(r"\s+\w+[*?](\s|$)", line):
                held = f"{held} {line.strip()}"
                continue
            if held:
                yield held
            held = line.rstrip()
        if held:
            yield held


def _add_line(
    element: ElementType, line: str, words: Mapping[str, str], groups: Mapping[str, ElementType]
) -> None:
    """Adds one body line of the notation to an element type."""
    if line.startswith("+"):
        group = groups[line[1:]]
        element.attributes.update(group.attributes)
        element.constraints.extend(group.constraints)
        return
    if rule := _RULE.match(line):
        bundles = tuple(tuple(part.strip().split("+")) for part in rule[2].split("|"))
        element.constraints.append(Constraint(rule[1], bundles))
        return
    if into := _INTO.match(line):
        for pair in into[2].split():
            name, _, renamed = pair.partition("=")
            element.attributes[name] = replace(element.attributes[name], field=into[1] + (renamed or name))
        return
    match = _LINE.match(line)
    if match is None:
        raise ValueError(f"bad line in the MJCF table: {line!r}")
    kind = match["type"]
    kind = re.sub(r"\$\w+", lambda word: words[word[0]], kind)
    attribute = _attribute(kind, match["least"], match["most"], match["flags"].split())
    if match["default"] is not None:
        attribute = replace(attribute, default=_default(attribute, match["default"].split()))
    for name in re.split(r", *", match["names"]):
        element.attributes[name] = replace(attribute, name=name)


def _attribute(kind: str, least: str | None, most: str | None, flags: list[str]) -> Attribute:
    """Builds an unnamed attribute from the parts of its line."""
    limits = tuple((m[1], float(m[2])) for f in flags if (m := re.match(r"(>=|<=|>|<)(.+)$", f)))
    common = Attribute(
        name="",
        kind=kind,
        required="required" in flags,
        own="own" in flags,
        repeat="repeat" in flags,
        infinite="inf" in flags,
        limits=limits,
    )
    if kind[0] == "{":
        together, _, alone = kind.strip("{}*+").partition("/")
        several = kind[-1] != "}"
        return replace(
            common,
            kind="flags" if several else "enum",
            words=tuple(together.split()),
            alone=tuple(alone.split()),
            ordered=kind[-1] == "+",
        )
    if kind[0] == "@":
        return replace(common, kind="id", space=kind[1:])
    if kind.startswith("->"):
        return replace(common, kind="ref", space=kind[2:])
    if least is None:
        return common
    low = int(least) if least else 0
    high = int(most) if most else (int(least) if least else None)
    return replace(common, least=low, most=high, vector=kind in ("float", "int"))


def _default(attribute: Attribute, parts: list[str]) -> Value:
    """Reads the default of a table line."""
    if attribute.vector and attribute.kind in ("float", "int"):
        array = np.array([float(p) for p in parts]).astype(float if attribute.kind == "float" else int)
        array.setflags(write=False)
        return array
    text = " ".join(parts)
    if attribute.kind in ("float", "int"):
        return float(text) if attribute.kind == "float" else int(text)
    return text == "true" if attribute.kind == "bool" else text


def _add_default_projections(elements: dict[str, ElementType]) -> None:
    """Derives what a default class may hold: each element without its name, class and own attributes."""
    default = elements["default"]
    for tag in default.children:
        if tag == "default" or f"default/{tag}" in elements:
            continue
        full = elements[tag]
        kept = {
            name: replace(attribute, required=False)
            for name, attribute in full.attributes.items()
            if not (attribute.own or attribute.kind == "id" or name == "class")
        }
        children = {"layer": "*"} if tag == "material" else {}
        rules = [rule for rule in full.constraints if all(n in kept for b in rule.bundles for n in b)]
        elements[f"default/{tag}"] = ElementType(f"default/{tag}", tag, kept, children, rules)
