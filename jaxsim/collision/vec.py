"""Vectors whose three components are separate arrays, for kernels over (pair, world).

A chain of `stack` and slice over a short axis is what XLA fuses badly; components held apart compile to plain
elementwise loops along the worlds. Components have shape (..., W) and broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import hamilton
from jaxsim.math.axis import components, concat, stack
from jaxsim.math.constants import MINVAL

__all__ = ["Frame", "Pose", "Vec", "fallback_unit", "safe_divide", "unit"]


class Vec(NamedTuple):
    """A vector by components; arithmetic is elementwise, `*` scales."""

    x: Array
    y: Array
    z: Array

    @classmethod
    def split(cls, a: Array) -> Vec:
        """Components of an array (..., 3, W)."""
        return cls(a[..., 0, :], a[..., 1, :], a[..., 2, :])

    @classmethod
    def concat(cls, parts: Sequence[Vec]) -> Vec:
        """Vectors one after the other on the first axis; worlds broadcast."""
        return cls(*map(concat, zip(*parts, strict=True)))

    def lifted(self) -> Vec:
        """Components (n, W) as (n, 1, W): one vector for all that belongs to its row."""
        return Vec(self.x[:, None], self.y[:, None], self.z[:, None])

    def __add__(self, b: Vec) -> Vec:  # pyright: ignore
        return Vec(self.x + b.x, self.y + b.y, self.z + b.z)

    def __sub__(self, b: Vec) -> Vec:
        return Vec(self.x - b.x, self.y - b.y, self.z - b.z)

    def __mul__(self, s: Array | float) -> Vec:  # pyright: ignore
        return Vec(self.x * s, self.y * s, self.z * s)

    def scaled(self, b: Vec) -> Vec:
        """The products of components."""
        return Vec(self.x * b.x, self.y * b.y, self.z * b.z)

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y, -self.z)

    def dot(self, b: Vec) -> Array:
        """Inner product."""
        return self.x * b.x + self.y * b.y + self.z * b.z

    def cross(self, b: Vec) -> Vec:
        """Vector product."""
        return Vec(*hamilton.cross(self, b))

    def unit(self) -> Vec:
        """Of length 1; for vectors that are not zero."""
        return self * (1.0 / jnp.sqrt(self.dot(self)))

    def where(self, condition: Array, other: Vec) -> Vec:
        """This vector where `condition`, `other` elsewhere."""
        return Vec(*(jnp.where(condition, a, b) for a, b in zip(self, other, strict=True)))

    def pick(self, index: Array) -> Array:
        """Component number `index`, an integer array."""
        return jnp.where(index == 0, self.x, jnp.where(index == 1, self.y, self.z))

    def stop(self) -> Vec:
        """The same value with zero derivative."""
        return Vec(*(lax.stop_gradient(a) for a in self))


class Frame(NamedTuple):
    """A geom's axes (columns of its rotation matrix) in the world frame."""

    x: Vec
    y: Vec
    z: Vec

    @classmethod
    def split(cls, mat: Array) -> Frame:
        """Columns of an array (..., 3, 3, W)."""
        return cls(*(Vec(mat[..., 0, j, :], mat[..., 1, j, :], mat[..., 2, j, :]) for j in range(3)))

    @classmethod
    def of_rows(cls, entries: Sequence[Array]) -> Frame:
        """Columns from the nine entries of the matrix, by rows."""
        return cls(*(Vec(*entries[j::3]) for j in range(3)))

    def to_world(self, v: Vec) -> Vec:
        """Rotates local components into the world frame."""
        return self.x * v.x + self.y * v.y + self.z * v.z

    def to_local(self, v: Vec) -> Vec:
        """Rotates world components into the local frame."""
        return Vec(self.x.dot(v), self.y.dot(v), self.z.dot(v))

    def lifted(self) -> Frame:
        """Components (n, W) as (n, 1, W): one frame for all that belongs to its row."""
        return Frame(*(axis.lifted() for axis in self))


class Pose(NamedTuple):
    """A frame in its place, as one array: what goes into a stage in many arrays is copied for it, one by one.

    Attributes:
      numbers: centre, m, then axes by rows (n, 12, W).
    """

    numbers: Array

    @classmethod
    def of(cls, pos: Vec, axes: Frame) -> Pose:
        """From components (n, W)."""
        return cls(stack([*pos, *(axis[i] for i in range(3) for axis in axes)]))

    def apart(self) -> tuple[Vec, Frame]:
        """Centre, m, and axes."""
        numbers = components(self.numbers, axis=1)
        return Vec(*numbers[:3]), Frame.of_rows(numbers[3:])

    @property
    def pos(self) -> Vec:
        """Centre, m."""
        return self.apart()[0]

    @property
    def axes(self) -> Frame:
        """Axes."""
        return self.apart()[1]


def unit(v: Vec, fallback: Vec, tiny: float | Array = MINVAL) -> tuple[Vec, Array]:
    """Direction and length of `v`; below `tiny` the direction is the unit vector `fallback`.

    At zero the length continues linearly along `fallback`, so both derivatives are finite.
    """
    square = v.dot(v)
    regular = square > tiny * tiny
    length = jnp.sqrt(jnp.where(regular, square, 1.0))
    inverse = 1.0 / length
    return (v * inverse).where(regular, fallback), jnp.where(regular, length, v.dot(fallback))


def fallback_unit(v: Vec) -> Vec:
    """Direction of `v`, or (1, 0, 0) where it is zero, with zero derivative."""
    v = v.stop()
    one, zero = jnp.ones_like(v.x), jnp.zeros_like(v.x)
    return unit(v, Vec(one, zero, zero))[0]


def safe_divide(a: Array, b: Array, default: float | Array) -> Array:
    """The quotient a / b, or `default` where b is zero."""
    zero = b == 0
    return jnp.where(zero, default, a / jnp.where(zero, 1.0, b))
