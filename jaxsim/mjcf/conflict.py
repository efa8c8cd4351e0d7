"""Global settings that an attached model sets differently from the model it is attached to.

The compiler attribute `conflict` of the whole model says what happens: `warning` keeps its own values and warns,
`merge` adopts what only the attached model sets and combines what both set where that makes sense, `error` refuses
what both set differently.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxsim.mjcf import values
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.schema import schema

if TYPE_CHECKING:
    from jaxsim.mjcf.document import Document

__all__ = ["resolve_conflicts"]

_SMALLER = frozenset(
    {
        ("option", "timestep"),
        ("option", "tolerance"),
        ("option", "ls_tolerance"),
        ("option", "noslip_tolerance"),
        ("option", "ccd_tolerance"),
        ("option", "sleep_tolerance"),
        ("visual/map", "znear"),
        ("visual/global", "realtime"),
    }
)
"""Numbers of which the smaller one suits both models."""

_LARGER = frozenset(
    {
        *(("option", f"{name}iterations") for name in ("", "ls_", "noslip_", "ccd_", "sdf_")),
        ("option", "sdf_initpoints"),
        ("visual/map", "zfar"),
        *(("size", name) for name in schema()["size"].attributes if name != "nstack"),
    }
)
"""Numbers of which the larger one suits both models."""


def resolve_conflicts(document: Document, child: Document) -> None:
    """Brings the settings of an attached model into the whole model, as its `conflict` policy says.

    Raises:
        MjcfError: both models set something differently, and the policy does not allow it.
    """
    policy = document.compiler["conflict"]
    kept = []
    for path, element in _settings(child):
        for name, theirs in element.attrib.items():
            ours = document.settings(path)
            mine, both = ours[name], ours.own(name)
            if not _considered(path, name) or np.array_equal(np.asarray(mine), np.asarray(theirs)):
                continue
            merged = _merged(path, name, mine if both else None, theirs) if policy == "merge" else None
            if merged is not None:
                _set(document, path, name, merged)
            elif both and policy != "warning":
                raise element.error(f"the model it is attached to has {_text(mine)}", attribute=name)
            elif both or not _is_set(path, name):
                kept.append(f"{name} stays {_text(mine)}, not {_text(theirs)}")
    if kept:
        warnings.warn(f"attaching {child.modelname!r}: {'; '.join(kept)}", UserWarning, stacklevel=2)


def _settings(document: Document) -> Iterator[tuple[str, Element]]:
    for path in ("option", "option/flag", "visual/map", "visual/global", "size"):
        element: Element | None = document.root
        for tag in path.split("/"):
            element = element.find(tag) if element is not None else None
        if element is not None:
            yield path, element


def _considered(path: str, name: str) -> bool:
    return path in ("option", "option/flag") or (path, name) in _SMALLER | _LARGER


def _is_set(path: str, name: str) -> bool:
    """Whether a setting is one member of a set: a flag, or the disabled groups."""
    return path == "option/flag" or name == "actuatorgroupdisable"


def _merged(path: str, name: str, mine: Any, theirs: Any) -> Any:
    """Returns what suits both models, None if nothing does; `mine` is None if only the attached model says."""
    if name == "actuatorgroupdisable":
        return np.union1d([] if mine is None else mine, theirs).astype(int)
    if path == "option/flag":
        unset = theirs == schema()["flag"].attributes[name].default
        return mine if unset else theirs
    if mine is None:
        return theirs
    if (path, name) in _SMALLER | _LARGER:
        return min(mine, theirs) if (path, name) in _SMALLER else max(mine, theirs)
    return None


def _set(document: Document, path: str, name: str, value: object) -> None:
    element = document.root
    for tag in path.split("/"):
        element = element.find(tag) or element.new(tag)
    element[name] = value


def _text(value: object) -> str:
    return "unset" if value is None else values.write(None, value)  # type: ignore[arg-type]
