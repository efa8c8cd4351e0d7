"""MuJoCo's physics as a JAX library: batched, differentiable, with its own MJCF compiler."""

from __future__ import annotations

from typing import Any

from jaxsim.catalogue import named
from jaxsim.compile.archive import save_model
from jaxsim.compile.load import load_model
from jaxsim.compile.spec import Spec
from jaxsim.data import Contact, Data
from jaxsim.mjcf.errors import MjcfError
from jaxsim.model import Model
from jaxsim.options import Option
from jaxsim.pipeline.forward import forward, step, step1, step2
from jaxsim.pipeline.inverse import inverse
from jaxsim.pipeline.make_data import make_data
from jaxsim.pipeline.ray.query import RayHit, ray
from jaxsim.pipeline.set_const import set_const
from jaxsim.pipeline.state import State, get_state, set_state, state_size
from jaxsim.results import UnsupportedError, WarningBit, explain
from jaxsim.rollout import rollout

__all__ = [
    "Contact",
    "Data",
    "MjcfError",
    "Model",
    "Option",
    "RayHit",
    "Spec",
    "State",
    "UnsupportedError",
    "WarningBit",
    "explain",
    "forward",
    "get_data",
    "get_state",
    "inverse",
    "load_model",
    "make_data",
    "named",
    "put_data",
    "put_model",
    "ray",
    "rollout",
    "save_model",
    "set_const",
    "set_state",
    "state_size",
    "step",
    "step1",
    "step2",
]

_INTEROP = ("get_data", "put_data", "put_model")


def __getattr__(name: str) -> Any:
    """Loads the exchange with the C engine on first use."""
    if name in _INTEROP:
        from jaxsim.interop import mujoco

        return getattr(mujoco, name)
    raise AttributeError(f"module 'jaxsim' has no attribute {name!r}")
