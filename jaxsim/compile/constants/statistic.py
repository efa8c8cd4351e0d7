"""Statistics of a model at its reference configuration: extent, centre, mean mass, size and inertia."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.kinematics import Fields, Pose
from jaxsim.enums import GeomType
from jaxsim.math.constants import MAXVAL

__all__ = ["statistics"]

_SMALL = 1e-5
_NO_EXTENT, _NO_SIZE = 2.0, 0.2
"""Extent of a model without objects, and body size of one without bodies, m."""


def statistics(pose: Pose, matrix: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Returns the fields of Statistic, and the length (nv,) that scales each degree of freedom.

    Args:
        pose: kinematics at the reference configuration.
        matrix: (nv, nv) joint-space inertia.
    """
    f = pose.fields
    geoms = pose.points("geom")
    low, high = _bounds(pose, geoms)
    extent = _NO_EXTENT
    if high[0] > low[0]:
        extent = max(_SMALL, float((high - low).max()))
    size = _body_sizes(pose, geoms)
    nbody = f["nbody"]
    stat: dict[str, Any] = {
        "center": (low + high) / 2,
        "meansize": _NO_SIZE,
        "meanmass": 1.0,
        "meaninertia": 1.0,
    }
    if nbody > 1:
        size[1:] = np.maximum(size[1:], _SMALL)
        stat["meansize"] = float(size[1:].mean())
        stat["meanmass"] = float(f["body_mass"][1:].mean())
    if f["nv"]:
        stat["meaninertia"] = float(np.diag(matrix).mean())
    stat["extent"] = max(extent, 2 * stat["meansize"])
    return stat, np.where(pose.mechanism.dof_slides, 1.0, size[f["dof_bodyid"]])


def _bounds(pose: Pose, geoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the corners of the box around bodies, joints, sites and geoms."""
    radius = _radii(pose.fields)[:, None]
    points = [pose.xpos[1:], pose.xipos[1:], pose.xanchor, pose.points("site")]
    low = np.concatenate([np.full((1, 3), MAXVAL), *points, geoms - radius])
    high = np.concatenate([np.full((1, 3), -MAXVAL), *points, geoms + radius])
    return low.min(0), high.max(0)


def _radii(f: Fields) -> np.ndarray:
    """Bounding radii; of planes and height fields a tenth of their largest size."""
    radius = f["geom_rbound"].copy()
    for g in np.flatnonzero(radius <= 0):
        if f["geom_type"][g] == GeomType.PLANE:
            largest = f["geom_size"][g, :2].max()
            finite = f["geom_size"][g, :2].any()
            radius[g] = 0.1 * largest if finite else 0.01
        elif f["geom_type"][g] == GeomType.HFIELD:
            radius[g] = 0.1 * f["hfield_size"][f["geom_dataid"][g]].max()
        else:
            radius[g] = 0.0
    return radius


def _body_sizes(pose: Pose, geoms: np.ndarray) -> np.ndarray:
    """Returns (nbody,) the largest distance from a body's centre of mass to its joints or its geoms' far sides."""
    f = pose.fields
    size = np.zeros(f["nbody"])
    own = f["jnt_bodyid"]
    for body in (own, f["body_parentid"][own]):
        np.maximum.at(size, body, np.linalg.norm(pose.xipos[body] - pose.xanchor, axis=1))
    size[0] = 0.0
    body = f["geom_bodyid"]
    reach = f["geom_rbound"] + np.linalg.norm(pose.xipos[body] - geoms, axis=1)
    use = (f["geom_rbound"] > 0) & (body > 0)
    np.maximum.at(size, body[use], reach[use])
    return size
