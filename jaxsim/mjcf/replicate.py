"""Expansion of replicate elements."""
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from jaxsim.mjcf.spec import Spec
__all__ = ["expand"]
def expand(spec: Spec) -> None:
    """Replaces every replicate element by frames that hold its copies."""
