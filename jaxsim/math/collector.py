"""Python's garbage collector, paused while a large program is traced or lowered.

A trace keeps nearly all that it makes, hundreds of thousands of objects, and makes few cycles. The collector goes
through all of them again and again, which is a third of the time that a step of a robot takes to be traced and lowered.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["paused_collector"]


@contextlib.contextmanager
def paused_collector() -> Iterator[None]:
    """Pauses the collector if it is on; what is no longer used but by itself is freed after the end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
