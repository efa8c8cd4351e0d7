"""Positions and orientations of bodies, joints, geoms, sites, cameras and lights (computation chapter, kinematics).

The transform of a body in its parent is its fixed offset followed by its joints, composed in rounds over all bodies at
once. World transforms follow by pointer jumping: each round composes every body with the ancestor it is expressed in,
so the number of rounds is the logarithm of the depth.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.enums import CamLightType, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.rows import concat, take
from jaxsim.math.spatial import cross, matmul, matvec
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
        pos = self.pos + quat.rotate(self.quat, child.pos)
        return Frames(*lax.optimization_barrier((pos, quat.mul(self.quat, child.quat))))


class _Plan(NamedTuple):
    """Index lists of the composition."""

    kinds: tuple[tuple[JointType, np.ndarray], ...]
    joints: np.ndarray
    free_bodies: np.ndarray
    mocap_bodies: np.ndarray
    bases: np.ndarray
    rounds: tuple[tuple[np.ndarray, np.ndarray], ...]
    last: np.ndarray
    before: np.ndarray
    jumps: tuple[np.ndarray, ...]


@functools.lru_cache(maxsize=64)
def _plan(static: Static) -> _Plan:
    njnt, nbody = static.njnt, static.nbody
    kinds = []
    for kind in sorted(JointType, key=lambda k: int(np.argmax(static.jnt_type == k)) if njnt else 0):
        ids = np.flatnonzero(static.jnt_type == kind)
        if len(ids):
            kinds.append((kind, ids))
    joints = np.argsort(np.concatenate([ids for _, ids in kinds])) if kinds else np.zeros(0, int)
    free = np.array([static.jnt_bodyid[j] for j in range(njnt) if static.jnt_type[j] == JointType.FREE], int)
    mocap = np.flatnonzero(static.body_mocapid >= 0)
    bases = np.arange(nbody)
    bases[mocap] = nbody + static.body_mocapid[mocap]
    bases[free] = nbody + static.nmocap + np.arange(len(free))

    last = np.arange(nbody)
    before = np.zeros(njnt, int)
    bodies, offset, rounds = np.arange(nbody), 0, []
    for r in range(int(static.body_jntnum.max(initial=0))):
        keep = np.flatnonzero(static.body_jntnum[bodies] > r)
        ids = static.body_jntadr[bodies[keep]] + r
        before[ids] = offset + keep
        offset, bodies = offset + len(bodies), bodies[keep]
        last[bodies] = offset + np.arange(len(bodies))
        rounds.append((keep, ids))

    jumps, pointer = [], static.body_parentid.copy()
    while pointer.any():
        jumps.append(pointer)
        pointer = pointer[pointer]
    return _Plan(tuple(kinds), joints, free, mocap, bases, tuple(rounds), last, before, tuple(jumps))


def kinematics(model: Model, data: Data) -> Data:
    """Computes the world frames of bodies, their inertias, joints, geoms and sites from `qpos`."""
    plan = _plan(model.static)
    base = _bases(model, data, plan)
    motion = _joint_motions(model, data, plan)
    stages = [base]
    for keep, ids in plan.rounds:
        stages.append(stages[-1].take(keep).then(motion.take(ids)))
    every = Frames(concat([f.pos for f in stages]), concat([f.quat for f in stages]))
    local = every.take(plan.last)
    body = Frames(local.pos, quat.normalize(local.quat))
    for pointer in plan.jumps:
        body = body.take(pointer).then(body)
    xmat = lax.optimization_barrier(quat.to_matrix(body.quat))

    xanchor, xaxis = model.jnt_pos, model.jnt_axis
    if model.njnt:
        start = every.take(plan.before)
        anchor = start.pos + quat.rotate(start.quat, model.jnt_pos)
        axis = quat.rotate(start.quat, model.jnt_axis)
        parent = model.body_parentid[model.jnt_bodyid]
        rotation = take(xmat, parent)
        xanchor = take(body.pos, parent) + matvec(rotation, anchor)
        xaxis = matvec(rotation, axis)

    owner = np.concatenate([np.arange(model.nbody), model.geom_bodyid, model.site_bodyid])
    pos = concat([model.body_ipos, model.geom_pos, model.site_pos])
    mat = quat.to_matrix(concat([model.body_iquat, model.geom_quat, model.site_quat]))
    rotation = take(xmat, owner)
    pos = take(body.pos, owner) + matvec(rotation, pos)
    mat = matmul(rotation, mat)
    nb, ng, ns = model.nbody, model.ngeom, model.nsite
    cuts = ((0, nb), (nb, nb + ng), (nb + ng, nb + ng + ns))
    xipos, geom_xpos, site_xpos = (lax.slice_in_dim(pos, *c) for c in cuts)
    ximat, geom_xmat, site_xmat = (lax.slice_in_dim(mat, *c) for c in cuts)
    results = {
        "xpos": body.pos,
        "xquat": body.quat,
        "xmat": xmat,
        "xanchor": xanchor,
        "xaxis": xaxis,
        "xipos": xipos,
        "ximat": ximat,
        "geom_xpos": geom_xpos,
        "geom_xmat": geom_xmat,
        "site_xpos": site_xpos,
        "site_xmat": site_xmat,
    }
    return data.replace(**lax.optimization_barrier(results))


def _bases(model: Model, data: Data, plan: _Plan) -> Frames:
    """Frames of bodies in their parents before any joint: from the model, mocap, or a free joint's position."""
    pos, orientation = [model.body_pos], [model.body_quat]
    if model.nmocap:
        pos.append(data.mocap_pos)
        orientation.append(quat.normalize(data.mocap_quat))
    if len(plan.free_bodies):
        adr = model.jnt_qposadr[model.body_jntadr[plan.free_bodies]]
        pos.append(_gather_blocks(data.qpos, adr, 3))
        identity = np.zeros((len(adr), 4, 1))
        identity[:, 0] = 1
        orientation.append(jnp.asarray(identity, data.qpos.dtype))
    return Frames(concat(pos), concat(orientation)).take(plan.bases)


def _gather_blocks(x: Array, start: np.ndarray, size: int) -> Array:
    """Consecutive rows of x (n, W) as (len(start), size, W)."""
    index = np.asarray(start)[:, None] + np.arange(size)
    return take(x, index.reshape(-1)).reshape(len(start), size, x.shape[-1])


def _joint_motions(model: Model, data: Data, plan: _Plan) -> Frames:
    """Transforms by the joints, in the frame of the body before each, in the order of joints."""
    if not model.njnt:
        return Frames(model.jnt_pos, model.body_quat[:0])
    parts = [_MOTIONS[kind](model, data, ids) for kind, ids in plan.kinds]
    return Frames(concat([p.pos for p in parts]), concat([p.quat for p in parts])).take(plan.joints)


def _displacement(model: Model, data: Data, ids: np.ndarray) -> Array:
    adr = model.jnt_qposadr[ids]
    return take(data.qpos, adr) - take(model.qpos0, adr)


def _slide(model: Model, data: Data, ids: np.ndarray) -> Frames:
    x = _displacement(model, data, ids)
    identity = np.zeros((len(ids), 4, 1))
    identity[:, 0] = 1
    return Frames(take(model.jnt_axis, ids) * x[:, None], jnp.asarray(identity, x.dtype))


def _hinge(model: Model, data: Data, ids: np.ndarray) -> Frames:
    """The anchor stays: p' = p - R p = -(sin(a) k x p + (1 - cos(a)) k x (k x p)), after Rodrigues."""
    half = 0.5 * _displacement(model, data, ids)[:, None]
    axis, anchor = take(model.jnt_axis, ids), take(model.jnt_pos, ids)
    sine, cosine = lax.optimization_barrier((jnp.sin(half), jnp.cos(half)))
    once = cross(axis, anchor)
    shift = -2 * sine * (cosine * once + sine * cross(axis, once))
    return Frames(shift, concat([cosine, axis * sine], axis=1))


def _ball(model: Model, data: Data, ids: np.ndarray) -> Frames:
    return _rotation(model, data, ids, model.jnt_qposadr[ids])


def _free(model: Model, data: Data, ids: np.ndarray) -> Frames:
    return _rotation(model, data, ids, model.jnt_qposadr[ids] + 3)


def _rotation(model: Model, data: Data, ids: np.ndarray, adr: np.ndarray) -> Frames:
    q = quat.normalize(_gather_blocks(data.qpos, adr, 4))
    anchor = take(model.jnt_pos, ids)
    return Frames(anchor - quat.rotate(q, anchor), q)


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
