"""Lists of different lengths that follow each other in one array. Host code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Lists", "runs", "starts"]


def starts(sizes: np.ndarray) -> np.ndarray:
    """Where each of some lists begins."""
    return np.cumsum(sizes) - sizes


def runs(sizes: np.ndarray) -> np.ndarray:
    """0, 1, ... for each of some sizes: the place of each item in its list."""
    return np.arange(sizes.sum()) - np.repeat(starts(sizes), sizes)


class Lists(NamedTuple):
    """Lists of items.

    Attributes:
      items: items of all lists, one list after the other (nitem, ...).
      sizes: items of each list (nlist,).
    """

    items: np.ndarray
    sizes: np.ndarray

    @property
    def start(self) -> np.ndarray:
        """Where each list begins (nlist,)."""
        return starts(self.sizes)

    @property
    def owner(self) -> np.ndarray:
        """The list of each item (nitem,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def turned(self, by: int) -> np.ndarray:
        """Of each item the one that comes so many places after it, from the last on to the first (nitem, ...)."""
        return self._at(runs(self.sizes) + by)

    def reversed(self) -> Lists:
        """Each list the other way round, from its first item on."""
        return Lists(self._at(-runs(self.sizes)), self.sizes)

    def _at(self, place: np.ndarray) -> np.ndarray:
        owner = self.owner
        return self.items[self.start[owner] + place % self.sizes[owner]]

    def chosen(self, which: np.ndarray) -> Lists:
        """Some of the lists, by a mark (nlist,)."""
        return Lists(self.items[which[self.owner]], self.sizes[which])

    def rows(self, least: int = 1, *, most: int | None = None, backward: bool = False) -> np.ndarray:
        """The lists as rows of one length, filled up with what each row begins with.

        Args:
          least: items of a row at least.
          most: of longer lists so many are taken, from all along it.
          backward: whether each row begins with the last of its items.

        Returns:
          (nlist, n, ...); an empty list is a row of zeros.
        """
        count = self.sizes if most is None else np.minimum(self.sizes, most)
        wide = int(count.max(initial=least))
        place = np.arange(wide)
        place = np.where(place < count[:, None], place, 0)
        if backward:
            place = count[:, None] - 1 - place
        taken = place * self.sizes[:, None] // np.maximum(count, 1)[:, None]
        full = np.zeros((len(self.sizes), wide, *self.items.shape[1:]), self.items.dtype)
        some = count > 0
        full[some] = self.items[self.start[some, None] + taken[some]]
        return full
