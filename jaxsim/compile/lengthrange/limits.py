"""Soft constraints of many worlds at once, on the host: limits of joints and tendons, and couplings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.compile.lengthrange.attachments import attachment
from jaxsim.compile.lengthrange.motion import Motion
from jaxsim.enums import DisableBit, EqType, JointType
from jaxsim.math.constants import MINVAL

__all__ = ["Rows", "rows", "solve"]

Fields = dict[str, Any]

_MINIMP, _MAXIMP = 0.0001, 0.9999
_ITERATIONS = 50


@dataclass(eq=False)
class Rows:
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


def rows(motion: Motion, flags: int, step: float, qpos: np.ndarray, qvel: np.ndarray, tendon: Any) -> Rows:
    """Builds the rows.

    Args:
        motion: kinematics of the worlds.
        flags: DisableBit flags of the model's own options.
        step: s.
        qpos: (W, nq).
        qvel: (W, nv).
        tendon: returns length (W,) and Jacobian (W, nv) of a tendon.
    """
    f = motion.fields
    width, nv = qvel.shape
    found: list[tuple[np.ndarray, ...]] = []

    def unit(dof: int) -> np.ndarray:
        return np.broadcast_to(np.eye(nv)[dof], (width, nv))

    def add(
        distance: np.ndarray, jac: np.ndarray, margin: float, ref: Any, imp: Any, inverse: float, eq: bool
    ) -> None:
        found.append(_row(distance, jac, margin, ref, imp, inverse, eq, qvel, step, flags))

    for i in np.flatnonzero(f["eq_active0"]).tolist():
        if f["eq_type"][i] in (EqType.CONNECT, EqType.WELD):
            found += _attachment(motion, i, qvel, step, flags)
        else:
            add(*_coupling(f, i, qpos, unit, tendon), f["eq_solref"][i], f["eq_solimp"][i], *_eq_weight(f, i))
    for j in np.flatnonzero(f["jnt_limited"]):
        dof, adr, margin = f["jnt_dofadr"][j], f["jnt_qposadr"][j], f["jnt_margin"][j]
        soft = (margin, f["jnt_solref"][j], f["jnt_solimp"][j], f["dof_invweight0"][dof], False)
        low, high = f["jnt_range"][j]
        if f["jnt_type"][j] == JointType.BALL:
            angle, axis = _ball(qpos[:, adr : adr + 4])
            jac = np.zeros((width, nv))
            jac[:, dof : dof + 3] = -axis
            add(max(low, high) - angle, jac, *soft)
        else:
            add(qpos[:, adr] - low, unit(dof), *soft)
            add(high - qpos[:, adr], -unit(dof), *soft)
    for k in np.flatnonzero(f["tendon_limited"]):
        length, jac = tendon(k)
        soft = (f["tendon_margin"][k], f["tendon_solref_lim"][k], f["tendon_solimp_lim"][k])
        for distance, sign in ((length - f["tendon_range"][k, 0], 1), (f["tendon_range"][k, 1] - length, -1)):
            add(distance, sign * jac, *soft, f["tendon_invweight0"][k], False)
    if not found:
        return Rows(np.zeros((width, 0, nv)), np.zeros((width, 0)), np.zeros((width, 0)), np.zeros(0, bool))
    jacobian, target, weight, equality = zip(*found, strict=True)
    return Rows(np.stack(jacobian, 1), np.stack(target, 1), np.stack(weight, 1), np.array(equality))


def _attachment(
    motion: Motion, i: int, qvel: np.ndarray, step: float, flags: int
) -> list[tuple[np.ndarray, ...]]:
    """Returns the rows of a connect or weld; their impedance is that of the whole error."""
    f, held = motion.fields, attachment(motion, i)
    size = np.linalg.norm(held.value, axis=1)
    made = []
    for k, inverse in enumerate(held.inverse):
        soft = (f["eq_solref"][i], f["eq_solimp"][i], inverse, True, qvel, step, flags)
        jac, target, *rest = _row(held.value[:, k], held.jacobian[:, k], 0.0, *soft, size)
        made.append((jac, target - held.bias[:, k], *rest))
    return made


def _coupling(
    f: Fields, i: int, qpos: np.ndarray, unit: Any, tendon: Any
) -> tuple[np.ndarray, np.ndarray, float]:
    """Returns violation (W,), Jacobian (W, nv) and margin 0 of a coupling of joints or tendons."""
    coef = f["eq_data"][i, :5]

    def measure(index: int) -> tuple[np.ndarray, np.ndarray]:
        if f["eq_type"][i] == EqType.TENDON:
            length, jac = tendon(index)
            return length - f["tendon_length0"][index], jac
        adr = f["jnt_qposadr"][index]
        return qpos[:, adr] - f["qpos0"][adr], unit(f["jnt_dofadr"][index])

    value, jac = measure(f["eq_obj1id"][i])
    if f["eq_obj2id"][i] < 0:
        return value - coef[0], jac, 0.0
    other, slope = measure(f["eq_obj2id"][i])
    rate = np.polynomial.polynomial.polyval(other, coef[1:] * np.arange(1, 5))
    return value - np.polynomial.polynomial.polyval(other, coef), jac - rate[:, None] * slope, 0.0


def _eq_weight(f: Fields, i: int) -> tuple[float, bool]:
    table, key = (
        (f["tendon_invweight0"], lambda k: k)
        if f["eq_type"][i] == EqType.TENDON
        else (f["dof_invweight0"], lambda k: f["jnt_dofadr"][k])
    )
    return sum(float(table[key(k)]) for k in (f["eq_obj1id"][i], f["eq_obj2id"][i]) if k >= 0), True


def _ball(quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns angle (W,) and axis (W, 3) of rotations."""
    sine = np.linalg.norm(quat[:, 1:], axis=1)
    angle = 2 * np.arctan2(sine, quat[:, 0])
    sign = np.where(angle > np.pi, -1.0, 1.0)
    axis = quat[:, 1:] / np.maximum(sine, MINVAL)[:, None] * sign[:, None]
    return np.where(angle > np.pi, 2 * np.pi - angle, angle), axis


def _row(
    distance: np.ndarray,
    jac: np.ndarray,
    margin: float,
    ref: np.ndarray,
    imp: np.ndarray,
    inverse: float,
    equality: bool,
    qvel: np.ndarray,
    step: float,
    flags: int,
    size: np.ndarray | None = None,
) -> tuple[Any, ...]:
    """Returns Jacobian, target, weight and kind of one row (computation chapter, constraint parameters).

    The impedance follows from the violation, or from `size` if that is given.
    """
    low, high, extent, middle, power = imp
    low, high, middle = np.clip([low, high, middle], _MINIMP, _MAXIMP)
    violation = distance - margin
    if low == high or extent <= MINVAL:
        impedance = np.full(distance.shape, 0.5 * (low + high))
    else:
        x = np.minimum(np.abs(violation if size is None else size) / extent, 1.0)
        power = max(1.0, power)
        rise = x**power / middle ** (power - 1)
        fall = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
        impedance = low + np.where(x <= middle, rise, fall) * (high - low)
    first, second = ref
    if first > 0:
        time = first if flags & DisableBit.REFSAFE else max(first, 2 * step)
        stiffness, damping = 1 / max(MINVAL, (high * time * second) ** 2), 2 / max(MINVAL, high * time)
    else:
        stiffness, damping = -first / high**2, -second / high
    target = -damping * np.einsum("wd,wd->w", jac, qvel) - stiffness * impedance * violation
    weight = 1 / np.maximum(MINVAL, (1 - impedance) / impedance * inverse)
    if not equality:
        weight = np.where(distance < margin, weight, 0.0)
    return jac, target, weight, equality


def solve(matrix: np.ndarray, force: np.ndarray, constraint: Rows) -> np.ndarray:
    """Returns the accelerations (W, nv) that minimise the constrained Gauss principle's cost.

    The cost is quadratic on each set of active rows; Newton's steps are exact, and end when the set repeats.
    """
    active = np.zeros_like(constraint.weight)
    jac = constraint.jacobian
    acceleration = np.linalg.solve(matrix, force[..., None])[..., 0]
    for _ in range(_ITERATIONS):
        deviation = np.einsum("wrd,wd->wr", jac, acceleration) - constraint.target
        chosen = np.where(constraint.equality | (deviation < 0), constraint.weight, 0.0)
        if np.array_equal(chosen, active):
            break
        active = chosen
        hessian = matrix + np.einsum("wrd,wr,wre->wde", jac, active, jac)
        push = force + np.einsum("wrd,wr->wd", jac, active * constraint.target)
        acceleration = np.linalg.solve(hessian, push[..., None])[..., 0]
    return acceleration
