"""Worlds on many devices and hosts: each device steps its own and never waits for another.

A loop of a step ends when all worlds that it sees are done. Under `jax.jit` alone a batch that lies on several devices
is one program, which would ask all of them before each round; here each device has a program of its own.

    parallel.use_cores()                                    # on a CPU: a device for each core
    data = parallel.spread(data)                            # (W, ...) over all devices of all processes
    step = jax.jit(parallel.vmap(jaxsim.step, in_axes=(None, 0)))
    data = step(model, data)

Several hosts: call `jax.distributed.initialize` in each process first, then the same program in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

__all__ = [
    "WORLDS",
    "collect",
    "cores",
    "own_worlds",
    "share",
    "spread",
    "use_cores",
    "vmap",
    "world_keys",
    "worlds_mesh",
]

WORLDS = "worlds"
"""Name of the axis that worlds are spread along."""

_T = TypeVar("_T")


def cores() -> int:
    """Number of CPU cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def use_cores(count: int | None = None) -> int:
    """Makes each core of the CPU a device of its own, for `spread` and `vmap`.

    To be called before JAX computes anything. One device uses several cores for large operations only: with as many
    devices as cores a batch of worlds steps 1.5 to 1.8 times as fast on two cores.

    Args:
      count: number of devices; default: the largest power of two of the cores that this process may use, or what
        JAX runs with already if that is more than one.

    Returns:
      the number of devices.

    Raises:
      RuntimeError: JAX runs already, with another number of devices.
      ValueError: `count` is not positive.
    """
    wanted = 1 << (cores().bit_length() - 1) if count is None else count
    if wanted < 1:
        raise ValueError(f"use_cores: {wanted} devices; at least one is needed")
    try:
        jax.config.update("jax_num_cpu_devices", wanted)
    except RuntimeError:
        running = len(jax.devices("cpu"))
        if count is None and running > 1:
            return running
        if running != wanted:
            raise RuntimeError(
                f"use_cores: JAX runs already, with {running} CPU devices; call it before anything is computed"
            ) from None
    return wanted


def worlds_mesh(worlds: int | None = None, devices: Sequence[Any] | None = None) -> Mesh:
    """Devices in a row, along the axis `WORLDS`.

    Args:
      worlds: number of worlds; of one process's devices as many are taken as divide it: of four one for 7 worlds.
      devices: default: those of all processes.

    Raises:
      ValueError: the devices of several processes do not divide the number of worlds, or there are none of either.
    """
    chosen = list(jax.devices() if devices is None else devices)
    if not chosen:
        raise ValueError("worlds_mesh: no devices")
    if worlds is not None and worlds < 1:
        raise ValueError(f"worlds_mesh: {worlds} worlds; expected at least one")
    if worlds is not None:
        if len({device.process_index for device in chosen}) > 1:
            _check_divides(worlds, len(chosen), "worlds_mesh")
        else:
            chosen = chosen[: max(k for k in range(1, len(chosen) + 1) if worlds % k == 0)]
    return Mesh(np.array(chosen), (WORLDS,))


def _check_divides(worlds: int, devices: int, caller: str) -> None:
    if worlds % devices:
        near = [k for k in (worlds - worlds % devices, worlds + devices - worlds % devices) if k]
        raise ValueError(
            f"{caller}: {worlds} worlds cannot be spread evenly over {devices} devices; "
            f"take {' or '.join(map(str, near))}, or the devices of worlds_mesh({worlds})"
        )


def spread(worlds: _T, mesh: Mesh | None = None, axes: Any = 0) -> _T:
    """Places worlds on devices, the first on the first.

    Args:
      worlds: pytree of arrays (W, ...); with several processes all of them give the same.
      mesh: default: all devices.
      axes: as one of `vmap`'s `in_axes`: by field 0, or None for what worlds share, of which each device gets a copy.

    Returns:
      the same numbers; of other processes' worlds a process holds none.

    Raises:
      ValueError: arrays have no or different numbers of worlds, the devices do not divide it, or `axes` is wrong.
    """
    mesh = worlds_mesh() if mesh is None else mesh
    _check_axes("spread: axes", axes)
    leaves, each, structure = _by_leaf(worlds, axes)
    own = [x for x, axis in zip(leaves, each, strict=True) if axis == 0]
    _check_divides(_number_of(own, "spread"), mesh.size, "spread")
    along, everywhere = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((WORLDS,), ()))
    # empty results are said to lie on all devices; so are empty arguments, or a second call would compile again
    placed = [
        _placed(x, along if axis == 0 and np.size(x) else everywhere)
        for x, axis in zip(leaves, each, strict=True)
    ]
    return jax.tree.unflatten(structure, placed)


def share(tree: _T, mesh: Mesh | None = None) -> _T:
    """Places a copy of what worlds share, such as a model, on each device.

    Args:
      tree: pytree of arrays; with several processes all of them give the same.
      mesh: default: all devices.
    """
    place = NamedSharding(worlds_mesh() if mesh is None else mesh, PartitionSpec())
    return jax.tree.map(lambda x: _placed(x, place), tree)


def _placed(x: Any, place: NamedSharding) -> Any:
    """An array that all processes have, or that lies on their devices already."""
    if place.is_fully_addressable or (isinstance(x, jax.Array) and not x.is_fully_addressable):
        return jax.device_put(x, place)
    if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
        own = jax.random.key_data(x)
        return jax.random.wrap_key_data(_placed(own, place), impl=jax.random.key_impl(x))
    host = np.asarray(x)
    return jax.make_array_from_callback(host.shape, place, lambda part: host[part])


def _check_axes(what: str, axes: Any) -> None:
    """Refuses axes other than 0 and None, and such that nothing lies along."""
    found = jax.tree.leaves(axes, is_leaf=lambda x: x is None)
    wrong = [x for x in found if x is not None and not (isinstance(x, int) and x == 0)]
    if wrong or all(x is None for x in found):
        holds = f"holds {type(wrong[0]).__name__} {wrong[0]}" if wrong else "holds None alone"
        raise ValueError(
            f"{what} {holds}; expected 0 for worlds and None for what they share, of a whole argument or by field"
        )


def _by_leaf(tree: Any, axes: Any) -> tuple[list[Any], list[int | None], Any]:
    """Arrays of a tree, the axis of worlds of each, and the structure."""
    each: list[int | None] = []
    jax.tree.map(
        lambda axis, own: each.extend([axis] * len(jax.tree.leaves(own))),
        axes,
        tree,
        is_leaf=lambda x: x is None,
    )
    leaves, structure = jax.tree.flatten(tree)
    return leaves, each, structure


def _number_of(worlds: Sequence[Any], caller: str) -> int:
    shapes = [jnp.shape(x) for x in worlds]
    counts = {shape[0] if shape else None for shape in shapes}
    if len(counts) != 1 or None in counts:
        kinds = sorted({str(shape) for shape in shapes})
        found = ", ".join(kinds[:4] + ["..."] * (len(kinds) > 4)) or "no arrays"
        one = " (one world is made many by jax.vmap)" if None in counts else ""
        raise ValueError(f"{caller}: expected arrays (W, ...) of one number of worlds; found {found}{one}")
    return counts.pop() or 0


def vmap(function: Callable[..., Any], in_axes: Any = 0, mesh: Mesh | None = None) -> Callable[..., Any]:
    """As `jax.vmap` on the first axes, each device its own part; to be jitted and differentiated with the rest.

    Devices do not talk to each other, but for the sum of a derivative by what they share.

    Args:
      function: of one world.
      in_axes: for all arguments or one by one: 0 for those with a leading axis of worlds, None for those that are
        shared, or a tree of these by field, such as the axes that `envs.randomise` gives for its models.
      mesh: default: all devices.

    Raises:
      ValueError: `in_axes` has something else, or, when it is called, the devices do not divide the number of worlds.
    """
    _check_axes("vmap: in_axes", in_axes)

    def mapped(*args: Any) -> Any:
        own = mesh or worlds_mesh()
        each = tuple(in_axes) if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
        if len(each) != len(args):
            raise ValueError(f"vmap: in_axes names {len(each)} arguments, but there are {len(args)}")
        leaves, axes, structure = _by_leaf(args, each)
        batched = [x for x, axis in zip(leaves, axes, strict=True) if axis == 0]
        _check_divides(_number_of(batched, "vmap"), own.size, "vmap")
        run = jax.vmap(lambda *world: function(*jax.tree.unflatten(structure, world)), in_axes=tuple(axes))
        if own.size > 1:
            specs = tuple(PartitionSpec() if axis is None else PartitionSpec(WORLDS) for axis in axes)
            # not checked what varies between devices: a loop that starts from constants would be refused
            run = jax.shard_map(
                run, mesh=own, in_specs=specs, out_specs=PartitionSpec(WORLDS), check_vma=False
            )
        return run(*leaves)

    return mapped


def world_keys(key: Any, worlds: int, mesh: Mesh | None = None) -> Any:
    """A random key for each world, the same on however many devices.

    Args:
      key: of `jax.random.key`.
      worlds: number of worlds W.
      mesh: default: all devices.

    Returns:
      keys (W,): `fold_in(key, number of the world)`.

    Raises:
      ValueError: the devices do not divide the number of worlds.
    """
    mesh = worlds_mesh() if mesh is None else mesh
    _check_divides(worlds, mesh.size, "world_keys")
    data, implementation = jax.random.key_data(key), jax.random.key_impl(key)

    def keys(data: Any) -> Any:
        own = jax.random.wrap_key_data(data, impl=implementation)
        return jax.vmap(lambda k: jax.random.fold_in(own, k))(jnp.arange(worlds))

    return jax.jit(keys, out_shardings=NamedSharding(mesh, PartitionSpec(WORLDS)))(np.asarray(data))


def own_worlds(worlds: Any) -> tuple[slice, Any]:
    """What of a batch lies on this process's devices, as numpy arrays.

    Args:
      worlds: pytree of arrays (W, ...), see `spread`.

    Returns:
      the numbers of those worlds, and a pytree of arrays (w, ...).

    Raises:
      ValueError: arrays lie on different worlds, or all are empty.
    """
    ranges: set[tuple[int, int]] = set()

    def own(x: Any) -> np.ndarray:
        if not isinstance(x, jax.Array):
            ranges.add((0, len(x)))
            return np.asarray(x)
        parts = {part.index[0].indices(x.shape[0])[0]: part.data for part in x.addressable_shards}
        found = np.concatenate([np.asarray(parts[start]) for start in sorted(parts)])
        if x.size:  # an empty array may lie anywhere
            ranges.add((min(parts), min(parts) + len(found)))
        return found

    found = jax.tree.map(own, worlds)
    if len(ranges) != 1:
        raise ValueError(
            f"own_worlds: arrays lie on different worlds, {sorted(ranges)}, or are empty; place them by `spread`"
        )
    ((start, stop),) = ranges
    return slice(start, stop), jax.tree.map(lambda x: x if x.size else x[: stop - start], found)


def collect(worlds: _T) -> _T:
    """The worlds of all processes as numpy arrays, in each process.

    Args:
      worlds: pytree of arrays (W, ...), see `spread`.
    """
    from jax.experimental import multihost_utils

    return jax.tree.map(
        lambda x: (
            np.asarray(x)
            if not isinstance(x, jax.Array) or x.is_fully_addressable
            else np.asarray(multihost_utils.process_allgather(x, tiled=True))
        ),
        worlds,
    )
