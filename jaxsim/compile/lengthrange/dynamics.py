"""Velocities, bias forces and motion of the worlds of a simulation; there is no gravity, no spring and no damper.

Spatial vectors are taken at the centres of the trees, rotation first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxsim.compile.kinematics import Fields, Pose, mass_matrix, spatial_inertia
from jaxsim.enums import JointType
from jaxsim.math.rotations import cross, from_vector, multiply, unit

__all__ = ["Motion", "integrate", "move"]


@dataclass(eq=False)
class Motion:
    """How W worlds move.

    Attributes:
        pose: of the worlds.
        matrix: (W, nv, nv) joint-space inertia, armature included.
        bias: (W, nv) Coriolis and centrifugal force.
        velocity: (W, nbody, 6) of the bodies.
        drift: (W, nbody, 6) their acceleration while the joints' velocities stay.
    """

    pose: Pose
    matrix: np.ndarray
    bias: np.ndarray
    velocity: np.ndarray
    drift: np.ndarray


def move(pose: Pose, armature: np.ndarray, qvel: np.ndarray) -> Motion:
    """Computes inertia and bias forces.

    Args:
        pose: of the worlds.
        armature: (nv,) added to the diagonal of the inertia.
        qvel: (W, nv).
    """
    inertia = spatial_inertia(pose)
    matrix = mass_matrix(pose, inertia) + np.diag(armature)
    mask, motions = pose.mechanism.moves.astype(float), pose.motions
    rate = motions * qvel[..., None]
    before, still = pose.mechanism.carriers
    change = np.where(still[:, None], 0.0, _cross_motion(before @ rate, motions))
    velocity, drift = mask @ rate, mask @ (change * qvel[..., None])
    momentum = (inertia @ velocity[..., None])[..., 0]
    force = (inertia @ drift[..., None])[..., 0] + _cross_force(velocity, momentum)
    return Motion(pose, matrix, (motions * (mask.T @ force)).sum(-1), velocity, drift)


def _cross_motion(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Rate of a motion (..., 6) that is carried at a velocity (..., 6)."""
    turn, slide = v[..., :3], v[..., 3:]
    return np.concatenate([cross(turn, m[..., :3]), cross(turn, m[..., 3:]) + cross(slide, m[..., :3])], -1)


def _cross_force(v: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Rate of a momentum (..., 6) that is carried at a velocity (..., 6)."""
    turn, slide = v[..., :3], v[..., 3:]
    return np.concatenate([cross(turn, f[..., :3]) + cross(slide, f[..., 3:]), cross(turn, f[..., 3:])], -1)


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
        turn = from_vector(step * qvel[:, dof : dof + 3])
        result[:, adr : adr + 4] = unit(multiply(qpos[:, adr : adr + 4], turn))
    return result
