"""A function of many lanes as one Pallas kernel of a GPU.

Each round of a search is dozens of kernels where XLA makes them, of a few microseconds each, after which the host is
asked whether to go on; all lanes wait for the last. Here the whole function, its loops included, is one kernel, whose
programs of 32 lanes each end by themselves. Its jaxpr is evaluated equation by equation in the kernel: an array
(..., W) is one vector of lanes for each of its numbers, so that what only moves numbers about, as stacks and slices
do, is nothing at all there. Arrays without lanes are read where they are needed.

A kernel is compiled in a time that grows with the square of its length: functions of some hundred numbers are meant.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.core import ClosedJaxpr, Literal
from jax.interpreters.partial_eval import dce_jaxpr

from jaxsim.math.lanes import in_lanes
from jaxsim.math.linear import computation_of, kernel_computation_of
from jaxsim.math.loops import scan_sizes
from jaxsim.math.stage import lowering_for, platform, x64

__all__ = [
    "LANE",
    "WIDTH",
    "Lanes",
    "Table",
    "Value",
    "fits_one_kernel",
    "in_memory",
    "in_one_kernel",
    "lanes_of",
    "operations",
    "stored",
    "where_it_fits_in_one_kernel",
]

LANE = "lane"
"""The platform of what is traced for such a kernel."""

WIDTH = 8191
"""Lanes of what is traced: a number that no other axis is as long as."""

_FEW = 64
"""Numbers of an array without lanes that is read at once; one of more is a table, of which entries are looked up."""

_MOST = 512
"""Most numbers that a kernel is given of each lane."""

_NUMBERS = """
    abs acos add add_any and asin atan atan2 ceil clamp convert_element_type cos div eq exp floor ge gt
    integer_pow is_finite le log lt max min mul ne neg not or pow rem round rsqrt select_n shift_left
    shift_right_arithmetic shift_right_logical sign sin sqrt square sub tan tanh xor
"""
_ELEMENTWISE = frozenset(_NUMBERS.split())
_UNKNOWN_TO_TPUS = frozenset({"acos", "asin", "atan"})
_MOVING = "broadcast_in_dim concatenate iota pad reshape slice split squeeze stack transpose unstack"
_MOVES = frozenset(_MOVING.split())
_SAME = frozenset({"copy", "optimization_barrier", "stop_gradient"})
_REDUCED: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_and": jnp.logical_and,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
    "reduce_or": jnp.logical_or,
    "reduce_sum": jnp.add,
}


@dataclasses.dataclass(frozen=True)
class Value:
    """An array in a kernel.

    Attributes:
      entries: its numbers, each a vector of lanes or one number; of the axis of lanes there is one.
      axis: the axis of lanes; None: it has none.
      dtype: type of the numbers.
    """

    entries: np.ndarray
    axis: int | None
    dtype: np.dtype

    @property
    def type(self) -> jax.ShapeDtypeStruct:
        """Shape and type, as it is traced."""
        shape = list(self.entries.shape)
        if self.axis is not None:
            shape[self.axis] = WIDTH
        return jax.ShapeDtypeStruct(tuple(shape), self.dtype)


@dataclasses.dataclass(frozen=True)
class Table:
    """An array without lanes, of which entries are looked up.

    Attributes:
      ref: its numbers, (n,).
      places: where among these each of its numbers is.
      dtype: type of the numbers.
      known: the numbers (n,), if they are few.
    """

    ref: Any
    places: np.ndarray
    dtype: np.dtype
    known: np.ndarray | None

    axis = None

    @property
    def type(self) -> jax.ShapeDtypeStruct:
        """Shape and type."""
        return jax.ShapeDtypeStruct(self.places.shape, self.dtype)

    @property
    def entries(self) -> np.ndarray:
        """Its numbers.

        Raises:
          NotImplementedError: they are many.
        """
        if self.known is None:
            raise NotImplementedError(f"a kernel of lanes that reads all of {self.places.shape} numbers")
        return _each(self.known.__getitem__, self.places)

    def number(self, place: Any) -> Any:
        """One of the numbers, or that of each lane."""
        number = self.ref[place]
        return number != 0 if self.dtype == bool else number


def fits_one_kernel(asked: Array, trees: Any) -> bool:
    """Whether what is asked of pairs and worlds (npair, W) may be one kernel: that of one pair, without long arrays."""
    width = asked.shape[-1]
    numbers = [x.size // width for x in jax.tree.leaves(trees) if x.ndim and x.shape[-1] == width]
    return platform() == "cuda" and asked.shape[0] == 1 < width and sum(numbers) <= _MOST


def where_it_fits_in_one_kernel(function: Callable[..., Any], name: str, asked: Array, *trees: Any) -> Any:
    """A function of trees of arrays (..., 1 or W), as one kernel where that is possible: see `fits_one_kernel`."""
    if not fits_one_kernel(asked, trees):
        return function(*trees)
    with lowering_for(LANE):
        results = jax.eval_shape(function, *trees)
    return in_one_kernel(lambda lanes, *args: lanes.run(function, *args), name, trees, results)


def in_one_kernel(
    body: Callable[..., Any],
    name: str,
    trees: Sequence[Any],
    results: Any,
    scratch: Sequence[jax.ShapeDtypeStruct] = (),
    few: int = 0,
    interpret: bool = False,
) -> Any:
    """Runs a function of lanes as one kernel of a GPU.

    Args:
      body: of `Lanes` and of the trees, with values in place of their arrays; returns a tree of values (..., W).
      name: of the kernel in the program.
      trees: trees of arrays (..., 1 or W), W > 1, or of numbers.
      results: shapes (..., W) and types of what the body returns.
      scratch: shapes (n, W) and types of arrays that the body may write and read.
      few: as of `in_lanes`.
      interpret: whether to run the kernel without compiling it, for tests.
    """
    leaves, structure = jax.tree.flatten(tuple(trees))
    types, tree = jax.tree.flatten(results)
    width = types[0].shape[-1]
    wide = [x.ndim > 0 and x.shape[-1] == width for x in leaves]
    given = [x for x, own in zip(leaves, wide, strict=True) if own]
    tables = [in_memory(x).reshape(-1) for x, own in zip(leaves, wide, strict=True) if not own and x.size]
    kinds, made = _by_type(given), _by_type(types)

    def kernel(*refs: Any) -> None:
        left = iter(refs)
        shared, blocks, out = (list(itertools.islice(left, len(x))) for x in (tables, kinds, made))
        lanes, few, own = Lanes(out[0].shape[-1:], list(left)), iter(shared), {}
        for ref, kind in zip(blocks, kinds, strict=True):
            rows = iter(lanes.rows(ref[...], sum(_rows(given[k]) for k in kind)))
            own |= {k: _value(rows, (*given[k].shape[:-1], WIDTH), given[k].dtype) for k in kind}
        numbers = (own[k] for k in range(len(given)))
        values = [
            next(numbers) if some else _shared(next(few) if x.size else None, x)
            for x, some in zip(leaves, wide, strict=True)
        ]
        found = jax.tree.leaves(body(lanes, *jax.tree.unflatten(structure, values)))
        for ref, kind in zip(out, made, strict=True):
            rows = [
                lanes.vector(x, found[k].dtype).astype(ref.dtype) for k in kind for x in found[k].entries.flat
            ]
            ref[...] = lanes.block(rows, len(ref), ref.dtype)

    outputs = [jax.eval_shape(_block, [types[k] for k in kind]) for kind in made]
    blocks = [_block([given[k] for k in kind]) for kind in kinds]
    held = [*outputs, *scratch]
    found, parts = in_lanes(kernel, name, blocks, held, tables, few=few, interpret=interpret), {}
    for block, kind in zip(found, made, strict=False):
        ends = np.cumsum([_rows(types[k]) for k in kind])
        rows = zip(kind, jnp.split(block[: ends[-1]], ends[:-1]), strict=True)
        parts |= {k: x.reshape(types[k].shape).astype(types[k].dtype) for k, x in rows}
    return jax.tree.unflatten(tree, [parts[k] for k in range(len(types))])


def _by_type(arrays: Sequence[Any]) -> list[list[int]]:
    """Numbers of the arrays of each type, as they are stored: what is loaded together is one operation."""
    types = [stored(x.dtype) for x in arrays]
    return [[k for k, t in enumerate(types) if t == own] for own in dict.fromkeys(types)]


def _rows(x: Any) -> int:
    """How many numbers each lane of an array (..., W) has."""
    return int(np.prod(x.shape[:-1]))


def _power(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()


def _block(arrays: Sequence[Array]) -> Array:
    """Arrays (..., W) one after the other, (n, W), n a power of two."""
    rows = jnp.concatenate([in_memory(x).reshape(-1, x.shape[-1]) for x in arrays])
    return jnp.pad(rows, ((0, _power(len(rows)) - len(rows)), (0, 0)))


def stored(dtype: Any) -> np.dtype:
    """The type of numbers in memory: flags are integers."""
    return np.dtype(np.int32 if np.dtype(dtype) == np.bool_ else dtype)


def in_memory(x: Array) -> Array:
    """As it is stored."""
    return x.astype(stored(x.dtype))


def lanes_of(trees: Any, width: int) -> Any:
    """Shapes of arrays (..., 1 or W), as they are traced for lanes that are W worlds."""

    def traced(x: Any) -> jax.ShapeDtypeStruct:
        lanes = WIDTH if x.shape[-1] == width else x.shape[-1]
        return jax.ShapeDtypeStruct((*x.shape[:-1], lanes), x.dtype)

    return jax.tree.map(traced, trees)


def operations(program: ClosedJaxpr) -> int:
    """About how many operations on vectors of lanes a kernel without loops has.

    Raises:
      NotImplementedError: there is something in it that such a kernel does not compute.
    """
    known = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    return sum(_operations(eqn, known) for eqn in program.jaxpr.eqns)


def _operations(eqn: Any, known: dict[Any, Any]) -> int:
    name, params = eqn.primitive.name, eqn.params
    made = sum(_count(v.aval.shape) for v in eqn.outvars)
    compute = computation_of(eqn.primitive)
    if compute is not None:
        return operations(_computed(compute, params, [v.aval for v in eqn.invars]))
    if name in _SAME or name in _MOVES:
        return 0
    if name in _ELEMENTWISE and name not in _UNKNOWN_TO_TPUS:
        return made
    if name in _REDUCED or name in ("argmax", "cumsum"):
        if _has_lanes(eqn.invars) and not _has_lanes(eqn.outvars):
            raise NotImplementedError(f"{name} of all worlds")
        return _count(eqn.invars[0].aval.shape)
    if name == "gather":
        rows = eqn.invars[0].aval.shape[params["dimension_numbers"].start_index_map[0]]
        return 0 if _is_known(eqn.invars[1], known) else made * rows
    if name == "dot_general":
        ((axis,), _), _ = params["dimension_numbers"]
        first, shape = eqn.invars[0], eqn.invars[0].aval.shape
        terms = made * shape[axis]
        if not isinstance(first, Literal) and first in known:  # what is zero is left out
            return terms * int(np.count_nonzero(known[first])) // max(1, _count(shape))
        return terms
    inner = _inner(params)
    if inner is None or name in ("while", "scan", "cond"):
        raise NotImplementedError(f"{name} in a kernel without loops")
    return operations(inner)


def _is_known(atom: Any, known: dict[Any, Any]) -> bool:
    return isinstance(atom, Literal) or atom in known


def _has_lanes(atoms: Sequence[Any]) -> bool:
    return any(WIDTH in x.aval.shape for x in atoms)


def _count(traced: Sequence[int]) -> int:
    """Numbers of each lane of an array, of a shape as it is traced."""
    return int(np.prod(_apart(traced)[0]))


def _inner(params: dict[str, Any]) -> ClosedJaxpr | None:
    """What an equation computes, if that is a jaxpr."""
    inner = next((params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in params), None)
    return inner if inner is None or isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ())


def _computed(compute: Callable[..., Any], params: dict[str, Any], types: Sequence[Any]) -> ClosedJaxpr:
    """What a primitive of `math/linear.py` computes, in a kernel."""
    return _traced(
        compute, tuple(params.items()), tuple((tuple(x.shape), np.dtype(x.dtype)) for x in types), x64()
    )


@functools.lru_cache(maxsize=4096)
def _traced(
    compute: Callable[..., Any], params: tuple[Any, ...], types: tuple[Any, ...], wide: bool
) -> ClosedJaxpr:
    """The same, once for arguments of the same types; `wide`: numbers of 64 bits."""
    del wide
    with lowering_for(LANE):
        return jax.make_jaxpr(functools.partial(compute, **dict(params)))(
            *itertools.starmap(jax.ShapeDtypeStruct, types)
        )


def _each(function: Callable[[Any], Any], of: np.ndarray) -> np.ndarray:
    """A function of each entry."""
    made = np.empty(of.shape, object)
    for index in np.ndindex(*of.shape):
        made[index] = function(of[index])
    return made


def _value(numbers: Iterator[Array], traced: Sequence[int], dtype: Any) -> Value:
    """An array, of a shape as it is traced, of the next numbers; flags are stored as integers."""
    shape, axis = _apart(traced)
    flag = dtype == np.bool_
    entries = _each(lambda _: next(numbers) != 0 if flag else next(numbers), np.empty(shape))
    return Value(entries, axis, np.dtype(dtype))


def _apart(traced: Sequence[int]) -> tuple[list[int], int | None]:
    """A shape with one entry along the axis of lanes, and that axis."""
    shape = list(traced)
    axis = shape.index(WIDTH) if WIDTH in shape else None
    if axis is not None:
        shape[axis] = 1
    return shape, axis


def _shared(ref: Any, x: Array) -> Table:
    """An argument without lanes."""
    table = Table(ref, np.arange(x.size).reshape(x.shape), np.dtype(x.dtype), None)
    if x.size > _FEW:
        return table
    return dataclasses.replace(table, known=_each(table.number, np.arange(x.size)))


class Lanes:
    """Evaluates functions of arrays in a kernel.

    Attributes:
      shape: of a vector of lanes.
      scratch: references (n, lanes) to arrays that may be written and read.
    """

    def __init__(self, shape: tuple[int, ...], scratch: Sequence[Any] = ()) -> None:
        self.shape = shape
        self.scratch = scratch

    def vector(self, number: Any, dtype: Any) -> Array:
        """A number of each lane."""
        if isinstance(number, Array) and number.ndim:
            return number
        if isinstance(number, Array):
            return jnp.broadcast_to(number, self.shape)
        return lax.full(self.shape, number, dtype)

    def value(self, numbers: Sequence[Array], rows: tuple[int, ...] = ()) -> Any:
        """The array (*rows, W) of vectors of lanes, all in one row if nothing else is said."""
        return _value(iter(numbers), (*(rows or (len(numbers),)), WIDTH), numbers[0].dtype)

    def block(self, numbers: Sequence[Any], n: int, dtype: Any) -> Array:
        """Vectors of lanes as one array (n, lanes), n a power of two; 0 beyond the last."""
        row = lax.broadcasted_iota(jnp.int32, (n, *self.shape), 0)
        made = lax.full(row.shape, 0, dtype)
        for k, number in enumerate(numbers):
            made = jnp.where(row == k, self.vector(number, dtype), made)
        return made

    def rows(self, block: Array, n: int) -> list[Array]:
        """The first vectors of such an array."""
        row = lax.broadcasted_iota(jnp.int32, block.shape, 0)
        return [jnp.sum(jnp.where(row == k, block, 0), axis=0, dtype=block.dtype) for k in range(n)]

    def run(self, function: Callable[..., Any], *trees: Any) -> Any:
        """A function of trees of arrays (..., W), given values in place of arrays: the same of its results."""
        leaves, structure = jax.tree.flatten(trees)

        def flat(*leaves: Array) -> Any:
            return function(*jax.tree.unflatten(structure, leaves))

        with lowering_for(LANE):
            program, shape = jax.make_jaxpr(flat, return_shape=True)(*(x.type for x in leaves))
        found = self.evaluate(_pruned(program), program.consts, leaves)
        return jax.tree.unflatten(jax.tree.structure(shape), found)

    def _called(self, program: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
        return self.evaluate(program.jaxpr, program.consts, args)

    def evaluate(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
        """What a jaxpr, traced for lanes, computes of values."""
        env: dict[Any, Value] = dict(zip(jaxpr.invars, args, strict=True))
        env |= {var: _constant(x) for var, x in zip(jaxpr.constvars, consts, strict=True)}

        def value_of(atom: Any) -> Value:
            aval: Any = atom.aval
            return _constant(np.asarray(atom.val, aval.dtype)) if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            found = self._equation(eqn, [value_of(x) for x in eqn.invars])
            env |= zip(eqn.outvars, found, strict=True)
        return [value_of(x) for x in jaxpr.outvars]

    def _equation(self, eqn: Any, args: list[Any]) -> list[Any]:
        name, params = eqn.primitive.name, eqn.params
        own = kernel_computation_of(eqn.primitive)
        if own is not None:
            return [own(self, *args, **params)]
        compute = computation_of(eqn.primitive)
        if compute is not None:
            types = [x.type for x in args]
            return self._called(_computed(compute, params, types), args)
        if name in _SAME:
            return args
        if name in _ELEMENTWISE:
            return [self._elementwise(eqn, args)]
        if name in _REDUCED:
            return [self._reduced(_REDUCED[name], args[0], params["axes"], eqn.outvars[0].aval)]
        handler = getattr(self, f"_{name}", None)
        if handler is not None:
            return handler(eqn, *args)
        inner = _inner(params)
        if inner is None:
            raise NotImplementedError(f"{name} in a kernel of lanes")
        return self._called(inner, args)

    # --- numbers

    def _elementwise(self, eqn: Any, args: list[Any]) -> Any:
        dtype = np.dtype(eqn.outvars[0].aval.dtype)
        if eqn.primitive.name == "convert_element_type" and args[0].dtype == dtype:
            return args[0]
        axis = next((x.axis for x in args if x.axis is not None), None)
        entries = np.broadcast_arrays(*(x.entries for x in args))
        made = np.empty(entries[0].shape, object)
        for index in np.ndindex(*made.shape):
            made[index] = self._number(
                eqn, [(x[index], own.dtype) for x, own in zip(entries, args, strict=True)]
            )
        return Value(made, axis, dtype)

    def _number(self, eqn: Any, args: list[tuple[Any, Any]]) -> Any:
        """One number of an elementwise operation."""
        known = [not isinstance(x, Array) for x, _ in args]
        if eqn.primitive.name == "select_n" and known[0]:
            return args[1 + int(args[0][0])][0]
        if all(known):
            with jax.ensure_compile_time_eval():
                return np.asarray(eqn.primitive.bind(*(jnp.asarray(*x) for x in args), **eqn.params))[()]
        if eqn.primitive.name == "sign":  # whose lowering asks which TPU it is, and that may be elsewhere
            x = args[0][0]
            return jnp.where(x > 0, 1, jnp.where(x < 0, -1, x)).astype(x.dtype)
        # of two one may be a number that all lanes share
        if len(args) != 2 and any(isinstance(x, Array) and x.ndim for x, _ in args):
            args = [(self.vector(*x), x[1]) for x in args]
        return eqn.primitive.bind(
            *(x if isinstance(x, Array) else np.asarray(x, t)[()] for x, t in args), **eqn.params
        )

    def _fold(self, operation: Callable[[Any, Any], Any], x: Value, axes: Sequence[int]) -> np.ndarray:
        """The entries, those along some axes folded."""
        entries = x.entries
        for axis in sorted(axes, reverse=True):
            if axis == x.axis:
                entries = entries.squeeze(axis)
                continue
            parts = [_row(entries, k, axis) for k in range(entries.shape[axis])]
            total = parts[0]
            for part in parts[1:]:
                total = _pairwise(operation, total, part)
            entries = total
        return entries

    def _reduced(
        self, operation: Callable[[Any, Any], Any], x: Value, axes: Sequence[int], aval: Any
    ) -> Value:
        entries = self._fold(operation, x, axes)
        if x.axis is None or x.axis not in axes:
            left = None if x.axis is None else x.axis - sum(a < x.axis for a in axes)
            return Value(entries, left, np.dtype(aval.dtype))
        across: dict[Any, Any] = {
            jnp.logical_or: jnp.max,
            jnp.maximum: jnp.max,
            jnp.logical_and: jnp.min,
            jnp.minimum: jnp.min,
        }

        def whole(number: Any) -> Any:
            number = self.vector(number, x.dtype)
            total = across[operation](number.astype(jnp.int32) if x.dtype == bool else number)
            return total > 0 if x.dtype == bool else total

        return Value(_each(whole, entries), None, np.dtype(aval.dtype))

    def _argmax(self, eqn: Any, x: Value) -> list[Value]:
        (axis,), dtype = eqn.params["axes"], np.dtype(eqn.params["index_dtype"])
        best = _row(x.entries, 0, axis).copy()
        number = np.full(best.shape, dtype.type(0), object)
        for k in range(1, x.entries.shape[axis]):
            other = _row(x.entries, k, axis)
            for index in np.ndindex(*best.shape):
                more = other[index] > best[index]
                best[index] = jnp.where(more, other[index], best[index])
                number[index] = jnp.where(more, dtype.type(k), number[index])
        left = None if x.axis is None else x.axis - (axis < x.axis)
        return [Value(number, left, dtype)]

    def _dot_general(self, eqn: Any, one: Value, other: Value) -> list[Value]:
        """A product of matrices; what is known to be zero in one of them costs nothing."""
        ((first,), (second,)), batch = eqn.params["dimension_numbers"]
        if batch != ((), ()) or one.axis == first or other.axis == second:
            raise NotImplementedError("a kernel of lanes with products of many matrices")
        left, right = np.moveaxis(one.entries, first, -1), np.moveaxis(other.entries, second, 0)
        rows, columns = left.reshape(-1, left.shape[-1]), right.reshape(len(right), -1)
        dtype, shape = np.dtype(eqn.outvars[0].aval.dtype), eqn.outvars[0].aval.shape
        made = np.empty((len(rows), columns.shape[1]), object)
        for i, k in np.ndindex(*made.shape):
            products = (_product(x, y) for x, y in zip(rows[i], columns[:, k], strict=True))
            terms = [x for x in products if isinstance(x, Array) or x != 0]
            made[i, k] = functools.reduce(jnp.add, terms) if terms else dtype.type(0)
        return [Value(made.reshape(_apart(shape)[0]), _apart(shape)[1], dtype)]

    def _cumsum(self, eqn: Any, x: Value) -> list[Value]:
        axis, reverse = eqn.params["axis"], eqn.params["reverse"]
        rows = [_row(x.entries, k, axis) for k in range(x.entries.shape[axis])]
        sums = list(
            itertools.accumulate(rows[:: -1 if reverse else 1], functools.partial(_pairwise, jnp.add))
        )
        return [Value(np.stack(sums[:: -1 if reverse else 1], axis), x.axis, x.dtype)]

    # --- what only moves numbers

    def _moved(self, x: Any, change: Callable[[np.ndarray], np.ndarray], axis: int | None) -> Any:
        if isinstance(x, Table) and axis is None:
            return dataclasses.replace(x, places=change(x.places))
        return Value(change(x.entries), axis, x.dtype)

    def _squeeze(self, eqn: Any, x: Any) -> list[Any]:
        axes = eqn.params["dimensions"]
        left = None if x.axis is None else x.axis - sum(a < x.axis for a in axes)
        return [self._moved(x, lambda e: e.squeeze(tuple(axes)), left)]

    def _reshape(self, eqn: Any, x: Any) -> list[Any]:
        shape, axis = _apart(eqn.outvars[0].aval.shape)
        if x.axis is not None and np.prod(shape[:axis]) != np.prod(x.entries.shape[: x.axis]):
            raise NotImplementedError("a kernel of lanes that reshapes the axis of lanes")
        return [self._moved(x, lambda e: e.reshape(shape), axis)]

    def _broadcast_in_dim(self, eqn: Any, x: Any) -> list[Any]:
        dims = eqn.params["broadcast_dimensions"]
        shape, axis = _apart(eqn.params["shape"])

        def change(entries: np.ndarray) -> np.ndarray:
            lifted = [1] * len(shape)
            for dim, size in zip(dims, entries.shape, strict=True):
                lifted[dim] = size
            return np.broadcast_to(entries.reshape(lifted), shape)

        return [self._moved(x, change, axis)]

    def _transpose(self, eqn: Any, x: Any) -> list[Any]:
        order = eqn.params["permutation"]
        return [self._moved(x, lambda e: e.transpose(order), None if x.axis is None else order.index(x.axis))]

    def _slice(self, eqn: Any, x: Any) -> list[Any]:
        p = eqn.params
        steps = p["strides"] or [1] * len(p["start_indices"])
        cuts = [slice(*c) for c in zip(p["start_indices"], p["limit_indices"], steps, strict=True)]
        if x.axis is not None:
            cuts[x.axis] = slice(None)
        return [self._moved(x, lambda e: e[tuple(cuts)], x.axis)]

    def _split(self, eqn: Any, x: Any) -> list[Any]:
        axis, ends = eqn.params["axis"], np.cumsum(eqn.params["sizes"])[:-1]
        return [
            self._moved(x, lambda e, k=k: np.split(e, ends, axis)[k], x.axis) for k in range(len(ends) + 1)
        ]

    def _unstack(self, eqn: Any, x: Any) -> list[Any]:
        axis = eqn.params["axis"]
        left = None if x.axis is None else x.axis - (axis < x.axis)
        return [self._moved(x, lambda e, k=k: _row(e, k, axis), left) for k in range(len(eqn.outvars))]

    def _concatenate(self, eqn: Any, *parts: Any) -> list[Any]:
        axis = next((x.axis for x in parts if x.axis is not None), None)
        entries = np.concatenate([x.entries for x in parts], eqn.params["dimension"])
        return [Value(entries, axis, parts[0].dtype)]

    def _stack(self, eqn: Any, *parts: Any) -> list[Any]:
        place = eqn.params["axis"]
        axis = next((x.axis for x in parts if x.axis is not None), None)
        entries = np.stack([x.entries for x in parts], place)
        return [Value(entries, axis if axis is None else axis + (place <= axis), parts[0].dtype)]

    def _pad(self, eqn: Any, x: Any, value: Any) -> list[Any]:
        config = eqn.params["padding_config"]
        shape, axis = _apart(eqn.outvars[0].aval.shape)
        if any(low < 0 or high < 0 for low, high, _ in config):
            raise NotImplementedError("a kernel of lanes that pads by less than nothing")
        made = np.full(shape, value.entries[()], object)
        inside = [slice(low, n - high, gap + 1) for n, (low, high, gap) in zip(shape, config, strict=True)]
        made[tuple(inside)] = x.entries
        return [Value(made, axis, x.dtype)]

    def _iota(self, eqn: Any) -> list[Value]:
        p = eqn.params
        shape, axis = _apart(p["shape"])
        if axis == p["dimension"]:
            raise NotImplementedError("a kernel of lanes that counts them")
        numbers = np.indices(shape)[p["dimension"]].astype(p["dtype"])
        return [Value(_each(lambda number: number, numbers), axis, np.dtype(p["dtype"]))]

    def _dynamic_slice(self, eqn: Any, x: Any, *starts: Value) -> list[Value]:
        """One of a few rows, by a number that all lanes share or each has."""
        sizes = eqn.params["slice_sizes"]
        cut = [k for k, size in enumerate(sizes) if k != x.axis and size < x.entries.shape[k]]
        if not cut:
            return [x]
        if len(cut) > 1 or sizes[cut[0]] > 1:
            raise NotImplementedError(
                "a kernel of lanes that cuts out more than a row at a place to be found"
            )
        row, rows = starts[cut[0]].entries[()], np.moveaxis(x.entries, cut[0], -1)
        made = np.empty(rows.shape[:-1], object)
        for place in np.ndindex(*made.shape):
            made[place] = _of_few(rows[place], row)
        return [Value(np.expand_dims(made, cut[0]), x.axis, x.dtype)]

    def _gather(self, eqn: Any, table: Any, index: Value) -> list[Value]:
        dims, sizes, out = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], eqn.outvars[0].aval
        if len(dims.start_index_map) != 1 or dims.collapsed_slice_dims[:1] != dims.start_index_map[:1]:
            raise NotImplementedError("a kernel of lanes that gathers by several axes")
        (along,) = dims.start_index_map
        lead = [k for k in range(len(out.shape)) if k not in dims.offset_dims]
        shape, axis = _apart(out.shape)
        inner = [k for k in range(len(sizes)) if k != along and k not in dims.operand_batching_dims]
        if any(sizes[k] != table.type.shape[k] for k in inner) or len(inner) != len(dims.offset_dims):
            raise NotImplementedError("a kernel of lanes that gathers parts of rows")
        rows = index.entries[..., 0]
        made = np.empty(shape, object)
        for place in np.ndindex(*shape):
            row = tuple(place[k] for k in lead)
            cut: list[Any] = [0] * len(sizes)
            cut[along] = slice(None)
            for k, n in zip(inner, dims.offset_dims, strict=True):
                cut[k] = place[n]
            for k, n in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
                cut[k] = row[n]
            made[place] = (tuple(cut), rows[row])
        if isinstance(table, Table):
            found = iter(self._looked_up(table, list(made.flat)))
            return [Value(_each(lambda _: next(found), made), axis, np.dtype(out.dtype))]
        return [
            Value(_each(lambda at: _of_few(table.entries[at[0]], at[1]), made), axis, np.dtype(out.dtype))
        ]

    def _looked_up(self, table: Table, asked: Sequence[Any]) -> list[Array]:
        """Numbers of a table, each by what it chooses among and the row of that, in one operation."""
        at = []
        for cut, row in asked:
            places = table.places[cut]
            steps = np.unique(np.diff(places))
            if len(steps) > 1:
                raise NotImplementedError("a kernel of lanes that looks up numbers in a table without order")
            at.append(
                int(places[0]) + (int(steps[0]) if len(steps) else 0) * jnp.clip(row, 0, len(places) - 1)
            )
        if len(at) == 1:
            return [table.number(at[0])]
        found = self.rows(table.ref[self.block(at, _power(len(at)), np.int32)], len(at))
        return [number != 0 for number in found] if table.dtype == bool else found

    # --- loops

    def _while(self, eqn: Any, *args: Any) -> list[Any]:
        p = eqn.params
        cond, body = (args[: p["cond_nconsts"]], args[p["cond_nconsts"] :][: p["body_nconsts"]])
        start = args[p["cond_nconsts"] + p["body_nconsts"] :]
        types = [v.aval for v in p["body_jaxpr"].jaxpr.invars[p["body_nconsts"] :]]
        numbers = lax.while_loop(
            lambda x: self._called(p["cond_jaxpr"], [*cond, *_unpacked(types, x)])[0].entries[()],
            lambda x: self._packed(types, self._called(p["body_jaxpr"], [*body, *_unpacked(types, x)])),
            self._packed(types, start),
        )
        return _unpacked(types, numbers)

    def _scan(self, eqn: Any, *args: Any) -> list[Any]:
        """A loop of known length; not over arrays."""
        p = eqn.params
        n, carried = scan_sizes(p)
        consts, start = args[:n], args[n:]
        if len(start) != carried or len(eqn.outvars) != carried:
            raise NotImplementedError("a kernel of lanes that goes through arrays")
        types = [v.aval for v in p["jaxpr"].jaxpr.invars[n:]]
        numbers = lax.fori_loop(
            0,
            p["length"],
            lambda _, x: self._packed(types, self._called(p["jaxpr"], [*consts, *_unpacked(types, x)])),
            self._packed(types, start),
        )
        return _unpacked(types, numbers)

    def _packed(self, types: Sequence[Any], values: Sequence[Any]) -> list[Array]:
        """What a loop carries: the entries of values, flags as integers."""
        packed = []
        for aval, value in zip(types, values, strict=True):
            for x in value.entries.flat:
                number = self.vector(x, aval.dtype) if WIDTH in aval.shape else jnp.asarray(x, aval.dtype)
                packed.append(number.astype(stored(aval.dtype)))
        return packed


def _product(x: Any, y: Any) -> Any:
    """Of two numbers, of which one may be known to be zero or one."""
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, Array) and one in (0, 1):
            return other if one else one
    return x * y


def _row(entries: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Entries number k along an axis; an array also where it is one."""
    return entries[(*[slice(None)] * axis, k, ...)]


def _of_few(few: np.ndarray, row: Any) -> Any:
    """One of a few numbers; beyond their ends the first or the last."""
    if not isinstance(row, Array):
        return few[int(np.clip(row, 0, len(few) - 1))]
    found = few[-1]
    for k in range(len(few) - 2, -1, -1):
        found = jnp.where(row <= k, few[k], found)
    return found


def _unpacked(types: Sequence[Any], numbers: Sequence[Array]) -> list[Value]:
    """The values of what a loop carries."""
    left = iter(numbers)
    return [_value(left, aval.shape, aval.dtype) for aval in types]


def _pairwise(operation: Callable[[Any, Any], Any], one: np.ndarray, other: np.ndarray) -> np.ndarray:
    made = np.empty(one.shape, object)
    for index in np.ndindex(*one.shape):
        made[index] = operation(one[index], other[index])
    return made


def _constant(x: Any) -> Value:
    """An array that is known when the kernel is made."""
    known = np.asarray(x)
    return Value(_each(lambda number: number, known), None, known.dtype)


def _pruned(program: ClosedJaxpr) -> Any:
    """Its jaxpr without what no result needs."""
    return dce_jaxpr(program.jaxpr, [True] * len(program.out_avals), instantiate=True)[0]
