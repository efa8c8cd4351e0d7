"""Short-horizon actor-critic: the policy climbs the gradient of what it earns, through the simulator.

Xu, Makoviychuk, Narang, Ramos, Matusik, Garg, Macklin, "Accelerated Policy Learning with Parallel Differentiable
Simulation", ICLR 2022. Each update rolls all worlds out over a short horizon; a critic says what comes after it. The
actor's loss is equation 5, the critic's targets are equation 7 (TD-lambda), its slow copy is equation 9's.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax  # pyright: ignore[reportMissingImports]
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from jaxsim.envs.base import Env, State
from jaxsim.envs.wrappers import Episode, Randomised, Vmap, choose
from jaxsim.math.safe import sqrt
from jaxsim.parallel import WORLDS, worlds_mesh
from jaxsim.train.config import Config, Shac
from jaxsim.train.networks import Critic, Policy, squash
from jaxsim.train.normalise import Statistics

__all__ = ["Learner", "Trainer", "Window"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Learner:
    """All that training changes: with it, training goes on exactly as it would have.

    Attributes:
      policy: parameters of the policy.
      critic: of the critic.
      target: of the critic's slow copy.
      optimisers: states of the policy's and the critic's.
      statistics: of observations.
      worlds: where the worlds are.
      key: of random numbers.
    """

    policy: Any
    critic: Any
    target: Any
    optimisers: tuple[Any, Any]
    statistics: Statistics
    worlds: State
    key: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Window:
    """What happened over one horizon; leaves are (horizon, worlds, ...).

    Attributes:
      obs: before each action.
      reward: of it.
      end: 1 where an episode ends, or the horizon does.
      over: 1 where nothing comes after: the robot fell, say.
      value: of where the action led, by the slow critic.
    """

    obs: Array
    reward: Array
    end: Array
    over: Array
    value: Array


class Trainer:
    """Programs of one training: `start`, `restart`, `update`.

    Args:
      env: what to learn.
      config: how.
      many: its worlds, each with a model of its own; default: one model for all.
    """

    def __init__(self, env: Env, config: Config, many: Randomised | None = None) -> None:
        self.config, self.own = config, config.shac
        self.many = many or Vmap(env)
        self.env = Episode(self.many, env.config.episode_length)
        self.policy = Policy(self.own.policy, env.action_size, self.own.deviation)
        self.critic = Critic(self.own.critic)
        updates = -(-config.steps // (config.worlds * self.own.horizon))
        self.rules = (
            _rule(self.own.policy_rate, updates, self.own),
            _rule(self.own.critic_rate, updates * self.own.critic_epochs * self.own.critic_batches, self.own),
        )
        self.restart = jax.jit(self._restart)
        mesh = worlds_mesh(config.worlds, jax.local_devices())
        self.update = jax.jit(self._update if mesh.size == 1 else self._sharded(mesh))

    def start(self) -> Learner:
        """Before the first update."""
        key, policy, critic, worlds, phase = jax.random.split(jax.random.key(self.config.seed), 5)
        state = self.restart(worlds)
        # episodes begin at different times, so that a window holds something of every part of an episode
        steps = state.info["steps"]
        late = jnp.floor(jax.random.uniform(phase, steps.shape, steps.dtype, maxval=self.env.length))
        state = state.replace(info={**state.info, "steps": late})
        obs = state.obs[0]
        params = self.policy.init(policy, obs), self.critic.init(critic, obs)
        rules = tuple(rule.init(p) for rule, p in zip(self.rules, params, strict=True))
        statistics = Statistics.start(obs.shape[-1]).update(state.obs)
        return Learner(params[0], params[1], params[1], rules, statistics, state, key)  # pyright: ignore

    def act(self, policy: tuple[Any, Statistics], obs: Array) -> Array:
        """The action without noise of parameters, with statistics of observations."""
        params, statistics = policy
        return squash(self.policy.apply(params, statistics(obs))[0])  # pyright: ignore

    def _restart(self, key: Array) -> State:
        return self.env.reset(jax.random.split(key, self.config.worlds))

    def _sharded(self, mesh: Mesh) -> Callable[..., Any]:
        """The update with its worlds on several devices, which tell each other gradients."""
        one, split = PartitionSpec(), PartitionSpec(WORLDS)
        specs = Learner(one, one, one, (one, one), one, split, one)  # pyright: ignore

        def update(learner: Learner, fresh: State) -> tuple[Learner, dict[str, Array]]:
            own, worlds = copy.copy(self), fresh.reward.shape[0]
            many = self.many.part(jax.lax.axis_index(WORLDS) * worlds, worlds)
            own.env = Episode(many, self.env.length)
            return own._update(learner, fresh, WORLDS)

        return jax.shard_map(
            update,
            mesh=mesh,
            in_specs=(specs, split),
            out_specs=(specs, one),
            check_vma=False,
        )

    def _update(
        self, learner: Learner, fresh: State, axis: str | None = None
    ) -> tuple[Learner, dict[str, Array]]:
        """One horizon in all worlds: a step of the policy, and some of the critic.

        Args:
          learner: before.
          fresh: where worlds go whose episode ends.
          axis: of devices.

        Returns:
          After; and numbers about it.
        """
        key, own, shuffle = jax.random.split(learner.key, 3)
        own = own if axis is None else jax.random.fold_in(own, jax.lax.axis_index(axis))
        gradient = jax.grad(self._loss, has_aux=True)
        by_policy, (worlds, window) = gradient(learner.policy, learner, fresh, own)
        by_policy, reward = _mean((by_policy, jnp.mean(window.reward)), axis)
        size = sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(by_policy)))  # pyright: ignore
        # one world's bad step must not end a training: what is not a number is no step
        by_policy = jax.tree.map(lambda g: jnp.where(jnp.isfinite(size), g, 0.0), by_policy)
        change, rule = self.rules[0].update(by_policy, learner.optimisers[0], learner.policy)
        policy = optax.apply_updates(learner.policy, change)
        critic, critic_rule, loss = self._fit(learner, window, shuffle, axis)
        slow = self.own.slowness
        target = jax.tree.map(lambda old, new: slow * old + (1 - slow) * new, learner.target, critic)
        statistics = learner.statistics.update(window.obs, axis)
        metrics = {"reward": reward, "critic_loss": loss, "gradient": size}
        after = Learner(policy, critic, target, (rule, critic_rule), statistics, worlds, key)
        return after, metrics

    def _loss(
        self, policy: Any, learner: Learner, fresh: State, key: Array
    ) -> tuple[Array, tuple[State, Window]]:
        """What a policy fails to earn over a horizon and, as the critic says, after it."""
        horizon, discount = self.own.horizon, self.own.discount
        fixed = jax.lax.stop_gradient(learner)
        # the loss is a mean over worlds and steps, `reach` is said of one world's sum
        most = self.own.reach / (horizon * fixed.worlds.reward.shape[0])

        def act(state: State, now: tuple[Array, Array]) -> tuple[State, Window]:
            key, last = now
            mean, deviation = self.policy.apply(policy, fixed.statistics(state.obs))  # pyright: ignore
            noise = jax.random.normal(key, mean.shape, mean.dtype)
            after = self.env.step(state, squash(mean, deviation, noise))
            value = self.critic.apply(fixed.target, fixed.statistics(after.obs))
            over = after.done * (1 - after.info["truncation"])
            end = jnp.maximum(after.done, last)
            window = Window(state.obs, self.config.reward_scale * after.reward, end, over, value)  # pyright: ignore
            return _bounded(choose(after.done > 0, fresh, after), most), window

        last = (jnp.arange(horizon) == horizon - 1).astype(fixed.worlds.reward.dtype)
        worlds, window = jax.lax.scan(act, fixed.worlds, (jax.random.split(key, horizon), last))

        def weigh(weight: Array, end: Array) -> tuple[Array, Array]:
            return jnp.where(end > 0, 1.0, discount * weight), weight

        _, weight = jax.lax.scan(weigh, jnp.ones_like(window.end[0]), window.end)
        after = window.end * (1 - window.over) * discount * window.value
        earned = jnp.sum(weight * (window.reward + after), axis=0)
        return -jnp.mean(earned) / horizon, jax.lax.stop_gradient((worlds, window))

    def _fit(self, learner: Learner, window: Window, key: Array, axis: str | None) -> tuple[Any, Any, Array]:
        """The critic after some epochs on a window, its optimiser's state, and its loss."""
        obs = learner.statistics(window.obs).reshape(-1, window.obs.shape[-1])
        wanted = _returns(window, self.own.discount, self.own.trace).reshape(-1)
        batches = self.own.critic_batches
        rows = obs.shape[0] // batches

        def loss(params: Any, chosen: Array) -> Array:
            return jnp.mean(jnp.square(self.critic.apply(params, obs[chosen]) - wanted[chosen]))  # pyright: ignore

        def fit(carry: Any, chosen: Array) -> tuple[Any, Array]:
            params, rule = carry
            value, slope = _mean(jax.value_and_grad(loss)(params, chosen), axis)
            change, rule = self.rules[1].update(slope, rule, params)
            return (optax.apply_updates(params, change), rule), value

        orders = jax.vmap(lambda k: jax.random.permutation(k, obs.shape[0])[: rows * batches])(
            jax.random.split(key, self.own.critic_epochs)
        )
        start = (learner.critic, learner.optimisers[1])
        (params, rule), losses = jax.lax.scan(fit, start, orders.reshape(-1, rows))
        return params, rule, losses[-1]


def _returns(window: Window, discount: float, trace: float) -> Array:
    """TD-lambda targets, (horizon, worlds)."""

    def back(later: Array, now: Window) -> tuple[Array, Array]:
        mixed = jnp.where(now.end > 0, now.value, (1 - trace) * now.value + trace * later)
        target = now.reward + discount * (1 - now.over) * mixed
        return target, target

    return jax.lax.scan(back, window.value[-1], window, reverse=True)[1]


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def _bounded(state: State, most: float) -> State:
    """The same state; a gradient that comes back through it has at most this norm in each world."""
    return state


def _bounded_back(most: float, kept: None, back: State) -> tuple[State]:
    flows = [x for x in jax.tree.leaves(back) if jnp.issubdtype(x.dtype, jnp.inexact)]
    square: Any = sum(jnp.sum(jnp.square(x), axis=tuple(range(1, x.ndim))) for x in flows)
    scale = jnp.minimum(1.0, most / jnp.maximum(sqrt(square), 1e-30))
    # one world's broken gradient must not end the training of all
    scale = jnp.where(jnp.isfinite(square), scale, 0.0)

    def leaf(x: Any) -> Any:
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return x
        wide = scale.reshape(scale.shape + (1,) * (x.ndim - 1))
        return jnp.where(wide > 0, wide * x, 0.0)

    return (jax.tree.map(leaf, back),)


_bounded.defvjp(lambda state, most: (state, None), _bounded_back)


def _mean(tree: Any, axis: str | None) -> Any:
    return tree if axis is None else jax.lax.pmean(tree, axis)


def _rule(rate: float, updates: int, own: Shac) -> Any:
    """Adam with clipped gradients; its rate falls to a hundredth along a line."""
    falling = optax.linear_schedule(rate, rate / 100, updates)
    return optax.chain(optax.clip_by_global_norm(own.clip), optax.adam(falling, *own.betas))
