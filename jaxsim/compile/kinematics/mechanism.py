"""What kinematics needs of a model, prepared once for all configurations."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jaxsim.enums import JointType
from jaxsim.math.rotations import matrix

__all__ = ["Fields", "Level", "Mechanism", "Round"]

Fields = dict[str, Any]


class Round(NamedTuple):
    """Joints of different bodies of one level: their ids, and the places of their bodies in the level."""

    joints: np.ndarray
    places: np.ndarray


class Level(NamedTuple):
    """Bodies of one depth.

    Attributes:
        bodies: (n,) their ids.
        parents: (n,) ids of their parents.
        free: (m,) places in `bodies` of those with a free joint.
        free_qpos: (m, 7) addresses of the free joints' coordinates.
        rounds: first joints of the bodies, second joints, and so on.
    """

    bodies: np.ndarray
    parents: np.ndarray
    free: np.ndarray
    free_qpos: np.ndarray
    rounds: tuple[Round, ...]


class Mechanism:
    """A model's tree, joints and degrees of freedom.

    Args:
        fields: the model's fields, as far as they are compiled.
    """

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.nbody, self.njnt, self.nv = int(fields["nbody"]), int(fields["njnt"]), int(fields["nv"])
        self.parent: np.ndarray = fields["body_parentid"]
        type = fields["jnt_type"]
        self.hinges = np.flatnonzero(type == JointType.HINGE)
        self.slides = np.flatnonzero(type == JointType.SLIDE)
        self.balls = np.flatnonzero(type == JointType.BALL)
        self.body_mat = matrix(fields["body_quat"])

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The bodies below the world, by depth."""
        depth = np.zeros(self.nbody, int)
        parent = self.parent.tolist()
        for body in range(1, self.nbody):
            depth[body] = depth[parent[body]] + 1
        return tuple(self._level(np.flatnonzero(depth == d)) for d in range(1, int(depth.max()) + 1))

    def _level(self, bodies: np.ndarray) -> Level:
        f = self.fields
        first, count = f["body_jntadr"][bodies], f["body_jntnum"][bodies]
        rounds = []
        for k in range(int(count.max(initial=0))):
            places = np.flatnonzero(count > k)
            rounds.append(Round(first[places] + k, places))
        free = np.flatnonzero(count == 1)
        free = free[f["jnt_type"][first[free]] == JointType.FREE]
        coordinates = f["jnt_qposadr"][first[free]][:, None] + np.arange(7)
        return Level(bodies, self.parent[bodies], free, coordinates, tuple(rounds))

    @cached_property
    def moves(self) -> np.ndarray:
        """(nbody, nv) whether a degree of freedom moves a body."""
        f = self.fields
        result = np.zeros((self.nbody, self.nv), bool)
        first, count, parent = (f[f"body_{name}"].tolist() for name in ("dofadr", "dofnum", "parentid"))
        for body in range(1, self.nbody):
            result[body] = result[parent[body]]
            result[body, first[body] : first[body] + count[body]] = True
        return result

    @cached_property
    def dof_component(self) -> np.ndarray:
        """(nv,) which component of its joint's velocity a degree of freedom is."""
        f = self.fields
        return np.arange(self.nv) - f["jnt_dofadr"][f["dof_jntid"]]

    @cached_property
    def dof_slides(self) -> np.ndarray:
        """(nv,) whether a degree of freedom is a translation."""
        type = self.fields["jnt_type"][self.fields["dof_jntid"]]
        return (type == JointType.SLIDE) | ((type == JointType.FREE) & (self.dof_component < 3))

    @cached_property
    def carriers(self) -> tuple[np.ndarray, np.ndarray]:
        """(nv, nv) whether the second degree of freedom carries the first one's axis; (nv,) whether nothing does."""
        joint, type = self.fields["dof_jntid"], self.fields["jnt_type"]
        several = np.isin(type[joint], (JointType.BALL, JointType.FREE))
        before = np.tril(self.moves[self.fields["dof_bodyid"]])
        before |= (joint[:, None] == joint) & several[:, None]
        return before.astype(float), self.dof_slides & several

    def add_up(self, values: np.ndarray, world: bool = True) -> np.ndarray:
        """Sums over subtrees.

        Args:
            values: (..., nbody, n) of bodies; changed.
            world: whether the world's sum is wanted too.
        """
        for level in reversed(self.levels if world else self.levels[1:]):
            rows: Any = (..., level.parents, slice(None))
            np.add.at(values, rows, values[..., level.bodies, :])
        return values
