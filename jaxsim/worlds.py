"""Worlds on the minor axis: turns a native function into an ordinary per-world JAX function.

A *native* function takes and returns arrays whose last axis is worlds. `lift` makes it one JAX primitive. Its
batching rule moves the mapped axis to the last place and folds it into the worlds, so that every `vmap`, however
nested, runs the native code on long vectors. An argument that is not mapped keeps width 1 and broadcasts.

Derivatives are two more native functions behind the same primitive (`math/derived.py`), which run the function again:
rematerialisation, one call at a time. What is dear to recompute a function may return as its *solution*; the derivative
functions get it back.

Shared arguments: the cotangent of an argument of width 1 is computed for each world and summed over worlds only
when the argument really is shared, so `vmap(grad(f))` with respect to a shared array keeps the worlds apart.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.experimental.layout import Layout, with_layout_constraint
from jax.extend.core import Primitive
from jax.extend.core import jaxpr_as_fun as _jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from jaxsim.math.blocks import block_size, in_blocks
from jaxsim.math.collector import paused_collector
from jaxsim.math.derived import Cotangent, Leaves, Tangent, trace
from jaxsim.math.few_kernels import in_few_kernels
from jaxsim.math.gather import width_of
from jaxsim.math.stage import common_platform, is_divided, platform, x64
from jaxsim.pytree import bare

__all__ = ["expand", "in_each", "lift"]


def expand(tree: Any) -> Any:
    """Gives every array of one world a worlds axis of width 1."""
    return jax.tree.map(lambda x: jnp.asarray(x)[..., None], tree)


def in_each(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Makes a function of one world, of a user's, a native one: the opposite of `lift`.

    Args:
      function: of one world.
      name: what it is to the user; errors of the function say it.

    Returns:
      A function of the same arguments with worlds last; its results have all worlds of the widest argument.
    """

    def native(*args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        width = width_of(leaves)
        shared = [x.shape[-1] == 1 for x in leaves]
        leaves = [x[..., 0] if s else x for x, s in zip(leaves, shared, strict=True)]

        def one(*each: Any) -> Any:
            try:
                return function(*jax.tree.unflatten(tree, each))
            except Exception as error:
                error.add_note(f"in {name}, a function that the model was given")
                raise

        if width == 1:
            return expand(one(*leaves))
        return jax.vmap(one, in_axes=tuple(None if s else -1 for s in shared), out_axes=-1)(*leaves)

    return native


def lift(native: Callable[..., Any], *, has_solution: bool = False) -> Callable[..., Any]:
    """Makes a native function a per-world function on which all JAX transformations compose.

    Args:
      native: function of pytrees of arrays with worlds last. It must be pure, and treat worlds independently. It gets
        records bare: without their inert leaves and labels.
      has_solution: if True, `native(*args, solution=None, kept=False)` returns `(results, solution)`, where `solution`
        is a pytree that a derivative may reuse: it is handed back as `solution` when the function is run again at the
        same arguments. It carries no derivative. If it is not `kept`, nobody looks at it.

    Returns:
      The function of the same arguments without worlds axes.
    """

    @functools.wraps(native)
    def lifted(*args: Any) -> Any:
        leaves, in_tree = jax.tree.flatten(bare(args))
        leaves = [_strong(x) for x in leaves]
        function = _Function(native, in_tree, has_solution)
        flat = _bind(*leaves, function=function, mapped=(False,) * len(leaves), width=0)
        return jax.tree.unflatten(function.output(tuple(_signature(x) for x in leaves)).tree, flat)

    return lifted


def _strong(x: Any) -> jax.Array:
    """An array without weak type: Python numbers take the default dtype."""
    if isinstance(x, jax.Array) and not jax.typeof(x).weak_type:
        return x
    return jax.lax.convert_element_type(x, jnp.result_type(jnp.asarray(x).dtype))


def _signature(x: Any, mapped: bool = False) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape of one world and type; `mapped`: worlds are on the last axis."""
    return tuple(x.shape[: x.ndim - mapped]), np.dtype(x.dtype)


# --- the three kinds of native functions of flat lists of leaves


@dataclasses.dataclass(frozen=True)
class _Function:
    """A user's native function; if they are `kept`, its results are followed by the leaves of its solution."""

    native: Callable[..., Any]
    in_tree: Any
    has_solution: bool
    kept: bool = False
    n_linear: int = 0

    def __call__(self, leaves: Leaves, solution: Leaves = ()) -> list[Any]:
        args = jax.tree.unflatten(self.in_tree, leaves)
        found: Any = ()
        if solution:
            known = jax.tree.unflatten(self.output(_per_world(leaves)).solution_tree, solution)
            results, _ = self.native(*args, solution=known)
            return [*jax.tree.leaves(results), *solution]
        if self.has_solution:
            results, found = self.native(*args, kept=self.kept)
        else:
            results = self.native(*args)
        flat, tree = jax.tree.flatten(results)
        found, solution_tree = jax.tree.flatten(jax.lax.stop_gradient(found))
        _outputs.put((self, _per_world(leaves), x64()), _Output(tree, solution_tree))
        return flat + found if self.kept else flat

    def output(self, signature: tuple[Any, ...]) -> _Output:
        """Structure of the results for per-world argument types; every trace records it."""
        key = (self, signature, x64())
        found = _outputs.get(key)
        if found is None:
            jax.eval_shape(lambda *x: self(x), *(jax.ShapeDtypeStruct((*s, 1), d) for s, d in signature))
            found = _outputs.get(key)
        assert found is not None
        return found


class _Output(NamedTuple):
    tree: Any
    solution_tree: Any


class _Recent:
    """The most recently used entries of a table, so that what they refer to is not kept alive for ever."""

    def __init__(self, size: int):
        self.size = size
        self.entries: OrderedDict[Any, _Output] = OrderedDict()

    def get(self, key: Any) -> _Output | None:
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def put(self, key: Any, value: _Output) -> None:
        self.entries[key] = value
        self.entries.move_to_end(key)
        while len(self.entries) > self.size:
            self.entries.popitem(last=False)


_REMEMBERED = 256
"""Most traces, and most structures of results, that are kept."""

_outputs = _Recent(_REMEMBERED)


def _per_world(native_leaves: Leaves) -> tuple[Any, ...]:
    return tuple(_signature(x, True) for x in native_leaves)


# --- the primitive
#
# Parameters: `function`, one of the above; `mapped`, which arguments have a worlds axis; `width`, the number of
# worlds, 0 for a call on one world, where nothing has a worlds axis.

_native_p = Primitive("native_worlds")
_native_p.multiple_results = True


def _bind(*leaves: Any, **params: Any) -> list[Any]:
    """Binds after making all arguments vary over the same manual mesh axes, as `shard_map` asks."""
    axes = frozenset[str]().union(*(_varying(jax.typeof(x)) for x in leaves))
    if axes:
        leaves = tuple(
            jax.lax.pcast(x, tuple(axes - _varying(jax.typeof(x))), to="varying")
            if axes - _varying(jax.typeof(x))
            else x
            for x in leaves
        )
    return _native_p.bind(*leaves, **params)


def _varying(aval: Any) -> frozenset[str]:
    return aval.manual_axis_type.varying


def _run(
    *leaves: Any,
    function: Any,
    mapped: tuple[bool, ...],
    width: int,
    kind: str | None = None,
    divided: bool = False,
) -> list[Any]:
    """Runs the native function; `divided`: in a program that XLA divides among devices, of which each has some worlds.

    There worlds stay together: each block would be sent around.
    """
    native = [x if m else x[..., None] for x, m in zip(leaves, mapped, strict=True)]
    kind = platform() if kind is None else kind
    if kind == "cpu" and not divided:
        # as the loops and calls inside want it: a table of meshes would be copied each step
        native = [x if m else _rows_first(x) for x, m in zip(native, mapped, strict=True)]
    jaxpr, block = _traced(native, function, mapped, width, kind, divided)
    run = in_few_kernels(jaxpr) if kind == "cpu" and not divided else _jaxpr_as_fun(jaxpr)
    results = in_blocks(run, native, mapped, max(width, 1), block)
    if kind not in ("cpu", "any") and not divided:
        # a per-world layout of results would be that of all that they are computed from
        results = [_rows_first(x) for x in results]
    return results if width else [x[..., 0] for x in results]


def _rows_first(x: Any) -> Any:
    """With the layout of C's arrays."""
    return with_layout_constraint(x, Layout(tuple(range(x.ndim))))


def _traced(
    native: Sequence[Any],
    function: Any,
    mapped: tuple[bool, ...],
    width: int,
    kind: str,
    divided: bool = False,
) -> tuple[Any, int]:
    """The native function's jaxpr for a block of worlds, and how many these are."""
    width = max(width, 1)
    block = width if divided else block_size(width, kind)
    signature = tuple(
        ((*x.shape[:-1], block if m else 1), np.dtype(x.dtype)) for x, m in zip(native, mapped, strict=True)
    )
    return trace(function, signature, block, kind, divided), block


@_native_p.def_abstract_eval
def _abstract(*avals: Any, function: Any, mapped: tuple[bool, ...], width: int) -> list[Any]:
    native = [a if m else ShapedArray((*a.shape, 1), a.dtype) for a, m in zip(avals, mapped, strict=True)]
    jaxpr, _ = _traced(native, function, mapped, width, platform())
    worlds = (width,) if width else ()
    out = [ShapedArray((*a.shape[:-1], *worlds), a.dtype) for a in jaxpr.out_avals]
    if not (avals and _varying(avals[0])):
        return out
    kind = avals[0]
    return [
        a.update(
            sharding=kind.sharding.update(spec=jax.sharding.PartitionSpec(*[None] * a.ndim)),
            manual_axis_type=kind.manual_axis_type,
        )
        for a in out
    ]


@functools.lru_cache(maxsize=_REMEMBERED)
def _compiled(function: Any, mapped: tuple[bool, ...], width: int) -> Callable[..., list[Any]]:
    return jax.jit(functools.partial(_run, function=function, mapped=mapped, width=width))


@_native_p.def_impl
def _eager(*leaves: Any, function: Any, mapped: tuple[bool, ...], width: int) -> list[Any]:
    return _compiled(function, mapped, width)(*leaves)


def _lower(ctx: Any, *args: Any, **params: Any) -> Any:
    """Inlines the native function; inside, nothing needs to know over which mesh axes it varies."""
    avals = [ShapedArray(a.shape, a.dtype) for a in ctx.avals_in]
    module = ctx.module_context
    run = functools.partial(_run, kind=common_platform(module.platforms), divided=is_divided(module))
    with paused_collector():
        return mlir.lower_fun(run, multiple_results=True)(ctx.replace(avals_in=avals), *args, **params)


mlir.register_lowering(_native_p, _lower)


def _batch(
    leaves: Leaves, dims: Sequence[int | None], *, function: Any, mapped: tuple[bool, ...], width: int
) -> tuple[list[Any], list[int]]:
    """Moves the new axis behind the worlds and merges the two."""
    size = next(x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None)
    if not size:  # nothing to compute, and a width of 0 would mean one world
        shapes = [
            x.shape if d is None else x.shape[:d] + x.shape[d + 1 :]
            for x, d in zip(leaves, dims, strict=True)
        ]
        each = [ShapedArray(s, x.dtype) for s, x in zip(shapes, leaves, strict=True)]
        found = _abstract(*each, function=function, mapped=mapped, width=width)
        return [jnp.zeros((*a.shape, 0), a.dtype) for a in found], [a.ndim for a in found]
    folded, now_mapped = [], []
    for x, d, m in zip(leaves, dims, mapped, strict=True):
        now_mapped.append(m or d is not None)
        if d is not None:
            x = jnp.moveaxis(x, d, -1)
        if not width or not now_mapped[-1]:
            folded.append(x)
            continue
        core = x.shape[: x.ndim - m - (d is not None)]
        x = x.reshape(*core, width if m else 1, size if d is not None else 1)
        folded.append(jnp.broadcast_to(x, (*core, width, size)).reshape(*core, width * size))
    results = _bind(*folded, function=function, mapped=tuple(now_mapped), width=(width or 1) * size)
    if width:
        results = [x.reshape(*x.shape[:-1], width, size) for x in results]
    return results, [x.ndim - 1 for x in results]


batching.primitive_batchers[_native_p] = _batch


def _jvp(primals: Leaves, tangents: Leaves, *, function: Any, mapped: tuple[bool, ...], width: int) -> Any:
    bind = functools.partial(_bind, mapped=mapped, width=width)
    wrt = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero and t.dtype != jax.dtypes.float0)
    n_fixed = len(primals) - function.n_linear
    of, solution = function, ()
    if wrt and isinstance(function, _Function) and function.has_solution:
        of = dataclasses.replace(function, kept=True)
        results = bind(*primals, function=of)
        signature = tuple(_signature(x, m) for x, m in zip(primals, mapped, strict=True))
        n_results = of.output(signature).tree.num_leaves
        solution = results[n_results:]
        results = results if function.kept else results[:n_results]
    else:
        results = bind(*primals, function=function)
        n_results = len(results)
    out: list[Any] = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in results]
    smooth = tuple(i for i in range(n_results) if jnp.issubdtype(results[i].dtype, jnp.inexact))
    if not wrt:
        return results, out
    if all(i >= n_fixed for i in wrt):
        linear = [ad.instantiate_zeros(t) if type(t) is ad.Zero else t for t in tangents[n_fixed:]]
        return results, bind(*primals[:n_fixed], *linear, function=function)
    found = _bind(
        *primals,
        *solution,
        *(tangents[i] for i in wrt),
        function=Tangent(of, wrt, len(primals), smooth),
        mapped=(*mapped, *(bool(width),) * len(solution), *(mapped[i] for i in wrt)),
        width=width,
    )
    for i, t in zip(smooth, found, strict=True):
        out[i] = t
    return results, out


ad.primitive_jvps[_native_p] = _jvp


def _transpose(
    cotangents: Leaves, *args: Any, function: Any, mapped: tuple[bool, ...], width: int
) -> list[Any]:
    n_fixed = len(args) - function.n_linear
    wanted = tuple(i for i, x in enumerate(args[n_fixed:]) if ad.is_undefined_primal(x))
    if any(ad.is_undefined_primal(x) for x in args[:n_fixed]):
        raise NotImplementedError("jaxsim.worlds: transpose with respect to a nonlinear argument")
    outputs = tuple(i for i, c in enumerate(cotangents) if type(c) is not ad.Zero)
    out: list[Any] = [None] * len(args)
    if not outputs:
        return out
    avals = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in args[n_fixed:]]
    linear = tuple(
        (tuple(a.shape[:-1]) if m else tuple(a.shape), np.dtype(a.dtype))
        for a, m in zip(avals, mapped[n_fixed:], strict=True)
    )
    found = _bind(
        *args[:n_fixed],
        *(cotangents[i] for i in outputs),
        function=Cotangent(function, linear, wanted, outputs),
        mapped=(*mapped[:n_fixed], *(bool(width),) * len(outputs)),
        width=width,
    )
    for i, x in zip(wanted, found, strict=True):
        shared = width and not mapped[n_fixed + i]
        out[n_fixed + i] = jnp.sum(x, axis=-1) if shared else x
    return out


ad.primitive_transposes[_native_p] = _transpose
