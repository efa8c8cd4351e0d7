"""Constants at the reference configuration: inverse weights, lengths, camera offsets, statistics."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from jaxsim.compile.constants.fixed import actuator_armature
from jaxsim.compile.constants.statistic import statistics
from jaxsim.compile.kinematics import (
    Fields,
    Mechanism,
    Pose,
    Routes,
    kinematics,
    mass_matrix,
    spatial_inertia,
    tendons,
    transmission,
)
from jaxsim.enums import EqType, GainType, JointType, ObjType, TrnType
from jaxsim.math.constants import MINVAL
from jaxsim.math.rotations import apply, conjugate, multiply, unit

__all__ = ["set_reference"]


def set_reference(fields: Fields) -> None:
    """Adds the fields that follow from kinematics and inertia at `qpos0`, and resting lengths at `qpos_spring`."""
    mechanism, routes = Mechanism(fields), Routes.of(fields)
    pose = kinematics(mechanism, fields["qpos0"])
    length, jacobian = tendons(pose, routes, np.arange(fields["ntendon"]))
    joint_armature, tendon_armature = actuator_armature(fields)
    armature = fields["dof_armature"] + joint_armature[fields["dof_jntid"]]
    matrix = mass_matrix(pose, spatial_inertia(pose))
    fields["dof_M0"] = np.diag(matrix) + armature
    matrix = matrix + np.diag(armature)
    coupled = mechanism.moves[fields["dof_bodyid"]]
    coupled = coupled | coupled.T
    tendon_armature = tendon_armature + fields["tendon_armature"]
    matrix += np.where(coupled, jacobian.T @ (tendon_armature[:, None] * jacobian), 0.0)
    fields["tendon_length0"] = length
    fields["actuator_length0"], moment = _transmissions(pose, length, jacobian)
    root = _inverse_root(fields, matrix)
    _inverse_weights(pose, root, jacobian, moment)
    _equality(pose)
    _views(pose)
    _damping_ratio(fields, moment, root)
    fields["stat"], fields["dof_length"] = statistics(pose, matrix)
    _spring_lengths(mechanism, routes)


def _transmissions(
    pose: Pose, ten_length: np.ndarray, ten_jacobian: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns lengths (nout,) and moment arms (nout, nv) of all actuators."""
    f = pose.fields
    lengths, moments = np.zeros(f["nout"]), np.zeros((f["nout"], f["nv"]))
    for i in range(f["nactuator"]):
        first = int(f["actuator_outadr"][i])
        rows = slice(first, first + int(f["actuator_outnum"][i]))
        if f["actuator_trntype"][i] == TrnType.TENDON:
            target, gear = f["actuator_trnid"][i, 0], f["actuator_gear"][first, 0]
            lengths[rows], moments[rows] = ten_length[target] * gear, ten_jacobian[target] * gear
        else:
            lengths[rows], moments[rows] = transmission(pose, i)
    return lengths, moments


def _inverse_weights(pose: Pose, root: np.ndarray, jacobian: np.ndarray, moment: np.ndarray) -> None:
    f = pose.fields
    nv, nbody = f["nv"], f["nbody"]
    body, dof = np.zeros((nbody, 2)), np.zeros(nv)
    f["body_invweight0"], f["dof_invweight0"] = body, dof
    f["tendon_invweight0"], f["actuator_acc0"] = np.zeros(f["ntendon"]), np.zeros(f["nout"])
    if nv == 0:
        return
    moving = np.flatnonzero(f["body_dofnum"][f["body_weldid"]] > 0)
    linear, angular = pose.jacobian(pose.xipos[moving], moving)
    body[moving, 0] = (_product(f, linear, root) ** 2).sum((1, 2)) / 3
    body[moving, 1] = (_product(f, angular, root) ** 2).sum((1, 2)) / 3
    diagonal = (root**2).sum(1)
    for type, adr in zip(f["jnt_type"], f["jnt_dofadr"], strict=True):
        starts = {JointType.FREE: (adr, adr + 3), JointType.BALL: (adr,)}.get(type)
        if starts is None:
            dof[adr] = diagonal[adr]
        else:
            for start in starts:
                dof[start : start + 3] = diagonal[start : start + 3].sum() / 3
    sliding = f["body_simple"] == 2
    weight = 1 / np.maximum(MINVAL, f["body_mass"])
    body[sliding, 0], body[sliding, 1] = weight[sliding], 0.0
    plain = sliding[f["dof_bodyid"]]
    dof[plain] = weight[f["dof_bodyid"]][plain]
    f["tendon_invweight0"] = (_product(f, jacobian, root) ** 2).sum(1)
    f["actuator_acc0"] = np.linalg.norm(_product(f, _product(f, moment, root), root.T), axis=1)


def _inverse_root(fields: Fields, matrix: np.ndarray) -> np.ndarray:
    """Returns R with R R^T the inverse of the joint-space inertia, tree by tree."""
    result = np.zeros_like(matrix)
    for tree in _trees(fields):
        result[tree, tree] = _inverse_root_block(matrix[tree, tree])
    return result


def _product(fields: Fields, rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Rows (..., nv) times a matrix without entries between trees."""
    result = np.zeros_like(rows)
    for tree in _trees(fields):
        result[..., tree] = rows[..., tree] @ matrix[tree, tree]
    return result


def _trees(fields: Fields) -> list[slice]:
    """The degrees of freedom of each tree."""
    return [
        slice(start, start + count)
        for start, count in zip(fields["tree_dofadr"].tolist(), fields["tree_dofnum"].tolist(), strict=True)
    ]


def _inverse_root_block(block: np.ndarray) -> np.ndarray:
    """Returns R with R R^T the inverse; a pivot that is not positive counts as the smallest mass, as in C."""
    count = block.shape[0]
    factor, failed = lapack.dpotrf(block, lower=1)  # pyright: ignore
    if not failed:
        return lapack.dtrtri(factor, lower=1)[0].T  # pyright: ignore
    work, lower, pivots = block.copy(), np.eye(count), np.zeros(count)
    for k in range(count - 1, -1, -1):
        pivots[k] = max(work[k, k], MINVAL)
        row = work[k, :k] / pivots[k]
        work[:k, :k] -= np.outer(row, work[k, :k])
        lower[k, :k] = row
    return np.linalg.inv(lower) / np.sqrt(pivots)


def _equality(pose: Pose) -> None:
    """Fills in the parts of connect and weld constraints that follow from the reference configuration."""
    f = pose.fields
    for i in range(f["neq"]):
        type, data = f["eq_type"][i], f["eq_data"][i]
        first, second = f["eq_obj1id"][i], f["eq_obj2id"][i]
        bodies = f["eq_objtype"][i] == ObjType.BODY
        if type == EqType.CONNECT:
            if bodies:
                data[3:6] = _carry(pose, data[:3], first, second)
            else:
                data[:] = 0.0
        elif type == EqType.WELD and bodies:
            if data[6:10].any():
                data[6:10] /= np.linalg.norm(data[6:10])
            else:
                data[3:6] = _carry(pose, data[:3], second, first)
                data[6:10] = unit(multiply(conjugate(pose.xquat[first]), pose.xquat[second]))
                data[11] = 1.0


def _carry(pose: Pose, point: np.ndarray, source: int, target: int) -> np.ndarray:
    """Returns a point of one body in the frame of another."""
    world = pose.xpos[source] + pose.xmat[source] @ point
    return pose.xmat[target].T @ (world - pose.xpos[target])


def _views(pose: Pose) -> None:
    """Offsets of cameras and lights from their body and from a centre of mass."""
    f = pose.fields
    for kind in ("cam", "light"):
        body, target = f[f"{kind}_bodyid"], f[f"{kind}_targetbodyid"]
        pos = pose.points(kind)
        f[f"{kind}_pos0"] = pos - pose.xpos[body]
        f[f"{kind}_poscom0"] = pos - pose.subtree_com[np.where(target >= 0, target, body)]
    f["cam_mat0"] = pose.axes("cam")
    f["light_dir0"] = apply(pose.xmat[f["light_bodyid"]], f["light_dir"])


def _damping_ratio(fields: Fields, moment: np.ndarray, root: np.ndarray) -> None:
    """Turns the damping ratio of a servo, a positive biasprm[2], into its velocity gain.

    The servo feels the inertia 1 / (m M^-1 m^T) of its moment arms m; with several rows of them, the mean of what is
    inverted.
    """
    for i in range(fields["nactuator"]):
        gain, bias = fields["actuator_gainprm"][i], fields["actuator_biasprm"][i]
        pid = fields["actuator_gaintype"][i] == GainType.PID
        if (not pid and gain[0] != -bias[1]) or bias[2] <= 0:
            continue
        start, count = fields["actuator_outadr"][i], fields["actuator_outnum"][i]
        weight = float(((moment[start : start + count] @ root) ** 2).sum()) / count
        mass = 1 / weight if weight > MINVAL else 0.0
        stiffness = -bias[1] if pid else gain[0]
        bias[2] *= -2 * np.sqrt(stiffness * mass)


def _spring_lengths(mechanism: Mechanism, routes: Routes) -> None:
    """Sets the resting length of tendon springs that have none."""
    fields = mechanism.fields
    unset = np.flatnonzero((fields["tendon_lengthspring"] == -1).all(1))
    if unset.size:
        length, _ = tendons(kinematics(mechanism, fields["qpos_spring"]), routes, unset)
        fields["tendon_lengthspring"][unset] = length[:, None]
