"""Constants that do not depend on the configuration: subtree masses, added armature, sleep policies."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.kinematics import Fields
from jaxsim.enums import JointType, TrnType, WrapType

__all__ = ["SleepError", "actuator_armature", "set_fixed", "tendon_bodies"]


class SleepError(ValueError):
    """A tree is meant to sleep, but a tendon keeps it awake.

    Attributes:
        tendon: the tendon's id.
    """

    def __init__(self, tendon: int) -> None:
        super().__init__("a tree that it connects is meant to sleep, but this tendon keeps it awake")
        self.tendon = tendon


_AUTO, _AUTO_NEVER, _AUTO_ALLOWED = 0, 1, 2
_MAY_SLEEP = (4, 5)
_JOINTS = (TrnType.JOINT, TrnType.JOINTINPARENT)
_SEVERAL = -2
_ALONG = 1e-14
"""Components of an axis above this count."""
_SAME = 1e-6
"""Frames whose origins, m, and quaternions differ by less than this are the same."""


def set_fixed(fields: Fields) -> None:
    """Adds the fields that follow from masses, topology and actuators alone.

    Raises:
        SleepError: a tree is meant to sleep but cannot.
    """
    mass, parent = fields["body_mass"].copy(), fields["body_parentid"]
    for body in range(fields["nbody"] - 1, 0, -1):
        mass[parent[body]] += mass[body]
    fields["body_subtreemass"] = mass
    _simple(fields)
    _assign_actuators(fields)
    _sleep(fields)


def _assign_actuators(fields: Fields) -> None:
    """Finds the actuator that adds damping or armature to each joint and tendon; -2: several."""
    joints, tendons = np.full(fields["njnt"], -1, np.int32), np.full(fields["ntendon"], -1, np.int32)
    for i in range(fields["nactuator"]):
        if not (
            fields["actuator_damping"][i]
            or fields["actuator_dampingpoly"][i].any()
            or fields["actuator_armature"][i]
        ):
            continue
        type, target = fields["actuator_trntype"][i], fields["actuator_trnid"][i, 0]
        into = joints if type in _JOINTS else tendons if type == TrnType.TENDON else None
        if into is not None:
            into[target] = i if into[target] == -1 else _SEVERAL
    fields["jnt_actuatorid"], fields["tendon_actuatorid"] = joints, tendons


def actuator_armature(fields: Fields) -> tuple[np.ndarray, np.ndarray]:
    """Returns the armature that actuators add to joints (njnt,) and tendons (ntendon,)."""
    joints, tendons = np.zeros(fields["njnt"]), np.zeros(fields["ntendon"])
    for i in range(fields["nactuator"]):
        armature = fields["actuator_armature"][i]
        if armature:
            gear = fields["actuator_gear"][fields["actuator_outadr"][i], 0]
            type, target = fields["actuator_trntype"][i], fields["actuator_trnid"][i, 0]
            if type in _JOINTS:
                joints[target] += armature * gear**2
            elif type == TrnType.TENDON:
                tendons[target] += armature * gear**2
    return joints, tendons


def _simple(fields: Fields) -> None:
    """Finds the bodies whose part of M is diagonal (1), and those of them that only slide (2).

    The inverse inertia of the latter is that of a point mass. A body that the model excludes comes with 0.
    """
    nbody, parent = fields["nbody"], fields["body_parentid"]
    aligned = (np.abs(fields["body_ipos"]) < _SAME).all(1) & _is_identity(fields["body_iquat"])
    at_root = (fields["body_rootid"] == np.arange(nbody)) | (
        (parent[parent] == 0) & (fields["body_dofnum"][parent] == 0)
    )
    simple = aligned & at_root & (fields["body_simple"] != 0)
    simple[parent[parent > 0]] = False
    slides = fields["jnt_type"] == JointType.SLIDE
    along = (np.abs(fields["jnt_axis"]) > _ALONG).sum(1) == 1
    central = (np.abs(fields["jnt_pos"]) < _SAME).all(1)
    of = fields["jnt_bodyid"]
    for j, type in enumerate(fields["jnt_type"]):
        turns_before = (of[:j] == of[j]) & ~slides[:j]
        straight = type in (JointType.FREE, JointType.BALL) or along[j]
        if turns_before.any() or not straight or not (central[j] or type == JointType.FREE):
            simple[of[j]] = False
    for k in np.flatnonzero(fields["tendon_armature"]):
        simple[tendon_bodies(fields, int(k), joints=False)] = False
    only_slides = fields["body_dofnum"] > 0
    only_slides[of[~slides]] = False
    fields["body_simple"] = (simple * (1 + only_slides)).astype(np.uint8)


def _is_identity(quats: np.ndarray) -> np.ndarray:
    return np.abs(np.abs(quats) - (1.0, 0.0, 0.0, 0.0)).max(1, initial=0.0) < _SAME


def tendon_bodies(fields: Fields, tendon: int, joints: bool = True) -> list[int]:
    """Returns the bodies of the objects on a tendon's path."""
    first, count = fields["tendon_adr"][tendon], fields["tendon_num"][tendon]
    bodies = []
    for w in range(first, first + count):
        type, index = fields["wrap_type"][w], fields["wrap_objid"][w]
        if type == WrapType.JOINT and joints:
            bodies.append(int(fields["jnt_bodyid"][index]))
        elif type == WrapType.SITE:
            bodies.append(int(fields["site_bodyid"][index]))
        elif type in (WrapType.SPHERE, WrapType.CYLINDER):
            bodies.append(int(fields["geom_bodyid"][index]))
    return bodies


def _sleep(fields: Fields) -> None:
    """Decides which trees may sleep where the model leaves it open: none that an actuator or tendon can move."""
    policy, treeid = fields["tree_sleep_policy"].copy(), fields["body_treeid"]

    def never(bodies: list[int]) -> None:
        for body in bodies:
            if treeid[body] >= 0 and policy[treeid[body]] == _AUTO:
                policy[treeid[body]] = _AUTO_NEVER

    for i in range(fields["nactuator"]):
        type, (first, second) = fields["actuator_trntype"][i], fields["actuator_trnid"][i].tolist()
        if type in _JOINTS or (type == TrnType.SO3 and second < 0):
            never([int(fields["jnt_bodyid"][first])])
        elif type in (TrnType.SITE, TrnType.SLIDERCRANK, TrnType.SO3):
            never([int(fields["site_bodyid"][site]) for site in (first, second) if site >= 0])
        elif type == TrnType.BODY:
            never([first])
        elif type == TrnType.TENDON:
            never(tendon_bodies(fields, first))
    for k in range(fields["ntendon"]):
        bodies = tendon_bodies(fields, k)
        trees = {int(treeid[body]) for body in bodies} - {-1}
        force = any(
            np.any(fields[f"tendon_{name}"][k])
            for name in ("stiffness", "stiffnesspoly", "damping", "dampingpoly")
        )
        if len(trees) > 2 or (len(trees) == 2 and (force or fields["tendon_actuatorid"][k] != -1)):
            if any(policy[tree] in _MAY_SLEEP for tree in trees):
                raise SleepError(k)
            never(bodies)
    policy[policy == _AUTO] = _AUTO_ALLOWED
    fields["tree_sleep_policy"] = policy
