"""MuJoCo's enumerations under MJX's names; values are those of the C headers."""

from __future__ import annotations

import enum

from jaxsim import enums
from jaxsim.enums import (
    BiasType,
    CamLightType,
    ConeType,
    ConstraintType,
    DisableBit,
    DynType,
    EnableBit,
    EqType,
    GainType,
    GeomType,
    IntegratorType,
    JacobianType,
    ObjType,
    SensorType,
    SolverType,
    TrnType,
    WrapType,
)

__all__ = [
    "BiasType",
    "CamLightType",
    "ConeType",
    "ConstraintType",
    "DisableBit",
    "DynType",
    "EnableBit",
    "EqType",
    "GainType",
    "GeomType",
    "IntegratorType",
    "JacobianType",
    "JointType",
    "ObjType",
    "SensorType",
    "SolverType",
    "TrnType",
    "WrapType",
]


class JointType(enum.IntEnum):
    """Joint types."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

    def qpos_width(self) -> int:
        """Number of position coordinates."""
        return enums.JointType(self).nq

    def dof_width(self) -> int:
        """Number of degrees of freedom."""
        return enums.JointType(self).nv
