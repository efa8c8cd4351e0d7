"""Gradients that know of contacts which are not made yet: felt from afar, or averaged over noise.

The gradient of a discrete step knows only contacts that are there: what nothing touches does not move, and descent
stays where it is. Two remedies, both biased and both off unless asked for; `docs/planning.md` says when which helps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.math.random import check_key
from jaxsim.model import Model
from jaxsim.optimise.cost import check_positive

__all__ = ["Smoothed", "randomised", "smooth_onset"]


def smooth_onset(model: Model, reach: float | Array) -> Model:
    """The model with derivatives that feel contacts before they are made; its steps are the same to the last bit.

    Derivatives, forward and reverse, see the mean of each normal force over noise in the contact's distance; see
    `jaxsim/solver/onset.py` for the formula and its sources. Make the reach smaller from plan to plan: it is a leaf of
    the model, so nothing compiles again.

    Args:
      model: the model.
      reach: distance beyond which nothing is felt, m, positive: about as far as what should come together is apart.

    Raises:
      ValueError: the reach is known and not positive and finite.
    """
    check_positive("smooth_onset", reach=reach)
    return model.replace(onset=jnp.asarray(reach, model.opt.timestep.dtype))


class Smoothed(NamedTuple):
    """The value and the slope of a function that noise makes smooth.

    Attributes:
      value: mean over the noise.
      gradient: of that mean, shaped as the argument.
      share: of the mean of gradients in it, for each number of the argument; the rest is of values.
      deviation: standard deviation of the estimate.
    """

    value: Array
    gradient: Array
    share: Array
    deviation: Array


def randomised(
    function: Callable[[Array], Array],
    x: Array,
    key: Array,
    *,
    deviation: float | Array,
    samples: int = 64,
    by: Literal["both", "gradients", "values"] = "both",
) -> Smoothed:
    """Estimates the gradient of E[function(x + deviation * e)], e normal, from samples that run as worlds.

    `gradients` averages gradients: little noise, but blind where no sample touches, and wrong where the function jumps.
    `values` averages differences of values times the noise: right for any function, with much noise. `both` weighs them
    number by number by their measured variances, and lets gradients move the result away from what the values say by
    no more than a standard deviation of those.

    Samples come in pairs of opposite noise.

    Source: Suh, Simchowitz, Zhang, Tedrake 2022, "Do differentiable simulators give better policy gradients?".

    Args:
      function: from an array of x's shape to a scalar, such as `lambda u: total_cost(model, data, u, cost)`.
      x: where.
      key: of the random numbers.
      deviation: standard deviation of the noise, a number or of a shape that broadcasts to x's, positive.
      samples: how many, even, at least 4.
      by: which estimate.

    Raises:
      ValueError: `by` is none of these, samples are odd or fewer than 4, or the deviation is not positive.
      TypeError: the key is no random key.
    """
    if by not in ("both", "gradients", "values") or samples < 4 or samples % 2:
        raise ValueError(
            f'randomised: by={by!r}, samples={samples}; expected "both", "gradients" or "values", and an even number'
        )
    check_key("randomised: key", key)
    check_positive("randomised", deviation=deviation)
    half = samples // 2
    e = jax.random.normal(key, (half, *x.shape), x.dtype)
    tried = x + deviation * jnp.stack([e, -e], axis=1)
    first = second = None
    if by == "values":
        values = jax.vmap(jax.vmap(function))(tried)
    else:
        values, slopes = jax.vmap(jax.vmap(jax.value_and_grad(function)))(tried)
        first = jnp.mean(slopes, axis=1)
    if by != "gradients":
        rise = (values[:, 0] - values[:, 1]) / 2
        second = rise.reshape(half, *[1] * x.ndim) * e / deviation
    both = [_mean(estimates) for estimates in (first, second) if estimates is not None]
    (a, var_a), (b, var_b) = both[0], both[-1]
    share = jnp.full_like(x, 0.0 if by == "values" else 1.0)
    if by == "both":
        total, apart = var_a + var_b, jnp.abs(a - b)
        share = jnp.where(total > 0, var_b / jnp.where(total > 0, total, 1), 1)
        doubt = jnp.sqrt(var_b) / jnp.where(apart > 0, apart, 1)
        share = jnp.where(apart > 0, jnp.minimum(share, doubt), share)
    gradient = share * a + (1 - share) * b
    variance = share**2 * var_a + (1 - share) ** 2 * var_b
    return Smoothed(jnp.mean(values), gradient, share, jnp.sqrt(variance))


def _mean(estimates: Array) -> tuple[Array, Array]:
    """Mean of independent estimates (n, ...), and the variance of that mean."""
    return jnp.mean(estimates, axis=0), jnp.var(estimates, axis=0, ddof=1) / len(estimates)
