"""Programs of a CPU as few kernels.

XLA for CPU runs a program kernel by kernel, and compiles each by itself: 15 to 50 ms, whatever is in it. For one world
a kernel is some ten numbers, and starting it takes longer than computing them; so it does in a search of a few dozen
pairs. XLA also has an emitter of whole computations, made for small loops: a call that is marked for it is one function
of machine code, with the loops and calls inside of it. Here a jaxpr is rewritten for this emitter. What it lacks
(Cholesky factors, scatters, long sums) becomes loops. What is not known to work there stays beside the kernels, as do
long products of matrices, which libraries do faster.

A stage remains a call, computed once. The emitter asks that every parameter of a call is used. So arguments pass a
barrier, as XLA would put known numbers in their place, and are returned beside the results; a few known numbers are
none.

Programs are compiled in two thirds of the time. One core, 128 worlds, kernels of up to 600, 1,024 and 2,048 equations
(and without any), s to compile a rollout and us a world and step: MJX's humanoid 10.5, 10.5, 12.0 (18.0) and 5.2, 5.4,
5.4 (5.4); our quadruped 16.1, 16.0, 18.8 (27.9) and 8.9, 9.1, 8.7 (9.4). One world of a robot with meshes (a G1),
kernels of up to 1,024, 2,048 and 4,096: 13.5, 13 and 16 s, 245, 180 and 156 us; with its collisions in one, 28 s and
320 us.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.experimental.xla_metadata import set_xla_metadata
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

from jaxsim.math.linear import computation_of
from jaxsim.math.loops import LOOPS, scan_sizes
from jaxsim.math.stage import alone, divided, lowering_for, x64

__all__ = ["call_in_few_kernels", "in_few_kernels"]

_PLAIN = """
    abs acos add add_any and argmax argmin asin atan atan2 bitcast_convert_type broadcast_in_dim ceil clamp concatenate
    convert_element_type copy cos cummax cummin cumprod cumsum div dynamic_slice dynamic_update_slice eq exp exp2 expm1
    floor gather ge gt integer_pow iota is_finite le log log1p logistic lt max min mul ne neg not or pad
    population_count pow rem reshape rev round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical
    optimization_barrier sign sin slice split sqrt square squeeze stack stop_gradient sub tan tanh transpose unstack xor
"""
_KNOWN = frozenset(_PLAIN.split())
"""Primitives that the emitter knows as they are."""

_MOST = 1024
"""Most equations of a kernel: the time to compile one grows faster than its length."""

_LOOP = 4096
"""The same of a loop, of which each kernel would be started again and again."""

_LIBRARY = 1 << 15
"""Most products of a product of matrices, or of a factor, that a kernel computes itself: libraries are faster."""

_SMALL = 4096
"""Most numbers of which a kernel replaces some: it returns its arguments, hence replaces them in a copy."""

_INSIDE = {"inlineable": "true", "xla_cpu_small_call": None}
"""Marks of what is inside of a call; without the first it would have that of the call when JAX differentiates it."""


def in_few_kernels(program: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function of a jaxpr as few kernels; what cannot be in one stays as it is."""
    return functools.partial(_in_kernels, program) if not program.effects else jaxpr_as_fun(program)


def call_in_few_kernels(function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function of trees of arrays, in a larger program of a CPU, as few kernels if that can be.

    It cannot where XLA divides the program among devices, whose messages no kernel holds. In the program of one world
    it is none by itself.
    """
    if divided() or alone():
        return function(*args)
    leaves, tree = jax.tree.flatten(args)
    program, result = jax.make_jaxpr(
        lambda *leaves: function(*jax.tree.unflatten(tree, leaves)), return_shape=True
    )(*leaves)
    # traced apart: under a derivative each of its equations would pass the rules of differentiation
    return jax.tree.unflatten(jax.tree.structure(result), jax.jit(in_few_kernels(program))(*leaves))


def _called(call: Callable[..., Any], args: Sequence[Array], **marks: str) -> list[Any]:
    """Results of what `_call` makes, as a call that stays in the program."""
    own = lax.optimization_barrier([x for x in args if x.size])
    with set_xla_metadata(inlineable="false", **marks):
        called = call(own)
    return lax.optimization_barrier(called)[0]


def _call(name: str, function: Callable[..., list[Any]], types: Sequence[Any]) -> Callable[..., Any]:
    """A function of arrays as one of those that are not empty, which it returns beside its results.

    Args:
      name: of what it calls in the program.
      function: the function.
      types: shapes and types of its arguments.
    """

    def body(own: list[Array]) -> tuple[list[Any], list[Array]]:
        with set_xla_metadata(**_INSIDE):
            left = iter(own)
            args = (next(left) if np.prod(shape) else jnp.zeros(shape, dtype) for shape, dtype in types)
            return function(*args), own

    body.__name__ = name
    return jax.jit(body)


def _types(args: Sequence[Array]) -> tuple[Any, ...]:
    return tuple((x.shape, x.dtype) for x in args)


def _needed(program: ClosedJaxpr, args: Sequence[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """A program without what none of its results needs, and its arguments."""
    own, used = _pruned(program)
    return own, [x for x, some in zip(args, used, strict=True) if some]


@functools.lru_cache(maxsize=4096)
def _pruned(program: ClosedJaxpr) -> tuple[ClosedJaxpr, list[bool]]:
    """The same, and which arguments remain.

    A stage is given whole trees, of which it may read a few arrays: twelve of sixty.
    """
    jaxpr, used = dce_jaxpr(program.jaxpr, True)
    return ClosedJaxpr(jaxpr, program.consts), used


@functools.lru_cache(maxsize=1024)
def _stage_of(name: str, program: ClosedJaxpr, types: tuple[Any, ...], wide: bool) -> Callable[..., Any]:
    """`_call` of a stage's program: one that is called again is not traced again."""
    del wide
    return _call(name, functools.partial(_evaluated, program), types)


# --- evaluation, equation by equation


def _inner(eqn: Any) -> Iterator[ClosedJaxpr]:
    """The programs that an equation calls."""
    for name, value in eqn.params.items():
        if name == "jaxprs":  # of a linear system, of which its solution is asked
            value = value.solve
        for one in value if isinstance(value, tuple) else (value,):
            if hasattr(one, "eqns"):
                yield one if isinstance(one, ClosedJaxpr) else ClosedJaxpr(one, ())


def _weight(eqn: Any) -> float:
    """Equations in it; infinity if it cannot be in a kernel."""
    own, name = _own_program(eqn), eqn.primitive.name
    if own is not None:
        return 1 + _length(own.jaxpr)
    if name in _NESTED:
        return 1 + sum(_length(inner.jaxpr) for inner in _inner(eqn))
    return 1 if name in _KNOWN or (name in LOOPS and _work(eqn) <= _LIBRARY) else math.inf


def _work(eqn: Any) -> int:
    """How many products a product or a factor of matrices has at least; 0 of other equations."""
    given = eqn.invars[0].aval
    if eqn.primitive.name in ("cholesky", "triangular_solve"):
        return given.size * given.shape[-1]
    if eqn.primitive.name == "dot_general":
        ((contracted, _), _) = eqn.params["dimension_numbers"]
        return eqn.outvars[0].aval.size * math.prod(given.shape[i] for i in contracted)
    return 0


@functools.lru_cache(maxsize=4096)
def _length(jaxpr: Any) -> float:
    """Equations in a jaxpr; infinity if it cannot be in a kernel."""
    return sum(map(_weight, jaxpr.eqns))


def _load(eqn: Any) -> float:
    """Its weight in a kernel; what replaces some of many numbers is in none, nor what is marked to be apart."""
    replaces = eqn.primitive.name == "dynamic_update_slice" and eqn.invars[0].aval.size > _SMALL
    if replaces or _has_mark(eqn, "apart", "true"):
        return _MOST + 1
    weight = _weight(eqn)
    loop = eqn.primitive.name in ("while", "scan") and weight <= _LOOP
    return min(weight, _MOST) if loop else weight


def _has_mark(eqn: Any, name: str, value: str) -> bool:
    return (eqn.ctx.xla_metadata or {}).get(name) == value


def _in_kernels(program: ClosedJaxpr, *args: Any) -> list[Any]:
    """Evaluates a program in kernels of consecutive equations; one that is too large is itself so evaluated."""
    program, needed = _needed(program, args)
    jaxpr = program.jaxpr
    parts: list[list[Any]] = []
    room = 0
    for eqn in jaxpr.eqns:
        load = _load(eqn)
        if load > room:
            parts.append([])
            room = _MOST
        parts[-1].append(eqn)
        room -= load
    later = [set(_variables(jaxpr.outvars))]
    for part in reversed(parts):
        later.append(later[-1].union(*(_variables(eqn.invars) for eqn in part)))
    values = _given(program, needed)
    for part, asked in zip(parts, later[-2::-1], strict=True):
        if _load(part[0]) > _MOST:
            _extend(values, part, _in_kernels)
        else:
            _extend_in_call(values, part, asked)
    return _values_of(jaxpr.outvars, values)


def _evaluated(program: ClosedJaxpr, *args: Any) -> list[Any]:
    """Evaluates a program inside of a kernel."""
    program, needed = _needed(program, args)
    values = _given(program, needed)
    _extend(values, program.jaxpr.eqns, _evaluated)
    return _values_of(program.jaxpr.outvars, values)


_Values = dict[Any, Any]
"""Arrays by variable."""


def _given(program: ClosedJaxpr, args: Sequence[Any]) -> _Values:
    """Values of the arguments and constants of a program."""
    variables = (*program.jaxpr.constvars, *program.jaxpr.invars)
    return dict(zip(variables, (*program.consts, *args), strict=True))


def _variables(atoms: Sequence[Any]) -> Iterator[Any]:
    return (v for v in atoms if not isinstance(v, Literal))


def _values_of(atoms: Sequence[Any], values: _Values) -> list[Any]:
    """Values of variables and literals."""
    return [a.val if isinstance(a, Literal) else values[a] for a in atoms]


def _extend(values: _Values, eqns: Sequence[Any], evaluate: Callable[..., list[Any]]) -> None:
    """Adds the results of equations; programs that these call are evaluated in a given way."""
    for eqn in eqns:
        scope = str(eqn.source_info.name_stack)
        with jax.named_scope(scope) if scope else contextlib.nullcontext():
            found = _results(eqn, _values_of(eqn.invars, values), evaluate)
        values.update(zip(eqn.outvars, found, strict=True))


def _results(eqn: Any, args: Sequence[Any], evaluate: Callable[..., list[Any]]) -> list[Any]:
    name, own = eqn.primitive.name, _own_program(eqn)
    if own is not None:
        return evaluate(own, *args)
    if name in _NESTED:
        return _NESTED[name](evaluate, eqn, *args)
    if name in LOOPS and evaluate is _evaluated:
        return [LOOPS[name](*args, **eqn.params)]
    found = eqn.primitive.bind(*args, **eqn.primitive.get_bind_params(eqn.params))
    return found if eqn.primitive.multiple_results else [found]


def _extend_in_call(values: _Values, eqns: Sequence[Any], asked: set[Any]) -> None:
    """Adds the results of equations that are asked for, by one kernel."""
    made = dict.fromkeys(v for eqn in eqns for v in eqn.outvars)
    read = dict.fromkeys(v for eqn in eqns for v in _variables(eqn.invars) if v not in made)
    known = {v: values[v] for v in read if _is_few_numbers(values[v])}
    given = [v for v in read if v not in known]
    results = [v for v in made if v in asked]

    def run(*args: Any) -> list[Any]:
        inside = known | dict(zip(given, args, strict=True))
        _extend(inside, eqns, _evaluated)
        return _values_of(results, inside)

    args = [jnp.asarray(x) for x in _values_of(given, values)]
    found = _called(_call("kernel", run, _types(args)), args, xla_cpu_small_call="true")
    values.update(zip(results, found, strict=True))


def _is_few_numbers(x: Any) -> bool:
    """Whether a kernel knows the numbers of an array, which would be another kernel as its argument."""
    return not isinstance(x, Tracer) and np.size(x) <= _SMALL


def _own_program(eqn: Any) -> ClosedJaxpr | None:
    """The jaxpr of what a primitive of jaxsim's own computes; None of another primitive."""
    compute = computation_of(eqn.primitive)
    if compute is None:
        return None
    return _program_of(compute, tuple(eqn.params.items()), tuple(v.aval for v in eqn.invars), x64())


@functools.lru_cache(maxsize=4096)
def _program_of(compute: Callable[..., Any], params: Any, types: tuple[Any, ...], wide: bool) -> ClosedJaxpr:
    """The jaxpr of a computation of jaxsim's own."""
    del wide
    with lowering_for("cpu", alone=True):
        return jax.make_jaxpr(functools.partial(compute, **dict(params)))(*types)


def _jit(evaluate: Any, eqn: Any, *args: Any) -> list[Any]:
    (program,) = _inner(eqn)
    if evaluate is _in_kernels and _has_mark(eqn, "apart", "true"):
        return jaxpr_as_fun(program)(*args)
    if evaluate is not _evaluated or not _has_mark(eqn, "inlineable", "false"):
        return evaluate(program, *args)
    program, needed = _needed(program, args)
    given = [jnp.asarray(x) for x in needed]
    return _called(_stage_of(eqn.params["name"], program, _types(given), x64()), given)


def _inlined(evaluate: Any, eqn: Any, *args: Any) -> list[Any]:
    return evaluate(next(_inner(eqn)), *args)


def _while(evaluate: Any, eqn: Any, *args: Any) -> list[Any]:
    p = eqn.params
    n, m = p["cond_nconsts"], p["cond_nconsts"] + p["body_nconsts"]
    go_on = functools.partial(evaluate, p["cond_jaxpr"], *args[:n])
    body = functools.partial(evaluate, p["body_jaxpr"], *args[n:m])
    return lax.while_loop(lambda carry: go_on(*carry)[0], lambda carry: body(*carry), list(args[m:]))


def _cond(evaluate: Any, eqn: Any, index: Any, *args: Any) -> list[Any]:
    return lax.switch(index, [functools.partial(evaluate, own) for own in eqn.params["branches"]], *args)


def _scan(evaluate: Any, eqn: Any, *args: Any) -> list[Any]:
    p = eqn.params
    n, carried = scan_sizes(p)
    m = n + carried

    def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        found = evaluate(p["jaxpr"], *args[:n], *carry, *x)
        return found[:carried], found[carried:]

    carry, ys = lax.scan(body, list(args[n:m]), list(args[m:]), p["length"], p["reverse"])
    return [*carry, *ys]


def _linear_solve(evaluate: Any, eqn: Any, *args: Any) -> list[Any]:
    lengths, program = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    start = lengths.matvec + lengths.vecmat
    right = start + lengths.solve + lengths.transpose_solve
    return evaluate(program, *args[start : start + lengths.solve], *args[right:])


_NESTED: dict[str, Callable[..., list[Any]]] = {
    "jit": _jit,
    "cond": _cond,
    "custom_jvp_call": _inlined,
    "custom_linear_solve": _linear_solve,
    "custom_vjp_call": _inlined,
    "remat2": _inlined,
    "scan": _scan,
    "while": _while,
}
"""Primitives that call programs."""
