"""Which name was probably meant where there is none such."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["hint", "nearest"]


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """Returns the valid word most like `word`, or None if none is much like it."""
    matches = get_close_matches(word[:100], sorted(valid), n=1, cutoff=0.6)
    return matches[0] if matches else None


def hint(word: str, known: Iterable[str]) -> str:
    """Part of an error's message: the name that was probably meant, or nothing."""
    near = nearest(word, known)
    return f" (did you mean {near!r}?)" if near else ""
