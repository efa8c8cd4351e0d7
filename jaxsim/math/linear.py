"""Linear and bilinear operations as single JAX primitives with transposes of our own.

JAX derives the transpose of a slice as a padded array and that of a broadcast as a reduction; a chain of vector algebra
then spends most of reverse mode adding arrays of zeros. Here each operation names its transpose, which is again such an
operation, so derivatives of any order and mode are as short as the forward code. Lowering is inline: XLA sees the same
elementary operations and fuses them as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jaxsim.math.stage import common_platform, is_divided, lowering_for, x64

__all__ = ["bilinear", "computation_of", "kernel_computation_of", "linear", "operation", "primitive"]

_computations: dict[Primitive, Callable[..., Any]] = {}
_of_lanes: dict[Primitive, Callable[..., Any]] = {}


def computation_of(primitive: Primitive) -> Callable[..., Any] | None:
    """What a primitive of this module computes, a function of its arguments and parameters; None if it is another."""
    return _computations.get(primitive)


def kernel_computation_of(primitive: Primitive) -> Callable[..., Any] | None:
    """How a primitive of this module is computed in a kernel of lanes (`math/one_kernel.py`), if it is said."""
    return _of_lanes.get(primitive)


def primitive(name: str, compute: Callable[..., Any], multiple_results: bool) -> Primitive:
    """Makes a function of arrays and of hashable parameters a primitive, without derivatives."""
    made = Primitive(name)
    made.multiple_results = multiple_results
    _computations[made] = compute

    @functools.lru_cache(maxsize=4096)
    def shapes(signature: tuple[Any, ...], params: tuple[Any, ...], wide: bool) -> Any:
        types = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in signature]
        out = jax.eval_shape(functools.partial(compute, **dict(params)), *types)
        return jax.tree.map(lambda a: ShapedArray(a.shape, a.dtype), out)

    def abstract(*avals: Any, **params: Any) -> Any:
        signature = tuple((tuple(a.shape), np.dtype(a.dtype)) for a in avals)
        found = shapes(signature, tuple(params.items()), x64())
        return list(found) if multiple_results else found

    def batch(args: Any, dims: Any, **params: Any) -> Any:
        out = jax.vmap(functools.partial(compute, **params), in_axes=tuple(dims))(*args)
        return (list(out), [0] * len(out)) if multiple_results else (out, 0)

    def run(*args: Any, **params: Any) -> Any:
        return jax.jit(functools.partial(compute, **params))(*args)

    def lower(ctx: Any, *args: Any, **params: Any) -> Any:
        module = ctx.module_context
        # its stages are traced here
        with lowering_for(common_platform(module.platforms), is_divided(module)):
            return mlir.lower_fun(compute, multiple_results=multiple_results)(ctx, *args, **params)

    made.def_impl(run)
    made.def_abstract_eval(abstract)
    mlir.register_lowering(made, lower)
    batching.primitive_batchers[made] = batch
    return made


def operation(
    compute: Callable[..., Array],
    in_few_kernels: Callable[..., Array],
    of_lanes: Callable[..., Any] | None = None,
) -> Callable[..., Array]:
    """Makes a function a primitive, without derivatives, that is computed in another way in a program of one kernel.

    Args:
      compute: the function.
      in_few_kernels: the same in a kernel of a CPU, `math/few_kernels.py`.
      of_lanes: the same in one of a GPU, `math/one_kernel.py`, of `Lanes` and of values.
    """
    made = primitive(compute.__name__.strip("_"), compute, False)
    _computations[made] = in_few_kernels
    if of_lanes is not None:
        _of_lanes[made] = of_lanes

    @functools.wraps(compute)
    def bind(*args: Array, **params: Any) -> Array:
        return made.bind(*args, **params)

    return bind


def linear(
    name: str,
    compute: Callable[..., Any],
    transpose: Callable[..., Array],
    multiple_results: bool = False,
) -> Callable[..., Any]:
    """Makes a linear function of one array a primitive.

    Args:
      name: of the primitive, as it appears in jaxprs.
      compute: `compute(x, **params)`; parameters are hashable.
      transpose: `transpose(cotangent, shape=..., **params)`, with the shape of x; of several results, a list of
        cotangents.
      multiple_results: whether `compute` returns a tuple.
    """
    made = primitive(name, compute, multiple_results)

    def rule(cotangent: Any, x: Any, **params: Any) -> list[Any]:
        if multiple_results:
            if all(type(c) is ad.Zero for c in cotangent):
                return [ad.Zero(x.aval)]
            cotangent = [ad.instantiate_zeros(c) for c in cotangent]
        return [transpose(cotangent, shape=tuple(x.aval.shape), **params)]

    ad.deflinear2(made, rule)

    def bind(x: Array, **params: Any) -> Any:
        return made.bind(x, **params)

    return bind


def bilinear(
    name: str,
    compute: Callable[..., Array],
    left: Callable[..., Array],
    right: Callable[..., Array],
) -> Callable[..., Array]:
    """Makes a bilinear function of two arrays, which may broadcast against each other, a primitive.

    Args:
      name: of the primitive.
      compute: `compute(x, y, **params)`; parameters are hashable.
      left: `left(cotangent, y, **params)`, the transpose with respect to x, before sums over what was broadcast.
      right: `right(cotangent, x, **params)`, the transpose with respect to y.
    """
    made = primitive(name, compute, False)
    ad.defbilinear(
        made,
        lambda ct, x, y, **params: _unbroadcast(left(ct, y, **params), tuple(x.aval.shape)),
        lambda ct, x, y, **params: _unbroadcast(right(ct, x, **params), tuple(y.aval.shape)),
    )

    @functools.wraps(compute)
    def bind(x: Array, y: Array, **params: Any) -> Array:
        if x.dtype != y.dtype:
            dtype = jnp.promote_types(x.dtype, y.dtype)
            x, y = x.astype(dtype), y.astype(dtype)
        return made.bind(x, y, **params)

    return bind


def _unbroadcast(x: Array, shape: tuple[int, ...]) -> Array:
    """Sums x over the axes along which an array of the given shape was repeated."""
    extra = x.ndim - len(shape)
    if extra:
        x = jnp.sum(x, axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1)
    return jnp.sum(x, axis=axes, keepdims=True) if axes else x
