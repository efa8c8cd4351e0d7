"""Forward kinematics (computation chapter, forward kinematics)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxsim.compile.kinematics.mechanism import Fields, Mechanism
from jaxsim.enums import JointType
from jaxsim.math.constants import MINVAL
from jaxsim.math.rotations import apply, cross, from_vector, matrix, multiply, unit

__all__ = ["Pose", "kinematics"]


@dataclass(eq=False)
class Pose:
    """Where everything is; world frame, SI units.

    Attributes:
        mechanism: what does not depend on the configuration.
        qpos: (..., nq) configurations.
        turns: (..., njnt, 4) rotations by hinges and ball joints, in the frame of their body.
        xpos: (..., nbody, 3) body origins.
        xmat: (..., nbody, 3, 3) body orientations.
        xanchor: (..., njnt, 3) joint anchors.
        xaxis: (..., njnt, 3) joint axes.
    """

    mechanism: Mechanism
    qpos: np.ndarray
    turns: np.ndarray
    xpos: np.ndarray
    xmat: np.ndarray
    xanchor: np.ndarray
    xaxis: np.ndarray

    @property
    def fields(self) -> Fields:
        """The model."""
        return self.mechanism.fields

    def take(self, index: np.ndarray) -> Pose:
        """Returns some of the configurations, which have one axis; what is known of them is kept."""
        arrays = {name: array[index] for name, array in vars(self).items() if name != "mechanism"}
        taken = Pose.__new__(Pose)
        vars(taken).update(arrays, mechanism=self.mechanism)
        return taken

    @cached_property
    def xquat(self) -> np.ndarray:
        """(..., nbody, 4) body orientations."""
        quat = np.zeros((*self.xpos.shape[:-1], 4))
        quat[..., 0, 0] = 1.0
        for level in self.mechanism.levels:
            r = multiply(quat[..., level.parents, :], self.fields["body_quat"][level.bodies])
            if level.free.size:
                r[..., level.free, :] = unit(self.qpos[..., level.free_qpos[:, 3:]])
            for joints, places in level.rounds:
                r[..., places, :] = multiply(r[..., places, :], self.turns[..., joints, :])
            quat[..., level.bodies, :] = unit(r)
        return quat

    @cached_property
    def xipos(self) -> np.ndarray:
        """(..., nbody, 3) centres of mass."""
        return self.xpos + apply(self.xmat, self.fields["body_ipos"])

    @cached_property
    def ximat(self) -> np.ndarray:
        """(..., nbody, 3, 3) principal axes of inertia."""
        return self.xmat @ matrix(self.fields["body_iquat"])

    def points(self, kind: str) -> np.ndarray:
        """Returns the positions (..., n, 3) of all geoms, sites, cameras or lights (`geom`, `site`, `cam`, `light`)."""
        body = self.fields[f"{kind}_bodyid"]
        return self.xpos[..., body, :] + apply(self.xmat[..., body, :, :], self.fields[f"{kind}_pos"])

    def axes(self, kind: str) -> np.ndarray:
        """Returns the orientations (..., n, 3, 3) of all geoms, sites or cameras."""
        return self.xmat[..., self.fields[f"{kind}_bodyid"], :, :] @ matrix(self.fields[f"{kind}_quat"])

    @cached_property
    def subtree_com(self) -> np.ndarray:
        """(..., nbody, 3) centres of mass of each body and all below it; the body's own where there is no mass."""
        mass = np.broadcast_to(self.fields["body_mass"][:, None], (*self.xpos.shape[:-1], 1))
        sums = self.mechanism.add_up(np.concatenate([mass * self.xipos, mass], axis=-1))
        moment, total = sums[..., :3], sums[..., 3:]
        light = total < MINVAL
        return np.where(light, self.xipos, moment / np.where(light, 1.0, total))

    @cached_property
    def center(self) -> np.ndarray:
        """(..., nbody, 3) centre of mass of each body's tree: where its spatial vectors are taken."""
        return self.subtree_com[..., self.fields["body_rootid"], :]

    @cached_property
    def motions(self) -> np.ndarray:
        """(..., nv, 6) velocity of all that a degree of freedom moves, at the tree's centre, rotation first."""
        f, m = self.fields, self.mechanism
        result = np.zeros((*self.qpos.shape[:-1], m.nv, 6))
        joint, body = f["dof_jntid"], f["dof_bodyid"]
        type = f["jnt_type"][joint]
        free = np.flatnonzero((type == JointType.FREE) & m.dof_slides)
        result[..., free, 3 + m.dof_component[free]] = 1.0
        slide = np.flatnonzero(type == JointType.SLIDE)
        result[..., slide, 3:] = self.xaxis[..., joint[slide], :]
        turning = np.flatnonzero(~m.dof_slides)
        if turning.size:
            axis = self.xmat.swapaxes(-1, -2)[..., body[turning], m.dof_component[turning] % 3, :]
            hinge = np.flatnonzero(type[turning] == JointType.HINGE)
            axis[..., hinge, :] = self.xaxis[..., joint[turning[hinge]], :]
            arm = self.center[..., body[turning], :] - self.xanchor[..., joint[turning], :]
            result[..., turning, :3], result[..., turning, 3:] = axis, cross(axis, arm)
        return result

    def jacobian(self, points: np.ndarray, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns linear and angular Jacobians (..., n, 3, nv) of points (..., n, 3) fixed to bodies (n,)."""
        mask = self.mechanism.moves[bodies][:, None, :]
        turn, slide = self.motions[..., None, :, :3], self.motions[..., None, :, 3:]
        arm = (points - self.center[..., bodies, :])[..., None, :]
        linear = cross(turn, arm) + slide
        return linear.swapaxes(-1, -2) * mask, turn.swapaxes(-1, -2) * mask


def kinematics(mechanism: Mechanism, qpos: np.ndarray) -> Pose:
    """Computes the poses of all bodies.

    Args:
        mechanism: the model.
        qpos: (..., nq) configurations.
    """
    f, lead = mechanism.fields, qpos.shape[:-1]
    turns, slides = _joints(mechanism, qpos)
    turn_mat = matrix(turns)
    xpos, xmat = np.zeros((*lead, mechanism.nbody, 3)), np.zeros((*lead, mechanism.nbody, 3, 3))
    xmat[..., 0, :, :] = np.eye(3)
    xanchor, xaxis = np.zeros((*lead, mechanism.njnt, 3)), np.zeros((*lead, mechanism.njnt, 3))
    for level in mechanism.levels:
        above = xmat[..., level.parents, :, :]
        p = xpos[..., level.parents, :] + apply(above, f["body_pos"][level.bodies])
        r = above @ mechanism.body_mat[level.bodies]
        if level.free.size:
            p[..., level.free, :] = qpos[..., level.free_qpos[:, :3]]
            r[..., level.free, :, :] = matrix(unit(qpos[..., level.free_qpos[:, 3:]]))
        for joints, places in level.rounds:
            before, offset = r[..., places, :, :], f["jnt_pos"][joints]
            anchor = p[..., places, :] + apply(before, offset)
            axis = apply(before, f["jnt_axis"][joints])
            after = before @ turn_mat[..., joints, :, :]
            r[..., places, :, :] = after
            p[..., places, :] = anchor - apply(after, offset) + slides[..., joints, None] * axis
            xanchor[..., joints, :], xaxis[..., joints, :] = anchor, axis
        xpos[..., level.bodies, :], xmat[..., level.bodies, :, :] = p, r
    return Pose(mechanism, qpos, turns, xpos, xmat, xanchor, xaxis)


def _joints(mechanism: Mechanism, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns how far joints turn (..., njnt, 4) and slide (..., njnt), each in the frame of its body."""
    f, lead = mechanism.fields, qpos.shape[:-1]
    turns, slides = np.zeros((*lead, mechanism.njnt, 4)), np.zeros((*lead, mechanism.njnt))
    turns[..., 0] = 1.0
    hinges, balls = mechanism.hinges, mechanism.balls
    adr = f["jnt_qposadr"]
    if hinges.size:
        angle = qpos[..., adr[hinges]] - f["qpos0"][adr[hinges]]
        turns[..., hinges, :] = from_vector(angle[..., None] * f["jnt_axis"][hinges])
    if balls.size:
        turns[..., balls, :] = unit(qpos[..., adr[balls][:, None] + np.arange(4)])
    slide = adr[mechanism.slides]
    slides[..., mechanism.slides] = qpos[..., slide] - f["qpos0"][slide]
    return turns, slides
