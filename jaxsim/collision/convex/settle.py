"""Choices that are made once.

A choice (which corner, which face, whether to stop) is often used by many kernels, and XLA may compute it again in
each. The copies differ in rounding errors, so that a tie falls to one side here and to the other there, and a state is
put together from halves that do not fit. Every choice of the searches therefore is the result of a stage of its own,
passed through `settled`.
"""

from __future__ import annotations

from typing import TypeVar

from jax import lax

from jaxsim.math.stage import platform

__all__ = ["settled"]

_T = TypeVar("_T")


def settled(choice: _T) -> _T:
    """The same arrays, computed once: results of a stage, which on CPUs is a call, elsewhere behind a barrier."""
    return choice if platform() == "cpu" else lax.optimization_barrier(choice)
