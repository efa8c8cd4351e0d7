"""One way to drive jaxsim and its peers: the same states, controls and options, as batches of worlds.

A peer is an engine that reads the same MJCF: `mjx` (MuJoCo XLA, on the first of jaxsim's devices) and `mujoco` (the C
engine, one thread per core). Peers are imported only when asked for.
"""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim
from jaxsim import parallel
from jaxsim.data import STATE_FIELDS

__all__ = ["ENGINES", "Engine", "JaxEngine", "MujocoEngine", "Workload", "bytes_of_call"]


@dataclasses.dataclass(frozen=True)
class Workload:
    """What every engine is asked to do.

    Attributes:
        path: MJCF file; its own options apply.
        qpos: Initial positions, `(worlds, nq)`.
        qvel: Initial velocities, `(worlds, nv)`.
        act: Initial activations, `(worlds, na)`.
        ctrl: Controls, `(steps, worlds, nu)`.
    """

    path: Path
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    ctrl: np.ndarray

    @property
    def steps(self) -> int:
        """Steps of a rollout."""
        return self.ctrl.shape[0]

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.qpos.shape[0]

    def head(self, worlds: int) -> Workload:
        """The same work in the first `worlds` worlds only."""
        return Workload(
            self.path, self.qpos[:worlds], self.qvel[:worlds], self.act[:worlds], self.ctrl[:, :worlds]
        )


class Engine(Protocol):
    """A simulator under measurement.

    Attributes:
        name: Name in tables.
        place: What it runs on once it is prepared, such as `2 devices`.
    """

    name: str
    place: str

    def compile_seconds(self) -> float | None:
        """Cold compile time of one world's step, lowering included; None if there is nothing to compile."""
        ...

    def prepare(self, work: Workload, chunk: int) -> int:
        """Gets ready to run `work`, `chunk` steps a call; returns the bytes that such a call needs at most."""
        ...

    def run(self, budget: float) -> tuple[int, float]:
        """Runs the prepared work until its end or until `budget` seconds are over.

        Returns:
            Steps done (of all worlds together, each counted once a step), and seconds taken.
        """
        ...

    def final_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`qpos`, `qvel` and `act` after the last `run`, worlds leading."""
        ...


_KEPT = (*STATE_FIELDS, "sensordata")
"""Fields of Data that a rollout returns: what `mujoco.rollout` does. No engine spends time on keeping others."""


def _kept(data: Any) -> dict[str, jax.Array]:
    return {name: getattr(data, name) for name in _KEPT if hasattr(data, name)}


def _batched(data: Any, work: Workload) -> dict[str, jax.Array]:
    """What is kept of one world's data, repeated for every world of `work`, in its initial states."""
    batch = {k: jnp.broadcast_to(x, (work.worlds, *jnp.shape(x))) for k, x in _kept(data).items()}
    state = {"qpos": work.qpos, "qvel": work.qvel} | ({"act": work.act} if work.act.shape[1] else {})
    return batch | {k: jnp.asarray(v, jnp.result_type(float)) for k, v in state.items()}


def bytes_of_call(compiled: Any, devices: int) -> int:
    """Most memory of a call on all devices: arguments, results and temporaries, shared buffers counted once."""
    sizes = compiled.memory_analysis()
    if sizes is None:
        return 0
    return devices * (
        sizes.argument_size_in_bytes
        + sizes.output_size_in_bytes
        + sizes.temp_size_in_bytes
        - sizes.alias_size_in_bytes
    )


class JaxEngine:
    """An engine whose `step(model, data)` is a JAX function.

    Args:
        name: Name in tables.
        step: One step of one world.
        model: The engine's model.
        data: One world of it.
        checkpoint: Whether a rollout to be differentiated rematerialises every step.
        devices: What worlds are spread over; None: all devices.
    """

    def __init__(
        self,
        name: str,
        step: Callable[[Any, Any], Any],
        model: Any,
        data: Any,
        *,
        checkpoint: bool,
        devices: Sequence[Any] | None = None,
    ) -> None:
        self.name = name
        self.place = ""
        self._step = step
        self._model = model
        self._data = data
        self._checkpoint = checkpoint
        self._devices = devices
        self._work: Workload | None = None
        self._chunks: list[jax.Array] = []

    def compile_seconds(self) -> float | None:
        """Cold compile time of `jit(step)` of one world, lowering included, s."""
        jax.clear_caches()
        start = time.perf_counter()
        jax.jit(self._step).lower(self._model, self._data).compile()
        return time.perf_counter() - start

    def _placed(self, work: Workload) -> tuple[Any, Any, int]:
        """The model and all worlds on their devices, and how many those are."""
        mesh = self._mesh(work.worlds)
        batch = parallel.spread(_batched(self._data, work), mesh)
        return parallel.share(self._model, mesh), batch, mesh.size

    def _mesh(self, worlds: int) -> jax.sharding.Mesh:
        return parallel.worlds_mesh(worlds, self._devices)

    def _rollout(
        self, model: Any, batch: dict[str, jax.Array], ctrl: jax.Array, *, checkpoint: bool = False
    ) -> dict[str, jax.Array]:
        """What is kept of all worlds after controls (steps, worlds, nu), on as many devices as divide the worlds."""

        def one(model: Any, start: dict[str, jax.Array], ctrl: jax.Array) -> dict[str, jax.Array]:
            def body(data: Any, u: jax.Array) -> tuple[Any, None]:
                return self._step(model, data.replace(ctrl=u)), None

            data = self._data.replace(**start)
            return _kept(jax.lax.scan(jax.checkpoint(body) if checkpoint else body, data, ctrl)[0])

        mesh = self._mesh(ctrl.shape[1])
        return parallel.vmap(one, in_axes=(None, 0, 0), mesh=mesh)(model, batch, jnp.swapaxes(ctrl, 0, 1))

    def program(self, work: Workload) -> tuple[Callable[..., Any], tuple[Any, Any, Any]]:
        """The rollout of all steps of `work`, and its arguments: model, what differs between worlds, controls."""
        ctrl = jnp.asarray(work.ctrl, jnp.result_type(float))
        return self._rollout, (self._model, _batched(self._data, work), ctrl)

    def prepare(self, work: Workload, chunk: int) -> int:
        """See `Engine.prepare`."""
        self._shared, self._initial, count = jax.block_until_ready(self._placed(work))
        self.place = f"{count} device{'s' * (count > 1)}"
        dtype = jnp.result_type(float)
        self._chunks = [
            jnp.asarray(work.ctrl[k : k + chunk], dtype) for k in range(0, work.steps - chunk + 1, chunk)
        ]
        self._compiled = jax.jit(self._rollout).lower(self._shared, self._initial, self._chunks[0]).compile()
        return bytes_of_call(self._compiled, count)

    def run(self, budget: float) -> tuple[int, float]:
        """See `Engine.run`."""
        data, count = self._initial, 0
        start = time.perf_counter()
        for ctrl in self._chunks:
            data = jax.block_until_ready(self._compiled(self._shared, data, ctrl))
            count += ctrl.shape[0] * ctrl.shape[1]
            if time.perf_counter() - start > budget:
                break
        seconds = time.perf_counter() - start
        self._final = data
        return count, seconds

    def final_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Engine.final_state`."""
        final = self._final
        return np.asarray(final["qpos"]), np.asarray(final["qvel"]), np.asarray(final["act"])

    def gradient(self, work: Workload) -> tuple[Callable[[], Any], Callable[[], Any], int, int, float]:
        """A rollout and its gradient with respect to all controls, both compiled.

        The loss is the sum of squares of the final positions and velocities.

        Returns:
            The rollout, the rollout with its gradient, the bytes of each, and the seconds that the gradient took
            to compile.
        """
        shared, initial, count = self._placed(work)
        ctrl = jnp.asarray(work.ctrl, jnp.result_type(float))

        def loss(ctrl: jax.Array, model: Any, initial: Any) -> jax.Array:
            final = self._rollout(model, initial, ctrl, checkpoint=self._checkpoint)
            return jnp.sum(final["qpos"] ** 2) + jnp.sum(final["qvel"] ** 2)

        args = (ctrl, shared, initial)
        forward = jax.jit(loss).lower(*args).compile()
        start = time.perf_counter()
        both = jax.jit(jax.value_and_grad(loss)).lower(*args).compile()
        seconds = time.perf_counter() - start
        return (
            lambda: jax.block_until_ready(forward(*args)),
            lambda: jax.block_until_ready(both(*args)),
            bytes_of_call(forward, count),
            bytes_of_call(both, count),
            seconds,
        )


class MujocoEngine:
    """The C engine through `mujoco.rollout`, one thread per available core, in float64."""

    def __init__(self, path: Path) -> None:
        mujoco: Any = importlib.import_module("mujoco")
        rollout: Any = importlib.import_module("mujoco.rollout")
        self.name = "mujoco"
        self._model = mujoco.MjModel.from_xml_path(str(path))
        threads = parallel.cores()
        self.place = f"{threads} thread{'s' * (threads > 1)}"
        self._datas = [mujoco.MjData(self._model) for _ in range(threads)]
        self._pool = rollout.Rollout(nthread=threads)

    def compile_seconds(self) -> float | None:
        """See `Engine.compile_seconds`."""
        return None

    def prepare(self, work: Workload, chunk: int) -> int:
        """See `Engine.prepare`; `chunk` does not matter, as a thread runs whole worlds."""
        time0 = np.zeros((work.worlds, 1))
        self._initial = np.concatenate([time0, work.qpos, work.qvel, work.act], axis=1)
        self._ctrl = np.ascontiguousarray(np.swapaxes(work.ctrl, 0, 1), dtype=np.float64)
        self._state = np.zeros((work.worlds, work.steps, self._initial.shape[1]))
        self._sensor = np.zeros((work.worlds, work.steps, self._model.nsensordata))
        data = sum(d.nbuffer + d.narena for d in self._datas)
        return data + self._state.nbytes + self._sensor.nbytes + self._ctrl.nbytes + self._initial.nbytes

    def run(self, budget: float) -> tuple[int, float]:
        """See `Engine.run`; always runs to the end."""
        worlds, steps, _ = self._state.shape
        start = time.perf_counter()
        self._pool.rollout(
            self._model,
            self._datas,
            self._initial,
            self._ctrl,
            nstep=steps,
            state=self._state,
            sensordata=self._sensor,
        )
        return worlds * steps, time.perf_counter() - start

    def final_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Engine.final_state`."""
        ends = np.cumsum([1, self._model.nq, self._model.nv])
        _, qpos, qvel, act = np.split(self._state[:, -1], ends, axis=1)
        return qpos, qvel, act


def _jaxsim(path: Path, devices: Sequence[Any] | None = None) -> JaxEngine:
    model = jaxsim.load_model(path)
    return JaxEngine("jaxsim", jaxsim.step, model, jaxsim.make_data(model), checkpoint=False, devices=devices)


def _mjx(path: Path, devices: Sequence[Any] | None = None) -> JaxEngine:
    mujoco: Any = importlib.import_module("mujoco")
    mjx: Any = importlib.import_module("mujoco.mjx")
    host = mujoco.MjModel.from_xml_path(str(path))
    # as its users run it: spread over two CPU devices its program did not come to an end
    devices = devices or jax.devices()[:1]
    return JaxEngine(
        "mjx", mjx.step, mjx.put_model(host), mjx.make_data(host), checkpoint=True, devices=devices
    )


ENGINES: dict[str, Callable[..., Engine]] = {"jaxsim": _jaxsim, "mjx": _mjx, "mujoco": MujocoEngine}
"""Engine by name; each is built from the path of a model."""
