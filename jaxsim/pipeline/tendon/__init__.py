"""Tendons: lengths, Jacobians and what follows from them (computation chapter, "Tendons")."""

from jaxsim.pipeline.tendon.armature import armature_forces, tendon_armature, tendon_bias, tendon_products
from jaxsim.pipeline.tendon.length import tendon, tendon_forces_to_dofs, tendon_velocity, tendon_wrenches

__all__ = [
    "armature_forces",
    "tendon",
    "tendon_armature",
    "tendon_bias",
    "tendon_forces_to_dofs",
    "tendon_products",
    "tendon_velocity",
    "tendon_wrenches",
]
