"""Compiles rollouts for a GPU that is not there, so that none of the time for which it is lent goes into compiling.

    python -m benchmarks.ahead --cases G1 Panda --worlds 4096 --target benchmarks/targets/h200.txtpb --out programs
    python -m benchmarks.device --cases --programs programs/*         # on the machine with the GPU

Both machines need the same versions of jax and of its plugin for GPUs (`pip install jax[cuda13]`, as the other machine
has it); no GPU is needed here, and neither models nor other engines there. A target is a description of the GPU as XLA
reads it. What XLA would find out by trying, such as how to divide matrix products, it guesses.
"""

from __future__ import annotations

import contextlib
import lzma
import os
import pickle
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jax.experimental import serialize_executable, topologies
from jax.sharding import NamedSharding, PartitionSpec
from rich.console import Console

from benchmarks.device import Task, file_of, work_of
from benchmarks.run import CASES
from benchmarks.scenes import SCENES
from jaxsim.cli.engines import ENGINES, bytes_of_call
from jaxsim.parallel import WORLDS, worlds_mesh

__all__ = ["compile_ahead", "main"]


def main(
    cases: tuple[str, ...] = (*CASES, *SCENES),
    engine: Literal["jaxsim", "mjx"] = "jaxsim",
    worlds: int = 4096,
    steps: int = 50,
    target: Path | None = None,
    out: Path = Path("programs"),
) -> None:
    """Compiles a rollout of each case, and keeps it with what it is called with.

    Args:
        cases: Names of models or scenes, or MJCF files.
        engine: Name of the engine.
        worlds: Number of worlds.
        steps: Steps of a rollout.
        target: Description of the GPU; default: the program is for a device of this machine.
        out: Folder for the programs.
    """
    console = Console()
    if target is not None:
        os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
        jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", False)
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        for case in cases:
            task = Task(case, file_of(case, Path(folder)), engine, worlds, steps, 3, kernels=True)
            file = out / f"{Path(case).stem.replace(' ', '_')}_{engine}_{worlds}.program"
            start = time.perf_counter()
            compile_ahead(task, target, file)
            seconds, size = time.perf_counter() - start, file.stat().st_size / 1e6
            console.print(f"{file}: {seconds:.0f} s, {size:.1f} MB", highlight=False)


def compile_ahead(task: Task, target: Path | None, file: Path) -> None:
    """Compiles a task's rollout and writes it to a file, which `benchmarks.device` measures.

    Args:
        task: What will be measured.
        target: Description of the GPU; None: a device of this machine.
        file: Where to.
    """
    devices = jax.devices()[:1] if target is None else [_device(target)]
    engine: Any = ENGINES[task.engine](task.path, devices)
    rollout, args = engine.program(work_of(task))
    mesh = worlds_mesh(task.worlds, devices)
    shared, spread = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), (WORLDS,)))
    places = [
        jax.tree.map(lambda _, own=own: own, x) for x, own in zip(args, (shared, spread, shared), strict=True)
    ]

    def shape(x: Any, place: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(jnp.shape(x), jnp.asarray(x).dtype, sharding=place)

    start = time.perf_counter()
    with _as_if_on(devices[0]):
        lowered = jax.jit(rollout).lower(*jax.tree.map(shape, args, tuple(places)))
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    # no path: versions of Python do not read each other's
    known = {name: getattr(task, name) for name in ("case", "engine", "worlds", "steps")}
    kept = {
        "program": serialize_executable.serialize(compiled),
        "args": jax.tree.map(np.asarray, args),
        "found": {"compile_s": seconds, "memory_bytes": bytes_of_call(compiled, 1)},
    }
    with lzma.open(file, "wb", preset=3) as stream:
        pickle.dump(known, stream)
        pickle.dump(kept, stream)


def _device(target: Path) -> Any:
    """A GPU that is not there."""
    described = topologies.get_topology_desc(
        "1x1x1", platform="cuda", topology="1x1x1", target_config=target.read_text()
    )
    return described.devices[0]


def _as_if_on(device: Any) -> Any:
    """Kernels that Pallas writes are for this device, where it is a GPU."""
    if device.platform != "gpu" or not hasattr(jax.sharding, "AbstractDevice"):
        return contextlib.nullcontext()
    kind = jax.sharding.AbstractDevice(device_kind=device.device_kind, num_cores=None, platform="gpu")
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=kind))


if __name__ == "__main__":
    tyro.cli(main)
