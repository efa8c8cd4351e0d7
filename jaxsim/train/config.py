"""Settings of a training: a file, changes to it, and what is wrong with them.

A file is YAML; its keys are the fields of `Config`. What a file leaves out has the default below.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxsim.envs.config import override
from jaxsim.envs.randomise import checked_ranges
from jaxsim.envs.registry import default_config, names
from jaxsim.hints import hint

__all__ = ["Config", "ConfigError", "Ppo", "Shac", "change", "parse", "read", "write"]


_BOUNDS: list[tuple[str, Callable[[Any], bool], str]] = [
    (
        "at least 1",
        lambda x: x >= 1,
        "steps worlds evals eval_worlds shac.horizon shac.critic_epochs shac.critic_batches "
        "ppo.unroll_length ppo.batch_size ppo.num_minibatches ppo.num_updates_per_batch",
    ),
    ("at least 1, or 0 for all", lambda x: x >= 0, "keep"),
    (
        "at least 0",
        lambda x: 0 <= x < math.inf,
        "seed shac.policy_rate shac.critic_rate ppo.learning_rate ppo.entropy_cost",
    ),
    (
        "positive",
        lambda x: 0 < x < math.inf,
        "reward_scale shac.deviation shac.clip shac.reach ppo.clipping_epsilon ppo.max_grad_norm",
    ),
    (
        "in [0, 1]",
        lambda x: 0 <= x <= 1,
        "shac.discount shac.trace shac.slowness ppo.discounting ppo.gae_lambda",
    ),
    ("in [0, 1), each", lambda x: all(0 <= beta < 1 for beta in x), "shac.betas"),
    (
        "widths of at least 1",
        lambda x: all(isinstance(width, int) and width >= 1 for width in x),
        "shac.policy shac.critic ppo.policy ppo.critic",
    ),
]
"""What numbers must be, in words and as a test, and the settings that must, by dotted name."""


class ConfigError(ValueError):
    """A setting is unknown or wrong; the message names it, the file, and what would work."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shac:
    """Of short-horizon actor-critic.

    Attributes:
      horizon: steps that a gradient goes through.
      discount: of a reward, a step.
      trace: lambda of the critic's targets, in [0, 1].
      policy: widths of the policy's hidden layers.
      critic: of the critic's.
      deviation: initial standard deviation of actions.
      policy_rate: learning rate; it falls to a hundredth.
      critic_rate: likewise.
      critic_epochs: how often the critic sees a window.
      critic_batches: in how many parts.
      slowness: share that the critic's slow copy keeps in an update.
      clip: largest norm of a gradient.
      reach: largest norm of the gradient of what a world will earn with respect to its state at any step; what is
        beyond, behind a hard landing say, is scaled down to it.
      betas: memories of Adam.
    """

    horizon: int = 32
    discount: float = 0.99
    trace: float = 0.95
    policy: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64, 64)
    deviation: float = 0.35
    policy_rate: float = 2e-3
    critic_rate: float = 1e-3
    critic_epochs: int = 16
    critic_batches: int = 4
    slowness: float = 0.2
    clip: float = 1.0
    reach: float = 100.0
    betas: tuple[float, float] = (0.7, 0.95)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ppo:
    """Of brax's proximal policy optimisation; all but the networks' are arguments of its `train`, which documents each.

    Attributes:
      unroll_length: steps of a piece of trajectory.
      batch_size: pieces of a batch.
      num_minibatches: batches of an update; times `batch_size` they are a multiple of the worlds.
      num_updates_per_batch: how often each is seen.
      discounting: of a reward, a step.
      learning_rate: of Adam.
      entropy_cost: what randomness earns.
      gae_lambda: of the advantages, in [0, 1].
      clipping_epsilon: largest change of an action's odds.
      max_grad_norm: largest norm of a gradient.
      policy: widths of the policy's hidden layers.
      critic: of the critic's.
    """

    unroll_length: int = 16
    batch_size: int = 256
    num_minibatches: int = 8
    num_updates_per_batch: int = 4
    discounting: float = 0.97
    learning_rate: float = 1e-3
    entropy_cost: float = 1e-3
    gae_lambda: float = 0.95
    clipping_epsilon: float = 0.3
    max_grad_norm: float = 1.0
    policy: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64, 64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Of a training.

    Attributes:
      module: Python module that registers environments of your own, of this folder or installed; imported first.
      env: name of the environment.
      task: its settings that differ from the usual, by dotted name.
      algorithm: `shac` or `ppo`.
      seed: of everything random.
      steps: of all worlds together, in actions.
      worlds: that run side by side, on all devices.
      randomise: whether each world has masses, frictions, damping, armatures and gains of its own, by the ranges that
        `jaxsim.envs.randomise` has, or the ranges that differ from these by name: {"mass": (0.8, 1.2)}.
      reward_scale: what rewards are multiplied by before they are learned from.
      evals: how often the policy is tried, and a checkpoint written.
      keep: how many of the newest checkpoints stay, beside that of the greatest return; 0: all.
      eval_worlds: in how many worlds.
      goal: return that is asked for, drawn in the curve; 0: none.
      out: folder of results; empty: `runs/` and the name of the file, or without one of algorithm and environment.
      initial: folder of another run of the algorithm, whose newest policy and critic this one begins with: to learn on,
        or from an easier task to a harder one; empty: from nothing.
      resume: whether to go on where the run in `out` was interrupted, from the start if it has no checkpoint yet.
      shac: settings of this algorithm.
      ppo: of that.
    """

    module: str = ""
    env: str = "cartpole_balance"
    task: dict[str, Any] = dataclasses.field(default_factory=dict)
    algorithm: str = "shac"
    seed: int = 0
    steps: int = 1_000_000
    worlds: int = 64
    randomise: bool | dict[str, tuple[float, float]] = False
    reward_scale: float = 1.0
    evals: int = 10
    keep: int = 3
    eval_worlds: int = 16
    goal: float = 0.0
    out: str = ""
    initial: str = ""
    resume: bool = False
    shac: Shac = Shac()
    ppo: Ppo = Ppo()

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """What is given of the ranges of `jaxsim.envs.randomise`."""
        return dict(self.randomise) if isinstance(self.randomise, dict) else {}


def read(file: str | Path, changes: Mapping[str, Any] | None = None) -> Config:
    """A config from a file.

    Args:
      file: YAML.
      changes: settings that differ from the file's, by dotted name.

    Raises:
      ConfigError: the file cannot be read, or a setting is unknown or wrong.
    """
    import yaml

    try:
        found = parse(Path(file).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read {str(file)!r}: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{file}: no settings, as in `env: cartpole_balance`")
    config = change(Config(), _flat(found), str(file))
    config = change(config, changes or {}, "command line")
    out = config.out or str(Path("runs") / Path(file).stem)
    return dataclasses.replace(config, out=out)


def parse(text: str) -> Any:
    """What YAML's text says; `1e-3`, which YAML 1.1 takes for a word, is a number.

    Raises:
      yaml.YAMLError: it is not YAML.
    """
    import yaml

    return yaml.load(text, _loader())


def change(config: Config, changes: Mapping[str, Any], where: str) -> Config:
    """A config with some settings changed, and checked.

    Args:
      config: before.
      changes: new values by dotted name.
      where: they come from, for messages.

    Raises:
      ConfigError: a setting is unknown or wrong, or its module cannot be imported.
    """
    own = {name: _tuples(value) for name, value in changes.items()}
    task, ranges = _taken(own, "task."), _taken(own, "randomise.")
    whole = own.pop("randomise", config.randomise)
    _import(str(own.get("module", config.module)), where)
    try:
        config = override(config, own)
        config = dataclasses.replace(config, task=config.task | task, randomise=_randomise(whole, ranges))
        override(default_config(config.env), config.task)
    except ValueError as error:
        raise ConfigError(f"{where}: randomise: {error}") from error
    except (KeyError, TypeError) as error:
        more = "" if config.module or config.env in names() else "; `module` imports those of your own"
        raise ConfigError(f"{where}: {error.args[0]}{more}") from error
    _check(config, where)
    return config


def write(config: Config, file: Path) -> None:
    """Writes all settings, as `read` reads them."""
    import yaml

    file.write_text(yaml.safe_dump(_lists(dataclasses.asdict(config)), sort_keys=False))


@functools.cache
def _loader() -> Any:
    """YAML's safe loader, with numbers as everybody writes them."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    number = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    return Loader


def _import(module: str, where: str) -> None:
    """Imports a module of the user's, if there is one; as `python -m` does, it looks in this folder too."""
    if not module:
        return
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{where}: module {module!r}: {error}") from error


def _taken(changes: dict[str, Any], before: str) -> dict[str, Any]:
    """Takes out the changes whose names begin so, and gives them by the rest of the name."""
    return {name.removeprefix(before): changes.pop(name) for name in list(changes) if name.startswith(before)}


def _randomise(whole: Any, ranges: dict[str, Any]) -> bool | dict[str, tuple[float, float]]:
    """Yes, no, or all ranges that are given."""
    if not isinstance(whole, bool | dict):
        raise ValueError(f"true, false, or ranges as in {{mass: [0.8, 1.2]}}, not {whole!r}")
    if isinstance(whole, bool) and not ranges:
        return whole
    return checked_ranges((whole if isinstance(whole, dict) else {}) | ranges)


def _check(config: Config, where: str) -> None:
    """Raises if numbers are out of bounds or contradict each other."""
    kinds = ("shac", "ppo")
    if config.algorithm not in kinds:
        known = hint(config.algorithm, kinds)
        raise ConfigError(f"{where}: no algorithm {config.algorithm!r}{known}; there are {', '.join(kinds)}")
    for words, holds, settings in _BOUNDS:
        for name in settings.split():
            value = functools.reduce(getattr, name.split("."), config)
            if not holds(value):
                raise ConfigError(f"{where}: {name} is {value}, and must be {words}")
    if config.algorithm == "shac" and config.shac.critic_batches > config.shac.horizon * config.worlds:
        raise ConfigError(
            f"{where}: shac.critic_batches is {config.shac.critic_batches}, and must be at most shac.horizon x worlds, "
            f"{config.shac.horizon} x {config.worlds}"
        )
    if config.algorithm == "ppo" and config.ppo.batch_size * config.ppo.num_minibatches % config.worlds:
        raise ConfigError(
            f"{where}: ppo.batch_size x ppo.num_minibatches, {config.ppo.batch_size} x "
            f"{config.ppo.num_minibatches}, must be a multiple of worlds, {config.worlds}"
        )


def _flat(tree: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Settings by dotted name."""
    flat = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lists(x) for name, x in value.items()}
    return [_lists(x) for x in value] if isinstance(value, tuple) else value
