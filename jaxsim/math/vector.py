"""Vectors and 3x3 matrices; components on the last axes but one, worlds on the last.

Products with matrices are broadcasts summed over the short axis: XLA fuses them, and turns them into vector
instructions along the worlds.
"""

from __future__ import annotations

import functools
import operator

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import hamilton
from jaxsim.math.linear import bilinear

__all__ = ["cross", "dot", "matmul", "matvec", "matvec_transposed", "outer", "scale"]


def _at(x: Array, i: int, axis: int) -> Array:
    return lax.index_in_dim(x, i, x.ndim + axis, keepdims=False)


def _sum(terms: list[Array]) -> Array:
    return functools.reduce(operator.add, terms)


def _row(x: Array) -> Array:
    """(..., n, W) as (..., 1, n, W)."""
    return jnp.expand_dims(x, -3)


def _column(x: Array) -> Array:
    """(..., n, W) as (..., n, 1, W)."""
    return jnp.expand_dims(x, -2)


def _scale(s: Array, x: Array) -> Array:
    """Vectors x (..., n, W) times numbers s (..., 1, W)."""
    return s * x


def _dot(a: Array, b: Array) -> Array:
    """Inner product of vectors (..., n, W); the result is (..., W)."""
    return _sum([_at(a, k, -2) * _at(b, k, -2) for k in range(a.shape[-2])])


def _cross(a: Array, b: Array) -> Array:
    """Vector product of (..., 3, W)."""
    parts = ([_at(x, k, -2) for k in range(3)] for x in (a, b))
    return jnp.stack(hamilton.cross(*parts), axis=-2)


def _outer(a: Array, b: Array) -> Array:
    """Matrices a b^T (..., m, n, W) of vectors (..., m, W) and (..., n, W)."""
    return _column(a) * _row(b)


def _matvec(m: Array, v: Array) -> Array:
    """Matrices (..., m, n, W) times vectors (..., n, W), n at most 3."""
    return _sum([_at(m, k, -2) * _column(_at(v, k, -2)) for k in range(v.shape[-2])])


def _matvec_transposed(m: Array, v: Array) -> Array:
    """Transposed matrices (..., m, n, W) times vectors (..., m, W), m at most 3."""
    return _sum([_at(m, k, -3) * _column(_at(v, k, -2)) for k in range(v.shape[-2])])


def _matmul(a: Array, b: Array) -> Array:
    """Products a b of 3x3 matrices (..., 3, 3, W)."""
    return _sum([_column(_at(a, k, -2)) * _row(_at(b, k, -3)) for k in range(3)])


def _matmul_nt(a: Array, b: Array) -> Array:
    """Products a b^T."""
    return _sum([_column(_at(a, k, -2)) * _row(_at(b, k, -2)) for k in range(3)])


def _matmul_tn(a: Array, b: Array) -> Array:
    """Products a^T b."""
    return _sum([_column(_at(a, k, -3)) * _row(_at(b, k, -3)) for k in range(3)])


scale = bilinear("scale", _scale, lambda ct, x: _column(dot(ct, x)), lambda ct, s: scale(s, ct))
dot = bilinear("dot", _dot, lambda ct, b: scale(_column(ct), b), lambda ct, a: scale(_column(ct), a))
cross = bilinear("cross", _cross, lambda ct, b: cross(b, ct), lambda ct, a: cross(ct, a))
outer = bilinear("outer", _outer, lambda ct, b: matvec(ct, b), lambda ct, a: matvec_transposed(ct, a))
matvec = bilinear("matvec", _matvec, lambda ct, v: outer(ct, v), lambda ct, m: matvec_transposed(m, ct))
matvec_transposed = bilinear(
    "matvec_transposed", _matvec_transposed, lambda ct, v: outer(v, ct), lambda ct, m: matvec(m, ct)
)
matmul = bilinear("matmul3", _matmul, lambda ct, b: _nt(ct, b), lambda ct, a: _tn(a, ct))
_nt = bilinear("matmul3_nt", _matmul_nt, lambda ct, b: matmul(ct, b), lambda ct, a: _tn(ct, a))
_tn = bilinear("matmul3_tn", _matmul_tn, lambda ct, b: _nt(b, ct), lambda ct, a: matmul(a, ct))
