"""Choices that a pass makes and a derivative repeats.

A derivative runs a function again at the same arguments (`math/derived.py`). What is dear there is what has no
derivative: sorting, searching, picking some of many. So the first pass keeps what was chosen, and the second is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jax import lax

__all__ = ["Choices"]

_T = TypeVar("_T")


class Choices:
    """The choices of one pass, in the order in which they are made.

    Attributes:
      kept: whether somebody wants them.
      made: trees of arrays without derivative, made or told. Zeros, which a derivative puts in their place in a world
        that failed, must be a choice too.
    """

    def __init__(self, known: Sequence[Any] | None):
        """Of `known` choices, which are told in turn; if there are none, those made are kept; None: they are not."""
        self._known = list(known or ())
        self.kept = known is not None and not self._known
        self.made: list[Any] = []

    def told(self) -> Any:
        """The choice that comes next, if it is known; else None."""
        return self._known[len(self.made)] if self._known else None

    def of(self, choose: Callable[..., _T], *args: Any, **options: Any) -> _T:
        """What a function of some arguments chooses, or what it chose."""
        known = self.told()
        return self.put(choose(*args, **options) if known is None else known)

    def within(self) -> Any:
        """What `Choices` of a part are made of, all of which come next as one."""
        return self.told() if self._known else () if self.kept else None

    def put(self, choice: _T) -> _T:
        """Adds a choice that was made elsewhere."""
        self.made.append(lax.stop_gradient(choice))
        return self.made[-1]

    @property
    def result(self) -> tuple[Any, ...] | None:
        """What is kept; None: nothing is."""
        return tuple(self.made) if self.kept else None
