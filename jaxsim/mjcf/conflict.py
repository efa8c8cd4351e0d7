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
    from jaxsim.mjcf.spec import Spec

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


def resolve_conflicts(spec: Spec, child: Spec) -> None:
    """Brings the settings of an attached model into the whole model, as its `conflict` policy says.

    Raises:
        MjcfError: both models set something differently, and the policy does not allow it.
    """
    policy = spec.compiler["conflict"]
    kept = []
    for path, element in _settings(child):
        for name, theirs in element.attrib.items():
            if not _considered(path, name):
                continue
            ours = spec.settings(path)
            mine: Any = ours[name]
            if np.array_equal(np.asarray(mine), np.asarray(theirs)):
                continue
            both = ours.own(name)
            if path == "option/flag" or name == "actuatorgroupdisable":
                _bits(spec, path, name, theirs, policy, kept, element, both)
            elif policy == "merge" and not both:
                _set(spec, path, name, theirs)
            elif policy == "merge" and (path, name) in _SMALLER | _LARGER:
                pick = min if (path, name) in _SMALLER else max
                _set(spec, path, name, pick(mine, theirs))
            elif both and policy != "warning":
                raise element.error(f"the model it is attached to has {_text(ours[name])}", attribute=name)
            else:
                kept.append(f"{name} stays {_text(ours[name])}, not {_text(theirs)}")
    if kept:
        warnings.warn(f"attaching {child.modelname!r}: {'; '.join(kept)}", UserWarning, stacklevel=2)


def _settings(spec: Spec) -> Iterator[tuple[str, Element]]:
    for path in ("option", "option/flag", "visual/map", "visual/global", "size"):
        element: Element | None = spec.root
        for tag in path.split("/"):
            element = element.find(tag) if element is not None else None
        if element is not None:
            yield path, element


def _considered(path: str, name: str) -> bool:
    return path in ("option", "option/flag") or (path, name) in _SMALLER | _LARGER


def _bits(
    spec: Spec,
    path: str,
    name: str,
    theirs: object,
    policy: object,
    kept: list[str],
    element: Element,
    both: bool,
) -> None:
    """Handles flags and disabled groups: merging adds what the attached model sets."""
    ours = spec.settings(path)[name]
    if policy == "merge":
        if name == "actuatorgroupdisable":
            _set(
                spec,
                path,
                name,
                np.union1d([] if ours is None else np.asarray(ours), np.asarray(theirs)).astype(int),
            )
        elif theirs != schema()["flag"].attributes[name].default:
            _set(spec, path, name, theirs)
    elif both and policy == "error":
        raise element.error(f"the model it is attached to has {_text(ours)}", attribute=name)
    elif both:
        kept.append(f"{name} stays {_text(ours)}, not {_text(theirs)}")


def _set(spec: Spec, path: str, name: str, value: object) -> None:
    element = spec.root
    for tag in path.split("/"):
        element = element.find(tag) or element.new(tag)
    element[name] = value


def _text(value: object) -> str:
    return "unset" if value is None else values.write(None, value)  # type: ignore[arg-type]
