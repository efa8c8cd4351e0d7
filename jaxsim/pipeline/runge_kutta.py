"""Runge-Kutta of the fourth order (computation chapter, "Numerical integration"); worlds on the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import jaxpr_as_fun

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.math.gather import widen, width_of
from jaxsim.math.invariant import invariant_results
from jaxsim.model import Model
from jaxsim.pipeline.blank import blank
from jaxsim.pipeline.integrate import advance, integrate_pos
from jaxsim.pipeline.stages import State, dynamics, integration_state, remaining_sensors
from jaxsim.pipeline.work import Found
from jaxsim.pytree import Record, leaf

__all__ = ["rk4"]

_STAGE_STEP = (0.0, 0.5, 0.5, 1.0)
"""Fraction of the timestep at which each Runge-Kutta stage stands."""
_STAGE_WEIGHT = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
"""Weight of each stage's derivative in the step."""


def rk4(model: Model, state: State, known: Found) -> tuple[Data, Found]:
    """Runge-Kutta of the fourth order; sensors are those of the first stage, all other results those of the last.

    One loop over the stages, so that the dynamics are compiled once. Each stage starts from the beginning of the
    step along the slope of the stage before.
    """
    h = model.opt.timestep
    start = worlds.expand(blank(model)).replace(**state)
    width = width_of((model, start))
    start = start.replace(**_full_width(_select(start, (*_STATE, *_CARRIED)), width))

    def stage(carry: tuple[dict[str, Array], _Slope, _Slope], table: tuple[Any, ...]) -> Any:
        """One evaluation of the dynamics: after `before`, along `slope`; adds its own slope to `total`."""
        before, slope, total = carry
        index, fraction, weight, *told = table
        at = start.replace(
            time=start.time + fraction * h,
            qpos=integrate_pos(model, start.qpos, slope.qpos, fraction * h),
            qvel=start.qvel + fraction * h * slope.qvel,
            act=start.act + fraction * h * slope.act,
            qacc_warmstart=before["qacc_warmstart"],
            warning=before["warning"],
        )
        after = dynamics(model, integration_state(at), told[0] if told else known)
        slope = _full_width(_Slope(qpos=after.qvel, qvel=after.qacc, act=after.act_dot), width)
        total = jax.tree.map(lambda s, d: s + weight * d, total, slope)
        if model.nsensor:
            seen = lax.cond(
                index == 0,
                lambda: _full_width(_select(remaining_sensors(model, after), _OBSERVED), width),
                lambda: {name: before[name] for name in _OBSERVED},
            )
            after = after.replace(**seen)
        found = after.work.found
        after = after.replace(work=None, qacc_warmstart=after.qacc)
        after = after.replace(**_full_width(_select(after, _CARRIED), width))
        return (after, slope, total), found

    zero = jnp.zeros_like(start.qvel)
    slope = _Slope(qpos=zero, qvel=zero, act=jnp.zeros_like(start.act))
    dtype = start.qvel.dtype
    tables: list[Any] = [jnp.arange(4), jnp.asarray(_STAGE_STEP, dtype), jnp.asarray(_STAGE_WEIGHT, dtype)]
    if known.solution is not None:
        tables.append(known)
    # results that no stage changes, or that all worlds share, are not carried through the loop for each world
    first = (_select(start, _CARRIED), slope, slope)
    start_of_tables = jax.tree.map(lambda x: x[0], tuple(tables))
    traced, (shapes, found) = jax.make_jaxpr(stage, return_shape=True)(first, start_of_tables)
    results, searched = jax.tree.structure(shapes), jax.tree.structure(found)
    n = results.num_leaves
    fixed = invariant_results(traced)[:n]

    def whole(leaves: Sequence[Array]) -> tuple[Data, _Slope, _Slope]:
        left = iter(leaves)
        return jax.tree.unflatten(results, [next(left) if x is None else x for x in fixed])

    def moving(leaves: Sequence[Array]) -> list[Array]:
        return [x for x, own in zip(leaves, fixed, strict=True) if own is None]

    def go_on(last: list[Array], table: tuple[Any, ...]) -> tuple[list[Array], Found]:
        data, slope, total = whole(last)
        args = jax.tree.leaves(((_select(data, _CARRIED), slope, total), table))
        leaves = jaxpr_as_fun(traced)(*args)
        return moving(leaves[:n]), jax.tree.unflatten(searched, leaves[n:])

    nothing = jax.tree.map(jnp.zeros_like, shapes[0])
    begin = (nothing.replace(**first[0]), slope, slope)
    last, every = lax.scan(go_on, moving(jax.tree.leaves(begin)), tuple(tables))
    last, _, total = whole(last)
    return advance(model, last.replace(**_select(start, _STATE)), total.act, total.qvel, total.qpos), every


class _Slope(Record):
    """Time derivative of the state, native layout."""

    qpos: Array = leaf("nv", "velocity, m/s and rad/s")
    qvel: Array = leaf("nv", "acceleration, m/s^2 and rad/s^2")
    act: Array = leaf("na", "1/s")


_OBSERVED = ("sensordata", "cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom")
"""Fields that the sensors fill."""
_STATE = ("time", "qpos", "qvel", "act")
"""Fields that a stage moves, from the beginning of the step."""
_CARRIED = ("qacc_warmstart", "warning", *_OBSERVED)
"""Fields that a stage has from the one before."""


def _select(data: Data, names: tuple[str, ...]) -> dict[str, Array]:
    return {name: getattr(data, name) for name in names}


def _full_width(tree: Any, width: int) -> Any:
    return jax.tree.map(lambda x: widen(x, width), tree)
