"""Controls by sampling: the cross-entropy method and model predictive path integrals.

They ask for no gradient, so that contacts that are not made yet and costs that are not smooth are nothing special; they
are what a gradient has to beat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from numpy.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.math import safe
from jaxsim.math.random import check_key
from jaxsim.model import Model
from jaxsim.optimise.cost import Cost, check, check_positive, limits, total_cost

__all__ = ["Sampled", "cem", "mppi"]


class Sampled(NamedTuple):
    """What sampling found.

    Attributes:
      ctrl: controls, (T, nu), the best that were simulated.
      cost: of them.
      mean: mean of the last distribution, (T, nu).
      history: best cost so far after each iteration, (iterations,).
    """

    ctrl: Array
    cost: Array
    mean: Array
    history: Array


def cem(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    cost: Cost,
    key: Array,
    *,
    deviation: float | Array = 0.5,
    samples: int = 128,
    elites: int = 16,
    iterations: int = 20,
    knots: int | None = None,
    bounds: tuple[Array, Array] | None = None,
    substeps: int = 1,
) -> Sampled:
    """The cross-entropy method: a normal distribution follows the best of its samples (Rubinstein 1999).

    Args:
      model: the model.
      data: one world; its state is where the trajectory starts.
      ctrl: the first mean, (T, nu).
      cost: what to make small; it need not be smooth.
      key: of the random numbers.
      deviation: the first standard deviation of controls, a number or (nu,).
      samples: simulations in an iteration; one of them is of the mean.
      elites: how many of the best shape the next distribution.
      iterations: how many.
      knots: noise at that many points in time, linear between them: smooth controls from fewer numbers. T by default.
      bounds: lower and upper limits of controls, (nu,) each; those of the model by default.
      substeps: timesteps for each control.

    Raises:
      ValueError: controls do not have the shape of the model's, `iterations` or `substeps` is no positive integer,
        there are not 1 < elites <= samples, `knots` is not from 2 to T, or the deviation is not positive.
      TypeError: the cost is no Cost, or the key no random key.
    """
    if not 1 < elites <= samples:
        raise ValueError(f"cem: {elites} elites of {samples} samples; expected 1 < elites <= samples")

    def renew(mean: Array, std: Array, tried: Array, costs: Array) -> tuple[Array, Array]:
        _, best = lax.top_k(-costs, elites)
        chosen = tried[best]
        return jnp.mean(chosen, axis=0), safe.sqrt(jnp.var(chosen, axis=0))

    return _sample(
        "cem", model, data, ctrl, cost, key, deviation, samples, iterations, knots, bounds, substeps, renew
    )


def mppi(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    cost: Cost,
    key: Array,
    *,
    deviation: float | Array = 0.5,
    temperature: float = 1.0,
    samples: int = 128,
    iterations: int = 20,
    knots: int | None = None,
    bounds: tuple[Array, Array] | None = None,
    substeps: int = 1,
) -> Sampled:
    """Model predictive path integrals: the mean of samples, each weighs exp(-cost / temperature) (Williams 2017).

    Args:
      model: the model.
      data: one world; its state is where the trajectory starts.
      ctrl: the first mean, (T, nu).
      cost: what to make small; it need not be smooth.
      key: of the random numbers.
      deviation: standard deviation of controls, a number or (nu,); it stays.
      temperature: in units of cost; small follows the best sample, large averages.
      samples: simulations in an iteration; one of them is of the mean.
      iterations: how many.
      knots: as of `cem`.
      bounds: lower and upper limits of controls, (nu,) each; those of the model by default.
      substeps: timesteps for each control.

    Raises:
      ValueError: controls do not have the shape of the model's, `samples`, `iterations` or `substeps` is no positive
        integer, `knots` is not from 2 to T, or temperature or deviation are not positive.
      TypeError: the cost is no Cost, or the key no random key.
    """
    check_positive("mppi", temperature=temperature)

    def renew(mean: Array, std: Array, tried: Array, costs: Array) -> tuple[Array, Array]:
        weights = jax.nn.softmax((jnp.min(costs) - costs) / temperature)
        return jnp.einsum("s,stu->tu", weights, tried, precision=lax.Precision.HIGHEST), std

    return _sample(
        "mppi", model, data, ctrl, cost, key, deviation, samples, iterations, knots, bounds, substeps, renew
    )


def _sample(
    who: str,
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    cost: Cost,
    key: Array,
    deviation: float | Array,
    samples: int,
    iterations: int,
    knots: int | None,
    bounds: tuple[Array, Array] | None,
    substeps: int,
    renew: Callable[[Array, Array, Array, Array], tuple[Array, Array]],
) -> Sampled:
    """Samples, simulates and renews the distribution, iteration by iteration."""
    ctrl = check(who, model, data, ctrl, cost, samples=samples, iterations=iterations, substeps=substeps)
    check_key(f"{who}: key", key)
    check_positive(who, deviation=deviation)
    knots = len(ctrl) if knots is None else knots
    if not 1 < knots <= len(ctrl) and knots != len(ctrl):
        raise ValueError(f"{who}: knots={knots}; expected 2 to {len(ctrl)}")
    low, high = limits(model, bounds)
    dtype = data.qpos.dtype
    mean = jnp.clip(ctrl, low, high)
    std = jnp.broadcast_to(jnp.asarray(deviation, dtype), mean.shape)
    spread = _spread(len(ctrl), knots, dtype)

    def body(carry: tuple[Array, Array, Array, Array], key: Array) -> tuple[Any, Array]:
        mean, std, best, least = carry
        noise = jax.random.normal(key, (samples, knots, model.nu), dtype)
        noise = jnp.einsum("tk,sku->stu", spread, noise, precision=lax.Precision.HIGHEST).at[0].set(0)
        tried = jnp.clip(mean + std * noise, low, high)
        costs = jax.vmap(lambda u: total_cost(model, data, u, cost, substeps=substeps))(tried)
        costs = jnp.where(jnp.isfinite(costs), costs, jnp.finfo(dtype).max)
        first = jnp.argmin(costs)
        better = costs[first] < least
        best, least = jnp.where(better, tried[first], best), jnp.where(better, costs[first], least)
        return (*renew(mean, std, tried, costs), best, least), least

    begin = mean, std, mean, jnp.asarray(jnp.inf, dtype)
    (mean, _, best, least), history = lax.scan(body, begin, jax.random.split(key, iterations))
    return Sampled(best, least, mean, history)


def _spread(length: int, knots: int, dtype: Any) -> Array:
    """The matrix (length, knots) of linear interpolation between knots, its rows of norm one: noise keeps its size."""
    at = jnp.linspace(0, knots - 1, length, dtype=dtype)[:, None]
    hat = jnp.maximum(1 - jnp.abs(at - jnp.arange(knots, dtype=dtype)), 0)
    return hat / safe.norm(hat, axis=1)[:, None]
