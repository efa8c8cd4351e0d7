"""Forward kinematics and inertia at one configuration, on the host."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jaxsim.compile.frames import Quat, Vec3, accumulate, multiply, rotate, unit_quat
from jaxsim.compile.vectors import cross_rows
from jaxsim.enums import JointType

__all__ = ["Pose", "kinematics"]

Fields = dict[str, Any]


@dataclass(eq=False)
class Pose:
    """Everything that depends on the configuration; world frame, SI units.

    Attributes:
        fields: the model.
        xpos: (nbody, 3) body origins.
        xquat: (nbody, 4) body orientations.
        xanchor: (njnt, 3) joint anchors.
        xaxis: (njnt, 3) joint axes.
        qpos: the configuration.
    """

    fields: Fields
    qpos: np.ndarray
    xpos: np.ndarray
    xquat: np.ndarray
    xanchor: np.ndarray
    xaxis: np.ndarray

    @cached_property
    def xmat(self) -> np.ndarray:
        """(nbody, 3, 3) body orientations."""
        return matrices(self.xquat)

    @cached_property
    def xipos(self) -> np.ndarray:
        """(nbody, 3) centres of mass."""
        return self.xpos + _apply(self.xmat, self.fields["body_ipos"])

    @cached_property
    def ximat(self) -> np.ndarray:
        """(nbody, 3, 3) principal axes of inertia."""
        return self.xmat @ matrices(self.fields["body_iquat"])

    def points(self, kind: str) -> np.ndarray:
        """Returns the positions (n, 3) of all geoms, sites, cameras or lights (`geom`, `site`, `cam`, `light`)."""
        body = self.fields[f"{kind}_bodyid"]
        return self.xpos[body] + _apply(self.xmat[body], self.fields[f"{kind}_pos"])

    def axes(self, kind: str) -> np.ndarray:
        """Returns the orientations (n, 3, 3) of all geoms, sites or cameras."""
        body = self.fields[f"{kind}_bodyid"]
        return self.xmat[body] @ matrices(self.fields[f"{kind}_quat"])

    @cached_property
    def subtree_com(self) -> np.ndarray:
        """(nbody, 3) centres of mass of each body and all below it; the body's own where there is no mass."""
        mass, parent = self.fields["body_mass"], self.fields["body_parentid"]
        moment, total = mass[:, None] * self.xipos, mass.copy()
        for body in range(mass.size - 1, 0, -1):
            moment[parent[body]] += moment[body]
            total[parent[body]] += total[body]
        light = total < 1e-15
        return np.where(light[:, None], self.xipos, moment / np.where(light, 1.0, total)[:, None])

    @cached_property
    def dof_axes(self) -> tuple[np.ndarray, np.ndarray]:
        """(nv, 3) angular and linear velocity, at the world origin, by a unit velocity of each degree of freedom."""
        f = self.fields
        angular, linear = np.zeros((f["nv"], 3)), np.zeros((f["nv"], 3))
        for j in range(f["njnt"]):
            dof, type, body = f["jnt_dofadr"][j], f["jnt_type"][j], f["jnt_bodyid"][j]
            if type == JointType.SLIDE:
                linear[dof] = self.xaxis[j]
                continue
            if type == JointType.FREE:
                linear[dof : dof + 3] = np.eye(3)
                dof += 3
            count = 1 if type == JointType.HINGE else 3
            turn = self.xaxis[j][None] if type == JointType.HINGE else self.xmat[body].T
            angular[dof : dof + count] = turn
            linear[dof : dof + count] = -cross_rows(turn, self.xanchor[j])
        return angular, linear

    @cached_property
    def moves(self) -> np.ndarray:
        """(nbody, nv) whether a degree of freedom moves a body."""
        f = self.fields
        result = np.zeros((f["nbody"], f["nv"]), bool)
        for body in range(1, f["nbody"]):
            result[body] = result[f["body_parentid"][body]]
            first = f["body_dofadr"][body]
            result[body, first : first + f["body_dofnum"][body]] = True
        return result

    def jacobian(self, points: np.ndarray, bodies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns linear and angular Jacobians (n, 3, nv) of points (n, 3) fixed to bodies (n,)."""
        angular, linear = self.dof_axes
        mask = self.moves[bodies][:, None, :]
        turn = cross_rows(angular[None], points[:, None]) + linear[None]
        return turn.transpose(0, 2, 1) * mask, angular.T[None] * mask

    @cached_property
    def mass_matrix(self) -> np.ndarray:
        """(nv, nv) joint-space inertia without armature, by composite inertias about each tree's centre of mass."""
        f = self.fields
        center = self.subtree_com[f["body_rootid"]]
        spatial = self._spatial_inertia(center)
        parent = f["body_parentid"]
        for body in range(f["nbody"] - 1, 0, -1):
            if parent[body] > 0:
                spatial[parent[body]] += spatial[body]
        body = f["dof_bodyid"]
        angular, linear = self.dof_axes
        motion = np.concatenate([angular, linear + cross_rows(angular, center[body])], axis=1)
        force = np.einsum("dij,dj->di", spatial[body], motion)
        above = self.moves[body]
        lower = np.where(above, force @ motion.T, 0.0)
        lower = np.tril(lower)
        return lower + np.tril(lower, -1).T

    def _spatial_inertia(self, center: np.ndarray) -> np.ndarray:
        """Returns (nbody, 6, 6) inertias about points (nbody, 3), rotation first."""
        f = self.fields
        mass = f["body_mass"]
        offset = self.xipos - center
        inertia = np.einsum("bik,bk,bjk->bij", self.ximat, f["body_inertia"], self.ximat)
        square = (offset**2).sum(1)
        inertia += mass[:, None, None] * (
            square[:, None, None] * np.eye(3) - offset[:, :, None] * offset[:, None, :]
        )
        cross = np.zeros((mass.size, 3, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            cross[:, i, j], cross[:, j, i] = -mass * offset[:, k], mass * offset[:, k]
        result = np.zeros((mass.size, 6, 6))
        result[:, :3, :3] = inertia
        result[:, :3, 3:] = cross
        result[:, 3:, :3] = -cross
        result[:, 3:, 3:] = mass[:, None, None] * np.eye(3)
        return result


def matrices(quats: np.ndarray) -> np.ndarray:
    """Returns rotation matrices (n, 3, 3) of unit quaternions (n, 4)."""
    w, x, y, z = quats.T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.array(rows).transpose(2, 0, 1).reshape(-1, 3, 3)


def _apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.einsum("nij,nj->ni", matrix, vector)


def kinematics(fields: Fields, qpos: np.ndarray) -> Pose:
    """Computes the pose of all bodies.

    Args:
        fields: the model's fields.
        qpos: (nq,) configuration.
    """
    parent = fields["body_parentid"].tolist()
    body_pos, body_quat = fields["body_pos"].tolist(), fields["body_quat"].tolist()
    jntadr, jntnum = fields["body_jntadr"].tolist(), fields["body_jntnum"].tolist()
    types, adr = fields["jnt_type"].tolist(), fields["jnt_qposadr"].tolist()
    jnt_pos, jnt_axis = fields["jnt_pos"].tolist(), fields["jnt_axis"].tolist()
    q, q0 = np.asarray(qpos).tolist(), fields["qpos0"].tolist()
    pos: list[Any] = [(0.0, 0.0, 0.0)]
    quat: list[Any] = [(1.0, 0.0, 0.0, 0.0)]
    anchors: list[Any] = [(0.0, 0.0, 0.0)] * len(types)
    axes: list[Any] = [(0.0, 0.0, 1.0)] * len(types)
    for body in range(1, len(parent)):
        first, count = jntadr[body], jntnum[body]
        if count == 1 and types[first] == JointType.FREE:
            a = adr[first]
            p: Vec3 = (q[a], q[a + 1], q[a + 2])
            r: Quat = unit_quat(q[a + 3 : a + 7])
            anchors[first] = p
        else:
            p, r = accumulate(pos[parent[body]], quat[parent[body]], body_pos[body], body_quat[body])
            for j in range(first, first + count):
                offset = rotate(jnt_pos[j], r)
                anchor = (p[0] + offset[0], p[1] + offset[1], p[2] + offset[2])
                axis = rotate(jnt_axis[j], r)
                a = adr[j]
                if types[j] == JointType.SLIDE:
                    move = q[a] - q0[a]
                    p = (p[0] + axis[0] * move, p[1] + axis[1] * move, p[2] + axis[2] * move)
                else:
                    if types[j] == JointType.BALL:
                        r = multiply(r, unit_quat(q[a : a + 4]))
                    else:
                        half = (q[a] - q0[a]) / 2
                        s, (ax, ay, az) = np.sin(half).item(), jnt_axis[j]
                        r = multiply(r, (np.cos(half).item(), s * ax, s * ay, s * az))
                    offset = rotate(jnt_pos[j], r)
                    p = (anchor[0] - offset[0], anchor[1] - offset[1], anchor[2] - offset[2])
                anchors[j], axes[j] = anchor, axis
        pos.append(p)
        quat.append(r)
    return Pose(
        fields,
        np.asarray(qpos, float),
        np.array(pos).reshape(-1, 3),
        np.array(quat).reshape(-1, 4),
        np.array(anchors).reshape(-1, 3),
        np.array(axes).reshape(-1, 3),
    )
