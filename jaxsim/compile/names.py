"""Names of compiled objects: name to id, and the names that the Model keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jaxsim.enums import PREFIXES
from jaxsim.hints import nearest
from jaxsim.mjcf import Element

__all__ = ["Names"]

KINDS = {kind.name.lower(): kind for kind in PREFIXES}
"""Namespaces, in the order in which the Model lists them."""


class Names:
    """The names of every kind, in the order of ids, and the objects that bear them.

    Args:
        dropped: kinds that the model gives up: every reference to them is -1.
    """

    def __init__(self, dropped: Iterable[str] = ()) -> None:
        self._dropped = frozenset(dropped)
        self._names: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ())
        self._objects: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}

    def add(self, kind: str, objects: Iterable[Any]) -> None:
        """Registers all objects of a kind; they have a `name`, and are given an `id` by the caller.

        Raises:
            MjcfError: a name occurs twice.
        """
        names = []
        found = self._objects[kind] = {}
        for item in objects:
            names.append(item.name)
            if item.name:
                if item.name in found:
                    raise item.element.error(f"repeated {kind} name {item.name!r}", attribute="name")
                found[item.name] = item
        self._names[kind] = tuple(names)

    def find(self, kind: str, name: str, element: Element, attribute: str) -> Any:
        """Returns the object of a name; `xbody` means a body.

        Raises:
            MjcfError: there is none; the error is about the attribute that names it.
        """
        kind = "body" if kind == "xbody" else kind
        found = self._objects.get(kind, {}).get(name)
        if found is None:
            hint = nearest(name, self._objects.get(kind, {}))
            raise element.error(f"unknown {kind} {name!r}", attribute=attribute, suggestion=hint)
        return found

    def id(self, kind: str, name: str, element: Element, attribute: str) -> int:
        """Returns the id of a name.

        Raises:
            MjcfError: there is none.
        """
        return -1 if kind in self._dropped else self.find(kind, name, element, attribute).id

    def table(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Returns the names as the Model keeps them."""
        return tuple((int(objtype), self._names[kind]) for kind, objtype in KINDS.items())
