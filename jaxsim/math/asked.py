"""What is computed only of the pairs that need it, in the worlds where they do.

Of many pairs few need it, and others in each world. Those that do are gathered, as if each were a world with one pair:
thousands at a time on an accelerator, where each round of a search costs launches. On a CPU it is as many as fill a
few vectors, and all of them are computed by one function of machine code (`math/few_kernels.py`): a loop ends with the
last of its few.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters import ad

from jaxsim.math.derived import Cotangent, Leaves, Tangent, trace
from jaxsim.math.few_kernels import call_in_few_kernels
from jaxsim.math.gather import first_marked, width_of
from jaxsim.math.linear import primitive
from jaxsim.math.one_kernel import LANE
from jaxsim.math.stage import divided, platform
from jaxsim.math.whole import quotient, remainder

__all__ = ["computes_apart", "derived_of_few", "derived_where_asked", "rounds_if_any", "where_asked"]

_LANES = 32
"""How many are computed at a time on a CPU: the least of which LLVM makes vectors; loops of 16 it unrolls."""
_FILL = 16384
"""The same on a GPU: of fewer its kernels take hardly less time."""
_SHARE = 16
"""On other accelerators, and of what is rare, how many times fewer are computed at a time than there are."""
_LEAST = 256
"""How many they are there at least."""

_WHOLE = (0, 0)
"""The place of what is added up of all pairs and worlds and is no entry of one."""

_T = TypeVar("_T")


def _lanes_of(asked: Array, rare: bool) -> int:
    """How many pairs and worlds are computed at a time of those that are asked, (npair, W); `rare`: hardly any are."""
    if platform() == "cpu":
        # in one world nothing is gained by vectors: each pair ends by itself; so does what is rare
        return 1 if asked.shape[-1] == 1 or rare else _LANES
    share = _FILL if platform() == "cuda" and not rare else asked.size // _SHARE
    # of those that were gathered no fewer are gathered again, but of what is rare
    return asked.size if asked.shape[0] == 1 and not rare else max(_LEAST, share)


def computes_apart(asked: Array, rare: bool) -> bool:
    """Whether `where_asked` computes what is asked, (npair, W), apart; on a CPU what is `rare` always."""
    return asked.size > _lanes_of(asked, rare) or (rare and platform() == "cpu")


def rounds_if_any(needed: Array, rounds: int) -> Any:
    """The rounds of a loop: none of a few, on a CPU or in a kernel, that do not need them; of thousands some do."""
    return jnp.where(jnp.any(needed), rounds, 0) if platform() in ("cpu", LANE) else rounds


def where_asked(function: Callable[..., _T], asked: Array, *tables: Any, rare: bool = False) -> _T:
    """Calls a function of what is asked, anything finite elsewhere; without derivatives.

    Args:
      function: of `asked` and `tables`, as they are or with one pair and a few of their worlds; what it takes from
        outside has no derivatives either: its caller sees to that.
      asked: of which pairs and worlds, (npair, W).
      tables: trees of arrays (1 or npair, ..., 1 or W).
      rare: whether hardly any are asked.

    Returns:
      its result, a tree of arrays (npair, ..., W); 0 where nothing is asked.
    """
    asked, tables = lax.stop_gradient((asked, tables))
    if not computes_apart(asked, rare):
        return function(asked, *tables)
    leaves, structure = jax.tree.flatten(tables)
    flat, result = _flat(function, structure)
    # what is rare is mostly asked for inside of a function of few kernels, which are not nested
    by_lanes = _rounds if rare else _by_lanes
    found = by_lanes(flat, _lanes_of(asked, rare), None, asked, leaves)
    return jax.tree.unflatten(result[0], found)


def derived_where_asked(function: Callable[..., _T], asked: Array, tables: Any, whole: Any = ()) -> _T:
    """As `where_asked`, with derivatives by the tables, which too are computed where it is asked alone.

    Args:
      function: of `asked`, `tables` and `whole`; what it takes from outside is known when it is traced.
      asked: of which pairs and worlds, (npair, W).
      tables: a tree of arrays (1 or npair, ..., 1 or W).
      whole: a tree of arrays (..., 1) of which all pairs need all.
    """
    leaves, structure = jax.tree.flatten((tables, whole))
    shared = len(jax.tree.leaves(whole))
    flat, result = _flat(function, structure)
    own = _Plain(flat)
    gathered = (True,) * (1 + len(leaves) - shared) + (False,) * shared
    program = _traced([asked, *leaves], own, gathered)
    places = (tuple(asked.shape),) * len(program.out_avals)
    found = _asked_p.bind(asked, *leaves, function=own, gathered=gathered, places=places)
    return jax.tree.unflatten(result[0], found)


def derived_of_few(
    function: Callable[[Any, Any], _T], asked_of: Callable[[_T, Any], Array], tables: Any, whole: Any = ()
) -> _T:
    """A function of all pairs and worlds; on a CPU its derivatives are computed of some alone and zero elsewhere.

    An accelerator computes those of all.

    Args:
      function: of `tables` and `whole`; what it takes from outside is known when it is traced.
      asked_of: from its result and `tables`, in which pairs and worlds it has derivatives, (npair, W).
      tables: a tree of arrays (npair, ..., 1 or W).
      whole: a tree of arrays (..., 1) of which all pairs need all; with more worlds all have derivatives.
    """
    if platform() != "cpu" or width_of(whole) > 1:
        return function(tables, whole)

    @jax.custom_jvp
    def found(tables: Any, whole: Any) -> _T:
        return function(tables, whole)

    @found.defjvp
    def derivative(primals: Any, tangents: Any) -> tuple[_T, _T]:  # pyright: ignore[reportUnusedFunction]
        result = found(*primals)
        asked = asked_of(result, primals[0])
        run = functools.partial(derived_where_asked, lambda _, *own: function(*own), asked)
        return result, jax.jvp(run, primals, tangents)[1]

    return found(tables, whole)


def _shape(found: Any, place: tuple[int, int]) -> tuple[int, ...]:
    """Of a result, from what is found of one pair and some worlds."""
    if place == _WHOLE:
        return (*found.shape[:-1], 1)
    return (place[0], *found.shape[1:-1], place[1])


def _flat(function: Callable[..., Any], structure: Any) -> tuple[Callable[..., list[Array]], list[Any]]:
    """A function of `asked` and of trees as one of their leaves, and what will hold its result's structure."""
    result: list[Any] = []

    def flat(asked: Array, *leaves: Array) -> list[Array]:
        found, own = jax.tree.flatten(function(asked, *jax.tree.unflatten(structure, leaves)))
        result[:] = [own]
        return found

    return flat, result


def _by_lanes(
    function: Callable[..., Sequence[Array]],
    lanes: int,
    places: Sequence[tuple[int, int]] | None,
    asked: Array,
    tables: Sequence[Array],
) -> list[Array]:
    """What a function finds of what is asked, so many at a time.

    Args:
      function: of `asked` and the tables.
      lanes: how many.
      places: numbers of pairs and of worlds of each result: all, 1 where what is found of all is added up, or `_WHOLE`;
        None: all of all.
      asked: of which pairs and worlds, (npair, W).
      tables: arrays (1 or npair, ..., 1 or W).
    """
    if platform() == "cpu" and asked.shape[-1] > 1:
        return call_in_few_kernels(functools.partial(_rounds, function, lanes, places), asked, tables)
    return _rounds(function, lanes, places, asked, tables)


def _rounds(
    function: Callable[..., Sequence[Array]],
    lanes: int,
    places: Sequence[tuple[int, int]] | None,
    asked: Array,
    tables: Sequence[Array],
) -> list[Array]:
    """`_by_lanes`, in the program at hand."""
    pairs, width = asked.shape
    marked = asked.reshape(-1)
    numbers = first_marked(marked, -(-marked.size // lanes) * lanes, marked.size)
    count = jnp.sum(marked, dtype=jnp.int32)

    def some(start: Array) -> list[Array]:
        """The pairs and worlds of some that are asked, beyond the last out of bounds, and what is found of them."""
        chosen = lax.dynamic_slice_in_dim(numbers, start, lanes)
        pair, world = quotient(chosen, width), remainder(chosen, width)

        def own(x: Array) -> Array:
            at = world if x.shape[-1] == width else 0 * world
            picked = x.at[pair, ..., at].get(mode="clip", wrap_negative_indices=False)
            return jnp.moveaxis(picked, 0, -1)[None]

        return [pair, world, *function((pair < pairs)[None], *map(own, tables))]

    first = jnp.zeros((), jnp.int32)
    traced = jax.make_jaxpr(some)(first)
    types = traced.out_avals[2:]
    given = [(pairs, width)] * len(types) if places is None else places

    # on a CPU a list until all are found: each round that puts some in their places copies all (math/few_kernels.py)
    listed = [place == (pairs, width) and platform() == "cpu" and width > 1 for place in given]

    def more(state: tuple[Array, list[Array]]) -> tuple[Array, list[Array]]:
        start, found = state
        pair, world, *new = jaxpr_as_fun(traced)(start)

        def put(into: Array, x: Array, place: tuple[int, int], listed: bool) -> Array:
            if listed:
                return lax.dynamic_update_slice_in_dim(into, x, start, axis=-1)
            if place == _WHOLE:
                return into + jnp.sum(jnp.where(pair < pairs, x, 0), axis=-1, keepdims=True)
            rows = pair if len(into) == pairs else jnp.where(pair < pairs, 0, 1)
            columns = world if into.shape[-1] == width else 0 * world
            own, x = into.at[rows, ..., columns], jnp.moveaxis(x[0], -1, 0)
            alone = place == (pairs, width)
            return own.set(x, mode="drop") if alone else own.add(x, mode="drop")

        return start + lanes, list(map(put, found, new, given, listed))

    empty = [
        jnp.zeros((1, *x.shape[1:-1], len(numbers)) if some else _shape(x, place), x.dtype)
        for x, place, some in zip(types, given, listed, strict=True)
    ]
    found = lax.while_loop(lambda state: state[0] < count, more, (first, empty))[1]
    placed = iter(
        _in_places([x for x, some in zip(found, listed, strict=True) if some], numbers, count, asked)
    )
    return [next(placed) if some else x for x, some in zip(found, listed, strict=True)]


def _in_places(lists: Sequence[Array], numbers: Array, count: Array, asked: Array) -> list[Array]:
    """Arrays (npair, ..., W) from the lists (1, ..., n) of what was found of what is asked, the first `count` of them.

    Entry k is of pair and world `numbers[k]` of `asked`, (npair, W) as one axis.
    """
    pairs, width = asked.shape

    def put(k: Array, into: list[Array]) -> list[Array]:
        pair, world = quotient(numbers[k], width), remainder(numbers[k], width)
        return [
            lax.dynamic_update_slice(
                y, lax.dynamic_slice_in_dim(x, k, 1, axis=-1), (pair, *[0 * pair] * (x.ndim - 2), world)
            )
            for y, x in zip(into, lists, strict=True)
        ]

    empty = [jnp.zeros((pairs, *x.shape[1:-1], width), x.dtype) for x in lists]
    return lax.fori_loop(0, count, put, empty) if lists else []


@dataclasses.dataclass(frozen=True, eq=False)
class _Plain:
    """A function of a list of arrays, which is not linear in any of them."""

    run: Callable[..., list[Array]]
    n_linear: int = 0

    def __call__(self, leaves: Leaves) -> list[Array]:
        return self.run(*leaves)


# --- the primitive
#
# Parameters: `function`, of lists of arrays with worlds last; `gathered`, which of these are of pairs and worlds, the
# first of which says what is asked; `places` of the results, see `_by_lanes`.


def _traced(leaves: Leaves, function: Any, gathered: Sequence[bool]) -> ClosedJaxpr:
    """The program of a function of one pair, for as many worlds as it is computed of at a time."""
    lanes = _lanes_of(leaves[0], False)
    types = tuple(
        ((1, *x.shape[1:-1], lanes) if own else tuple(x.shape), np.dtype(x.dtype))
        for x, own in zip(leaves, gathered, strict=True)
    )
    return trace(function, types, lanes, platform(), divided())


def _compute(*leaves: Array, function: Any, gathered: Any, places: Any) -> list[Array]:
    asked, *tables = (x for x, own in zip(leaves, gathered, strict=True) if own)
    whole = [x for x, own in zip(leaves, gathered, strict=True) if not own]
    run = jax.jit(jaxpr_as_fun(_traced(leaves, function, gathered)))

    def few(*own: Array) -> list[Array]:
        left, rest = iter(own), iter(whole)
        return run(*(next(left) if some else next(rest) for some in gathered))

    return _by_lanes(few, _lanes_of(asked, False), places, asked, tables)


_asked_p = primitive("asked", _compute, True)


@_asked_p.def_abstract_eval
def _abstract(*avals: Any, function: Any, gathered: Any, places: Any) -> list[Any]:
    found = _traced(avals, function, gathered).out_avals
    return [ShapedArray(_shape(x, place), x.dtype) for x, place in zip(found, places, strict=True)]


def _jvp(primals: Leaves, tangents: Leaves, *, function: Any, gathered: Any, places: Any) -> Any:
    bind = functools.partial(_asked_p.bind, gathered=gathered, places=places)
    results = bind(*primals, function=function)
    out: list[Any] = [ad.Zero(jax.typeof(x).to_tangent_aval()) for x in results]
    wrt = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero and t.dtype != jax.dtypes.float0)
    n_fixed = len(primals) - function.n_linear
    if not wrt:
        return results, out
    if all(i >= n_fixed for i in wrt):
        linear = [ad.instantiate_zeros(t) if type(t) is ad.Zero else t for t in tangents[n_fixed:]]
        return results, bind(*primals[:n_fixed], *linear, function=function)
    smooth = tuple(i for i, x in enumerate(results) if jnp.issubdtype(x.dtype, jnp.inexact))
    found = _asked_p.bind(
        *primals,
        *(tangents[i] for i in wrt),
        function=Tangent(function, wrt, len(primals), smooth),
        gathered=(*gathered, *(gathered[i] for i in wrt)),
        places=tuple(places[i] for i in smooth),
    )
    for i, t in zip(smooth, found, strict=True):
        out[i] = t
    return results, out


def _transpose(cotangents: Leaves, *args: Any, function: Any, gathered: Any, places: Any) -> list[Any]:
    n_fixed = len(args) - function.n_linear
    wanted = tuple(i for i, x in enumerate(args[n_fixed:]) if ad.is_undefined_primal(x))
    outputs = tuple(i for i, c in enumerate(cotangents) if type(c) is not ad.Zero)
    out: list[Any] = [None] * len(args)
    if not outputs:
        return out
    avals = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in args[n_fixed:]]
    own = gathered[n_fixed:]
    linear = tuple(
        ((1, *a.shape[1:-1]) if some else tuple(a.shape[:-1]), np.dtype(a.dtype))
        for a, some in zip(avals, own, strict=True)
    )
    found = _asked_p.bind(
        *args[:n_fixed],
        *(cotangents[i] for i in outputs),
        function=Cotangent(function, linear, wanted, outputs),
        gathered=(*gathered[:n_fixed], *(places[i] != _WHOLE for i in outputs)),
        places=tuple((avals[i].shape[0], avals[i].shape[-1]) if own[i] else _WHOLE for i in wanted),
    )
    for i, x in zip(wanted, found, strict=True):
        out[n_fixed + i] = x
    return out


ad.primitive_jvps[_asked_p] = _jvp
ad.primitive_transposes[_asked_p] = _transpose
