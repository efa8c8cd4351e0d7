"""Long runs: rollouts that go to disk chunk by chunk, in constant memory, and go on where they stopped.

A run is a folder: `run.json`, and for each chunk of steps a file of trajectories and one of the data at its end. Of
several processes, which must see one folder, each writes its own worlds, and waits for the others after each chunk.
What is kept belongs to worlds, so a run may go on with another number of devices or processes.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh

from jaxsim import parallel
from jaxsim.data import Data
from jaxsim.hints import hint
from jaxsim.keys import digest
from jaxsim.model import Model
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.forward import step as step_once
from jaxsim.pytree import Record, held_record

__all__ = ["Recording", "record"]

_ABOUT = "run.json"
_POLL = 0.05
"""Seconds between two looks for the files of other processes."""

Control = Callable[[Data, Array, Array], Array]


class _Part(NamedTuple):
    """A file of a run: of some worlds, trajectories of some steps, or the data after the last of them."""

    kind: str
    start: int
    stop: int
    first: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.start:010d}-{self.stop:010d}-worlds-{self.first:08d}-{self.end:08d}.npz"


def _parts(folder: Path, kind: str) -> list[_Part]:
    """The files of a kind, by steps and worlds."""
    names = re.compile(rf"({kind})-(\d+)-(\d+)-worlds-(\d+)-(\d+)\.npz")
    found = (names.fullmatch(path.name) for path in folder.iterdir())
    return sorted(_Part(m[1], *map(int, m.groups()[1:])) for m in found if m)


def _complete(parts: Sequence[_Part], worlds: int) -> dict[tuple[int, int], list[_Part]]:
    """By first and last step, the files of which all worlds have one."""
    chunks: dict[tuple[int, int], list[_Part]] = {}
    for part in parts:
        own = chunks.setdefault((part.start, part.stop), [])
        if part.first == (own[-1].end if own else 0):
            own.append(part)
    return {steps: own for steps, own in chunks.items() if own and own[-1].end == worlds}


@dataclasses.dataclass(frozen=True)
class Recording:
    """What `record` wrote, or is writing.

    Attributes:
      folder: where it lies.
      worlds: number of worlds W.
      every: steps from one entry to the next.
      fields: recorded fields of Data, `contact.dist` for one of its contacts.
    """

    folder: Path
    worlds: int
    every: int
    fields: tuple[str, ...]

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Recording:
        """A run that was begun.

        Raises:
          FileNotFoundError: the folder holds none.
        """
        folder = Path(folder)
        if not (folder / _ABOUT).is_file():
            raise FileNotFoundError(f"{folder} holds no recorded run: it has no {_ABOUT}")
        about = json.loads((folder / _ABOUT).read_text())
        return cls(folder, about["worlds"], about["every"], tuple(about["fields"]))

    @property
    def steps(self) -> int:
        """Steps that are recorded of all worlds."""
        return max((own[0].stop for own in self._files()), default=0)

    def _files(self) -> Iterator[list[_Part]]:
        """The files of all worlds, chunk after chunk up to the first that is not complete."""
        done = 0
        for (start, stop), own in sorted(_complete(_parts(self.folder, "steps"), self.worlds).items()):
            if start == done:
                done = stop
                yield own

    def chunks(self, field: str, worlds: slice = slice(None)) -> Iterator[np.ndarray]:
        """A field of some worlds, chunk after chunk of steps, (w, entries, ...).

        Raises:
          ValueError: the field was not recorded.
        """
        self._check(field)
        for own in self._files():
            (found,) = _joined(self.folder, own, [field])
            yield found[worlds]

    def last(self, field: str) -> np.ndarray:
        """A field of all worlds after the last step, (W, ...).

        Raises:
          ValueError: the field was not recorded, or nothing is.
        """
        self._check(field)
        *_, own = [(), *self._files()]
        if not own:
            raise ValueError(f"{self.folder}: no chunk is complete yet")
        (found,) = _joined(self.folder, own, [field])
        return found[:, -1]

    def _check(self, field: str) -> None:
        if field not in self.fields:
            raise ValueError(f"{self.folder}: {field!r} was not recorded; there are {', '.join(self.fields)}")

    def load(self, field: str, worlds: slice = slice(None)) -> np.ndarray:
        """A field of some worlds, all of it, (w, entries, ...); entry k is after step `(k + 1) every`.

        Raises:
          ValueError: the field was not recorded, or nothing is.
        """
        found = list(self.chunks(field, worlds))
        if not found:
            raise ValueError(f"{self.folder}: no chunk is complete yet")
        return np.concatenate(found, axis=1)


def record(
    model: Model,
    data: Data,
    folder: str | PathLike[str],
    *,
    steps: int,
    fields: Sequence[str] = ("qpos",),
    control: Control | None = None,
    model_axes: Model | None = None,
    chunk: int = 100,
    every: int = 1,
    mesh: Mesh | None = None,
    patience: float = 600.0,
    progress: Callable[[int], None] | None = None,
) -> Recording:
    """Steps worlds on all devices and writes their trajectories to a folder; goes on if the folder holds a part of it.

    A run that was interrupted goes on after its last complete chunk, as if it had not been: bit for bit on as many
    devices, else to rounding. That the call is the same is checked of models, their hooks by name, and of initial data;
    of `control` it is not.

    Args:
      model: the model.
      data: initial data of all worlds, arrays (W, ...); the same in all processes, or spread over them.
      folder: made if need be; of several processes the same.
      steps: steps of the whole run; a finished run may be made longer.
      fields: fields of Data to record, of its contacts one by one: `contact.dist`.
      control: gives the controls (nu,) of a world from its data, the number of the step and that of the world. Random
        numbers do not depend on devices if their keys are made from these. Default: `data.ctrl`.
      model_axes: for models that differ between worlds, by field 0 where they do and None elsewhere, as
        `envs.randomise` gives them; default: all worlds share the model.
      chunk: steps between two files; their entries are held in memory.
      every: steps from one entry to the next; divides `chunk` and `steps`.
      mesh: see `parallel.worlds_mesh`; default: of all devices.
      patience: seconds to wait for the worlds of another process.
      progress: called with the number of steps done, after each chunk.

    Raises:
      ValueError: the folder holds another run, a field is unknown or no array, or numbers do not fit.
      RuntimeError: another process does not finish its chunk, so is lost. What is on disk is complete up to the chunk
        before.
    """
    _check_fields(fields)
    model, data = _everywhere((model, data))
    if min(steps, chunk, every) < 1 or chunk % every or steps % every:
        raise ValueError(f"record: every={every} must divide chunk={chunk} and steps={steps}, all at least 1")
    shape = jnp.shape(data.qpos)
    if len(shape) != 2 or shape[1] != model.nq:
        raise ValueError(f"record: data.qpos has shape {shape}; expected (W, {model.nq}), a batch of worlds")
    worlds = shape[0]
    mesh = parallel.worlds_mesh(worlds) if mesh is None else mesh
    jax.eval_shape(jax.vmap(lambda m, d: admit(m, d, "record"), (model_axes, 0)), model, data)
    folder = Path(folder)
    about = {
        "worlds": worlds,
        "every": every,
        "fields": list(fields),
        "model": _fingerprint(model),
        "options, sizes or hooks": digest(_program(model)).hex(),
        "data": _fingerprint(data),
    }
    _agree(folder, about, patience)
    recording = Recording(folder, worlds, every, tuple(fields))

    done, data = _last(folder, worlds, data)
    # a copy: each chunk's memory becomes that of the next
    data = jax.tree.map(jnp.copy, parallel.spread(data, mesh))
    model = parallel.spread((model, data), mesh, (model_axes, 0))[0]
    numbers = parallel.spread(np.arange(worlds, dtype=np.int32), mesh)
    compiled: dict[int, Any] = {}
    while done < steps:
        length = min(chunk - done % chunk, steps - done)
        if length not in compiled:
            compiled[length] = jax.jit(
                _chunk(fields, control, model_axes, length, every, mesh), donate_argnums=1
            )
        data, found = compiled[length](model, data, np.int32(done), numbers)
        start, done = done, done + length
        _write(folder, "steps", start, done, found)
        _write(folder, "data", start, done, dict(enumerate(jax.tree.leaves(data))))
        _wait(folder, worlds, (start, done), patience)
        _forget(folder, done, data)
        if progress:
            progress(done)
    return recording


def _check_fields(fields: Sequence[str]) -> None:
    """Refuses names of what is no array of Data or of a record in it.

    Raises:
      ValueError: says what there is.
    """
    if isinstance(fields, str):
        raise ValueError(f"record: fields={fields!r} is one name; expected a sequence, ({fields!r},)")
    if not fields:
        raise ValueError("record: fields is empty; give at least one field of Data")
    held = {f.name: held_record(f) for f in Data.leaf_fields()}
    known = {
        name: [f"{name}.{f.name}" for f in own.leaf_fields()] if own else [] for name, own in held.items()
    }
    for name in fields:
        if known.get(name):
            raise ValueError(f"record: {name} is no array; name those in it, {', '.join(known[name])}")
        if name not in known and name not in known.get(name.split(".")[0], ()):
            every = [*known, *itertools.chain(*known.values())]
            raise ValueError(f"record: Data has no field {name!r}{hint(name, every)}")


def _chunk(
    fields: Sequence[str],
    control: Control | None,
    model_axes: Model | None,
    length: int,
    every: int,
    mesh: Mesh,
) -> Callable[..., Any]:
    """Some steps of all worlds, from the model, their data, the number of the first step and those of the worlds."""

    def run(model: Model, data: Data, start: Array, world: Array) -> tuple[Data, dict[str, Array]]:
        def once(data: Data, k: Array) -> tuple[Data, None]:
            if control is not None:
                data = data.replace(ctrl=control(data, k, world))
            return step_once(model, data), None

        def entry(data: Data, k: Array) -> tuple[Data, dict[str, Array]]:
            data, _ = lax.scan(once, data, k + jnp.arange(every))
            return data, {name: attrgetter(name)(data) for name in fields}

        return lax.scan(entry, data, start + every * jnp.arange(length // every))

    return parallel.vmap(run, in_axes=(model_axes, 0, None, 0), mesh=mesh)


def _everywhere(tree: Any) -> Any:
    """The same pytree, collected if other processes hold a part of it."""
    spread = any(isinstance(x, Array) and not x.is_fully_addressable for x in jax.tree.leaves(tree))
    return parallel.collect(tree) if spread else tree


def _fingerprint(tree: Any) -> str:
    """What stands for the numbers of a pytree."""
    return digest([np.asarray(x) for x in jax.tree.leaves(tree)]).hex()


def _program(record: Record) -> list[Any]:
    """What stands for the static parts of a record and of those in it, the same in all processes."""
    inner = (getattr(record, field.name) for field in record.leaf_fields())
    own = [_named(getattr(record, name)) for name in record.static.fields if name in record.__dict__]
    return own + [_program(x) for x in inner if isinstance(x, Record)]


def _named(value: Any) -> Any:
    """A static value with the names of functions in their place."""
    if dataclasses.is_dataclass(value):
        return [_named(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [_named(x) for x in value]
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return value


def _agree(folder: Path, about: dict[str, Any], patience: float) -> None:
    """Writes what the run is, or compares it with what the folder says.

    Raises:
      ValueError: it is another run.
      RuntimeError: the first process does not write it.
    """
    path = folder / _ABOUT
    folder.mkdir(parents=True, exist_ok=True)
    if jax.process_index() == 0 and not path.is_file():
        _replace(path, lambda file: file.write(json.dumps(about, indent=1).encode()))
    end = time.monotonic() + patience
    while not path.is_file():
        if time.monotonic() > end:
            raise RuntimeError(f"record: the first process has not written {path} for {patience:.0f} s")
        time.sleep(_POLL)
    known = json.loads(path.read_text())
    other = [name for name, value in about.items() if known.get(name) != value]
    if other:
        raise ValueError(
            f"record: {folder} holds a run with another {', '.join(other)}; give it a folder of its own"
        )


def _last(folder: Path, worlds: int, data: Data) -> tuple[int, Data]:
    """The last step that all worlds have reached, and their data then; at first 0 and the data given."""
    known = _complete(_parts(folder, "data"), worlds)
    if not known:
        return 0, data
    steps = max(known, key=lambda steps: steps[1])
    structure = jax.tree.structure(data)
    found = _joined(folder, known[steps], list(map(str, range(structure.num_leaves))))
    return steps[1], jax.tree.unflatten(structure, found)


def _write(folder: Path, kind: str, start: int, stop: int, arrays: dict[Any, Array]) -> None:
    """Writes a process's own worlds; replaces what an earlier attempt wrote of them."""
    own, found = parallel.own_worlds(arrays)
    part = _Part(kind, start, stop, own.start, own.stop)
    for other in _parts(folder, kind):
        overlaps = other.first < part.end and part.first < other.end
        if other[1:3] == part[1:3] and overlaps and other != part:
            (folder / other.name).unlink(missing_ok=True)
    _replace(folder / part.name, lambda file: np.savez(file, **{str(k): x for k, x in found.items()}))


def _replace(path: Path, write: Callable[[Any], Any]) -> None:
    """Writes a file that is there as a whole or not at all."""
    partial = path.with_name(f".{path.name}.{jax.process_index()}")
    with partial.open("wb") as file:
        write(file)
    partial.replace(path)


def _joined(folder: Path, parts: Sequence[_Part], names: Sequence[str]) -> list[np.ndarray]:
    """Arrays by name of the worlds of some files together; each file is opened once."""
    pieces = []
    for part in parts:
        with np.load(folder / part.name) as file:
            pieces.append([file[name] for name in names])
    return [np.concatenate(own) for own in zip(*pieces, strict=True)]


def _wait(folder: Path, worlds: int, steps: tuple[int, int], patience: float) -> None:
    """Waits until all processes have written a chunk."""
    end = time.monotonic() + patience
    while steps not in _complete(_parts(folder, "data"), worlds):
        if time.monotonic() > end:
            there = {k for p in _parts(folder, "data") if p[1:3] == steps for k in range(p.first, p.end)}
            missing = sorted(set(range(worlds)) - there)
            raise RuntimeError(
                f"record: worlds {missing[0]} to {missing[-1]} have not reached step {steps[1]} for {patience:.0f} s: "
                f"their process is lost. Start all processes again: the run goes on from step {steps[0]}"
            )
        time.sleep(_POLL)


def _forget(folder: Path, done: int, data: Any) -> None:
    """Removes a process's data of before the last chunk."""
    own, _ = parallel.own_worlds(data.time)
    for part in _parts(folder, "data"):
        if part.stop < done and own.start <= part.first < own.stop:
            (folder / part.name).unlink(missing_ok=True)
