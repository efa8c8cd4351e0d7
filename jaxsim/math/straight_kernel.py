"""Whole stages as kernels of a TPU, whose lanes are worlds.

XLA for TPUs makes a stage of a robot with a few dozen bodies dozens of kernels, and as many copies between them: what
it computes are a few numbers of each body, which lie across its registers. Here a number of 1,024 worlds fills one
register, and all that stages compute without a loop is one kernel, in which what only moves numbers about is nothing
(see `math/one_kernel.py`, which evaluates it). What has loops or looks things up, what is long, and what is
differentiated is computed as elsewhere.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

from jaxsim.math.gather import width_of
from jaxsim.math.lanes import has_kernels, in_lanes
from jaxsim.math.one_kernel import LANE, WIDTH, Lanes, Value, in_memory, lanes_of, operations, stored
from jaxsim.math.stage import divided, lowering_for, platform, x64

__all__ = ["straight", "straight_stages"]

_LONGEST = 40_000
"""Most operations of a kernel: it is compiled in a time that grows faster than their number."""

_HELD = 6000
"""Most numbers of a world that a kernel reads and writes: those of two times 1,024 worlds are in fast memory."""

_TYPES = frozenset(map(np.dtype, (np.float32, np.int32, np.bool_)))
"""Types of numbers that kernels compute with."""

_F = TypeVar("_F", bound=Callable[..., Any])


def straight(function: _F) -> _F:
    """Makes a function of trees of arrays (..., 1 or W) one kernel of a TPU, where that is possible."""

    @functools.wraps(function)
    def run(*trees: Any) -> Any:
        if not _may_be_kernels(trees):
            return function(*trees)
        return _as_kernel(function, trees)

    return run  # type: ignore[return-value]


def straight_stages(stages: Sequence[Callable[..., Any]], model: Any, data: Any) -> Any:
    """Runs functions of a model and data, which return data, in scopes of their names; on a TPU as few kernels."""
    if not _may_be_kernels((model, data)):
        return _composed(stages)(model, data)
    for group in _groups(stages, model, data):
        data = _as_kernel(_composed(group), (model, data))
    return data


def _may_be_kernels(trees: Any) -> bool:
    """Whether there are kernels where this is lowered; XLA does not divide them among devices."""
    width = width_of(trees)
    return width > 1 and platform() == "tpu" and has_kernels(jnp.float32) and not (x64() or divided())


def _composed(stages: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """All of some stages, one after the other."""

    def composed(model: Any, data: Any) -> Any:
        for stage in stages:
            data = jax.named_call(stage)(model, data)
        return data

    names = [stage.__name__ for stage in stages]
    composed.__name__ = names[0] if len(names) == 1 else f"{names[0]}_to_{names[-1]}"
    return composed


def _groups(stages: Sequence[Callable[..., Any]], model: Any, data: Any) -> list[list[Callable[..., Any]]]:
    """The stages, those together that one kernel computes."""
    width = width_of((model, data))
    groups: list[list[Callable[..., Any]]] = []
    room = -1
    types, given = lanes_of(model, width), lanes_of(data, width)
    for stage in stages:
        program, given = _traced(stage, (types, given))
        own = _length(program)
        if own is not None and own <= room:
            groups[-1].append(stage)
        else:
            groups.append([stage])
            room = -1 if own is None else _LONGEST
        room -= own or 0
    return groups


def _length(program: ClosedJaxpr) -> int | None:
    """How many operations a kernel of it has; None: there is none."""
    try:
        return operations(program)
    except NotImplementedError:
        return None


def _traced(function: Callable[..., Any], types: Sequence[Any]) -> tuple[ClosedJaxpr, Any]:
    """What a function of trees computes of their leaves, and the shapes of its results."""
    leaves, tree = jax.tree.flatten(types)

    def flat(*leaves: Array) -> Any:
        return function(*jax.tree.unflatten(tree, leaves))

    with lowering_for(LANE):
        return jax.make_jaxpr(flat, return_shape=True)(*leaves)


def _as_kernel(function: Callable[..., Any], trees: Sequence[Any]) -> Any:
    """A function of trees as one kernel; as it is where there is none."""
    leaves, tree = jax.tree.flatten(trees)
    width = width_of(trees)
    program, shapes = _traced(function, lanes_of(trees, width))
    results, result_tree = jax.tree.flatten(shapes)
    given = dict(zip(program.jaxpr.invars, leaves, strict=True))
    variables = program.jaxpr.outvars
    kept = [not isinstance(v, Literal) and v in given for v in variables]
    empty = [not k and x.size == 0 for k, x in zip(kept, results, strict=True)]
    wide = [not (k or e) and x.shape[-1] == WIDTH for k, e, x in zip(kept, empty, results, strict=True)]
    types = [jax.ShapeDtypeStruct((*x.shape[:-1], width), x.dtype) for x in itertools.compress(results, wide)]
    jaxpr, used = dce_jaxpr(program.jaxpr, wide)
    if not types or not _fits(
        ClosedJaxpr(jaxpr, program.consts), [*itertools.compress(leaves, used), *types]
    ):
        return function(*trees)

    def plain(*leaves: Array) -> list[Array]:
        found = jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))
        return list(itertools.compress(found, wide))

    @jax.custom_jvp
    def computed(*leaves: Array) -> list[Array]:
        read = list(itertools.compress(leaves, used))
        return _kernel(jaxpr, program.consts, read, types, function.__name__)

    computed.defjvp(functools.partial(jax.jvp, plain))
    alone = [not (k or e or w) for k, e, w in zip(kept, empty, wide, strict=True)]
    own, shared = iter(computed(*leaves)), iter(_shared(program, alone, leaves))

    def result(place: int) -> Array:
        if kept[place]:
            return given[variables[place]]
        if empty[place]:
            x = results[place]
            return jnp.zeros((*x.shape[:-1], width if x.shape[-1] == WIDTH else 1), x.dtype)
        return next(own if wide[place] else shared)

    found = [result(place) for place in range(len(results))]
    return jax.tree.unflatten(result_tree, found)


def _shared(program: ClosedJaxpr, chosen: list[bool], leaves: Sequence[Array]) -> list[Array]:
    """The chosen results of a program, which are the same for all worlds and no part of a kernel."""
    jaxpr, used = dce_jaxpr(program.jaxpr, chosen)
    return jaxpr_as_fun(ClosedJaxpr(jaxpr, program.consts))(*itertools.compress(leaves, used))


def _fits(program: ClosedJaxpr, arrays: Sequence[Any]) -> bool:
    """Whether a kernel may compute a program and hold the arrays that it reads and writes."""
    own = _length(program)
    numbers = sum(int(np.prod(x.shape[:-1])) for x in arrays if x.shape[-1] > 1)
    return own is not None and own <= _LONGEST and numbers <= _HELD and all(x.dtype in _TYPES for x in arrays)


def _kernel(
    jaxpr: Any, consts: Sequence[Any], given: Sequence[Array], types: Sequence[Any], name: str
) -> list[Array]:
    """What a jaxpr computes of arrays (..., 1 or W), with results of some types."""
    width = types[0].shape[-1]
    wide = [x.shape[-1] == width for x in given]
    blocks = [in_memory(x) for x, own in zip(given, wide, strict=True) if own and x.size]
    tables = [in_memory(x)[..., 0] for x, own in zip(given, wide, strict=True) if not own and x.size]
    tables = [x if x.ndim else x[None] for x in tables]

    def kernel(*refs: Any) -> None:
        left = iter(refs)
        shared, own, made = (iter(list(itertools.islice(left, len(x)))) for x in (tables, blocks, types))
        lanes = Lanes(refs[-1].shape[-2:])
        args = []
        for x, some in zip(given, wide, strict=True):
            ref = (next(own) if some else next(shared)) if x.size else None
            args.append(_read(ref, x, some, lanes))
        for ref, found in zip(made, lanes.evaluate(jaxpr, consts, args), strict=True):
            for place in np.ndindex(*found.entries.shape[:-1]):
                ref[place] = lanes.vector(found.entries[(*place, 0)], found.dtype).astype(ref.dtype)

    stored_types = [jax.ShapeDtypeStruct(x.shape, stored(x.dtype)) for x in types]
    found = in_lanes(kernel, name, blocks, stored_types, tables)
    return [x.astype(own.dtype) for x, own in zip(found, types, strict=True)]


def _read(ref: Any, x: Array, wide: bool, lanes: Lanes) -> Value:
    """The numbers of an array (..., 1 or W), those that all worlds share for each lane."""
    entries = np.empty((*x.shape[:-1], 1), object)
    for place in np.ndindex(*x.shape[:-1]):
        number = ref[place or (() if wide else (0,))]
        number = number if wide else lanes.vector(number, x.dtype)
        entries[(*place, 0)] = number != 0 if x.dtype == np.bool_ else number
    return Value(entries, entries.ndim - 1 if wide else None, np.dtype(x.dtype))
