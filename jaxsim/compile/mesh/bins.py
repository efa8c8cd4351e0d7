"""The order of polygons in the C compiler's models: that in which its hash table lists the bins of their normals.

Contacts depend on it: of several edges of a mesh that lie on a face the first counts. The table is libc++'s, with which
the reference wheel is built: a list of all entries, and for each remainder of the hash by a prime the entry before its
first. A number hashes to its own bits, a pair to those of both, added without carry.
"""

from __future__ import annotations

import numpy as np

__all__ = ["listed_order"]

_HEAD = -1
"""What stands before the first entry of the list."""


def listed_order(keys: np.ndarray) -> list[int]:
    """The rows of different pairs of numbers (n, 2), put into a hash table in turn, as it lists them."""
    bits = (keys + 0.0).astype(np.float64).view(np.uint64)
    codes = (bits[:, 0] ^ bits[:, 1]).tolist()
    after: dict[int, int | None] = {_HEAD: None}
    size, before = 0, dict[int, int]()
    for row, code in enumerate(codes):
        if row >= size:
            size = _grown(size, row + 1)
            before = _sorted_in(after, codes, size)
        slot = _slot(code, size)
        ahead = before.setdefault(slot, _HEAD)
        behind = after[ahead]
        after[ahead], after[row] = row, behind
        # the slot of the entry that follows begins after this one, if it began at the head
        if ahead == _HEAD and behind is not None and _slot(codes[behind], size) != slot:
            before[_slot(codes[behind], size)] = row
    return _walked(after)


def _sorted_in(after: dict[int, int | None], codes: list[int], size: int) -> dict[int, int]:
    """Puts entries of one slot of a table of another size side by side; returns what stands before each slot."""
    before: dict[int, int] = {}
    last, here, slot = _HEAD, after[_HEAD], None
    while here is not None:
        behind, own = after[here], _slot(codes[here], size)
        if own == slot or own not in before:
            before.setdefault(own, last)
            last, slot = here, own
        else:
            after[last] = behind
            ahead = before[own]
            after[ahead], after[here] = here, after[ahead]
        here = behind
    return before


def _slot(code: int, size: int) -> int:
    return code % size


def _grown(size: int, needed: int) -> int:
    """The next size of a full table: a prime of at least twice its size and one."""
    if size == 0:
        return 2
    size = max(2 * size + 1, needed)
    while any(size % k == 0 for k in range(2, int(size**0.5) + 1)):
        size += 1
    return size


def _walked(after: dict[int, int | None]) -> list[int]:
    order, here = [], after[_HEAD]
    while here is not None:
        order.append(here)
        here = after[here]
    return order
