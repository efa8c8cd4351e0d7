"""Engines side by side in one process: the same model, options, states and controls, taking turns."""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.table import Table

from jaxsim.cli.engines import ENGINES, Engine, JaxEngine, Workload
from jaxsim.parallel import cores

__all__ = ["compare", "machine", "tables", "workload"]

_WARM_UP = 100
"""Steps before the measured ones, so that worlds differ and contacts are in play."""

_CHUNK = 10
"""Steps of one jitted call; between calls a slow engine can stop at its time limit."""


def compare(
    path: Path,
    engines: Sequence[str],
    *,
    worlds: int,
    steps: int,
    repeats: int,
    gradient_worlds: int = 0,
    budget: float = 20.0,
    seed: int = 0,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measures engines on one model.

    Args:
        path: MJCF file.
        engines: Names in `ENGINES`; ratios are of the first to the others.
        worlds: Number of worlds.
        steps: Steps of a rollout.
        repeats: Measurements of each engine.
        gradient_worlds: Worlds of a rollout with gradient; 0: not measured.
        budget: Seconds after which a rollout stops early; its speed is that of the steps done.
        seed: Seed of the starting states and controls.
        say: Called with what is being measured.

    Returns:
        Measurements by engine name, ready for JSON: `steps_per_s` (all repeats), `compile_s` (cold, once, of one
        world's jitted step), `memory_bytes` (most memory of a call), `place` (how many devices or threads it runs on),
        `qpos_difference` (from the C engine after the rollout, median over worlds of the largest coordinate) and
        `gradient`. Of a peer that does not take the model `refused` alone, its reason.
    """
    jax.block_until_ready(
        jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y @ x + i, x))(jax.numpy.eye(2))
    )
    built, result = _build(path, engines)
    chunk = next(d for d in range(min(_CHUNK, steps), 0, -1) if steps % d == 0)
    for name, engine in built.items():
        say(f"{name}: compiling a step")
        result[name]["compile_s"] = engine.compile_seconds()
    warm = built.get("mujoco", built[engines[0]])
    say(f"{warm.name}: warming up")
    work = workload(path, warm, worlds, steps, seed)
    for name, engine in built.items():
        say(f"{name}: compiling a rollout")
        result[name]["memory_bytes"] = engine.prepare(work, chunk)
        result[name]["place"] = engine.place
        engine.run(0.0)
    for k in range(repeats):
        for name, engine in built.items():
            say(f"{name}: {worlds:,} worlds, rollout {k + 1} of {repeats}")
            count, seconds = engine.run(budget)
            result[name]["steps_per_s"].append(count / seconds)
            result[name]["steps_done"] = count // worlds
    if "mujoco" in built:
        reference = built["mujoco"].final_state()[0]
        for name, engine in built.items():
            if name != "mujoco" and result[name]["steps_done"] == steps:
                difference = np.abs(engine.final_state()[0] - reference).max(1)
                result[name]["qpos_difference"] = float(np.median(difference))
    if gradient_worlds:
        _gradients(built, work.head(gradient_worlds), repeats, result, say)
    return result


def _build(path: Path, engines: Sequence[str]) -> tuple[dict[str, Engine], dict[str, Any]]:
    """Engines that take the model, and an empty result of each, or why it does not."""
    built: dict[str, Engine] = {}
    result: dict[str, Any] = {}
    for name in engines:
        try:
            built[name] = ENGINES[name](path)
        except (NotImplementedError, ValueError) as error:
            if name == engines[0]:
                raise
            result[name] = {"refused": str(error)}
        else:
            result[name] = {"steps_per_s": [], "steps_done": 0, "compile_s": None, "memory_bytes": 0}
    return built, result


def workload(path: Path, engine: Engine, worlds: int, steps: int, seed: int) -> Workload:
    """States after `_WARM_UP` steps from the start under random controls, and the controls of the steps to come."""
    import jaxsim
    from jaxsim.structure.controls import control_range

    model = jaxsim.load_model(path)
    rng = np.random.default_rng(seed)
    low, high = (x.astype(float) for x in control_range(model, 1.0))
    ctrl = rng.uniform(low, high, (_WARM_UP + steps, worlds, model.nu))
    home = model.key_qpos[0] if model.nkey else np.asarray(model.qpos0)
    qpos = np.tile(np.asarray(home, float), (worlds, 1))
    qvel = 0.01 * rng.standard_normal((worlds, model.nv))
    start = Workload(path, qpos, qvel, np.zeros((worlds, model.na)), ctrl[:_WARM_UP])
    engine.prepare(start, _CHUNK)
    engine.run(float("inf"))
    qpos, qvel, act = engine.final_state()
    return Workload(path, qpos, qvel, act, ctrl[_WARM_UP:])


def _gradients(
    built: dict[str, Engine],
    work: Workload,
    repeats: int,
    result: dict[str, Any],
    say: Callable[[str], None],
) -> None:
    """Adds the cost of a rollout, alone and with its gradient with respect to all controls."""
    ready: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    for name, engine in built.items():
        if not isinstance(engine, JaxEngine):
            continue
        say(f"{name}: compiling a gradient")
        entry: dict[str, Any] = {"worlds": work.worlds, "steps": work.steps}
        result[name]["gradient"] = entry
        try:
            forward, both, forward_bytes, both_bytes, seconds = engine.gradient(work)
        except ValueError as error:
            entry["error"] = str(error).split(". ")[0]
            continue
        entry |= {
            "compile_s": seconds,
            "forward_bytes": forward_bytes,
            "gradient_bytes": both_bytes,
            "forward_s": [],
            "gradient_s": [],
        }
        forward()
        both()
        ready[name] = forward, both
    for k in range(repeats):
        for name, (forward, both) in ready.items():
            say(f"{name}: {work.worlds:,} worlds, gradient {k + 1} of {repeats}")
            for call, key in ((forward, "forward_s"), (both, "gradient_s")):
                start = time.perf_counter()
                value = call()
                result[name]["gradient"][key].append(time.perf_counter() - start)
            result[name]["gradient"]["finite"] = bool(np.isfinite(np.asarray(value[1])).all())


def tables(title: str, result: dict[str, Any]) -> list[Table]:
    """What `compare` measured, medians: a table of rollouts, and one of gradients if there are any."""
    first = next(iter(result))
    rollouts = Table(title=title)
    rollouts.add_column("engine", style="bold")
    for heading in ("steps/s", f"{first} is", "compile step", f"{first} takes", "memory", "on"):
        rollouts.add_column(heading, justify="right")
    for name, r in result.items():
        rollouts.add_row(name, *_rollout_cells(result[first], r))
    rollouts.caption = _reasons(result, "refused")
    measured = {name: r["gradient"] for name, r in result.items() if "gradient" in r}
    if not measured:
        return [rollouts]
    worlds, steps = (next(iter(measured.values()))[key] for key in ("worlds", "steps"))
    gradients = Table(title=f"{title}: gradient of {steps} steps, {worlds:,} worlds")
    gradients.add_column("engine", style="bold")
    for heading in ("forward", "with gradient", "ratio", "compile", "memory"):
        gradients.add_column(heading, justify="right")
    for name, gradient in measured.items():
        gradients.add_row(name, *_gradient_cells(gradient))
    gradients.caption = _reasons(measured, "error")
    return [rollouts, gradients]


def _reasons(found: dict[str, Any], why: str) -> str | None:
    """Why engines have no numbers, a line each; None if all have."""
    return "\n".join(f"{name}: {r[why]}" for name, r in found.items() if why in r) or None


def _rollout_cells(first: dict[str, Any], measured: dict[str, Any]) -> list[str]:
    if "refused" in measured:
        return ["refused", *["-"] * 5]
    ours, speed = (statistics.median(r["steps_per_s"]) for r in (first, measured))
    own, other = first["compile_s"], measured["compile_s"]
    return [
        f"{speed:,.0f}",
        f"{ours / speed:.2f} x",
        "-" if other is None else f"{other:.1f} s",
        "-" if other is None or own is None else f"{own / other:.2f} x",
        _megabytes(measured["memory_bytes"]),
        measured["place"],
    ]


def _gradient_cells(gradient: dict[str, Any]) -> list[str]:
    if "error" in gradient:
        return ["refused", *["-"] * 4]
    forward, both = (statistics.median(gradient[key]) for key in ("forward_s", "gradient_s"))
    return [
        f"{forward:.2f} s",
        f"{both:.2f} s",
        f"{both / forward:.1f} x",
        f"{gradient['compile_s']:.0f} s",
        _megabytes(gradient["gradient_bytes"]),
    ]


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.{0 if count > 1e7 else 1}f} MB"


def machine() -> dict[str, Any]:
    """What a measurement depends on: processor, its load, device, number type, versions of what is installed, date."""
    versions: dict[str, str] = {}
    for package in ("jaxsim-engine", "jax", "jaxlib", "mujoco", "mujoco-mjx", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "processor": names[0] if names else platform.processor(),
        "cores": cores(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "device": f"{jax.devices()[0].device_kind} ({jax.default_backend()})",
        "dtype": str(jax.numpy.zeros(0).dtype),
        "python": platform.python_version(),
        "versions": versions,
    }
