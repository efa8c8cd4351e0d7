"""The state that results describe: after a step `qpos` and `qvel` are new, while poses and velocities are not."""

from __future__ import annotations

from typing import Any

import mujoco as engine
import numpy as np

__all__ = ["recover_state"]

mujoco: Any = engine  # a compiled module without type stubs

_ROUNDS = 12
"""Newton steps: from one timestep to the one before three or four are needed."""


def recover_state(m: Any, d: Any, xpos: np.ndarray, xquat: np.ndarray, cvel: np.ndarray, eps: float) -> None:
    """Moves `d.qpos` and `d.qvel` to the state in which bodies have given poses and velocities.

    Where they have them already, to rounding, nothing is changed. Else the state of one step before, as integrators but
    Runge-Kutta's reverse it exactly, or this one, whichever is nearer; then Newton's method on the manifold of
    configurations, whose least squares are exact, since the poses belong to a configuration. Poses alone would not say
    how often a hinge has turned, nor what each of two dofs along the same axis has.

    Args:
      m: MjModel.
      d: MjData; its positions are those of the found configuration afterwards.
      xpos: body positions, m, world frame (nbody, 3).
      xquat: body orientations (nbody, 4).
      cvel: body velocities about the roots' subtree_com (nbody, 6).
      eps: rounding error of these numbers.
    """
    J = _poses(m, d)
    close = 100 * eps * (1 + np.abs(xpos).max(initial=0))
    error = _pose_error(d, xpos, xquat)
    if np.abs(error).max(initial=0) > close:
        J, error = _step_before(m, d, xpos, xquat, error)
    for _ in range(_ROUNDS):
        if np.abs(error).max(initial=0) <= close:
            break
        change = np.linalg.lstsq(J, error.ravel(), rcond=None)[0]
        mujoco.mj_integratePos(m, d.qpos, change, 1.0)
        J, error = _poses(m, d), _pose_error(d, xpos, xquat)
        if np.abs(change).max() <= 10 * eps:
            break
    centre = d.subtree_com[m.body_rootid]
    velocity = np.concatenate([cvel[:, 3:] + np.cross(cvel[:, :3], d.xpos - centre), cvel[:, :3]], axis=1)
    miss = velocity.ravel() - J @ d.qvel
    if np.abs(miss).max(initial=0) > 100 * eps * (1 + np.abs(velocity).max(initial=0)):
        d.qvel[:] += np.linalg.lstsq(J, miss, rcond=None)[0]


def _step_before(
    m: Any, d: Any, xpos: np.ndarray, xquat: np.ndarray, error: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Goes one step back if that is nearer to the poses; returns Jacobian and pose error of where it is then."""
    after = d.qpos.copy(), d.qvel.copy()
    mujoco.mj_integratePos(m, d.qpos, d.qvel, -m.opt.timestep)
    d.qvel[:] -= m.opt.timestep * d.qacc
    before = _poses(m, d), _pose_error(d, xpos, xquat)
    if np.abs(before[1]).max() < np.abs(error).max():
        return before
    d.qpos[:], d.qvel[:] = after
    return _poses(m, d), error


def _poses(m: Any, d: Any) -> np.ndarray:
    """Computes the poses of a configuration; returns the Jacobian of position and rotation (6 nbody, nv)."""
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    J = np.zeros((m.nbody, 6, m.nv))
    for b in range(m.nbody):
        mujoco.mj_jacBody(m, d, J[b, :3], J[b, 3:], b)
    return J.reshape(6 * m.nbody, m.nv)


def _pose_error(d: Any, xpos: np.ndarray, xquat: np.ndarray) -> np.ndarray:
    """Translation and rotation that bodies are off, world frame (nbody, 6)."""
    error = np.zeros((len(xpos), 6))
    error[:, :3] = xpos - d.xpos
    inverse, turned = np.zeros(4), np.zeros(4)
    for b in range(len(xpos)):
        mujoco.mju_negQuat(inverse, d.xquat[b])
        mujoco.mju_mulQuat(turned, xquat[b], inverse)
        mujoco.mju_quat2Vel(error[b, 3:], turned, 1.0)
    return error
