"""The history buffer of actuators and sensors that keep samples, delayed ones for instance."""

from __future__ import annotations

from collections.abc import Sequence

from jaxsim.mjcf import Element
from jaxsim.structure.channels import channel_size

__all__ = ["check_history", "history_lengths"]

_MAX_SAMPLES = 1 << 24
"""Longest history; its cursor must be exact in single precision."""


def check_history(element: Element, delay: float, samples: int) -> None:
    """Refuses a delay without samples, and too many of these.

    Raises:
        MjcfError: says which.
    """
    if delay > 0 and samples <= 0:
        raise element.error("a delay needs a history: set nsample", attribute="delay")
    if samples > _MAX_SAMPLES:
        raise element.error("at most 2^24 samples", attribute="nsample")


def history_lengths(samples: Sequence[int], dims: Sequence[int]) -> list[int]:
    """Returns how many numbers of the buffer each element has, from its samples and the numbers of one."""
    return [channel_size(n, dim) if n > 0 else 0 for n, dim in zip(samples, dims, strict=True)]
