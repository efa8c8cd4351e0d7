"""Vector algebra on small numpy arrays, where the overhead of numpy's general functions would dominate."""

from __future__ import annotations

import numpy as np

__all__ = ["cross_rows"]


def cross_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the vector products of arrays (..., 3)."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    result[..., 0], result[..., 1], result[..., 2] = y * w - z * v, z * u - x * w, x * v - y * u
    return result
