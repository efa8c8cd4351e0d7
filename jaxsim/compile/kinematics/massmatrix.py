"""Joint-space inertia by composite rigid bodies (Featherstone 2008, ch. 6)."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.kinematics.pose import Pose

__all__ = ["mass_matrix", "spatial_inertia"]


def spatial_inertia(pose: Pose) -> np.ndarray:
    """Returns (..., nbody, 6, 6) inertias of the bodies at their trees' centres, rotation first."""
    f = pose.fields
    mass = f["body_mass"][:, None, None]
    x, y, z = np.moveaxis(pose.xipos - pose.center, -1, 0)
    cross = np.zeros((*x.shape, 3, 3))
    cross[..., 0, 1], cross[..., 1, 0] = -z, z
    cross[..., 1, 2], cross[..., 2, 1] = -x, x
    cross[..., 2, 0], cross[..., 0, 2] = -y, y
    moment = mass * cross
    result = np.zeros((*x.shape, 6, 6))
    principal = pose.ximat
    result[..., :3, :3] = (principal * f["body_inertia"][:, None]) @ principal.swapaxes(
        -1, -2
    ) - moment @ cross
    result[..., :3, 3:], result[..., 3:, :3] = moment, -moment
    result[..., 3:, 3:] = mass * np.eye(3)
    return result


def mass_matrix(pose: Pose, inertia: np.ndarray) -> np.ndarray:
    """Returns the (..., nv, nv) joint-space inertia without armature.

    Args:
        pose: the configurations.
        inertia: what `spatial_inertia` gives.
    """
    body, mechanism = pose.fields["dof_bodyid"], pose.mechanism
    flat = inertia.reshape(*inertia.shape[:-2], 36).copy()
    composite = mechanism.add_up(flat, world=False).reshape(inertia.shape)
    force = (composite[..., body, :, :] @ pose.motions[..., None])[..., 0]
    lower = np.where(np.tril(mechanism.moves[body]), force @ pose.motions.swapaxes(-1, -2), 0.0)
    return lower + np.tril(lower, -1).swapaxes(-1, -2)
