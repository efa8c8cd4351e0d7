"""Length and moment arms of actuators at one configuration, on the host."""

from __future__ import annotations

from math import atan2, pi

import numpy as np

from jaxsim.compile.constants.pose import Pose
from jaxsim.compile.frames import Quat, conjugate, multiply, rotate, unit_quat
from jaxsim.compile.vectors import cross_rows
from jaxsim.enums import JointType, TrnType

__all__ = ["transmission", "transmissions"]


def transmissions(
    pose: Pose, ten_length: np.ndarray, ten_jacobian: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths (nout,) and moments (nout, nv); a body transmission without contacts has none."""
    f = pose.fields
    lengths, moments = np.zeros(f["nout"]), np.zeros((f["nout"], f["nv"]))
    for i in range(f["nactuator"]):
        if f["actuator_trntype"][i] == TrnType.TENDON:
            out, target = f["actuator_outadr"][i], f["actuator_trnid"][i, 0]
            gear = f["actuator_gear"][out, 0]
            lengths[out], moments[out] = ten_length[target] * gear, ten_jacobian[target] * gear
        else:
            transmission(pose, i, lengths, moments)
    return lengths, moments


def transmission(pose: Pose, i: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    """Writes lengths (nout,) and moments (nout, nv) of an actuator that does not act on a tendon."""
    f = pose.fields
    out, type = f["actuator_outadr"][i], f["actuator_trntype"][i]
    first, second = f["actuator_trnid"][i].tolist()
    gear = f["actuator_gear"][out]
    if type in (TrnType.JOINT, TrnType.JOINTINPARENT):
        lengths[out] = _joint(pose, first, gear, type == TrnType.JOINTINPARENT, moments[out])
    elif type == TrnType.SLIDERCRANK:
        lengths[out], moments[out] = _slider_crank(pose, first, second, f["actuator_cranklength"][i])
        lengths[out] *= gear[0]
        moments[out] *= gear[0]
    elif type == TrnType.SITE:
        if second < 0:
            moments[out] = _site(pose, first, gear)
        else:
            lengths[out], moments[out] = _site_to_site(pose, first, second, gear)
    elif type == TrnType.SO3:
        _orientation(pose, first, second, lengths[out : out + 3], moments[out : out + 3])


def _joint(pose: Pose, joint: int, gear: np.ndarray, in_parent: bool, moment: np.ndarray) -> float:
    f = pose.fields
    type, dof, adr = f["jnt_type"][joint], f["jnt_dofadr"][joint], f["jnt_qposadr"][joint]
    if type in (JointType.SLIDE, JointType.HINGE):
        moment[dof] = gear[0]
        return float(pose.qpos[adr] * gear[0])
    free = 3 * (type == JointType.FREE)
    quat = unit_quat(pose.qpos[adr + free : adr + free + 4].tolist())
    axis = gear[free : free + 3]
    if in_parent:
        axis = np.array(rotate(axis.tolist(), conjugate(quat)))
    moment[dof + free : dof + free + 3] = axis
    if free:
        moment[dof : dof + 3] = gear[:3]
        return 0.0
    return float(_rotation_vector(quat) @ axis)


def _rotation_vector(quat: Quat) -> np.ndarray:
    """Returns axis times angle, the angle in (-pi, pi]."""
    axis = np.array(quat[1:])
    sine = float(np.linalg.norm(axis))
    if sine < 1e-15:
        return np.zeros(3)
    angle = 2 * atan2(sine, quat[0])
    return axis / sine * (angle - 2 * pi if angle > pi else angle)


def _slider_crank(pose: Pose, crank: int, slider: int, rod: float) -> tuple[float, np.ndarray]:
    f = pose.fields
    pos, axes = pose.points("site"), pose.axes("site")
    axis = axes[slider][:, 2]
    vector = pos[crank] - pos[slider]
    along = float(vector @ axis)
    square = along**2 + rod**2 - float(vector @ vector)
    if square > 0:
        root = square**0.5
        length = along - root
        by_vector = axis * (1 - along / root) + vector / root
        by_axis = vector * (1 - along / root)
    else:
        length, by_vector, by_axis = along, axis, vector
    ids = np.array([crank, slider])
    linear, angular = pose.jacobian(pos[ids], f["site_bodyid"][ids])
    axis_rate = cross_rows(angular[1].T, axis).T
    return length, by_axis @ axis_rate + by_vector @ (linear[0] - linear[1])


def _site(pose: Pose, site: int, gear: np.ndarray) -> np.ndarray:
    f = pose.fields
    pos, axes = pose.points("site"), pose.axes("site")
    linear, angular = pose.jacobian(pos[site][None], f["site_bodyid"][site][None])
    return (axes[site] @ gear[:3]) @ linear[0] + (axes[site] @ gear[3:]) @ angular[0]


def _relative(pose: Pose, site: int, ref: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns rotation vector (3,), linear and angular Jacobians (3, nv) of a site relative to another.

    Degrees of freedom that move both sites are left out.
    """
    f = pose.fields
    ids = np.array([site, ref])
    bodies = f["site_bodyid"][ids]
    linear, angular = pose.jacobian(pose.points("site")[ids], bodies)
    shared = pose.moves[bodies[0]] & pose.moves[bodies[1]]
    quats = [
        multiply(pose.xquat[b].tolist(), f["site_quat"][s].tolist()) for s, b in zip(ids, bodies, strict=True)
    ]
    turn = _rotation_vector(multiply(conjugate(quats[1]), quats[0]))
    return turn, np.where(shared, 0.0, linear[0] - linear[1]), np.where(shared, 0.0, angular[0] - angular[1])


def _site_to_site(pose: Pose, site: int, ref: int, gear: np.ndarray) -> tuple[float, np.ndarray]:
    pos, axes = pose.points("site"), pose.axes("site")
    turn, linear, angular = _relative(pose, site, ref)
    length, moment = 0.0, np.zeros(pose.fields["nv"])
    if gear[:3].any():
        length += float((axes[ref].T @ (pos[site] - pos[ref])) @ gear[:3])
        moment += (axes[ref] @ gear[:3]) @ linear
    if gear[3:].any():
        length += float(turn @ gear[3:])
        moment += (axes[ref] @ gear[3:]) @ angular
    return length, moment


def _orientation(pose: Pose, target: int, ref: int, lengths: np.ndarray, moments: np.ndarray) -> None:
    """Three rows: rotation vector of a ball joint, or of a site relative to another."""
    f = pose.fields
    if ref < 0:
        adr, dof = f["jnt_qposadr"][target], f["jnt_dofadr"][target]
        lengths[:] = _rotation_vector(unit_quat(pose.qpos[adr : adr + 4].tolist()))
        moments[:, dof : dof + 3] = np.eye(3)
        return
    turn, _, angular = _relative(pose, target, ref)
    lengths[:] = turn
    moments[:] = pose.axes("site")[target].T @ angular
