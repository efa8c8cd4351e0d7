"""The worlds in which actuators are pulled, and one step of their motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.constants.fixed import actuator_armature
from jaxsim.compile.kinematics import Fields, Mechanism, Pose, Routes, kinematics, tendons, transmission
from jaxsim.compile.lengthrange.constraints import Instant, constrained_tendons, constraints, solve
from jaxsim.compile.lengthrange.dynamics import Motion, integrate, move
from jaxsim.enums import DisableBit, TrnType
from jaxsim.math.constants import MINVAL

__all__ = ["Simulation"]

_FIRM = 1e-12
"""How much is added to the inertia of each degree of freedom, as a part of it."""


class Simulation:
    """W = 2 n worlds: world i and world i + n belong to the i-th actuator, pulled to its short and long side.

    Args:
        f: the model.
        settings: attributes of `compiler/lengthrange`.
        wanted: ids of the n actuators.
    """

    def __init__(self, f: Fields, settings: Any, wanted: list[int]) -> None:
        self.mechanism, self.routes = Mechanism(f), Routes.of(f)
        self.step_size: float = (
            settings["timestep"] if settings["timestep"] > 0 else float(f["opt"]["timestep"])
        )
        self._decay = np.exp(-self.step_size / max(0.01, settings["timeconst"]))
        self._most: float = settings["maxforce"] if settings["maxforce"] > 0 else np.inf
        self._pull = _Pull(f, wanted)
        self._acceleration = np.repeat([-1.0, 1.0], len(wanted)) * settings["accel"]
        joint_armature, tendon_armature = actuator_armature(f)
        self._armature = f["dof_armature"] + joint_armature[f["dof_jntid"]]
        self._tendon_armature = tendon_armature + f["tendon_armature"]
        self._bound = constrained_tendons(f)
        self._place = np.zeros(f["ntendon"], int)
        self._place[self._bound] = np.arange(self._bound.size)
        # of each world: those that are limited or coupled, then the one that is pulled
        self._paths = self._bound
        if self._pull.on_tendon.size:
            bound = np.tile(self._bound, (2 * len(wanted), 1))
            self._paths = np.concatenate([bound, self._pull.tendon[:, None]], axis=1)
        self._refsafe = not int(f["opt"]["disableflags"]) & DisableBit.REFSAFE
        self.qpos, self.qvel = np.tile(f["qpos0"], (2 * len(wanted), 1)), np.zeros((2 * len(wanted), f["nv"]))

    def step(self) -> np.ndarray:
        """Moves the worlds on; returns the lengths (W,) of the pulled actuators before that."""
        self.qvel = self.qvel * self._decay
        pose = kinematics(self.mechanism, self.qpos)
        motion = self._move(pose)
        lengths, jacobians = tendons(pose, self.routes, self._paths)
        length, moment = self._pull(pose, lengths, jacobians)
        reach = np.linalg.norm(np.linalg.solve(motion.matrix, moment[..., None])[..., 0], axis=1)
        force = moment * (self._acceleration / np.maximum(MINVAL, reach))[:, None]
        size = np.linalg.norm(force, axis=1)
        force *= np.minimum(1.0, self._most / np.maximum(MINVAL, size))[:, None]
        bound = slice(self._bound.size)
        instant = Instant(
            motion,
            self.qvel,
            lengths[:, bound],
            jacobians[:, bound],
            self._place,
            self.step_size,
            self._refsafe,
        )
        qacc = solve(motion.matrix, force - motion.bias, constraints(instant))
        self.qvel = self.qvel + self.step_size * qacc
        self.qpos = integrate(self.mechanism.fields, self.qpos, self.qvel, self.step_size)
        return length

    def _move(self, pose: Pose) -> Motion:
        """Inertia and bias forces, with the armature of tendons."""
        motion = move(pose, self._armature, self.qvel)
        heavy = np.flatnonzero(self._tendon_armature)
        if heavy.size:
            jac = tendons(pose, self.routes, heavy)[1]
            weight = self._tendon_armature[heavy, None]
            motion.matrix = motion.matrix + jac.swapaxes(1, 2) @ (weight * jac)
        dof = np.arange(motion.matrix.shape[1])
        motion.matrix[:, dof, dof] *= 1 + _FIRM  # joints that do the same make it singular
        return motion


class _Pull:
    """The actuators that are pulled: world n and world n + count belong to the n-th.

    Args:
        f: the model.
        wanted: (count,) their ids.

    Attributes:
        on_tendon: worlds that pull a tendon.
        tendon: which tendon each world pulls (2 count,); 0 where it pulls something else.
    """

    def __init__(self, f: Fields, wanted: list[int]) -> None:
        type, target = f["actuator_trntype"][wanted], f["actuator_trnid"][wanted, 0]
        along = type == TrnType.TENDON
        self.on_tendon = _both(np.flatnonzero(along), len(wanted))
        self.tendon = np.tile(np.where(along, target, 0), 2)
        self._gear = np.tile(f["actuator_gear"][f["actuator_outadr"][wanted], 0], 2)
        self._others = [(_both(np.array([n]), len(wanted)), wanted[n]) for n in np.flatnonzero(~along)]

    def __call__(
        self, pose: Pose, lengths: np.ndarray, jacobians: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns length (W,) and moment arms (W, nv) of the actuator that each world pulls.

        Args:
            pose: the configurations.
            lengths: of tendons in each world (W, n), the last is the one that is pulled, if any is.
            jacobians: of these (W, n, nv).
        """
        length, moment = np.zeros(len(pose.qpos)), np.zeros((len(pose.qpos), pose.mechanism.nv))
        worlds = self.on_tendon
        if worlds.size:
            gear = self._gear[worlds]
            length[worlds], moment[worlds] = gear * lengths[worlds, -1], gear[:, None] * jacobians[worlds, -1]
        for worlds, i in self._others:
            found = transmission(pose.take(worlds), i)
            length[worlds], moment[worlds] = found[0][:, 0], found[1][:, 0]
        return length, moment


def _both(numbers: np.ndarray, count: int) -> np.ndarray:
    """Returns the worlds of actuators: those pulled to the short side, then those to the long side."""
    return np.concatenate([numbers, numbers + count])
