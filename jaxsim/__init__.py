"""MuJoCo's physics as a JAX library: batched, differentiable, with its own MJCF compiler."""

from __future__ import annotations

import importlib
from typing import Any

from jaxsim.catalogue import named
from jaxsim.collision.user import user_collider, user_sdf
from jaxsim.compile.archive import save_model
from jaxsim.compile.load import load_model
from jaxsim.compile.spec import Spec
from jaxsim.data import Contact, Data
from jaxsim.hooks import Hooks
from jaxsim.interop.mujoco import make_data, put_model
from jaxsim.mjcf.errors import MjcfError
from jaxsim.model import Model
from jaxsim.options import Option
from jaxsim.pipeline.forward import forward, step, step1, step2
from jaxsim.pipeline.inverse import inverse
from jaxsim.pipeline.make_data import reset
from jaxsim.pipeline.per_world import (
    camlight,
    collision,
    com_pos,
    com_vel,
    crb,
    energy_pos,
    energy_vel,
    euler,
    fwd_acceleration,
    fwd_actuation,
    fwd_constraint,
    fwd_position,
    fwd_velocity,
    implicit,
    kinematics,
    make_constraint,
    passive,
    rne,
    rne_postconstraint,
    runge_kutta,
    sensor_acc,
    sensor_pos,
    sensor_vel,
    subtree_vel,
    tendon,
    tendon_bias,
    transmission,
)
from jaxsim.pipeline.ray.query import RayHit, ray
from jaxsim.pipeline.sensors.user import user_sensor
from jaxsim.pipeline.set_const import set_const
from jaxsim.pipeline.state import State, get_state, set_state, state_size
from jaxsim.programs import keep_programs
from jaxsim.results import UnsupportedError, WarningBit, explain, is_lost
from jaxsim.rollout import rollout
from jaxsim.support.distance import geom_distance
from jaxsim.support.force import apply_ft, contact_force, xfrc_accumulate
from jaxsim.support.inertia import full_m, mul_m, solve_m
from jaxsim.support.jacobian import jac, jac_body, jac_body_com, jac_dot, jac_geom, jac_site
from jaxsim.support.momentum import angmom_mat, jac_subtree_com
from jaxsim.support.motion import object_acceleration, object_velocity
from jaxsim.support.position import differentiate_pos, integrate_pos
from jaxsim.support.transition import InverseDerivatives, Transition, inverse_derivatives, transition

__all__ = [
    "Contact",
    "Data",
    "Hooks",
    "InverseDerivatives",
    "MjcfError",
    "Model",
    "Option",
    "RayHit",
    "Spec",
    "State",
    "Transition",
    "UnsupportedError",
    "WarningBit",
    "angmom_mat",
    "apply_ft",
    "camlight",
    "collision",
    "com_pos",
    "com_vel",
    "contact_force",
    "crb",
    "differentiate_pos",
    "energy_pos",
    "energy_vel",
    "euler",
    "explain",
    "forward",
    "full_m",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_constraint",
    "fwd_position",
    "fwd_velocity",
    "geom_distance",
    "get_data",
    "get_data_into",
    "get_state",
    "implicit",
    "integrate_pos",
    "inverse",
    "inverse_derivatives",
    "is_lost",
    "jac",
    "jac_body",
    "jac_body_com",
    "jac_dot",
    "jac_geom",
    "jac_site",
    "jac_subtree_com",
    "keep_programs",
    "kinematics",
    "load_model",
    "make_constraint",
    "make_data",
    "mul_m",
    "named",
    "object_acceleration",
    "object_velocity",
    "passive",
    "put_data",
    "put_model",
    "ray",
    "reset",
    "rne",
    "rne_postconstraint",
    "rollout",
    "runge_kutta",
    "save_model",
    "sensor_acc",
    "sensor_pos",
    "sensor_vel",
    "set_const",
    "set_state",
    "solve_m",
    "state_size",
    "step",
    "step1",
    "step2",
    "subtree_vel",
    "tendon",
    "tendon_bias",
    "transition",
    "transmission",
    "user_collider",
    "user_sdf",
    "user_sensor",
    "xfrc_accumulate",
]

_MODULES = (
    "enums",
    "envs",
    "identify",
    "mjx",
    "models",
    "optimise",
    "parallel",
    "recording",
    "sdf",
    "train",
    "viewer",
)
_INTEROP = {"get_data": "get_data", "get_data_into": "get_data", "put_data": "put_data"}


def __getattr__(name: str) -> Any:
    """Loads when first asked for what a simulation does without; the exchange with the C engine imports mujoco."""
    if name in _MODULES:
        return importlib.import_module(f"jaxsim.{name}")
    if name in _INTEROP:
        return getattr(importlib.import_module(f"jaxsim.interop.{_INTEROP[name]}"), name)
    raise AttributeError(f"module 'jaxsim' has no attribute {name!r}")
