"""What errors of a caller's arguments say: which name was probably meant, which count was expected."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import numpy as np

__all__ = ["check_counts", "hint", "nearest"]


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """Returns the valid word most like `word`, or None if none is much like it."""
    matches = get_close_matches(word[:100], sorted(valid), n=1, cutoff=0.6)
    return matches[0] if matches else None


def hint(word: str, known: Iterable[str]) -> str:
    """Part of an error's message: the name that was probably meant, or nothing."""
    near = nearest(word, known)
    return f" (did you mean {near!r}?)" if near else ""


def check_counts(function: str, **counts: int) -> None:
    """Refuses arguments of a function that are no integers of at least 1.

    Raises:
      ValueError: names the function, the first such argument and its value.
    """
    for name, count in counts.items():
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise ValueError(f"{function}: {name}={count!r}; expected an integer of at least 1")
