"""Proximal policy optimisation: brax's, as it is, on jaxsim's environments."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from jaxsim.envs.base import Env
from jaxsim.envs.randomise import randomise
from jaxsim.envs.wrappers import wrap_for_training
from jaxsim.parallel import worlds_mesh
from jaxsim.train.config import Config, ConfigError

__all__ = ["act", "blank", "train"]

Report = Callable[[int, dict[str, Any], Any], None]


def train(env: Env, config: Config, report: Report, start: tuple[int, Any] | None = None) -> None:
    """Trains until the config's number of steps; with no steps left there is nothing to do.

    Args:
      env: what to learn.
      config: how.
      report: called at every evaluation with steps, numbers and the policy.
      start: steps and policy to go on from. brax keeps neither its optimiser's memory nor its worlds: these start anew.
    """
    done, params = start or (0, None)
    if done >= config.steps:
        return
    latest: list[Any] = []

    def keep(step: int, make: Any, params: Any) -> None:
        latest[:] = [params]

    def progress(step: int, metrics: dict[str, Any]) -> None:
        if step or not done:
            report(done + step, _numbers(metrics), latest[0] if latest else None)

    settings, brax = dataclasses.asdict(config.ppo), _brax()
    del settings["policy"], settings["critic"]  # of the networks, see `_factory`
    with _mended():
        brax.train.train(
            env,
            num_timesteps=config.steps - done,
            max_devices_per_host=worlds_mesh(config.worlds, jax.local_devices()).size,
            wrap_env_fn=wrap_for_training,
            randomization_fn=functools.partial(randomise, **config.ranges) if config.randomise else None,
            num_envs=config.worlds,
            episode_length=env.config.episode_length,
            **settings,
            reward_scaling=config.reward_scale,
            normalize_observations=True,
            network_factory=_factory(config),
            seed=config.seed + done,
            num_evals=config.evals + 1,
            num_eval_envs=config.eval_worlds,
            deterministic_eval=True,
            progress_fn=progress,
            policy_params_fn=keep,
            restore_params=params,
        )


def act(env: Env, config: Config) -> Callable[[Any, Array], Array]:
    """The action without noise, of a policy and an observation."""
    make = _brax().networks.make_inference_fn(_networks(env, config))
    return lambda policy, obs: make(policy, deterministic=True)(obs, jax.random.key(0))[0]


def blank(env: Env, config: Config) -> Any:
    """Shapes of a policy: statistics of observations, parameters of policy and critic."""
    ours, brax = _networks(env, config), _brax()

    def init(key: Array) -> Any:
        statistics = brax.statistics.init_state(brax.Array((env.observation_size,), jnp.dtype("float32")))
        return statistics, ours.policy_network.init(key), ours.value_network.init(key)

    return jax.eval_shape(init, jax.random.key(0))


@functools.cache
def _brax() -> Any:
    """What is used of brax, imported when it is: it takes seconds, and says and warns of what does not matter here."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore", DeprecationWarning)
            from brax.training.acme import running_statistics as statistics  # pyright: ignore[reportMissingImports]
            from brax.training.acme.specs import Array  # pyright: ignore[reportMissingImports]
            from brax.training.agents.ppo import networks, train  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        raise ConfigError(f"algorithm: ppo needs {error.name}: pip install 'jaxsim-engine[train]'") from error
    return SimpleNamespace(statistics=statistics, Array=Array, networks=networks, train=train)


def _networks(env: Env, config: Config) -> Any:
    normalise = _brax().statistics.normalize
    return _factory(config)(env.observation_size, env.action_size, preprocess_observations_fn=normalise)


def _factory(config: Config) -> Any:
    return functools.partial(
        _brax().networks.make_ppo_networks,
        policy_hidden_layer_sizes=config.ppo.policy,
        value_hidden_layer_sizes=config.ppo.critic,
    )


def _numbers(metrics: dict[str, Any]) -> dict[str, Any]:
    """Of brax's evaluation, by the names that our tables have."""
    found = {
        "return": metrics["eval/episode_reward"],
        "return_deviation": metrics["eval/episode_reward_std"],
        "length": metrics["eval/avg_episode_length"],
    }
    before = "eval/episode_"
    for name, x in metrics.items():
        if name.startswith(before) and not name.endswith(("_std", "reward")):
            found[f"part_{name.removeprefix(before)}"] = x
    losses = {name.removeprefix("training/"): x for name, x in metrics.items() if name.endswith("_loss")}
    return found | losses


@contextlib.contextmanager
def _mended() -> Iterator[None]:
    """Gives brax 0.14.2 the function that jax 0.10 took away, and keeps its log quiet, while it trains."""
    old = jax.__dict__.get("device_put_replicated")
    level = logging.getLogger("absl").level
    jax.__dict__["device_put_replicated"] = _replicated
    logging.getLogger("absl").setLevel(logging.ERROR)
    try:
        yield
    finally:
        logging.getLogger("absl").setLevel(level)
        if old is None:
            del jax.__dict__["device_put_replicated"]
        else:
            jax.__dict__["device_put_replicated"] = old


def _replicated(tree: Any, devices: Sequence[Any]) -> Any:
    """A copy of each leaf on each device, stacked along a first axis."""
    place = NamedSharding(Mesh(devices, ("devices",)), PartitionSpec("devices"))
    return jax.tree.map(lambda x: jax.device_put(jnp.stack([x] * len(devices)), place), tree)
