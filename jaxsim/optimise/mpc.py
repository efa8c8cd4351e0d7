"""Model predictive control: plan, act, shift, plan again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from numpy.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.math.random import check_key
from jaxsim.model import Model
from jaxsim.optimise.cost import State, check, state_of, with_state
from jaxsim.pipeline.forward import step

__all__ = ["Run", "mpc"]

Planner = Callable[[Data, Array, Array], Array]


class Run(NamedTuple):
    """What was done.

    Attributes:
      ctrl: controls that were applied, (steps, nu).
      qpos: positions, (steps + 1, nq).
      qvel: velocities, (steps + 1, nv).
      plan: the controls that would have come next, (T, nu): a warm start to go on from.
    """

    ctrl: Array
    qpos: Array
    qvel: Array
    plan: Array


def mpc(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    planner: Planner,
    *,
    steps: int,
    hold: int = 1,
    substeps: int = 1,
    key: Array | None = None,
) -> tuple[Data, Run]:
    """Controls a model in a loop: every `hold` steps of control a planner improves the rest of its last plan.

    Args:
      model: what is controlled; the planner may know another one.
      data: one world, where it begins.
      ctrl: the first warm start, (T, nu), T the horizon; its last row is repeated as the horizon moves on.
      planner: `(data, ctrl (T, nu), key) -> ctrl (T, nu)`, pure, such as
        `lambda data, ctrl, key: ilqr(model, data, ctrl, cost, iterations=3).ctrl`.
      steps: how many controls to apply, a multiple of `hold`.
      hold: controls applied of each plan.
      substeps: timesteps for each control, of `model`; the planner's own are its own matter.
      key: of random numbers, for planners that sample.

    Raises:
      ValueError: controls do not have the shape of the model's, `steps` is no multiple of `hold` within the horizon,
        there are no substeps, or the planner does not give controls.
      TypeError: the key is no random key.
    """
    ctrl = check("mpc", model, data, ctrl, substeps=substeps)
    if not 1 <= hold <= len(ctrl) or steps < 1 or steps % hold:
        raise ValueError(
            f"mpc: steps={steps}, hold={hold}; expected a multiple of hold, and hold within {len(ctrl)}"
        )
    key = jax.random.key(0) if key is None else key
    check_key("mpc: key", key)

    def act(state: State, u: Array) -> tuple[State, State]:
        after = state_of(step(model, with_state(data, state, u), substeps))
        return after, after

    def replan(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], tuple[Array, State]]:
        state, ctrl = carry
        planned = planner(with_state(data, state, ctrl[0]), ctrl, key)
        shape = getattr(planned, "shape", type(planned).__name__)
        if shape != ctrl.shape:
            raise ValueError(
                f"mpc: the planner gives {shape}; expected controls {ctrl.shape}, as `.ctrl` of a Plan"
            )
        ctrl = jnp.asarray(planned, ctrl.dtype)
        state, path = lax.scan(act, state, ctrl[:hold])
        rest = jnp.concatenate([ctrl[hold:], jnp.repeat(ctrl[-1:], hold, axis=0)])
        return (state, rest), (ctrl[:hold], path)

    begin = state_of(data), ctrl
    (end, rest), (applied, path) = lax.scan(replan, begin, jax.random.split(key, steps // hold))
    qpos, qvel = (
        jnp.concatenate([a[None], b.reshape(steps, -1)]) for a, b in zip(begin[0][:2], path[:2], strict=True)
    )
    final = with_state(data, end, applied[-1, -1])
    return final, Run(applied.reshape(steps, model.nu), qpos, qvel, rest)
