"""Length and Jacobian of tendons at one configuration, on the host."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.constants.pose import Pose
from jaxsim.compile.constants.wrapping import wrap
from jaxsim.enums import WrapType
from jaxsim.math.constants import MINVAL

__all__ = ["tendons"]


def tendons(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths (ntendon,) and Jacobians (ntendon, nv)."""
    f = pose.fields
    lengths, jacobians = np.zeros(f["ntendon"]), np.zeros((f["ntendon"], f["nv"]))
    sites = (pose.points("site"), pose.points("geom"), pose.axes("geom")) if f["nwrap"] else None
    for k in range(f["ntendon"]):
        first, count = f["tendon_adr"][k], f["tendon_num"][k]
        if f["wrap_type"][first] == WrapType.JOINT:
            for w in range(first, first + count):
                joint, coef = f["wrap_objid"][w], f["wrap_prm"][w]
                lengths[k] += coef * pose.qpos[f["jnt_qposadr"][joint]]
                jacobians[k, f["jnt_dofadr"][joint]] += coef
        else:
            assert sites is not None
            lengths[k], jacobians[k] = _spatial(pose, first, count, *sites)
    return lengths, jacobians


def _spatial(
    pose: Pose, first: int, count: int, site_pos: np.ndarray, geom_pos: np.ndarray, geom_mat: np.ndarray
) -> tuple[float, np.ndarray]:
    f = pose.fields
    types, ids, prm = f["wrap_type"], f["wrap_objid"], f["wrap_prm"]
    length, jacobian, divisor = 0.0, np.zeros(f["nv"]), 1.0
    w, last = first, first + count - 1
    while w < last:
        if WrapType.PULLEY in (types[w], types[w + 1]):
            if types[w] == WrapType.PULLEY:
                divisor = prm[w]
            w += 1
            continue
        start = site_pos[ids[w]]
        points, bodies = [start], [f["site_bodyid"][ids[w]]]
        on_surface = 0.0
        step = 1
        if types[w + 1] != WrapType.SITE:
            geom, step = ids[w + 1], 2
            side = round(float(prm[w + 1]))
            found = wrap(
                start,
                site_pos[ids[w + 2]],
                geom_pos[geom],
                geom_mat[geom],
                float(f["geom_size"][geom, 0]),
                types[w + 1],
                site_pos[side] if side >= 0 else None,
            )
            if found is not None:
                on_surface = found[0]
                points += [found[1], found[2]]
                bodies += [f["geom_bodyid"][geom]] * 2
        points.append(site_pos[ids[w + step]])
        bodies.append(f["site_bodyid"][ids[w + step]])
        length += on_surface / divisor
        for i in range(len(points) - 1):
            if not (len(points) == 4 and i == 1):
                length += float(np.linalg.norm(points[i + 1] - points[i])) / divisor
            if bodies[i] != bodies[i + 1]:
                jacobian += _stretch(pose, points[i], points[i + 1], bodies[i], bodies[i + 1]) / divisor
        w += step
    return length, jacobian


def _stretch(pose: Pose, start: np.ndarray, end: np.ndarray, body0: int, body1: int) -> np.ndarray:
    """Returns the rate (nv,) at which two points of different bodies move apart."""
    direction = end - start
    norm = np.linalg.norm(direction)
    direction = np.array([1.0, 0.0, 0.0]) if norm < MINVAL else direction / norm
    linear, _ = pose.jacobian(np.stack([start, end]), np.array([body0, body1]))
    return direction @ (linear[1] - linear[0])
