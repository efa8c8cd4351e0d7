"""Fits of parameters: the search, what is known afterwards and what is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsim.identify.levenberg import Solution, least_squares, solve
from jaxsim.identify.parameters import apply, coordinates, values_of
from jaxsim.identify.residual import Residual
from jaxsim.model import Model

__all__ = ["Fit", "optimize"]

_BLIND = 1e-10
"""Information in a direction, relative to the best known one, below which nothing is known of it: the square of 1e-5,
what measurements of five digits leave."""

_LITTLE, _MUCH = 0.5, 1.3
"""What is left, in standard deviations, beyond which a report speaks of it; free starts explain some of the noise."""

_APART = 20.0
"""What is left, in standard deviations, beyond which the log rather than the model is to be looked at first."""

_GROUND = 1e-12
"""Relative to the diagonal, what is added to the information about starts, some of which nothing may have seen."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """Parameters that explain the measurements best, and how well they are known.

    Attributes:
      model: the model with these parameters, derived constants included.
      names: of the parameters' numbers, (p,).
      values: found, (p,), in the units of the fields.
      nominal: where the search began, (p,).
      covariance: of the values, (p, p), the noise estimated from the residual; infinite where nothing is known.
      blind: directions in which nothing is known: for each the share of every name, in units of its scale (relative
        changes of what is searched in logarithms).
      rms: root mean square of the residuals of each measured field, in standard deviations: 1 where model and `sigma`
        are right.
      at_bound: names of what a bound stopped.
      solution: of the search.
    """

    model: Model
    names: tuple[str, ...]
    values: np.ndarray
    nominal: np.ndarray
    covariance: np.ndarray
    blind: list[dict[str, float]]
    rms: dict[str, float]
    at_bound: tuple[str, ...]
    solution: Solution

    def __getitem__(self, name: str) -> float:
        """The value found for a name.

        Raises:
          KeyError: there is no parameter of this name.
        """
        if name not in self.names:
            raise KeyError(f"no parameter {name!r}; there are {', '.join(self.names)}")
        return float(self.values[self.names.index(name)])

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the values, (p,)."""
        return np.sqrt(np.diagonal(self.covariance))

    def report(self) -> str:
        """A table of values and their deviations, residuals by field, and what cannot be identified."""
        width = max(map(len, self.names))
        lines = [f"{'parameter':{width}}  {'nominal':>11}  {'found':>11}  {'+- std':>9}"]
        for name, start, value, std in zip(
            self.names, self.nominal, self.values, self.deviations, strict=True
        ):
            note = "  at its bound" if name in self.at_bound else ""
            known = f"{std:9.2g}" if np.isfinite(std) else "  unknown"
            lines.append(f"{name:{width}}  {start:11.5g}  {value:11.5g}  {known}{note}")
        for name, x in self.rms.items():
            little = ", less than noise: `sigma` is too large" if x < _LITTLE else ""
            note = ", more than noise" if x > _MUCH else little
            lines.append(f"residual of {name}: {x:.3g} standard deviations{note}")
        if any(x > _MUCH for x in self.rms.values()):
            lines.append(
                "more is left than noise: a local minimum (begin with shorter windows), physics that the model lacks, "
                "or too small a `sigma`; until that is settled, values may be wrong by far more than their deviations"
            )
        if any(x > _APART for x in self.rms.values()):
            lines.append(
                "so much is left that the log should be looked at first: units (degrees, milliseconds), signs and "
                "order of columns, rows of `ctrl` beside those of `qpos`, `substeps`"
            )
        for direction in self.blind:
            terms = " ".join(f"{share:+.2f} {name}" for name, share in direction.items() if abs(share) > 0.05)
            lines.append(f"cannot be identified: {terms}")
        s = self.solution
        lines.append(f"cost {s.cost[0]:.4g} -> {s.cost[-1]:.4g} in {s.evaluations} evaluations; {s.message}")
        return "\n".join(lines)


def optimize(
    residual: Residual,
    *,
    iterations: int = 100,
    ftol: float = 1e-8,
    xtol: float = 1e-8,
    progress: Callable[[int, float], Any] | None = None,
) -> Fit:
    """Finds the parameters, and where they are free the starts of windows, that explain the measurements best.

    Args:
      residual: from `build_residual`.
      iterations: at most that many steps of Levenberg-Marquardt.
      ftol: relative decrease of the cost at which it ends.
      xtol: relative size of a step at which it ends.
      progress: called after every evaluation with their number and the least cost so far; `print` does. The first
        evaluation compiles, which takes longer than the others together.

    Raises:
      ValueError: the model's motion is not finite at the nominal parameters.
    """
    start = residual.nominal()
    low, high = residual.bounds()
    found = least_squares(
        residual, start, low, high, iterations=iterations, ftol=ftol, xtol=xtol, progress=progress
    )
    p = len(residual.names)
    z = found.x[:p]
    values, slopes = values_of(residual.parameters, z)
    covariance, blind = _knowledge(residual, found, slopes)
    rms = {}
    for name, r in residual.by_field(found.residual).items():
        rms[name] = float(np.sqrt(np.sum(r**2) / max(residual.measured()[name], 1)))
    low, high = (coordinates(residual.parameters, x) for x in ("min_value", "max_value"))
    return Fit(
        model=apply(residual.model, residual.parameters, jnp.asarray(z)),
        names=residual.names,
        values=values,
        nominal=values_of(residual.parameters, start[:p])[0],
        covariance=covariance,
        blind=blind,
        rms=rms,
        at_bound=tuple(n for n, stop in zip(residual.names, (z <= low) | (z >= high), strict=True) if stop),
        solution=found,
    )


def _knowledge(
    residual: Residual, found: Solution, slopes: np.ndarray
) -> tuple[np.ndarray, list[dict[str, float]]]:
    """Covariance of values (p, p), and directions of coordinates in which nothing is known.

    The information about parameters, with starts of windows eliminated, is the Schur complement of J^T J, that is R^T R
    with R what is left of the parameters' columns of J after projecting out those of the starts.
    """
    p = len(residual.names)
    J = found.jacobian
    left, others = J[:, :p].toarray(), J[:, p:]
    if others.shape[1]:
        H = (others.T @ others).tocsc()
        damping = _GROUND * np.maximum(H.diagonal(), 1.0)
        for _ in range(2):  # again, for what rounding left
            left = left - others @ solve(H, damping, others.T @ left)
    _, sizes, rows = np.linalg.svd(left, full_matrices=False)
    known = sizes**2 > _BLIND * max(float(sizes[0]) ** 2, np.finfo(float).tiny)
    spare = max(int(np.count_nonzero(found.residual)) - J.shape[1], 1)
    noise = 2 * found.cost[-1] / spare
    inverse = (rows[known].T / sizes[known] ** 2) @ rows[known]
    covariance = noise * slopes[:, None] * inverse * slopes
    hidden = np.any(np.abs(rows[~known]) > 1e-6, axis=0)
    covariance[hidden] = covariance[:, hidden] = 0.0
    covariance[hidden, hidden] = np.inf
    return covariance, [dict(zip(residual.names, map(float, row), strict=True)) for row in rows[~known]]
