"""Frames that the C engine takes for the same: it moves one onto the other, by less than `_SAME`.

A frame of inertia, a geom or a site that nearly is its body's frame is put there; a geom or a site that nearly is the
frame of inertia likewise, or only turned, where just the orientations agree. Files with rounded numbers are full of
such frames. By how much the rule moves them is a constant of the model: what is changed later, and derivatives, go by
the frames as they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["frame_snaps"]

_SAME = 1e-6
"""Difference of coordinates, m, or of parts of quaternions, below which they count as the same."""
_ROUNDING = 1e-12
"""Differences that are not worth their additions."""


def frame_snaps(fields: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """What is added to positions, m, and to quaternions of frames in their bodies, (n, 7).

    Args:
      fields: of a model.

    Returns:
      `body_snap` of frames of inertia, `geom_snap` and `site_snap`.
    """
    inertia = _frames(fields["body_ipos"], fields["body_iquat"])
    rest = np.zeros_like(inertia)
    rest[:, 3] = 1.0
    to_rest = _shift(inertia, rest)
    found = {"body_snap": to_rest}
    for kind in ("geom", "site"):
        own = _frames(fields[f"{kind}_pos"], fields[f"{kind}_quat"])
        body = np.asarray(fields[f"{kind}_bodyid"], int)
        to_body, to_inertia = _shift(own, rest[body]), _shift(own, inertia[body])
        # with the frame of inertia where that is put
        to_inertia = np.where(np.isfinite(to_inertia), to_inertia + _finite(to_rest)[body], np.nan)
        found[f"{kind}_snap"] = np.where(np.isfinite(to_body[:, 3:4]), to_body, to_inertia)
    return {name: _finite(shift) for name, shift in found.items()}


def _frames(pos: Any, quat: Any) -> np.ndarray:
    return np.concatenate(
        [np.asarray(pos, float).reshape(-1, 3), np.asarray(quat, float).reshape(-1, 4)], axis=1
    )


def _shift(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """From frames to others that count as the same, nan where they do not: in orientation, or in position."""
    sign = np.where(np.sum(own[:, 3:] * other[:, 3:], axis=1, keepdims=True) < 0, -1.0, 1.0)
    shift = np.concatenate([other[:, :3], sign * other[:, 3:]], axis=1) - own
    near = np.abs(shift) < _SAME
    turned = np.all(near[:, 3:], axis=1, keepdims=True)
    shift[:, 3:] = np.where(turned, shift[:, 3:], np.nan)
    shift[:, :3] = np.where(turned & np.all(near[:, :3], axis=1, keepdims=True), shift[:, :3], np.nan)
    return shift


def _finite(shift: np.ndarray) -> np.ndarray:
    return np.where(np.abs(shift) > _ROUNDING, shift, 0.0)
