"""Pulls actuators towards their shortest and longest lengths (MJCF reference, compiler/lengthrange).

Each actuator has two worlds, one for each direction. The force along its moment arms gives a constant acceleration;
limits and couplings act, while gravity, springs, damping, friction loss, contacts and actuators do not. The velocity
decays, so that the motion ends at an extreme length, which is measured over the last seconds.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from jaxsim.compile.constants.fixed import actuator_armature
from jaxsim.compile.constants.pose import kinematics
from jaxsim.compile.constants.transmission import transmission
from jaxsim.compile.constants.wrapping import wrap
from jaxsim.compile.lengthrange.limits import rows, solve
from jaxsim.compile.lengthrange.motion import Motion, integrate, move
from jaxsim.compile.vectors import cross_rows
from jaxsim.enums import BiasType, DisableBit, GainType, JointType, TrnType, WrapType
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Element

__all__ = ["set_length_ranges"]

Fields = dict[str, Any]

_UNSTABLE = 1e10
_GEOMS = (int(WrapType.SPHERE), int(WrapType.CYLINDER))
_ON_JOINTS = (int(TrnType.JOINT), int(TrnType.JOINTINPARENT))
_PULLEY = int(WrapType.PULLEY)


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
    count = len(wanted)
    sign = np.repeat([-1.0, 1.0], count) * settings["accel"]
    qpos, qvel = np.tile(f["qpos0"], (2 * count, 1)), np.zeros((2 * count, f["nv"]))
    moves = _moves(f)
    joint_armature, tendon_armature = actuator_armature(f)
    armature = f["dof_armature"] + joint_armature[f["dof_jntid"]]
    tendon_armature = tendon_armature + f["tendon_armature"]
    time, samples = 0.0, []
    while time < settings["inttotal"]:
        qvel = qvel * decay
        motion = move(f, moves, armature, qpos, qvel)
        cache: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def tendon(k: int, motion: Motion = motion, qpos: np.ndarray = qpos, cache: Any = cache) -> Any:
            if k not in cache:
                cache[k] = _tendon(motion, qpos, k, np.arange(2 * count))
            return cache[k]

        for k in np.flatnonzero(tendon_armature):
            jac = tendon(int(k))[1]
            motion.matrix = motion.matrix + tendon_armature[k] * jac[:, :, None] * jac[:, None, :]
        length, moment = _actuators(motion, qpos, wanted)
        reach = np.linalg.norm(np.linalg.solve(motion.matrix, moment[..., None])[..., 0], axis=1)
        force = moment * (sign / np.maximum(MINVAL, reach))[:, None]
        size = np.linalg.norm(force, axis=1)
        if settings["maxforce"] > 0:
            force *= np.minimum(1.0, settings["maxforce"] / np.maximum(MINVAL, size))[:, None]
        constraint = rows(
            motion, int(f["opt"]["disableflags"]) & DisableBit.REFSAFE, step, qpos, qvel, tendon
        )
        qvel = qvel + step * solve(motion.matrix, force - motion.bias, constraint)
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


def _moves(f: Fields) -> np.ndarray:
    result = np.zeros((f["nbody"], f["nv"]), bool)
    for body in range(1, f["nbody"]):
        result[body] = result[f["body_parentid"][body]]
        first = f["body_dofadr"][body]
        result[body, first : first + f["body_dofnum"][body]] = True
    return result


def _actuators(motion: Motion, qpos: np.ndarray, wanted: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Returns length (W,) and moment arms (W, nv) of the actuator that each world pulls."""
    f, count = motion.fields, len(wanted)
    length, moment = np.zeros(2 * count), np.zeros((2 * count, f["nv"]))
    for n, i in enumerate(wanted):
        both = np.array([n, n + count])
        gear, target = f["actuator_gear"][f["actuator_outadr"][i], 0], f["actuator_trnid"][i, 0]
        type = f["actuator_trntype"][i]
        if type == TrnType.TENDON:
            along, jac = _tendon(motion, qpos, int(target), both)
            length[both], moment[both] = gear * along, gear * jac
        elif type in _ON_JOINTS and f["jnt_type"][target] >= JointType.SLIDE:
            length[both] = gear * qpos[both, f["jnt_qposadr"][target]]
            moment[both, f["jnt_dofadr"][target]] = gear
        else:
            out = f["actuator_outadr"][i]
            for world in both:
                lengths, moments = np.zeros(f["nout"]), np.zeros((f["nout"], f["nv"]))
                transmission(kinematics(f, qpos[world]), i, lengths, moments)
                length[world], moment[world] = lengths[out], moments[out]
    return length, moment


def _tendon(motion: Motion, qpos: np.ndarray, k: int, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns length (n,) and Jacobian (n, nv) of a tendon in some worlds."""
    f = motion.fields
    first, count = f["tendon_adr"][k], f["tendon_num"][k]
    types, ids, prm = f["wrap_type"], f["wrap_objid"], f["wrap_prm"]
    length, jacobian = np.zeros(worlds.size), np.zeros((worlds.size, f["nv"]))
    if types[first] == int(WrapType.JOINT):
        for w in range(first, first + count):
            length += prm[w] * qpos[worlds, f["jnt_qposadr"][ids[w]]]
            jacobian[:, f["jnt_dofadr"][ids[w]]] += prm[w]
        return length, jacobian
    divisor, w = 1.0, first
    while w < first + count - 1:
        if _PULLEY in (types[w], types[w + 1]):
            divisor = prm[w] if types[w] == _PULLEY else divisor
            w += 1
            continue
        step = 2 if types[w + 1] in _GEOMS else 1
        for n, world in enumerate(worlds):
            length[n] += _segment(motion, int(world), w, step, jacobian[n], divisor)
        w += step
    return length, jacobian


def _segment(motion: Motion, world: int, w: int, step: int, jacobian: np.ndarray, divisor: float) -> float:
    """Adds the part of a path between two sites; returns its length."""
    f = motion.fields
    ids, start, stop = f["wrap_objid"], f["wrap_objid"][w], f["wrap_objid"][w + step]
    points = [_site(motion, world, start), _site(motion, world, stop)]
    bodies = [f["site_bodyid"][start], f["site_bodyid"][stop]]
    length = 0.0
    if step == 2:
        geom, side = ids[w + 1], round(float(f["wrap_prm"][w + 1]))
        body = f["geom_bodyid"][geom]
        center = motion.xpos[world, body] + motion.xmat[world, body] @ f["geom_pos"][geom]
        axes = motion.xmat[world, body] @ _geom_axes(f, int(geom))
        aside = _site(motion, world, side) if side >= 0 else None
        found = wrap(
            points[0], points[1], center, axes, float(f["geom_size"][geom, 0]), f["wrap_type"][w + 1], aside
        )
        if found is not None:
            length, points[1:1], bodies[1:1] = found[0], found[1:], [body, body]
    for i in range(len(points) - 1):
        if len(points) == 4 and i == 1:
            continue
        difference = points[i + 1] - points[i]
        norm = sqrt(difference @ difference)
        length += norm
        if bodies[i] != bodies[i + 1]:
            direction = difference / norm if norm > MINVAL else np.eye(3)[0]
            for sign, point, body in ((-1, points[i], bodies[i]), (1, points[i + 1], bodies[i + 1])):
                wrench = np.concatenate([cross_rows(point, direction), direction])
                jacobian += sign / divisor * (motion.axes[world] @ wrench) * motion.moves[body]
    return length / divisor


def _site(motion: Motion, world: int, site: int) -> np.ndarray:
    body = motion.fields["site_bodyid"][site]
    return motion.xpos[world, body] + motion.xmat[world, body] @ motion.fields["site_pos"][site]


def _geom_axes(f: Fields, geom: int) -> np.ndarray:
    w, x, y, z = f["geom_quat"][geom]
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
