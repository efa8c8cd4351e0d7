"""Positions and orientations of bodies, joints, geoms, sites, cameras and lights (computation chapter, kinematics).

Every joint, and every body without joints, is a node whose frame is known in that of the node before. World frames
follow by pointer jumping: each round composes every node with the ancestor it is expressed in, so the number of rounds
is the logarithm of the depth. GPUs and TPUs go from the root on instead, in one kernel. A body has the frame of its
last node.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import CamLightType, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import concat, split, take, take_blocks
from jaxsim.math.gather import width_of
from jaxsim.math.lanes import has_kernels
from jaxsim.math.one_kernel import LANE
from jaxsim.math.stage import platform, stage
from jaxsim.math.vector import cross, matmul, matvec, scale
from jaxsim.model import Model
from jaxsim.pipeline.frames_kernel import compose_in_kernel
from jaxsim.pytree import Static

__all__ = ["camlight", "kinematics"]


@stage
def _compose(parent: Array, child: Array) -> Array:
    """Frames given in their parents, in the frame of these; each (n, 7, W), position and orientation."""
    (pos, orientation), (child_pos, child_quat) = split(parent, _FRAME, -2), split(child, _FRAME, -2)
    return _frames(pos + quat.rotate(orientation, child_pos), quat.mul(orientation, child_quat))


_FRAME = (3, 4)
"""A frame's position and orientation, one after the other."""


def _frames(pos: Array, orientation: Array) -> Array:
    return concat([pos, orientation], axis=-2)


class _Plan(NamedTuple):
    """Index lists of the composition.

    Attributes:
      slides: the slides.
      hinges: the hinges.
      balls: the balls and free joints.
      joints: position of each joint in that order.
      free_bodies: bodies with free joints.
      bases: where the base of each body stands among model, mocap and free bases.
      first: the first joint of each body that has joints.
      local: where the local frame of each node stands among those of first joints, all joints, bases.
      jumps: for each round, the node that each node is composed with.
      node: the node whose frame is the body's.
      order: all joints and after them all bodies, in the order in which their frames follow from the root.
      above: which of them the frame of each is given in.
      own: where the nodes are among them.
    """

    slides: np.ndarray
    hinges: np.ndarray
    balls: np.ndarray
    joints: np.ndarray
    free_bodies: np.ndarray
    bases: np.ndarray
    first: np.ndarray
    local: np.ndarray
    jumps: tuple[np.ndarray, ...]
    node: np.ndarray
    order: np.ndarray
    above: np.ndarray
    own: np.ndarray


@functools.lru_cache(maxsize=64)
def _plan(static: Static) -> _Plan:
    """Which joints move which bodies, in the order in which frames are composed."""
    njnt, nbody = static.njnt, static.nbody
    slides, hinges, balls = (
        np.flatnonzero(np.isin(static.jnt_type, kinds))
        for kinds in ((JointType.SLIDE,), (JointType.HINGE,), (JointType.BALL, JointType.FREE))
    )
    joints = np.argsort(np.concatenate([slides, hinges, balls]))
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
    own = np.concatenate([np.arange(njnt), njnt + fixed])
    given = np.concatenate([np.arange(njnt) - 1, own[above]])
    given[first] = njnt + jointed
    # each body, then its joints
    order = np.argsort(np.concatenate([static.jnt_bodyid, np.arange(nbody) - 0.5]), kind="stable")
    return _Plan(
        slides, hinges, balls, joints, free, bases, first, local, tuple(jumps), node, order, given, own
    )


def kinematics(model: Model, data: Data) -> Data:
    """Computes the world frames of bodies, their inertias, joints, geoms and sites from `qpos`."""
    plan = _plan(model.static)
    base = _bases(model, data, plan)
    motion, anchor, axis = _joint_motions(model, data, plan)
    wide = width_of((motion, base)) > 1
    compose = _in_kernel if wide and has_kernels(base.dtype) else _by_jumps
    node = (_one_by_one if platform() == LANE else compose)(model.static, motion, base)
    fixed = [_fixed(model, kind, inertia) for kind, inertia in (("body", "i"), ("geom", ""), ("site", ""))]
    offset = concat([*(pos for pos, _ in fixed), anchor])
    turn = _matrices(concat([orientation for _, orientation in fixed]))
    names = ("xpos", "xquat", "xmat", "xaxis", *_POINTS, *_AXES)
    results = _attached(node, offset, turn, axis, static=model.static)
    return data.replace(**dict(zip(names, results, strict=True)))


def _by_jumps(static: Static, motion: Array, base: Array) -> Array:
    """World frames of the nodes by pointer jumping."""
    plan = _plan(static)
    first = _compose(take(base, static.jnt_bodyid[plan.first]), take(motion, plan.first))
    node = take(concat([first, motion, base]), plan.local)
    for pointer in plan.jumps:
        node = _compose(take(node, pointer), node)
    return node


def _one_by_one(static: Static, motion: Array, base: Array) -> Array:
    """The same from the root on, where each frame is an operation of its own anyway."""
    plan = _plan(static)
    frames = split(concat([motion, base]), (1,) * len(plan.order))
    for k in plan.order[1:].tolist():
        frames[k] = _compose(frames[plan.above[k]], frames[k])
    return take(concat(frames), plan.own)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _in_kernel(static: Static, motion: Array, base: Array) -> Array:
    """The same from the root on; its derivative is that of pointer jumping."""
    plan = _plan(static)
    return take(compose_in_kernel(plan.order, plan.above, concat([motion, base])), plan.own)


@_in_kernel.defjvp
def _in_kernel_jvp(static: Static, primals: Any, tangents: Any) -> tuple[Array, Array]:
    return jax.jvp(functools.partial(_by_jumps, static), primals, tangents)


_POINTS = ("xipos", "geom_xpos", "site_xpos", "xanchor")
_AXES = ("ximat", "geom_xmat", "site_xmat")


def _fixed(model: Model, kind: str, inertia: str) -> tuple[Array, Array]:
    """Positions and quaternions in the bodies of their frames of inertia, geoms or sites."""
    pos, orientation = (getattr(model, f"{kind}_{inertia}{part}") for part in ("pos", "quat"))
    if not model.has(f"{kind}_snap"):
        return pos, orientation
    shift = getattr(model, f"{kind}_snap")
    return pos + shift[:, :3], orientation + shift[:, 3:]


@stage
def _matrices(orientation: Array) -> Array:
    return quat.to_matrix(orientation)


@stage
def _attached(frames: Array, offset: Array, turn: Array, axis: Array, *, static: Static) -> tuple[Array, ...]:
    """Frames of bodies, joint axes, then points and axes of all that is fixed in bodies, in the world."""
    plan = _plan(static)
    pos, orientation = split(frames, _FRAME, -2)
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


def _bases(model: Model, data: Data, plan: _Plan) -> Array:
    """Frames of bodies in their parents before any joint: from the model, mocap, or a free joint's position.

    The world stays where it is, whatever the model says of its frame, as in the C engine.
    """
    pos = [jnp.zeros_like(model.body_pos[:1]), model.body_pos[1:]]
    orientation = [_identity(1, model.body_quat), model.body_quat[1:]]
    if model.nmocap:
        pos.append(data.mocap_pos)
        orientation.append(data.mocap_quat)
    if len(plan.free_bodies):
        adr = model.jnt_qposadr[model.body_jntadr[plan.free_bodies]]
        pos.append(take_blocks(data.qpos, adr, 3))
        orientation.append(_identity(len(adr), data.qpos))
    return take(_frames(concat(pos), quat.normalize(concat(orientation))), plan.bases)


def _identity(n: int, like: Array) -> Array:
    q = np.zeros((n, 4, 1))
    q[:, 0] = 1
    return jnp.asarray(q, like.dtype)


def _joint_motions(model: Model, data: Data, plan: _Plan) -> tuple[Array, Array, Array]:
    """What joints do, in the frame before each of them.

    Returns:
      The frame after each joint (njnt, 7, W); and in that frame the anchor and axis before the joint (njnt, 3, W).
    """
    if not model.njnt:
        return model.jnt_pos[:, :1].repeat(7, axis=1), model.jnt_pos, model.jnt_axis
    along, hinges = (_displacement(model, data, ids)[:, None] for ids in (plan.slides, plan.hinges))
    free = model.jnt_type[plan.balls] == JointType.FREE
    given = take_blocks(data.qpos, model.jnt_qposadr[plan.balls] + 3 * free, 4)
    order = np.concatenate([plan.slides, plan.hinges, plan.balls])
    anchor = take(model.jnt_pos, order)
    if free.any():  # which turn about the origin of their bodies, whatever the model says
        turns = np.isin(order, plan.balls[free], invert=True)[:, None, None]
        anchor = anchor * jnp.asarray(turns, anchor.dtype)
    parts = _motions(along, hinges, given, anchor, take(model.jnt_axis, order))
    motion, anchor, axis = (take(x, plan.joints) for x in parts)
    return motion, anchor, axis


def _displacement(model: Model, data: Data, ids: np.ndarray) -> Array:
    adr = model.jnt_qposadr[ids]
    return take(data.qpos, adr) - take(model.qpos0, adr)


@stage
def _motions(
    along: Array, angle: Array, given: Array, anchor: Array, axis: Array
) -> tuple[Array, Array, Array]:
    """Of slides, then hinges, then balls, from the position of each kind; see `_joint_motions`."""
    sizes = len(along), len(angle), len(given)
    slide_axis, hinge_axis, ball_axis = split(axis, sizes)
    slide_anchor, turning = split(anchor, (sizes[0], sizes[1] + sizes[2]))
    shift = scale(along, slide_axis)
    half = 0.5 * angle
    hinge = _frames(jnp.cos(half), scale(jnp.sin(half), hinge_axis))
    ball = quat.normalize(given)
    turn = concat([hinge, ball])
    pos = concat([shift, turning - quat.rotate(turn, turning)])
    return (
        _frames(pos, concat([_identity(sizes[0], shift), turn])),
        concat([slide_anchor - shift, turning]),
        concat([slide_axis, hinge_axis, quat.rotate_inverse(ball, ball_axis)]),
    )


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
    options = [
        fixed,
        take(data.xpos, body) + getattr(model, f"{kind}_pos0"),
        take(data.subtree_com, body) + getattr(model, f"{kind}_poscom0"),
    ]
    source = np.select([mode == CamLightType.TRACK, mode == CamLightType.TRACKCOM], [1, 2], 0)
    pos = _choose(source, options)
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
    """Computes cam_xpos and cam_xmat from the bodies they are fixed to, follow or look at."""
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
