"""Programs for devices that are not there."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import AbstractDevice, AbstractMesh, AxisType

__all__ = ["program_for"]


def program_for(platform: str, jitted: Any, *args: Any) -> str:
    """The program of a jitted function for a platform, `"cuda"`, `"tpu"` or `"cpu"`.

    From jax 0.11.2 on, what is traced and lowered for a GPU asks which one it is.
    """
    gpu = AbstractDevice("NVIDIA H100", None, platform="gpu")
    mesh = AbstractMesh((1,), ("any",), (AxisType.Auto,), abstract_device=gpu if platform == "cuda" else None)
    with jax.sharding.use_abstract_mesh(mesh):
        return jitted.trace(*args).lower(lowering_platforms=(platform,)).as_text()
