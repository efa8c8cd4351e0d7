"""`jaxsim rollout`: many worlds of one model under smooth random controls."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxsim.cli.models import CommandError, load
from jaxsim.cli.outputs import bar, check_outputs

__all__ = ["Run", "random_motion", "rollout", "simulate", "starting_keyframe", "starting_pose"]

_CHUNK = 50
"""Most steps of one compiled call; the progress bar moves once a call."""


def rollout(
    model: tyro.conf.Positional[str],
    /,
    worlds: Annotated[int, tyro.conf.arg(aliases=["-w"])] = 256,
    steps: Annotated[int, tyro.conf.arg(aliases=["-t"])] = 500,
    seed: int = 0,
    out: Path | None = None,
    plot: Path | None = None,
    record: Path | None = None,
) -> None:
    """Steps many worlds of a model under smooth random controls and says how it went.

    Worlds start in the keyframe `home` (else the first keyframe, else the reference configuration) with small random
    velocities.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
        worlds: Number of worlds.
        steps: Steps of every world.
        seed: Seed of velocities and controls.
        out: Write the trajectories to this .npz file.
        plot: Draw the rollout into this image file.
        record: Write the trajectories to this folder while they are computed, in constant memory; a run that was
            interrupted goes on. Read it by `jaxsim.recording.Recording.open`.
    """
    from rich.console import Console
    from rich.markup import escape

    if worlds < 1 or steps < 1:
        raise CommandError("--worlds and --steps must be at least 1")
    if seed < 0:
        raise CommandError(f"--seed {seed}: a seed is 0 or more")
    if record and (out or plot):
        raise CommandError("--record keeps nothing in memory that --out or --plot could write")
    check_outputs(out, plot)
    console = Console(markup=False)
    if record:
        with bar(console, "steps") as progress:
            compiled = load(model)
            reached: list[tuple[float, int]] = []

            def done_until(step: int) -> None:
                reached.append((time.perf_counter(), step))
                progress(step, steps)

            found = _record(compiled, worlds, steps, seed, record, done_until)
        console.print(_recorded(model, compiled, found, reached))
        console.print(f"{found.steps:,} steps of {found.worlds:,} worlds: {found.folder}", highlight=False)
        return
    with console.status(f"compiling {escape(model)} for {worlds:,} worlds"):
        compiled = load(model)
        fields = ("qpos", "ncon") + (("qvel", "sensordata") if out else ())
        run = simulate(compiled, worlds, steps, seed, fields)
    with bar(console, "steps") as progress:
        for done in run.chunks():
            progress(done, steps)
    console.print(_summary(model, compiled, run))
    if out:
        _save(out, run)
        console.print(f"trajectories: {out}", highlight=False)
    if plot:
        with console.status("drawing"):
            _draw(plot, model, compiled, run)
        console.print(f"picture: {plot}", highlight=False)


@dataclasses.dataclass
class Run:
    """A rollout that is ready to go, and its results as they come.

    Attributes:
        worlds: Number of worlds.
        steps: Steps of every world.
        timestep: s.
        compile_seconds: Time to trace, lower and compile.
        run_seconds: Time that the steps took so far.
        trajectory: Arrays `(worlds, steps, ...)` by field, complete once `chunks` is exhausted.
        final: Data of all worlds after the last step.
    """

    worlds: int
    steps: int
    timestep: float
    compile_seconds: float
    _step: Any
    _state: Any
    _chunk: int
    run_seconds: float = 0.0
    trajectory: dict[str, Any] = dataclasses.field(default_factory=dict)
    final: Any = None

    def chunks(self) -> Any:
        """Runs to the end, yielding the number of steps done after every call."""
        import jax
        import numpy as np

        parts: list[dict[str, Any]] = []
        for done in range(0, self.steps, self._chunk):
            start = time.perf_counter()
            self._state, traj = jax.block_until_ready(self._step(self._state, np.int32(done)))
            self.run_seconds += time.perf_counter() - start
            parts.append(jax.device_get(traj))
            yield done + self._chunk
        self.trajectory = {name: np.concatenate([p[name] for p in parts], axis=1) for name in parts[0]}
        self.final = self._state

    @property
    def speed(self) -> float:
        """Steps of all worlds together per second, compilation not counted."""
        return self.worlds * self.steps / self.run_seconds


def starting_pose(model: Any) -> tuple[Any, Any]:
    """Positions and controls of the keyframe `home`, else of the first one, else the reference configuration."""
    import numpy as np

    home = starting_keyframe(model)
    if home is None:
        return np.asarray(model.qpos0), np.zeros(model.nu)
    return model.key_qpos[home], model.key_ctrl[home]


def starting_keyframe(model: Any) -> int | None:
    """Number of the keyframe `home`, else of the first one; None: there is none."""
    from jaxsim.enums import ObjType

    keys = [model.name(ObjType.KEY, k) for k in range(model.nkey)]
    return (keys.index("home") if "home" in keys else 0) if keys else None


def random_motion(model: Any, worlds: int, seed: int) -> tuple[Any, Any]:
    """Starting data of all worlds, and smooth random controls.

    Each actuator follows two sinusoids of random phase, of 0.3 to 1.5 Hz, about its control in the starting
    keyframe; together they deviate by at most 8% of its control range, or by 0.1 where it has none.

    Args:
        model: The model.
        worlds: Number of worlds.
        seed: Seed of the starting velocities and of the controls.

    Returns:
        Data with a leading axis of worlds, and the controls (nu,) as a function of the numbers of step and world.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    import jaxsim
    from jaxsim.structure.controls import control_range

    rng = np.random.default_rng(seed)
    data = jaxsim.make_data(model)
    real = data.qpos.dtype
    qpos, ctrl = starting_pose(model)
    low, high = control_range(model)
    width = np.where(np.isfinite(high - low), 0.08 * (high - low), 0.1)
    shape = (worlds, 2, model.nu)
    omega = jnp.asarray(2 * np.pi * rng.uniform(0.3, 1.5, shape), real)
    phase = jnp.asarray(rng.uniform(0, 2 * np.pi, shape), real)
    width, ctrl = jnp.asarray(width, real), jnp.asarray(ctrl, real)
    timestep = jnp.asarray(model.opt.timestep, real)

    def controls(step: jax.Array, world: jax.Array) -> jax.Array:
        return ctrl + width / 2 * jnp.sum(jnp.sin(omega[world] * step * timestep + phase[world]), 0)

    qvel = jnp.asarray(0.05 * rng.standard_normal((worlds, model.nv)), real)
    start_qpos = jnp.asarray(qpos, real)
    return jax.vmap(lambda v: data.replace(qpos=start_qpos, qvel=v))(qvel), controls


def simulate(model: Any, worlds: int, steps: int, seed: int, fields: tuple[str, ...]) -> Run:
    """Compiles a rollout under smooth random controls.

    Args:
        model: The model.
        worlds: Number of worlds.
        steps: Steps of every world.
        seed: As in `random_motion`.
        fields: Data fields to record.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    import jaxsim
    from jaxsim import parallel

    state, controls = random_motion(model, worlds, seed)
    chunk = max(d for d in range(1, min(steps, _CHUNK) + 1) if steps % d == 0)
    chunk = steps if chunk < min(steps, _CHUNK) // 5 else chunk
    mesh = parallel.worlds_mesh(worlds)
    state, numbers = parallel.spread((state, np.arange(worlds)), mesh)

    def one(state: Any, world: jax.Array, done: jax.Array) -> Any:
        u = jax.vmap(controls, (0, None))(done + jnp.arange(chunk), world)
        return jaxsim.rollout(model, state, u, fields=fields)

    advance = jax.jit(parallel.vmap(one, (0, 0, None), mesh))
    start = time.perf_counter()
    compiled = advance.lower(state, numbers, np.int32(0)).compile()
    seconds = time.perf_counter() - start

    def step(state: Any, done: Any) -> Any:
        return compiled(state, numbers, done)

    return Run(worlds, steps, float(model.opt.timestep), seconds, step, state, chunk)


def _record(model: Any, worlds: int, steps: int, seed: int, folder: Path, progress: Any) -> Any:
    """The same motion, to a folder."""
    from jaxsim.recording import record

    data, controls = random_motion(model, worlds, seed)
    try:
        return record(
            model,
            data,
            folder,
            steps=steps,
            fields=("qpos", "qvel", "sensordata", "ncon", "warning"),
            control=lambda data, step, world: controls(step, world),
            chunk=_CHUNK,
            progress=progress,
        )
    except (ValueError, OSError) as error:
        raise CommandError(f"--record {folder}: {error}") from error


def _summary(name: str, model: Any, run: Run) -> Any:
    import jax
    import numpy as np

    device, count = jax.devices()[0], len(run.final.qpos.sharding.device_set)
    many = f"{count} x " if count > 1 else ""
    rows = {
        "device": f"{many}{device.device_kind} ({device.platform}, {run.final.qpos.dtype})",
        "speed": f"{run.speed:,.0f} steps/s",
        "realtime factor": f"{run.speed * run.timestep:,.1f}",
        "simulated": f"{run.worlds * run.steps * run.timestep:,.1f} s in {run.run_seconds:.2f} s",
        "compile": f"{run.compile_seconds:.2f} s",
        "contacts used": _contacts(run.trajectory["ncon"], run.final.contact.dist.shape[-1]),
    }
    finite = np.isfinite(np.asarray(run.trajectory["qpos"])).all((1, 2))
    return _table(name, model, run.worlds, run.steps, rows, np.asarray(run.final.warning), finite)


def _recorded(name: str, model: Any, found: Any, reached: list[tuple[float, int]]) -> Any:
    """The summary of a run on disk, of which nothing but the end is read.

    Args:
        name: Name of the model.
        model: The model.
        found: The recording.
        reached: When which step was done, in this process.
    """
    import numpy as np

    import jaxsim

    rows = {}
    whole = [x for x in reached if x[1] % _CHUNK == 0][1:]  # before these it may have compiled
    if len(whole) > 1:
        (begin, first), (end, last) = whole[0], whole[-1]
        speed = found.worlds * (last - first) / (end - begin)
        rows["speed, with writing"] = f"{speed:,.0f} steps/s"
        rows["realtime factor"] = f"{speed * float(model.opt.timestep):,.1f}"
    rows["simulated"] = f"{found.worlds * found.steps * float(model.opt.timestep):,.1f} s"
    rows["contacts at the end"] = _contacts(
        found.last("ncon"), jaxsim.make_data(model).contact.dist.shape[-1]
    )
    finite = np.isfinite(found.last("qpos")).all(1)
    return _table(name, model, found.worlds, found.steps, rows, found.last("warning"), finite)


_MANY_SLOTS = 256
"""Contact slots that are worth a thought if few are in use."""


def _contacts(ncon: Any, slots: int) -> str:
    hint = "; `jaxsim tune` measures how many are enough" if slots > max(_MANY_SLOTS, 8 * ncon.max()) else ""
    return f"{ncon.mean():.1f} mean, {ncon.max()} most, of {slots} slots a world{hint}"


def _table(
    name: str, model: Any, worlds: int, steps: int, rows: dict[str, str], warning: Any, finite: Any
) -> Any:
    from rich.table import Table

    from jaxsim.results import WarningBit, is_lost

    table = Table(title=f"{Path(name).stem}: {worlds:,} worlds x {steps:,} steps", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for row in rows.items():
        table.add_row(*row)
    table.add_row("contacts left out", _worlds(warning & WarningBit.CONTACT_OVERFLOW != 0))
    if (warning & WarningBit.PAIR_OVERFLOW).any():
        table.add_row("pairs left out", _worlds(warning & WarningBit.PAIR_OVERFLOW != 0))
    limit = int(model.opt.iterations)
    table.add_row(f"not converged in {limit} iterations", _worlds(warning & WarningBit.NOT_CONVERGED != 0))
    table.add_row("non-finite", _worlds(~finite | is_lost(warning)))
    return table


def _worlds(flags: Any) -> Any:
    from rich.text import Text

    count = int(flags.sum())
    return Text(f"{count:,} worlds", "red" if count else "")


def _save(out: Path, run: Run) -> None:
    import numpy as np

    first = np.float64(run.timestep) * np.arange(1, run.steps + 1)
    with out.open("wb") as file:
        np.savez_compressed(file, time=first, warning=np.asarray(run.final.warning), **run.trajectory)


def _draw(plot: Path, name: str, model: Any, run: Run) -> None:
    from jaxsim.viewer.trajectory_plot import plot_rollout

    note = (
        f"{run.steps:,} steps of {1000 * run.timestep:g} ms, {run.speed:,.0f} steps/s, "
        f"{run.speed * run.timestep:,.0f} times realtime"
    )
    try:
        plot_rollout(
            model,
            run.trajectory,
            plot,
            title=f"{Path(name).stem}: {run.worlds:,} worlds",
            note=note,
        )
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise CommandError(f"cannot draw {str(plot)!r}: {error}") from error
