"""Pulls actuators towards their shortest and longest lengths (MJCF reference, compiler/lengthrange).

Each actuator has two worlds, one for each direction. The force along its moment arms gives a constant acceleration;
limits and couplings act, while gravity, springs, damping, friction loss, contacts and actuators do not. The velocity
decays, so that the motion ends at an extreme length, which is measured over the last seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.constants.fixed import actuator_armature
from jaxsim.compile.kinematics import Fields, Mechanism, Pose, Routes, kinematics, tendons, transmission
from jaxsim.compile.lengthrange.constraints import Moment, constrained_tendons, constraints, solve
from jaxsim.compile.lengthrange.dynamics import integrate, move
from jaxsim.enums import BiasType, DisableBit, GainType, TrnType
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Element

__all__ = ["set_length_ranges"]

_UNSTABLE = 1e10
"""Velocity above which a simulation counts as failed."""


def set_length_ranges(fields: Fields, settings: Any, elements: list[Element]) -> None:
    """Fills in the length ranges that the model does not give and that the settings ask for.

    Args:
        fields: the model; `actuator_lengthrange` is changed.
        settings: attributes of `compiler/lengthrange`.
        elements: the actuators' elements, for errors.

    Raises:
        MjcfError: a simulation does not settle, or needs a feature that is not built.
    """
    wanted = [i for i in range(fields["nactuator"]) if _wanted(fields, settings, i)]
    wanted = [i for i in wanted if not _from_limits(fields, settings, i)]
    if not wanted:
        return
    lengths = _simulate(fields, settings, wanted, elements)
    for i, low, high in zip(wanted, lengths[0], lengths[1], strict=True):
        shortest, longest = low.min(), high.max()
        gap = longest - shortest
        if gap <= 0:
            raise elements[i].error("its length does not change; give lengthrange", attribute="lengthrange")
        if max(np.ptp(low), np.ptp(high)) > settings["tolrange"] * gap:
            raise elements[i].error(
                "the simulation of its length range does not settle; give lengthrange, or limit its joints",
                attribute="lengthrange",
            )
        fields["actuator_lengthrange"][fields["actuator_outadr"][i]] = (shortest, longest)


def _wanted(f: Fields, settings: Any, i: int) -> bool:
    muscle = f["actuator_gaintype"][i] == GainType.MUSCLE or f["actuator_biastype"][i] == BiasType.MUSCLE
    user = f["actuator_gaintype"][i] == GainType.USER or f["actuator_biastype"][i] == BiasType.USER
    chosen = {"none": False, "muscle": muscle, "muscleuser": muscle or user, "all": True}[settings["mode"]]
    low, high = f["actuator_lengthrange"][f["actuator_outadr"][i]]
    return chosen and not (settings["useexisting"] and low < high)


def _from_limits(f: Fields, settings: Any, i: int) -> bool:
    """Takes the limits of the joint or tendon, if the settings want that and there are any."""
    if not settings["uselimit"]:
        return False
    type, target = f["actuator_trntype"][i], f["actuator_trnid"][i, 0]
    kind = (
        "jnt"
        if type in (TrnType.JOINT, TrnType.JOINTINPARENT)
        else "tendon"
        if type == TrnType.TENDON
        else ""
    )
    if not kind or not f[f"{kind}_limited"][target]:
        return False
    f["actuator_lengthrange"][f["actuator_outadr"][i]] = f[f"{kind}_range"][target]
    return True


def _simulate(f: Fields, settings: Any, wanted: list[int], elements: list[Element]) -> list[np.ndarray]:
    """Returns the lengths (n, samples) over the last seconds, pulled to the short and to the long side."""
    step = settings["timestep"] if settings["timestep"] > 0 else float(f["opt"]["timestep"])
    decay = np.exp(-step / max(0.01, settings["timeconst"]))
    count, mechanism, routes = len(wanted), Mechanism(f), Routes.of(f)
    pull = _Pull(f, wanted)
    sign = np.repeat([-1.0, 1.0], count) * settings["accel"]
    qpos, qvel = np.tile(f["qpos0"], (2 * count, 1)), np.zeros((2 * count, f["nv"]))
    joint_armature, tendon_armature = actuator_armature(f)
    armature = f["dof_armature"] + joint_armature[f["dof_jntid"]]
    tendon_armature = tendon_armature + f["tendon_armature"]
    heavy, bound = np.flatnonzero(tendon_armature), constrained_tendons(f)
    place = np.zeros(f["ntendon"], int)
    place[bound] = np.arange(bound.size)
    refsafe = not int(f["opt"]["disableflags"]) & DisableBit.REFSAFE
    time, samples = 0.0, []
    while time < settings["inttotal"]:
        qvel = qvel * decay
        pose = kinematics(mechanism, qpos)
        motion = move(pose, armature, qvel)
        if heavy.size:
            jac = tendons(pose, routes, heavy)[1]
            motion.matrix = motion.matrix + jac.swapaxes(1, 2) @ (tendon_armature[heavy, None] * jac)
        length, moment = pull(pose, routes)
        reach = np.linalg.norm(np.linalg.solve(motion.matrix, moment[..., None])[..., 0], axis=1)
        force = moment * (sign / np.maximum(MINVAL, reach))[:, None]
        size = np.linalg.norm(force, axis=1)
        if settings["maxforce"] > 0:
            force *= np.minimum(1.0, settings["maxforce"] / np.maximum(MINVAL, size))[:, None]
        state = Moment(motion, qvel, *tendons(pose, routes, bound), place, step, refsafe)
        qvel = qvel + step * solve(motion.matrix, force - motion.bias, constraints(state))
        if not (np.abs(qvel) < _UNSTABLE).all():
            bad = int(np.flatnonzero(~(np.abs(qvel) < _UNSTABLE).all(1))[0]) % count
            raise elements[wanted[bad]].error(
                "the simulation of its length range is unstable; give lengthrange"
            )
        qpos = integrate(f, qpos, qvel, step)
        time += step
        if time > settings["inttotal"] - settings["interval"]:
            samples.append(length)
    table = np.array(samples).T
    return [table[:count], table[count:]]


class _Pull:
    """The actuators that are pulled: world n and world n + count belong to the n-th.

    Args:
        f: the model.
        wanted: (count,) their ids.
    """

    def __init__(self, f: Fields, wanted: list[int]) -> None:
        type, target = f["actuator_trntype"][wanted], f["actuator_trnid"][wanted, 0]
        along = type == TrnType.TENDON
        self.on_tendon = _both(np.flatnonzero(along), len(wanted))
        self.tendon = np.tile(target[along], 2)
        self.gear = np.tile(f["actuator_gear"][f["actuator_outadr"][np.array(wanted)[along]], 0], 2)
        self.others = [(_both(np.array([n]), len(wanted)), wanted[n]) for n in np.flatnonzero(~along)]

    def __call__(self, pose: Pose, routes: Routes) -> tuple[np.ndarray, np.ndarray]:
        """Returns length (W,) and moment arms (W, nv) of the actuator that each world pulls."""
        length, moment = np.zeros(len(pose.qpos)), np.zeros((len(pose.qpos), pose.mechanism.nv))
        worlds = self.on_tendon
        if worlds.size:
            lengths, jacobians = tendons(pose.take(worlds), routes, self.tendon[:, None])
            length[worlds] = self.gear * lengths[:, 0]
            moment[worlds] = self.gear[:, None] * jacobians[:, 0]
        for worlds, i in self.others:
            lengths, moments = transmission(pose.take(worlds), i)
            length[worlds], moment[worlds] = lengths[:, 0], moments[:, 0]
        return length, moment


def _both(numbers: np.ndarray, count: int) -> np.ndarray:
    """Returns the worlds of actuators: those pulled to the short side, then those to the long side."""
    return np.concatenate([numbers, numbers + count])
