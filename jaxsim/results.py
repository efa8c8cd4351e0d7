"""Flags and errors: nothing that goes wrong is silent."""

from __future__ import annotations

import enum

__all__ = ["UnsupportedError", "Warning"]


class Warning(enum.IntFlag):
    """Bits of `Data.warning`; a bit once set stays until the state is reset by hand."""

    CONTACT_OVERFLOW = 1 << 0
    """More contacts were active than the buffer holds; the deepest were kept. Remedy: larger `nconmax`."""
    BAD_QPOS = 1 << 1
    """qpos was not finite or above 1e10; the world was reset (`autoreset`) or left as it is."""
    BAD_QVEL = 1 << 2
    """qvel was not finite or above 1e10."""
    BAD_QACC = 1 << 3
    """qacc was not finite or above 1e10."""
    BAD_CTRL = 1 << 4
    """ctrl was not finite or above 1e10; the step ran with zero controls."""
    NOT_CONVERGED = 1 << 5
    """The solver ran out of iterations with its gradient above tolerance."""


class UnsupportedError(NotImplementedError):
    """The model asks for physics that jaxsim does not compute yet; the message names elements and features."""
