"""Soft constraints of the worlds of a simulation: limits of joints and tendons, and couplings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.polynomial import polyval

from jaxsim.compile.kinematics import Fields
from jaxsim.compile.lengthrange.attachments import attachment
from jaxsim.compile.lengthrange.dynamics import Motion
from jaxsim.enums import EqType, JointType
from jaxsim.math.constants import MINVAL
from jaxsim.math.rotations import to_vector
from jaxsim.solver.impedance import DEFAULT_SOLREF, MAX_IMPEDANCE, MIN_IMPEDANCE

__all__ = ["Constraints", "Instant", "constrained_tendons", "constraints", "solve"]

_ITERATIONS = 50


@dataclass(eq=False)
class Instant:
    """The state of W worlds at one instant, as far as constraints ask.

    Attributes:
        motion: of the worlds.
        qvel: (W, nv).
        length: (W, n) of those tendons that are constrained.
        jacobian: (W, n, nv) of the same.
        place: (ntendon,) where a tendon stands among them.
        step: s.
        refsafe: whether time constants stay above two steps.
    """

    motion: Motion
    qvel: np.ndarray
    length: np.ndarray
    jacobian: np.ndarray
    place: np.ndarray
    step: float
    refsafe: bool

    def coordinate(self, tendon: bool, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns values (W, n) and Jacobians (W, n, nv) of tendons, or of hinges and slides."""
        if tendon:
            return self.length[:, self.place[ids]], self.jacobian[:, self.place[ids]]
        f, qpos = self.motion.pose.fields, self.motion.pose.qpos
        rows = np.eye(self.qvel.shape[1])[f["jnt_dofadr"][ids]]
        return qpos[:, f["jnt_qposadr"][ids]], np.broadcast_to(rows, (len(qpos), *rows.shape))


@dataclass(eq=False)
class Constraints:
    """Constraint rows of W worlds.

    Attributes:
        jacobian: (W, n, nv).
        target: (W, n) acceleration that the constraint asks for.
        weight: (W, n) stiffness against deviations; 0 where a limit is not near.
        equality: (n,) whether deviations count in both directions.
    """

    jacobian: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    equality: np.ndarray


class _Soft(NamedTuple):
    """Parameters of n rows: margins (n,), solref (n, 2), solimp (n, 5) and approximate inverse inertias (n,)."""

    margin: np.ndarray
    ref: np.ndarray
    imp: np.ndarray
    inverse: np.ndarray


def constrained_tendons(f: Fields) -> np.ndarray:
    """Returns the ids of the tendons that are limited or coupled."""
    coupled = (f["eq_type"] == EqType.TENDON) & (f["eq_active0"] != 0)
    ids = np.concatenate([f["eq_obj1id"][coupled], f["eq_obj2id"][coupled]])
    return np.union1d(np.flatnonzero(f["tendon_limited"]), ids[ids >= 0]).astype(int)


def constraints(instant: Instant) -> Constraints:
    """Builds the rows of all active equalities and of all limits."""
    f = instant.motion.pose.fields
    parts = [
        _attachment(instant, i) if f["eq_type"][i] in (EqType.CONNECT, EqType.WELD) else _coupling(instant, i)
        for i in np.flatnonzero(f["eq_active0"]).tolist()
    ]
    ball = f["jnt_type"] == JointType.BALL
    limited = f["jnt_limited"] != 0
    parts += [_ball(instant, np.array([j])) for j in np.flatnonzero(limited & ball)]
    parts.append(_limits(instant, "jnt", np.flatnonzero(limited & ~ball)))
    parts.append(_limits(instant, "tendon", np.flatnonzero(f["tendon_limited"])))
    return Constraints(
        np.concatenate([part.jacobian for part in parts], 1),
        np.concatenate([part.target for part in parts], 1),
        np.concatenate([part.weight for part in parts], 1),
        np.concatenate([part.equality for part in parts]),
    )


def _attachment(instant: Instant, i: int) -> Constraints:
    """Returns the rows of a connect or weld; their impedance is that of the whole error."""
    f, held = instant.motion.pose.fields, attachment(instant.motion, i)
    size = np.linalg.norm(held.value, axis=1, keepdims=True)
    count = held.inverse.size
    ref, imp = (np.tile(f[name][i], (count, 1)) for name in ("eq_solref", "eq_solimp"))
    soft = _Soft(np.zeros(count), ref, imp, held.inverse)
    rows = _rows(instant, held.value, held.jacobian, soft, True, size)
    rows.target -= held.bias
    return rows


def _coupling(instant: Instant, i: int) -> Constraints:
    """Returns the row of a polynomial that couples two joints or tendons."""
    f = instant.motion.pose.fields
    tendon, coef = bool(f["eq_type"][i] == EqType.TENDON), f["eq_data"][i, :5]
    ids = np.array([k for k in (f["eq_obj1id"][i], f["eq_obj2id"][i]) if k >= 0])
    value, jac = instant.coordinate(tendon, ids)
    value = value - (f["tendon_length0"][ids] if tendon else f["qpos0"][f["jnt_qposadr"][ids]])
    inverse = f["tendon_invweight0"][ids] if tendon else f["dof_invweight0"][f["jnt_dofadr"][ids]]
    other, rest = (value[:, 1:], jac[:, 1:]) if ids.size == 2 else (np.zeros_like(value), np.zeros_like(jac))
    rate = polyval(other, coef[1:] * np.arange(1, 5))
    soft = _Soft(np.zeros(1), f["eq_solref"][i][None], f["eq_solimp"][i][None], inverse.sum(keepdims=True))
    return _rows(
        instant, value[:, :1] - polyval(other, coef), jac[:, :1] - rate[..., None] * rest, soft, True
    )


def _ball(instant: Instant, joint: np.ndarray) -> Constraints:
    """Returns the row that limits the angle of a ball joint."""
    f, pose = instant.motion.pose.fields, instant.motion.pose
    adr, dof = int(f["jnt_qposadr"][joint[0]]), int(f["jnt_dofadr"][joint[0]])
    vector = to_vector(pose.qpos[:, adr : adr + 4])
    angle = np.linalg.norm(vector, axis=1, keepdims=True)
    jac = np.zeros((len(angle), 1, instant.qvel.shape[1]))
    jac[:, 0, dof : dof + 3] = -vector / np.maximum(angle, MINVAL)
    return _rows(instant, f["jnt_range"][joint].max(1) - angle, jac, _limit_soft(f, "jnt", joint), False)


def _limits(instant: Instant, kind: str, ids: np.ndarray) -> Constraints:
    """Returns the rows of lower, then those of upper limits of joints (`jnt`) or tendons."""
    f = instant.motion.pose.fields
    value, jac = instant.coordinate(kind == "tendon", ids)
    low, high = f[f"{kind}_range"][ids].T
    twice = np.concatenate([ids, ids])
    distance = np.concatenate([value - low, high - value], 1)
    return _rows(instant, distance, np.concatenate([jac, -jac], 1), _limit_soft(f, kind, twice), False)


def _limit_soft(f: Fields, kind: str, ids: np.ndarray) -> _Soft:
    if kind == "tendon":
        ref, imp, inverse = f["tendon_solref_lim"], f["tendon_solimp_lim"], f["tendon_invweight0"][ids]
    else:
        ref, imp, inverse = f["jnt_solref"], f["jnt_solimp"], f["dof_invweight0"][f["jnt_dofadr"][ids]]
    return _Soft(f[f"{kind}_margin"][ids], ref[ids], imp[ids], inverse)


def _rows(
    instant: Instant,
    distance: np.ndarray,
    jacobian: np.ndarray,
    soft: _Soft,
    equality: bool,
    size: np.ndarray | None = None,
) -> Constraints:
    """Returns rows with their targets and weights (computation chapter, constraint parameters).

    Args:
        instant: the state.
        distance: (W, n) of the rows.
        jacobian: (W, n, nv).
        soft: their parameters.
        equality: whether deviations count in both directions.
        size: (W, 1) what the impedance follows, if that is not each row's own violation.
    """
    violation = distance - soft.margin
    impedance, largest = _impedance(np.abs(violation if size is None else size), soft.imp)
    mixed = (soft.ref[:, 0] > 0) != (soft.ref[:, 1] > 0)
    first, second = np.where(mixed[:, None], DEFAULT_SOLREF, soft.ref).T
    time = np.maximum(first, 2 * instant.step) if instant.refsafe else first
    given = first > 0
    stiffness = np.where(given, 1 / np.maximum(MINVAL, (largest * time * second) ** 2), -first / largest**2)
    damping = np.where(given, 2 / np.maximum(MINVAL, largest * time), -second / largest)
    speed = (jacobian @ instant.qvel[:, :, None])[..., 0]
    target = -damping * speed - stiffness * impedance * violation
    weight = 1 / np.maximum(MINVAL, (1 - impedance) / impedance * soft.inverse)
    if not equality:
        weight = np.where(violation < 0, weight, 0.0)
    return Constraints(jacobian, target, weight, np.full(soft.margin.shape, equality))


def _impedance(size: np.ndarray, imp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns impedances (W, n) at violations (W, n), and the largest impedances (n,)."""
    low, high, extent, middle, power = imp.T
    low, high, middle = np.clip((low, high, middle), MIN_IMPEDANCE, MAX_IMPEDANCE)
    power = np.maximum(1.0, power)
    flat = (low == high) | (extent <= MINVAL)
    x = np.minimum(size / np.where(flat, 1.0, extent), 1.0)
    rise = x**power / middle ** (power - 1)
    fall = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    bent = low + np.where(x <= middle, rise, fall) * (high - low)
    return np.where(flat, 0.5 * (low + high), bent), high


def solve(matrix: np.ndarray, force: np.ndarray, held: Constraints) -> np.ndarray:
    """Returns the accelerations (W, nv) that minimise the constrained Gauss principle's cost.

    The cost is quadratic on each set of active rows; Newton's steps are exact, and end when the set repeats.
    """
    active = np.zeros_like(held.weight)
    jac, back = held.jacobian, held.jacobian.swapaxes(1, 2)
    acceleration = np.linalg.solve(matrix, force[..., None])[..., 0]
    for _ in range(_ITERATIONS):
        deviation = (jac @ acceleration[..., None])[..., 0] - held.target
        chosen = np.where(held.equality | (deviation < 0), held.weight, 0.0)
        if np.array_equal(chosen, active):
            break
        active = chosen
        push = force + (back @ (active * held.target)[..., None])[..., 0]
        hessian = matrix + back @ (active[..., None] * jac)
        acceleration = np.linalg.solve(hessian, push[..., None])[..., 0]
    return acceleration
