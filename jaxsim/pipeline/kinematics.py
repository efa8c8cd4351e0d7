"""Positions and orientations of bodies, joints, geoms, sites, cameras and lights (computation chapter, kinematics).

Every joint, and every body without joints, is a node whose frame is known in that of the node before. World frames
follow by pointer jumping: each round composes every node with the ancestor it is expressed in, so the number of rounds
is the logarithm of the depth. A body has the frame of its last node.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import CamLightType, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.rows import concat, split, take
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, matmul, matvec, scale
from jaxsim.model import Model
from jaxsim.pytree import Static

__all__ = ["camlight", "kinematics"]


class Frames(NamedTuple):
    """Positions (n, 3, W) and orientations (n, 4, W)."""

    pos: Array
    quat: Array

    def take(self, index: np.ndarray) -> Frames:
        return Frames(take(self.pos, index), take(self.quat, index))

    def then(self, child: Frames) -> Frames:
        """Frames given in these frames, in the frame of these."""
        return Frames(*_compose(*self, *child))


@stage
def _compose(pos: Array, orientation: Array, child_pos: Array, child_quat: Array) -> tuple[Array, Array]:
    return pos + quat.rotate(orientation, child_pos), quat.mul(orientation, child_quat)


class _Plan(NamedTuple):
    """Index lists of the composition.

    Attributes:
      kinds: joints by type.
      joints: position of each joint in that order.
      free_bodies: bodies with free joints.
      bases: where the base of each body stands among model, mocap and free bases.
      first: the first joint of each body that has joints.
      local: where the local frame of each node stands among those of first joints, all joints, bases.
      jumps: for each round, the node that each node is composed with.
      node: the node whose frame is the body's.
    """

    kinds: tuple[tuple[JointType, np.ndarray], ...]
    joints: np.ndarray
    free_bodies: np.ndarray
    bases: np.ndarray
    first: np.ndarray
    local: np.ndarray
    jumps: tuple[np.ndarray, ...]
    node: np.ndarray


@functools.lru_cache(maxsize=64)
def _plan(static: Static) -> _Plan:
    njnt, nbody = static.njnt, static.nbody
    kinds = []
    for kind in sorted(JointType, key=lambda k: int(np.argmax(static.jnt_type == k)) if njnt else 0):
        ids = np.flatnonzero(static.jnt_type == kind)
        if len(ids):
            kinds.append((kind, ids))
    joints = np.argsort(np.concatenate([ids for _, ids in kinds])) if kinds else np.zeros(0, int)
    free = static.jnt_bodyid[static.jnt_type == JointType.FREE]
    mocap = np.flatnonzero(static.body_mocapid >= 0)
    bases = np.arange(nbody)
    bases[mocap] = nbody + static.body_mocapid[mocap]
    bases[free] = nbody + static.nmocap + np.arange(len(free))

    jointed = np.flatnonzero(static.body_jntnum > 0)
    fixed = np.flatnonzero(static.body_jntnum == 0)
    first = static.body_jntadr[jointed]
    node = np.zeros(nbody, int)
    node[jointed] = first + static.body_jntnum[jointed] - 1
    node[fixed] = njnt + np.arange(len(fixed))
    above = node[static.body_parentid]
    pointer = np.concatenate([np.arange(njnt) - 1, above[fixed]])
    pointer[first] = above[jointed]
    local = len(first) + np.arange(njnt)
    local[first] = np.arange(len(first))
    local = np.concatenate([local, len(first) + njnt + fixed])

    jumps = []
    while (pointer != node[0]).any():
        jumps.append(pointer)
        pointer = pointer[pointer]
    return _Plan(tuple(kinds), joints, free, bases, first, local, tuple(jumps), node)


def kinematics(model: Model, data: Data) -> Data:
    """Computes the world frames of bodies, their inertias, joints, geoms and sites from `qpos`."""
    plan = _plan(model.static)
    base = _bases(model, data, plan)
    moves = _joint_motions(model, data, plan)
    motion = moves.frames
    parts = [base.take(model.jnt_bodyid[plan.first]).then(motion.take(plan.first)), motion, base]
    local = Frames(concat([f.pos for f in parts]), concat([f.quat for f in parts]))
    node = local.take(plan.local)
    for pointer in plan.jumps:
        node = node.take(pointer).then(node)
    offset = concat([model.body_ipos, model.geom_pos, model.site_pos, moves.anchor])
    turn = _matrices(concat([model.body_iquat, model.geom_quat, model.site_quat]))
    names = ("xpos", "xquat", "xmat", "xaxis", *_POINTS, *_AXES)
    results = _attached(*node, offset, turn, moves.axis, static=model.static)
    return data.replace(**dict(zip(names, results, strict=True)))


_POINTS = ("xipos", "geom_xpos", "site_xpos", "xanchor")
_AXES = ("ximat", "geom_xmat", "site_xmat")


@stage
def _matrices(orientation: Array) -> Array:
    return quat.to_matrix(orientation)


@stage
def _attached(
    pos: Array, orientation: Array, offset: Array, turn: Array, axis: Array, *, static: Static
) -> tuple[Array, ...]:
    """Frames of bodies, joint axes, then points and axes of all that is fixed in bodies, in the world."""
    plan = _plan(static)
    mat = _matrices(orientation)
    owner = plan.node[np.concatenate([np.arange(static.nbody), static.geom_bodyid, static.site_bodyid])]
    axes = matmul(take(mat, owner), turn)
    owner = np.concatenate([owner, np.arange(static.njnt)])
    points = take(pos, owner) + matvec(take(mat, owner), offset)
    sizes = (static.nbody, static.ngeom, static.nsite)
    return (
        take(pos, plan.node),
        take(orientation, plan.node),
        take(mat, plan.node),
        matvec(take(mat, np.arange(static.njnt)), axis),
        *split(points, (*sizes, static.njnt)),
        *split(axes, sizes),
    )


def _bases(model: Model, data: Data, plan: _Plan) -> Frames:
    """Frames of bodies in their parents before any joint: from the model, mocap, or a free joint's position."""
    pos, orientation = [model.body_pos], [quat.normalize(model.body_quat)]
    if model.nmocap:
        pos.append(data.mocap_pos)
        orientation.append(quat.normalize(data.mocap_quat))
    if len(plan.free_bodies):
        adr = model.jnt_qposadr[model.body_jntadr[plan.free_bodies]]
        pos.append(_gather_blocks(data.qpos, adr, 3))
        orientation.append(_identity(len(adr), data.qpos))
    return Frames(concat(pos), concat(orientation)).take(plan.bases)


def _identity(n: int, like: Array) -> Array:
    q = np.zeros((n, 4, 1))
    q[:, 0] = 1
    return jnp.asarray(q, like.dtype)


def _gather_blocks(x: Array, start: np.ndarray, size: int) -> Array:
    """Consecutive rows of x (n, W) as (len(start), size, W)."""
    index = np.asarray(start)[:, None] + np.arange(size)
    return take(x, index.reshape(-1)).reshape(len(start), size, x.shape[-1])


class _Motions(NamedTuple):
    """What joints do, in the frame before each of them.

    Attributes:
      frames: the frame after the joint.
      anchor: the anchor before the joint, in the frame after it (n, 3, W).
      axis: the axis before the joint, in the frame after it (n, 3, W).
    """

    frames: Frames
    anchor: Array
    axis: Array


def _joint_motions(model: Model, data: Data, plan: _Plan) -> _Motions:
    """The motions by the joints, in the order of joints."""
    if not model.njnt:
        return _Motions(Frames(model.jnt_pos, model.body_quat[:0]), model.jnt_pos, model.jnt_axis)
    parts = [_MOTIONS[kind](model, data, ids) for kind, ids in plan.kinds]
    pos, orientation, anchor, axis = (
        take(concat(rows), plan.joints)
        for rows in zip(*((*p.frames, p.anchor, p.axis) for p in parts), strict=True)
    )
    return _Motions(Frames(pos, orientation), anchor, axis)


def _displacement(model: Model, data: Data, ids: np.ndarray) -> Array:
    adr = model.jnt_qposadr[ids]
    return take(data.qpos, adr) - take(model.qpos0, adr)


def _slide(model: Model, data: Data, ids: np.ndarray) -> _Motions:
    axis, anchor = take(model.jnt_axis, ids), take(model.jnt_pos, ids)
    shift = scale(_displacement(model, data, ids)[:, None], axis)
    return _Motions(Frames(shift, _identity(len(ids), shift)), anchor - shift, axis)


def _hinge(model: Model, data: Data, ids: np.ndarray) -> _Motions:
    """The anchor stays: p' = p - R p = -(sin(a) k x p + (1 - cos(a)) k x (k x p)), after Rodrigues."""
    axis, anchor = take(model.jnt_axis, ids), take(model.jnt_pos, ids)
    shift, turn = _turn(0.5 * _displacement(model, data, ids)[:, None], axis, *_moments(axis, anchor))
    return _Motions(Frames(shift, turn), anchor, axis)


@stage
def _moments(axis: Array, anchor: Array) -> tuple[Array, Array]:
    once = cross(axis, anchor)
    return once, cross(axis, once)


@stage
def _turn(half: Array, axis: Array, once: Array, twice: Array) -> tuple[Array, Array]:
    sine, cosine = jnp.sin(half), jnp.cos(half)
    shift = scale(-2 * sine, scale(cosine, once) + scale(sine, twice))
    return shift, concat([cosine, scale(sine, axis)], axis=1)


def _ball(model: Model, data: Data, ids: np.ndarray) -> _Motions:
    return _rotation(model, data, ids, model.jnt_qposadr[ids])


def _free(model: Model, data: Data, ids: np.ndarray) -> _Motions:
    return _rotation(model, data, ids, model.jnt_qposadr[ids] + 3)


def _rotation(model: Model, data: Data, ids: np.ndarray, adr: np.ndarray) -> _Motions:
    anchor = take(model.jnt_pos, ids)
    shift, q, axis = _turn_by(_gather_blocks(data.qpos, adr, 4), take(model.jnt_axis, ids), anchor)
    return _Motions(Frames(shift, q), anchor, axis)


@stage
def _turn_by(q: Array, axis: Array, anchor: Array) -> tuple[Array, Array, Array]:
    q = quat.normalize(q)
    return anchor - quat.rotate(q, anchor), q, quat.rotate_inverse(q, axis)


_MOTIONS = {JointType.FREE: _free, JointType.BALL: _ball, JointType.SLIDE: _slide, JointType.HINGE: _hinge}


def camlight(model: Model, data: Data) -> Data:
    """Computes the world frames of cameras and lights, by their modes."""
    if model.ncam:
        data = _cameras(model, data)
    return _lights(model, data) if model.nlight else data


def _followed(model: Model, data: Data, kind: str) -> tuple[Array, Array]:
    """Positions of cameras or lights, and of what those of the target modes look at."""
    mode, body = getattr(model, f"{kind}_mode"), getattr(model, f"{kind}_bodyid")
    target = getattr(model, f"{kind}_targetbodyid")
    fixed = take(data.xpos, body) + matvec(take(data.xmat, body), getattr(model, f"{kind}_pos"))
    parts = [
        fixed,
        take(data.xpos, body) + getattr(model, f"{kind}_pos0"),
        take(data.subtree_com, body) + getattr(model, f"{kind}_poscom0"),
    ]
    source = np.select([mode == CamLightType.TRACK, mode == CamLightType.TRACKCOM], [1, 2], 0)
    n = len(mode)
    pos = take(concat(parts), source * n + np.arange(n))
    watched = take(
        concat([data.xpos, data.subtree_com]),
        np.maximum(target, 0) + np.where(mode == CamLightType.TARGETBODYCOM, model.nbody, 0),
    )
    return pos, watched


def _modes(model: Model, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Which cameras or lights keep their direction in the world, and which look at a body."""
    mode, target = getattr(model, f"{kind}_mode"), getattr(model, f"{kind}_targetbodyid")
    tracks = np.isin(mode, (CamLightType.TRACK, CamLightType.TRACKCOM))
    aims = np.isin(mode, (CamLightType.TARGETBODY, CamLightType.TARGETBODYCOM)) & (target >= 0)
    return tracks, aims


def _choose(static_choice: np.ndarray, options: list[Array]) -> Array:
    """Row i of the result is row i of `options[static_choice[i]]`."""
    n = len(static_choice)
    return take(concat(options), static_choice * n + np.arange(n))


def _cameras(model: Model, data: Data) -> Data:
    pos, watched = _followed(model, data, "cam")
    mat = matmul(take(data.xmat, model.cam_bodyid), quat.to_matrix(model.cam_quat))
    tracks, aims = _modes(model, "cam")
    options = [mat, model.cam_mat0]
    if aims.any():
        z, _ = safe.normalize(pos - watched)
        up = jnp.asarray(np.array([0.0, 0.0, 1.0])[None, :, None], z.dtype)
        x, _ = safe.normalize(cross(up, z))
        y, _ = safe.normalize(cross(z, x))
        options.append(jnp.stack([x, y, z], axis=2))
    mat = _choose(np.select([tracks, aims], [1, 2], 0), options)
    return data.replace(cam_xpos=pos, cam_xmat=mat)


def _lights(model: Model, data: Data) -> Data:
    pos, watched = _followed(model, data, "light")
    direction = quat.rotate(take(data.xquat, model.light_bodyid), model.light_dir)
    tracks, aims = _modes(model, "light")
    options = [direction, model.light_dir0]
    if aims.any():
        options.append(watched - pos)
    direction, _ = safe.normalize(_choose(np.select([tracks, aims], [1, 2], 0), options))
    return data.replace(light_xpos=pos, light_xdir=direction)
