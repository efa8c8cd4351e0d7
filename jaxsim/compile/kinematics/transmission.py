"""Lengths and moment arms of actuators that do not act on tendons (computation chapter, actuation model)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jaxsim.compile.kinematics.pose import Pose
from jaxsim.enums import JointType, TrnType
from jaxsim.math.rotations import apply, conjugate, cross, matrix, multiply, to_vector, unit

__all__ = ["transmission"]

Rows = tuple[np.ndarray, np.ndarray]
"""Lengths (..., n) and moment arms (..., n, nv) of an actuator's n outputs."""


def transmission(pose: Pose, i: int) -> Rows:
    """Returns lengths and moment arms of an actuator; of one on a body, which has none without contacts, zeros."""
    f = pose.fields
    count = int(f["actuator_outnum"][i])
    shape = (*pose.qpos.shape[:-1], count)
    lengths, moments = np.zeros(shape), np.zeros((*shape, pose.mechanism.nv))
    write = _KINDS.get(int(f["actuator_trntype"][i]))
    if write is not None:
        write(pose, i, lengths, moments)
    return lengths, moments


def _gear(pose: Pose, i: int) -> np.ndarray:
    return pose.fields["actuator_gear"][pose.fields["actuator_outadr"][i]]


def _joint(pose: Pose, i: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    f, gear, joint = pose.fields, _gear(pose, i), int(pose.fields["actuator_trnid"][i, 0])
    type, dof, adr = f["jnt_type"][joint], f["jnt_dofadr"][joint], f["jnt_qposadr"][joint]
    if type in (JointType.SLIDE, JointType.HINGE):
        lengths[..., 0], moments[..., 0, dof] = pose.qpos[..., adr] * gear[0], gear[0]
        return
    free = 3 * (type == JointType.FREE)
    quat, axis = unit(pose.qpos[..., adr + free : adr + free + 4]), gear[free : free + 3]
    if f["actuator_trntype"][i] == TrnType.JOINTINPARENT:
        axis = apply(matrix(conjugate(quat)), axis)
    moments[..., 0, dof + free : dof + free + 3] = axis
    if free:
        moments[..., 0, dof : dof + 3] = gear[:3]
    else:
        lengths[..., 0] = (to_vector(quat) * axis).sum(-1)


def _slider_crank(pose: Pose, i: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    f, gear = pose.fields, _gear(pose, i)[0]
    ids = f["actuator_trnid"][i]
    pos = pose.points("site")[..., ids, :]
    axis = pose.axes("site")[..., ids[1], :, 2]
    vector = pos[..., 0, :] - pos[..., 1, :]
    along = (vector * axis).sum(-1, keepdims=True)
    square = along**2 + f["actuator_cranklength"][i] ** 2 - (vector**2).sum(-1, keepdims=True)
    reaches = square > 0
    root = np.sqrt(np.where(reaches, square, 1.0))
    by_vector = np.where(reaches, axis * (1 - along / root) + vector / root, axis)
    by_axis = np.where(reaches, vector * (1 - along / root), vector)
    linear, angular = pose.jacobian(pos, f["site_bodyid"][ids])
    by_turn = cross(axis, by_axis)
    lengths[..., 0] = gear * np.where(reaches, along - root, along)[..., 0]
    moments[..., 0, :] = gear * (
        _times(by_turn, angular[..., 1, :, :])
        + _times(by_vector, linear[..., 0, :, :] - linear[..., 1, :, :])
    )


def _site(pose: Pose, i: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    f, gear = pose.fields, _gear(pose, i)
    site, ref = f["actuator_trnid"][i]
    pos, axes = pose.points("site"), pose.axes("site")
    if ref < 0:
        linear, angular = (
            j[..., 0, :, :] for j in pose.jacobian(pos[..., [site], :], f["site_bodyid"][[site]])
        )
    else:
        linear, angular = _relative(pose, site, ref)
        offset = apply(axes[..., ref, :, :].swapaxes(-1, -2), pos[..., site, :] - pos[..., ref, :])
        lengths[..., 0] = offset @ gear[:3] + to_vector(_difference(pose, site, ref)) @ gear[3:]
    frame = axes[..., site if ref < 0 else ref, :, :]
    moments[..., 0, :] = _times(frame @ gear[:3], linear) + _times(frame @ gear[3:], angular)


def _orientation(pose: Pose, i: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    """Three rows: rotation vector of a ball joint, or of a site relative to another."""
    f = pose.fields
    target, ref = f["actuator_trnid"][i]
    if ref < 0:
        adr, dof = f["jnt_qposadr"][target], f["jnt_dofadr"][target]
        lengths[...] = to_vector(unit(pose.qpos[..., adr : adr + 4]))
        moments[..., dof : dof + 3] = np.eye(3)
        return
    lengths[...] = to_vector(_difference(pose, target, ref))
    moments[...] = pose.axes("site")[..., target, :, :].swapaxes(-1, -2) @ _relative(pose, target, ref)[1]


def _difference(pose: Pose, site: int, ref: int) -> np.ndarray:
    """Returns the orientation (..., 4) of a site in the frame of another."""
    f = pose.fields
    quats = [multiply(pose.xquat[..., f["site_bodyid"][s], :], f["site_quat"][s]) for s in (site, ref)]
    return unit(multiply(conjugate(quats[1]), quats[0]))


def _relative(pose: Pose, site: int, ref: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns linear and angular Jacobians (..., 3, nv) of a site relative to another.

    Degrees of freedom that move both sites are left out.
    """
    ids = np.array([site, ref])
    bodies = pose.fields["site_bodyid"][ids]
    apart = ~(pose.mechanism.moves[bodies[0]] & pose.mechanism.moves[bodies[1]])
    both = pose.jacobian(pose.points("site")[..., ids, :], bodies)
    linear, angular = ((j[..., 0, :, :] - j[..., 1, :, :]) * apart for j in both)
    return linear, angular


def _times(vector: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Returns vectors (..., 3) times Jacobians (..., 3, nv)."""
    return (vector[..., None, :] @ jacobian)[..., 0, :]


_KINDS: dict[int, Callable[[Pose, int, np.ndarray, np.ndarray], None]] = {
    TrnType.JOINT: _joint,
    TrnType.JOINTINPARENT: _joint,
    TrnType.SLIDERCRANK: _slider_crank,
    TrnType.SITE: _site,
    TrnType.SO3: _orientation,
}
"""What writes the rows of each kind of transmission."""
