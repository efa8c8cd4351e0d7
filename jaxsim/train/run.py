"""A training from beginning to end: what is learned from what, tables, checkpoints, the curve."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from jaxsim.envs import Env, Randomised, load, randomise
from jaxsim.programs import compile_quickly, keep_programs
from jaxsim.train import ppo
from jaxsim.train.checkpoint import Checkpoints
from jaxsim.train.config import Config, ConfigError, change, read, write
from jaxsim.train.evaluate import evaluate, summary
from jaxsim.train.record import Record, draw, rows
from jaxsim.train.shac import Trainer

__all__ = ["Report", "checkpoints", "restore", "train"]

Report = Callable[[dict[str, float]], None]
"""Called with each row of the table."""

_SAME_STARTS = 4
"""Updates of SHAC that share the states from which episodes start again."""


def train(config: Config, report: Report = lambda row: None) -> Path:
    """Trains a policy, from the start or from where it was interrupted.

    As on the command line, JAX keeps compiled programs on disk (`jaxsim.keep_programs`) and, if it has computed
    nothing yet, is asked to compile quickly.

    Args:
      config: what and how.
      report: called with each row of numbers: `steps`, `seconds`, `return`, ...

    Returns:
      The folder of results: `config.yaml`, `metrics.csv`, `curve.png`, a TensorBoard file, `checkpoints/`.

    Raises:
      TypeError: `config` is a file or a dict.
      ConfigError: a setting is wrong; the folder holds a run already and this is not to resume it, or is one with
        other settings; the run that this one begins with does not fit.
    """
    if not isinstance(config, Config):
        raise TypeError(
            f"train: expected a Config, not {type(config).__name__}; `read(file)` makes one of a file"
        )
    compile_quickly()
    keep_programs()
    out = Path(config.out or f"runs/{config.algorithm}_{config.env}")
    config = change(config, {"out": str(out)}, "config")
    saved = _prepare(config, out)
    step = saved.latest if config.resume else None
    record = Record(out, step)
    begin = time.perf_counter() - (record.rows[-1]["seconds"] if record.rows else 0.0)
    env = load(config.env, overrides=config.task)

    def tell(steps: int, numbers: dict[str, Any], policy: Any, learner: Any = None) -> None:
        seconds = time.perf_counter() - begin
        record.add({"steps": steps, "seconds": seconds} | {k: np.asarray(x) for k, x in numbers.items()})
        if policy is not None:
            trees = {"policy": policy} | ({} if learner is None else {"learner": learner})
            saved.save(steps, record.rows[-1]["return"], **trees)
        report(record.rows[-1])

    try:
        if config.algorithm == "shac":
            _shac(env, config, tell, saved, step)
        else:
            start = None
            if step:
                start = step, saved.restore(step, "policy", ppo.blank(env, config))
            elif config.initial:
                start = 0, _initial(config, ppo.blank(env, config))
            ppo.train(env, config, tell, start)
    finally:
        record.close()
        saved.close()
    draw(out / "curve.png", {config.algorithm: record.rows}, config.env, config.goal)
    return out


def checkpoints(folder: str | Path) -> dict[int, float]:
    """The checkpoints that a run still has; how many stay is the setting `keep`.

    Args:
      folder: of its results.

    Returns:
      The return of each policy when it was tried, by the number of steps that it had learned, the fewest first.

    Raises:
      ConfigError: there is no run.
    """
    folder = Path(folder)
    read(folder / "config.yaml")
    saved = Checkpoints(folder / "checkpoints")
    found = _earned(folder, saved)
    saved.close()
    return found


def _earned(folder: Path, saved: Checkpoints) -> dict[int, float]:
    """What `checkpoints` returns."""
    earned = {int(row["steps"]): row["return"] for row in rows(folder / "metrics.csv")}
    return {step: earned.get(step, float("nan")) for step in saved.steps}


def restore(
    folder: str | Path, step: int | Literal["best", "latest"] = "latest"
) -> tuple[Config, Env, Callable[[Any, Any], Any], Any]:
    """A policy of a run.

    Args:
      folder: of its results.
      step: which: the number of steps of one of `checkpoints(folder)`, the one of the greatest return, or the newest.

    Returns:
      Config, environment, a function from policy and observation to an action, the policy.

    Raises:
      ConfigError: there is no run, no checkpoint, or none of this step.
    """
    folder = Path(folder)
    config = read(folder / "config.yaml")
    saved = Checkpoints(folder / "checkpoints")
    chosen = _choose(folder, _earned(folder, saved), step)
    env = load(config.env, overrides=config.task)
    if config.algorithm == "shac":
        trainer = Trainer(env, config)
        learner = jax.eval_shape(trainer.start)
        act, like = trainer.act, (learner.policy, learner.statistics)
    else:
        act, like = ppo.act(env, config), ppo.blank(env, config)
    policy = saved.restore(chosen, "policy", like)
    saved.close()
    return config, env, act, policy


def _choose(folder: Path, earned: dict[int, float], step: int | str) -> int:
    """The step of the checkpoint that is meant, of those that there are."""
    if not earned:
        raise ConfigError(f"{folder} has no checkpoint")
    if step == "latest":
        return max(earned)
    if step == "best":
        return max(earned, key=lambda k: np.nan_to_num(earned[k], nan=-np.inf))
    if step not in earned:
        there = ", ".join(map(str, earned))
        raise ConfigError(f"{folder} has no checkpoint {step!r}; there are {there}, `best` and `latest`")
    return int(step)


def _begun(out: Path) -> bool:
    """Whether a run has a checkpoint: what stopped before, by a mistake in a task say, has nothing to lose."""
    saved = Checkpoints(out / "checkpoints")
    latest = saved.latest
    saved.close()
    return latest is not None


def _prepare(config: Config, out: Path) -> Checkpoints:
    """Folder and checkpoints of a run, if its config and what is there agree."""
    file = out / "config.yaml"
    begun = file.exists() and _begun(out)
    if config.resume and not file.exists():
        raise ConfigError(f"nothing to resume in {str(out)!r}")
    if config.resume and begun:
        before, now = (
            dataclasses.asdict(c) | {"out": "", "resume": True, "keep": 0} for c in (read(file), config)
        )
        differing = [name for name, x in now.items() if before[name] != x]
        if differing:
            raise ConfigError(
                f"the run in {str(out)!r} has other settings: {', '.join(differing)}; to learn on from its policy, "
                f"begin another run with `initial` (--initial {out} --out FOLDER)"
            )
    elif begun:
        raise ConfigError(
            f"there is a run in {str(out)!r}: go on with it by `resume` (--resume true), name another folder by "
            "`out`, or delete this one"
        )
    if config.initial and (other := read(Path(config.initial) / "config.yaml").algorithm) != config.algorithm:
        raise ConfigError(f"initial: {config.initial} is a run of {other}, not of {config.algorithm}")
    out.mkdir(parents=True, exist_ok=True)
    write(dataclasses.replace(config, resume=False), file)
    return Checkpoints(out / "checkpoints", config.keep)


def _initial(config: Config, like: Any) -> Any:
    """What the newest checkpoint of the run that this one begins with knows: a tree of shapes as given.

    Raises:
      ConfigError: it has no checkpoint, or its networks are of other sizes.
    """
    folder = Path(config.initial)
    before = read(folder / "config.yaml")
    saved = Checkpoints(folder / "checkpoints")
    if saved.latest is None:
        raise ConfigError(f"initial: {folder} has no checkpoint")
    env = load(before.env, overrides=before.task)
    if config.algorithm == "shac":
        learner = saved.restore(saved.latest, "learner", jax.eval_shape(Trainer(env, before).start))
        found = {name: getattr(learner, name) for name in like}
    else:
        found = saved.restore(saved.latest, "policy", ppo.blank(env, before))
    saved.close()
    sizes = [[np.shape(x) for x in jax.tree.leaves(tree)] for tree in (found, like)]
    if sizes[0] != sizes[1]:
        raise ConfigError(
            f"initial: the networks of {folder} have other sizes: another task observes or does other things, or "
            f"{config.algorithm}.policy and {config.algorithm}.critic differ"
        )
    return found


def _shac(env: Env, config: Config, tell: Any, saved: Checkpoints, step: int | None) -> None:
    """Trains by SHAC from a step on."""
    starts, trials = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), 1))
    many = None
    if config.randomise:
        keys = jax.random.split(jax.random.fold_in(starts, 1), config.worlds)
        many = Randomised(env, lambda model: randomise(model, keys, **config.ranges))
    trainer = Trainer(env, config, many)
    each = config.worlds * config.shac.horizon
    updates = -(-config.steps // each)
    tries = {round(updates * (k + 1) / config.evals) for k in range(config.evals)}

    @jax.jit
    def trial(policy: Any) -> Any:
        return summary(evaluate(env, trainer.act, policy, trials, config.eval_worlds))

    def show(k: int, learner: Any, numbers: dict[str, Any]) -> None:
        policy = learner.policy, learner.statistics
        tell(k * each, {**trial(policy), **numbers}, policy, learner)

    if step is None:
        learner, first = trainer.start(), 0
        if config.initial:
            parts = ("policy", "critic", "target", "statistics")
            known = _initial(config, {name: getattr(learner, name) for name in parts})
            learner = dataclasses.replace(learner, **known)
        show(0, learner, {})
    else:
        learner = saved.restore(step, "learner", jax.eval_shape(trainer.start))
        first = step // each
    fresh = None
    for k in range(first, updates):
        if fresh is None or k % _SAME_STARTS == 0:
            fresh = trainer.restart(jax.random.fold_in(starts, k // _SAME_STARTS))
        learner, numbers = trainer.update(learner, fresh)
        if k + 1 in tries:
            show(k + 1, learner, numbers)
