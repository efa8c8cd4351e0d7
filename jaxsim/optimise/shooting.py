"""Controls by gradient descent."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array, lax
from numpy.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.optimise.cost import Cost, check, limits, total_cost

__all__ = ["Optimiser", "Shot", "shooting"]


class Optimiser(Protocol):
    """A rule of gradient descent; every `optax.GradientTransformation` is one."""

    @property
    def init(self) -> Any:
        """`parameters -> state`."""
        ...

    @property
    def update(self) -> Any:
        """`(gradient, state, parameters) -> (change, state)`."""
        ...


class Shot(NamedTuple):
    """What gradient descent found.

    Attributes:
      ctrl: controls, (T, nu), the best of all iterations.
      cost: of them.
      history: cost before each iteration, (iterations,).
    """

    ctrl: Array
    cost: Array
    history: Array


def shooting(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    cost: Cost,
    optimiser: Optimiser,
    *,
    iterations: int = 100,
    bounds: tuple[Array, Array] | None = None,
    substeps: int = 1,
) -> Shot:
    """Improves controls by the gradient of the cost of their simulation, clipped to the limits after every step.

    The gradient of a discrete step knows nothing of a contact that is not made yet.

    Args:
      model: the model.
      data: one world; its state is where the trajectory starts.
      ctrl: where to start, (T, nu).
      cost: what to make small.
      optimiser: a rule such as `optax.adam(0.05)`.
      iterations: how many.
      bounds: lower and upper limits of controls, (nu,) each; those of the model by default.
      substeps: timesteps for each control.

    Raises:
      ValueError: controls do not have the shape of the model's, data holds several worlds, lower limits are above
        upper ones, or there are no iterations or substeps.
      TypeError: the cost is not a Cost.
    """
    ctrl = check("shooting", model, data, ctrl, cost, iterations=iterations, substeps=substeps)
    if not (hasattr(optimiser, "init") and hasattr(optimiser, "update")):
        raise TypeError(
            f"shooting: optimiser is {optimiser!r}; expected a rule of descent such as optax.adam(0.05)"
        )
    low, high = limits(model, bounds)
    slope = jax.value_and_grad(lambda u: total_cost(model, data, u, cost, substeps=substeps))
    ctrl = jnp.clip(ctrl, low, high)

    def body(
        carry: tuple[Array, Any, Array, Array], _: None
    ) -> tuple[tuple[Array, Any, Array, Array], Array]:
        u, state, best, least = carry
        value, g = slope(u)
        better = value < least
        best, least = jnp.where(better, u, best), jnp.where(better, value, least)
        change, state = optimiser.update(g, state, u)
        return (jnp.clip(u + change, low, high), state, best, least), value

    begin = ctrl, optimiser.init(ctrl), ctrl, jnp.asarray(jnp.inf, ctrl.dtype)
    (_, _, best, least), history = lax.scan(body, begin, None, length=iterations)
    return Shot(best, least, history)
