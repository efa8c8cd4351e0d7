"""How many contacts are looked at together (`math/in_use.py`)."""

__all__ = ["MANY", "MOST", "block_size"]

MOST = 8
"""Contacts of the largest block: buffers of contacts that are looked at in blocks have a multiple of it."""

MANY = 16
"""The same where contacts are of many trees, and an entry of a Jacobian is for a few of their dofs; a multiple
of `MOST`, as their line search has blocks of the other size."""


def block_size(dim: int) -> int:
    """How many contacts of a dimension make a block: some two dozen rows are a kernel of a good size."""
    return MOST if dim <= 3 else MOST // 2
