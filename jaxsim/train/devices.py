"""The devices that worlds are spread over."""

from __future__ import annotations

from typing import Any

import jax

__all__ = ["devices"]


def devices(worlds: int) -> list[Any]:
    """As many of the process's devices as worlds fill evenly."""
    count = max(n for n in range(1, jax.local_device_count() + 1) if worlds % n == 0)
    return jax.local_devices()[:count]
