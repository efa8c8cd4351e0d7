"""Levenberg-Marquardt for sparse problems within bounds.

The windows of multiple shooting make a Jacobian of few blocks in many columns; scipy's dense solvers factorise it
whole, its iterative one stalls where defects weigh much more than measurements. Here the normal equations are
factorised as they are: sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

__all__ = ["Solution", "least_squares", "solve"]

_LEAST = 1e-7
"""Share of the largest effect on the residual that D gives each unknown at least: rounding moves what has less."""


class Solution(NamedTuple):
    """Where a search ended.

    Attributes:
      x: the unknowns, (n,).
      residual: there, (m,).
      jacobian: there, sparse (m, n).
      cost: half the squared residual at the start and after every accepted step.
      evaluations: how often residual and Jacobian were computed.
      converged: whether it stopped by a tolerance.
      message: why it stopped.
    """

    x: np.ndarray
    residual: np.ndarray
    jacobian: Any
    cost: list[float]
    evaluations: int
    converged: bool
    message: str


def least_squares(
    linearise: Callable[[np.ndarray], tuple[np.ndarray, Any]],
    x: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    iterations: int = 100,
    ftol: float = 1e-10,
    xtol: float = 1e-10,
    damping: float = 1e-3,
    progress: Callable[[int, float], Any] | None = None,
) -> Solution:
    """Minimises half the squared norm of a residual within bounds.

    A step solves (J^T J + mu D) dx = -J^T r on the unknowns that no bound stops, D the largest diagonal of J^T J so far
    (More 1978), none of it so small that rounding alone moves its unknown, and is clipped to the bounds; mu follows the
    ratio of true to predicted decrease (Nielsen 1999).

    Args:
      linearise: the residual (m,) at given unknowns and its Jacobian (m, n), sparse or dense. A residual that is not
        finite is a step too far.
      x: where to start, (n,).
      lower: bounds, (n,), -inf for none.
      upper: bounds, (n,), inf for none.
      iterations: at most that many steps, rejected ones included.
      ftol: relative decrease of the cost below which the search ends.
      xtol: step relative to the unknowns, below which it ends.
      damping: the first mu, relative to D.
      progress: called after every evaluation with their number and the least cost so far.

    Raises:
      ValueError: the start is not within the bounds, or the residual is not finite there.
    """
    if np.any(x < lower) or np.any(x > upper):
        raise ValueError("least_squares: the start is not within the bounds")
    r, J = _finite(linearise(x))
    if r is None:
        raise ValueError("least_squares: the residual or its Jacobian is not finite at the start")
    cost = [0.5 * float(r @ r)]
    mu, grow, D = damping, 2.0, np.zeros_like(x)
    tell = progress or (lambda evaluations, cost: None)
    tell(1, cost[-1])
    evaluations, converged, message = 1, False, f"no tolerance was met in {iterations} steps"
    for _ in range(iterations):
        g = J.T @ r
        H = (J.T @ J).tocsc()
        D = np.maximum(D, H.diagonal())
        free = np.flatnonzero(~((x <= lower) & (g > 0)) & ~((x >= upper) & (g < 0)))
        dx = np.zeros_like(x)
        dx[free] = solve(H[free][:, free], mu * np.maximum(D, _least(D, x))[free], -g[free])
        new = np.clip(x + dx, lower, upper)
        dx = new - x
        if np.linalg.norm(dx) <= xtol * (xtol + np.linalg.norm(x)):
            converged, message = True, "the step is below xtol"
            break
        predicted = -float(g @ dx) - 0.5 * float(dx @ (H @ dx))
        r_new, J_new = _finite(linearise(new))
        evaluations += 1
        after = np.inf if r_new is None else 0.5 * float(r_new @ r_new)
        tell(evaluations, min(after, cost[-1]))
        ratio = (cost[-1] - after) / predicted if predicted > 0 else -1.0
        if ratio <= 1e-4:
            mu, grow = mu * grow, 2 * grow
            continue
        x, r, J = new, r_new, J_new
        cost.append(after)
        mu, grow = mu * max(1 / 3, 1 - (2 * ratio - 1) ** 3), 2.0
        if cost[-2] - after <= ftol * cost[-2]:
            converged, message = True, "the decrease of the cost is below ftol"
            break
    return Solution(x, np.asarray(r), J, cost, evaluations, converged, message)


def _least(D: np.ndarray, x: np.ndarray) -> np.ndarray:
    """How small D may be: by the effect of a change as large as the unknown, or by 1 if that is less or it is 0."""
    square = np.where(x * x > 0, x * x, 1.0)
    return _LEAST * np.minimum((D * square).max() / square, D.max()) if D.any() else np.ones_like(D)


def _finite(found: tuple[np.ndarray, Any]) -> tuple[Any, Any]:
    """Residual and sparse Jacobian, or None twice where they are not finite."""
    r, J = np.asarray(found[0]), sparse.csr_array(found[1])
    return (r, J) if np.all(np.isfinite(r)) and np.all(np.isfinite(J.data)) else (None, None)


def solve(H: Any, damping: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solves (H + diag(damping)) x = b, (n,) or (n, k), H sparse, in units in which the diagonal is one."""
    scale = 1 / np.sqrt(H.diagonal() + damping)
    unit = sparse.diags_array(scale)
    matrix = unit @ (H + sparse.diags_array(damping)) @ unit
    factor = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    rows = scale if b.ndim == 1 else scale[:, None]
    return rows * factor.solve(rows * b)
