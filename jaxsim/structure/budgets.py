"""Sizes of buffers that a model asks for, and the text of `Model.max_geom_pairs`: pairs that a broad phase keeps."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxsim.enums import GeomType

__all__ = ["asked_sizes", "given_sizes", "parse_budgets"]


def asked_sizes(
    nconmax: int, njmax: int, numbers: Mapping[str, Sequence[float]], text: str
) -> dict[str, Any]:
    """The fields of Model that say how large its buffers are; -1 or "": chosen from what can collide.

    Files of versions before 2.3 give memory, `njmax` rows and `nconmax` contacts: both are ignored, as by the C engine.

    Args:
      nconmax: of `<size>`; without an `njmax` beside it the contact slots.
      njmax: of `<size>`; -1: none.
      numbers: custom numbers by name. MJX's files give contact slots in `max_contact_points`, which counts where
        `<size>` has none, and pairs in `max_geom_pairs`.
      text: the custom text `max_geom_pairs`, which wins over the number.
    """

    def number(name: str) -> int:
        return int(np.clip(next(iter(numbers.get(name, ())), -1.0), -1, np.iinfo(np.int32).max))

    pairs = number("max_geom_pairs")
    return {
        "nconmax": nconmax if nconmax >= 0 and njmax < 0 else number("max_contact_points"),
        "max_geom_pairs": text or (str(pairs) if pairs >= 0 else ""),
    }


def given_sizes(nconmax: int | None, njmax: int | None, max_geom_pairs: str | int | None) -> dict[str, Any]:
    """The fields of Model for the sizes that a caller gives by hand; None: not given."""
    pairs = None if max_geom_pairs is None else str(max_geom_pairs)
    given = {"nconmax": nconmax, "njmax": njmax, "max_geom_pairs": pairs}
    return {name: size for name, size in given.items() if size is not None}


@functools.lru_cache(maxsize=64)
def parse_budgets(text: str) -> dict[tuple[int, int] | None, int]:
    """Pairs by geom types, the lower type first; None: of every kind not named.

    Args:
      text: "" (chosen from the model), a number for every kind, or numbers by kind: "sphere box 40, box box 20".

    Raises:
      ValueError: the text says something else.
    """
    found: dict[tuple[int, int] | None, int] = {}
    for part in filter(None, (p.split() for p in text.split(","))):
        try:
            *types, number = part
            kinds = sorted(int(GeomType[name.upper()]) for name in types)
            if len(kinds) not in (0, 2) or int(number) < 0:
                raise ValueError
        except (KeyError, ValueError):
            raise ValueError(
                f"max_geom_pairs: {' '.join(part)!r} is no budget; write a number, or two geom types and a number, "
                'as in "sphere box 40, box box 20"'
            ) from None
        found[(kinds[0], kinds[1]) if kinds else None] = int(number)
    return found
