"""Lengths of tendons and their Jacobians (computation chapter, actuation model; MJCF reference, tendon).

Every stretch of a spatial path has two straight pieces. Around a geom they meet the geom where
the path touches it, unless it does not: then the second has no length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxsim.compile.kinematics.mechanism import Fields
from jaxsim.compile.kinematics.pose import Pose
from jaxsim.compile.kinematics.wrapping import Wrapped, wrap
from jaxsim.enums import WrapType
from jaxsim.math.constants import MINVAL
from jaxsim.math.rotations import cross

__all__ = ["Routes", "tendons"]


class Routes(NamedTuple):
    """The stretches between two sites of all tendons; the rows are padded with stretches of weight 0.

    Attributes:
        start: (ntendon, m) first site.
        end: (ntendon, m) second site.
        geom: (ntendon, m) the geom between them, -1: none.
        side: (ntendon, m) site on the side of the geom where the path must pass, -1: none.
        weight: (ntendon, m) one over the divisor of the pulley.
        joints: (ntendon, nv) coefficients of tendons of joints.
    """

    start: np.ndarray
    end: np.ndarray
    geom: np.ndarray
    side: np.ndarray
    weight: np.ndarray
    joints: np.ndarray

    @classmethod
    def of(cls, fields: Fields) -> Routes:
        """Reads the tendons of a model."""
        adr, num = fields["tendon_adr"].tolist(), fields["tendon_num"].tolist()
        rows = [_stretches(fields, first, count) for first, count in zip(adr, num, strict=True)]
        most = max(map(len, rows), default=0)
        table = np.zeros((len(rows), most, 5))
        table[..., 2:4] = -1
        for row, stretches in zip(table, rows, strict=True):
            row[: len(stretches)] = np.reshape(stretches, (-1, 5))
        start, end, geom, side = np.moveaxis(table[..., :4].astype(int), -1, 0)
        return cls(start, end, geom, side, table[..., 4], _coefficients(fields))


def _stretches(f: Fields, first: int, count: int) -> list[tuple[float, ...]]:
    """Reads a spatial path: start, end, geom, side and weight of each stretch."""
    types, ids, prm = (f[f"wrap_{name}"][first : first + count].tolist() for name in ("type", "objid", "prm"))
    if types[0] == WrapType.JOINT:
        return []
    found: list[tuple[float, ...]] = []
    weight, w = 1.0, 0
    while w < count - 1:
        if WrapType.PULLEY in (types[w], types[w + 1]):
            weight = 1 / prm[w] if types[w] == WrapType.PULLEY else weight
            w += 1
        elif types[w + 1] == WrapType.SITE:
            found.append((ids[w], ids[w + 1], -1, -1, weight))
            w += 1
        else:
            found.append((ids[w], ids[w + 2], ids[w + 1], round(prm[w + 1]), weight))
            w += 2
    return found


def _coefficients(f: Fields) -> np.ndarray:
    result = np.zeros((f["ntendon"], f["nv"]))
    for k, (first, count) in enumerate(zip(f["tendon_adr"], f["tendon_num"], strict=True)):
        if f["wrap_type"][first] == WrapType.JOINT:
            for w in range(first, first + count):
                result[k, f["jnt_dofadr"][f["wrap_objid"][w]]] += f["wrap_prm"][w]
    return result


def tendons(pose: Pose, routes: Routes, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths (..., n) and Jacobians (..., n, nv) of some tendons.

    Args:
        pose: the configurations.
        routes: of all tendons.
        ids: (n,) tendons, or (..., n) where they differ among the configurations.
    """
    jacobian = routes.joints[ids] + np.zeros((*pose.qpos.shape[:-1], 1, 1))
    length = (jacobian @ _joint_values(pose)[..., None])[..., 0]
    if routes.start.size and ids.size:
        along, change = _spatial(pose, routes, ids)
        length, jacobian = length + along, jacobian + change
    return length, jacobian


def _joint_values(pose: Pose) -> np.ndarray:
    """Returns the first coordinate (..., nv) of each joint at its first degree of freedom, all that tendons take."""
    f = pose.fields
    result = np.zeros((*pose.qpos.shape[:-1], pose.mechanism.nv))
    result[..., f["jnt_dofadr"]] = pose.qpos[..., f["jnt_qposadr"]]
    return result


def _spatial(pose: Pose, routes: Routes, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    f, lead = pose.fields, pose.qpos.shape[:-1]
    start, end, geom, side, weight = (
        np.broadcast_to(table[ids], (*lead, ids.shape[-1], table.shape[-1])) for table in routes[:5]
    )
    sites = pose.points("site")
    first, last = _pick(sites, start), _pick(sites, end)
    touch0, touch1 = last, last
    body = f["site_bodyid"][end]
    around = np.zeros(weight.shape)
    at = np.nonzero(geom >= 0)
    if at[0].size:
        found = _wraps(pose, sites, (*at[:-2], geom[at]), first[at], last[at], (*at[:-2], side[at]))
        hit = ~np.isnan(found.length)
        rows = tuple(index[hit] for index in at)
        touch0, touch1, body = touch0.copy(), touch1.copy(), body.copy()
        around[rows], touch0[rows], touch1[rows] = found.length[hit], found.start[hit], found.end[hit]
        body[rows] = f["geom_bodyid"][geom[rows]]
    length, jacobian = around * weight, 0.0
    for begin, stop, body0, body1 in (
        (first, touch0, f["site_bodyid"][start], body),
        (touch1, last, body, f["site_bodyid"][end]),
    ):
        difference = stop - begin
        distance = np.sqrt((difference**2).sum(-1, keepdims=True))
        length = length + distance[..., 0] * weight
        direction = np.where(distance < MINVAL, np.eye(3)[0], difference / np.maximum(distance, MINVAL))
        force = direction * weight[..., None]
        jacobian = jacobian + _work(pose, stop, body1, force) - _work(pose, begin, body0, force)
    return length.sum(-1), jacobian


def _wraps(
    pose: Pose,
    sites: np.ndarray,
    geom: tuple[np.ndarray, ...],
    first: np.ndarray,
    last: np.ndarray,
    side: tuple[np.ndarray, ...],
) -> Wrapped:
    """Wraps segments (k, 3) around geoms, whose configurations and ids are given, as are those of the side sites."""
    f, id = pose.fields, geom[-1]
    center, axes = pose.points("geom")[geom], pose.axes("geom")[geom]
    aside = np.where((side[-1] >= 0)[:, None], sites[side], np.nan)
    return wrap(first, last, center, axes, f["geom_size"][id, 0], f["geom_type"][id], aside)


def _pick(points: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Returns the points (..., n, m, 3) of indices (..., n, m) into points (..., k, 3)."""
    flat = index.reshape(*index.shape[:-2], -1, 1)
    return np.take_along_axis(points, flat, axis=-2).reshape(*index.shape, 3)


def _work(pose: Pose, point: np.ndarray, body: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Returns joint forces (..., n, nv) of forces (..., n, m, 3) on points of bodies (..., n, m), summed over m."""
    wrench = np.concatenate([cross(point - _pick(pose.center, body), force), force], axis=-1)
    shape = wrench.shape
    every = wrench.reshape(*shape[:-3], -1, 6) @ pose.motions.swapaxes(-1, -2)
    return (every.reshape(*shape[:-1], -1) * pose.mechanism.moves[body]).sum(-2)
