"""Rigid-body dynamics of many worlds at once, on the host; worlds are the first axis.

Spatial vectors are taken at the world origin, rotation first. There is no gravity, no spring and no damper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.compile.vectors import cross_rows
from jaxsim.enums import JointType

__all__ = ["Motion", "integrate", "move", "multiply", "rotate"]

Fields = dict[str, Any]


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the products of quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(a, -1, 0)
    s, t, u, v = np.moveaxis(b, -1, 0)
    parts = (w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u)
    return np.stack([*parts, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s], axis=-1)


def rotate(v: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Rotates vectors (..., 3) by unit quaternions (..., 4)."""
    t = 2 * cross_rows(q[..., 1:], v)
    return v + q[..., :1] * t + cross_rows(q[..., 1:], t)


def _turn(vector: np.ndarray) -> np.ndarray:
    """Returns the quaternions of rotation vectors (..., 3)."""
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), np.sinc(angle / (2 * np.pi)) * vector / 2], axis=-1)


def _matrix(q: np.ndarray) -> np.ndarray:
    return np.stack([rotate(axis, q) for axis in np.eye(3)], axis=-1)


@dataclass(eq=False)
class Motion:
    """Kinematics and inertia of W worlds.

    Attributes:
        fields: the model.
        xpos: (W, nbody, 3) body origins.
        xmat: (W, nbody, 3, 3) body orientations.
        axes: (W, nv, 6) unit motion of each degree of freedom.
        moves: (nbody, nv) whether a degree of freedom moves a body.
        matrix: (W, nv, nv) joint-space inertia, armature included.
        bias: (W, nv) Coriolis and centrifugal force.
        xquat: (W, nbody, 4) body orientations.
        velocity: (W, nbody, 6) of bodies, rotation first, at the world origin.
        drift: (W, nbody, 6) their acceleration while the joints' velocities stay.
    """

    fields: Fields
    xpos: np.ndarray
    xmat: np.ndarray
    axes: np.ndarray
    moves: np.ndarray
    matrix: np.ndarray
    bias: np.ndarray
    xquat: np.ndarray
    velocity: np.ndarray
    drift: np.ndarray


def move(
    fields: Fields, moves: np.ndarray, armature: np.ndarray, qpos: np.ndarray, qvel: np.ndarray
) -> Motion:
    """Computes kinematics, inertia and bias forces.

    Args:
        fields: the model.
        moves: (nbody, nv) whether a degree of freedom moves a body.
        armature: (nv,) added to the diagonal of the inertia.
        qpos: (W, nq).
        qvel: (W, nv).
    """
    xpos, quat, axes = _kinematics(fields, qpos)
    xmat = _matrix(quat)
    inertia = _inertia(fields, xpos, xmat)
    composite = np.einsum("cb,wbij->wcij", _below(fields), inertia)
    force = np.einsum("wdij,wdj->wdi", composite[:, fields["dof_bodyid"]], axes)
    above = moves[fields["dof_bodyid"]]
    lower = np.tril(np.where(above, np.einsum("wdi,wei->wde", force, axes), 0.0))
    matrix = lower + np.tril(lower, -1).swapaxes(1, 2) + np.diag(armature)
    bias, velocity, drift = _bias(fields, moves, axes, inertia, qvel)
    return Motion(fields, xpos, xmat, axes, moves, matrix, bias, quat, velocity, drift)


def _below(fields: Fields) -> np.ndarray:
    """Returns (nbody, nbody) whether the second body is the first or below it."""
    result = np.eye(fields["nbody"])
    for body in range(fields["nbody"] - 1, 0, -1):
        result[fields["body_parentid"][body]] += result[body]
    return result


def _kinematics(f: Fields, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    width, nbody = qpos.shape[0], f["nbody"]
    pos, quat = np.zeros((width, nbody, 3)), np.zeros((width, nbody, 4))
    quat[:, 0, 0] = 1.0
    axes = np.zeros((width, f["nv"], 6))
    for body in range(1, nbody):
        parent, first = f["body_parentid"][body], f["body_jntadr"][body]
        p = pos[:, parent] + rotate(f["body_pos"][body], quat[:, parent])
        r = multiply(quat[:, parent], np.broadcast_to(f["body_quat"][body], (width, 4)))
        for j in range(first, first + f["body_jntnum"][body]):
            p, r = _joint(f, j, qpos, p, r, axes)
        pos[:, body], quat[:, body] = p, r
    return pos, quat, axes


def _joint(
    f: Fields, j: int, qpos: np.ndarray, p: np.ndarray, r: np.ndarray, axes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Moves a body by one joint, and notes the joint's motion axes."""
    type, adr, dof = f["jnt_type"][j], f["jnt_qposadr"][j], f["jnt_dofadr"][j]
    if type == JointType.FREE:
        p, r = qpos[:, adr : adr + 3], qpos[:, adr + 3 : adr + 7]
        axes[:, dof : dof + 3, 3:] = np.eye(3)
        dof, anchor = dof + 3, p
    else:
        anchor = p + rotate(f["jnt_pos"][j], r)
    axis = rotate(f["jnt_axis"][j], r)
    if type == JointType.SLIDE:
        axes[:, dof, 3:] = axis
        return p + axis * (qpos[:, adr : adr + 1] - f["qpos0"][adr]), r
    if type == JointType.HINGE:
        r = multiply(r, _turn(f["jnt_axis"][j] * (qpos[:, adr : adr + 1] - f["qpos0"][adr])))
        turns = axis[:, None]
    else:
        if type == JointType.BALL:
            r = multiply(r, qpos[:, adr : adr + 4])
        turns = _matrix(r).swapaxes(1, 2)
    count = turns.shape[1]
    axes[:, dof : dof + count, :3] = turns
    axes[:, dof : dof + count, 3:] = cross_rows(anchor[:, None], turns)
    if type != JointType.FREE:
        p = anchor - rotate(f["jnt_pos"][j], r)
    return p, r


def _inertia(f: Fields, xpos: np.ndarray, xmat: np.ndarray) -> np.ndarray:
    """Returns (W, nbody, 6, 6) inertias about the world origin."""
    mass = f["body_mass"]
    center = xpos + np.einsum("wbij,bj->wbi", xmat, f["body_ipos"])
    principal = xmat @ _matrix(f["body_iquat"])
    cross = np.zeros((*center.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[..., i, j], cross[..., j, i] = -center[..., k], center[..., k]
    first = mass[:, None, None] * cross
    result = np.zeros((*center.shape[:2], 6, 6))
    result[..., :3, :3] = np.einsum("wbik,bk,wbjk->wbij", principal, f["body_inertia"], principal)
    result[..., :3, :3] -= first @ cross
    result[..., :3, 3:], result[..., 3:, :3] = first, -first
    result[..., 3:, 3:] = mass[:, None, None] * np.eye(3)
    return result


def _bias(
    f: Fields, moves: np.ndarray, axes: np.ndarray, inertia: np.ndarray, qvel: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns bias forces, and velocities and accelerations of the bodies without them."""
    type = f["jnt_type"][f["dof_jntid"]]
    offset = np.arange(f["nv"]) - f["jnt_dofadr"][f["dof_jntid"]]
    sliding = (type == JointType.FREE) & (offset < 3)
    before = np.tril(moves[f["dof_bodyid"]])
    same = f["dof_jntid"][:, None] == f["dof_jntid"]
    before |= same & ((type == JointType.BALL) | (type == JointType.FREE))[:, None]
    rate = axes * qvel[..., None]
    carried = np.einsum("de,wei->wdi", before.astype(float), rate)
    drift = np.where(sliding[:, None], 0.0, _cross_motion(carried, axes)) * qvel[..., None]
    mask = moves.astype(float)
    velocity, acceleration = np.einsum("bd,wdi->wbi", mask, rate), np.einsum("bd,wdi->wbi", mask, drift)
    momentum = np.einsum("wbij,wbj->wbi", inertia, velocity)
    force = np.einsum("wbij,wbj->wbi", inertia, acceleration) + _cross_force(velocity, momentum)
    bias = np.einsum("wdi,wdi->wd", axes, np.einsum("bd,wbi->wdi", mask, force))
    return bias, velocity, acceleration


def _cross_motion(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    turn, slide = v[..., :3], v[..., 3:]
    return np.concatenate(
        [cross_rows(turn, m[..., :3]), cross_rows(turn, m[..., 3:]) + cross_rows(slide, m[..., :3])], -1
    )


def _cross_force(v: np.ndarray, f: np.ndarray) -> np.ndarray:
    turn, slide = v[..., :3], v[..., 3:]
    return np.concatenate(
        [cross_rows(turn, f[..., :3]) + cross_rows(slide, f[..., 3:]), cross_rows(turn, f[..., 3:])], -1
    )


def integrate(f: Fields, qpos: np.ndarray, qvel: np.ndarray, step: float) -> np.ndarray:
    """Returns the configurations (W, nq) after moving at a velocity (W, nv) for `step` seconds."""
    result = qpos.copy()
    for type, adr, dof in zip(f["jnt_type"], f["jnt_qposadr"], f["jnt_dofadr"], strict=True):
        if type in (JointType.SLIDE, JointType.HINGE):
            result[:, adr] += step * qvel[:, dof]
            continue
        if type == JointType.FREE:
            result[:, adr : adr + 3] += step * qvel[:, dof : dof + 3]
            adr, dof = adr + 3, dof + 3
        turned = multiply(qpos[:, adr : adr + 4], _turn(step * qvel[:, dof : dof + 3]))
        result[:, adr : adr + 4] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
    return result
