"""Connect and weld constraints of many worlds at once, on the host (computation chapter, equality)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxsim.compile.lengthrange.dynamics import Motion
from jaxsim.enums import EqType, ObjType
from jaxsim.math.rotations import apply, conjugate, cross, multiply

__all__ = ["Attachment", "attachment"]


class Attachment(NamedTuple):
    """The rows of one constraint in W worlds.

    Attributes:
        value: (W, k) what should be zero, m and half rad.
        jacobian: (W, k, nv).
        bias: (W, k) acceleration of the value at constant velocity.
        inverse: (k,) approximate inverse inertia.
    """

    value: np.ndarray
    jacobian: np.ndarray
    bias: np.ndarray
    inverse: np.ndarray


class _Side(NamedTuple):
    """A frame fixed in a body: origin (W, 3), orientation (W, 4), and how they move."""

    point: np.ndarray
    quat: np.ndarray
    slide: np.ndarray
    turn: np.ndarray
    omega: np.ndarray
    slide_bias: np.ndarray
    turn_bias: np.ndarray
    inverse: np.ndarray


def attachment(motion: Motion, i: int) -> Attachment:
    """Returns the rows of a connect or weld: position, for a weld then orientation."""
    f = motion.pose.fields
    a, b = _side(motion, i, 0), _side(motion, i, 1)
    parts = [
        (a.point - b.point, a.slide - b.slide, a.slide_bias - b.slide_bias, a.inverse[0] + b.inverse[0]),
    ]
    if f["eq_type"][i] == EqType.WELD:
        scale = f["eq_data"][i, 10]
        left = conjugate(b.quat)

        def turned(w: np.ndarray) -> np.ndarray:
            """Vector part of conj(qb) w qa of vectors w (W, ..., 3)."""
            pure = np.concatenate([np.zeros_like(w[..., :1]), w], -1)
            around = (left, a.quat) if w.ndim == 2 else (left[:, None], a.quat[:, None])
            return multiply(multiply(around[0], pure), around[1])[..., 1:]

        error = multiply(left, a.quat)[:, 1:]
        spin = a.omega - b.omega
        change = a.turn_bias - b.turn_bias + cross(spin, b.omega)
        bias = turned(change) - 0.5 * (spin**2).sum(1)[:, None] * error
        rates = turned((a.turn - b.turn).swapaxes(1, 2)).swapaxes(1, 2)
        parts.append((scale * error, 0.5 * scale * rates, 0.5 * scale * bias, a.inverse[1] + b.inverse[1]))
    value, jacobian, bias, inverse = zip(*parts, strict=True)
    return Attachment(
        np.concatenate(value, 1), np.concatenate(jacobian, 1), np.concatenate(bias, 1), np.repeat(inverse, 3)
    )


def _side(motion: Motion, i: int, side: int) -> _Side:
    pose = motion.pose
    f = pose.fields
    weld = f["eq_type"][i] == EqType.WELD
    thing = f["eq_obj2id" if side else "eq_obj1id"][i]
    if f["eq_objtype"][i] == ObjType.SITE:
        body, anchor, turn = f["site_bodyid"][thing], f["site_pos"][thing], f["site_quat"][thing]
    else:
        body, first = thing, 3 * (1 - side if weld else side)
        anchor = f["eq_data"][i, first : first + 3]
        turn = f["eq_data"][i, 6:10] if weld and side == 0 else np.array([1.0, 0.0, 0.0, 0.0])
    point = pose.xpos[:, body] + apply(pose.xmat[:, body], anchor)
    slides, turns = (j[:, 0] for j in pose.jacobian(point[:, None], np.array([body])))
    arm = point - pose.center[:, body]
    omega, linear = motion.velocity[:, body, :3], motion.velocity[:, body, 3:]
    alpha, drift = motion.drift[:, body, :3], motion.drift[:, body, 3:]
    speed = linear + cross(omega, arm)
    return _Side(
        point=point,
        quat=multiply(pose.xquat[:, body], turn),
        slide=slides,
        turn=turns,
        omega=omega,
        slide_bias=drift + cross(alpha, arm) + cross(omega, speed),
        turn_bias=alpha,
        inverse=f["body_invweight0"][body],
    )
