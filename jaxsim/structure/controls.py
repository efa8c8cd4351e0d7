"""The ranges of controls and their values at rest, as numbers of the host."""

from __future__ import annotations

import numpy as np

from jaxsim.enums import CtrlInput, GainType
from jaxsim.model import Model
from jaxsim.pytree import Static

__all__ = ["control_range", "rest_controls"]


def control_range(model: Model, unlimited: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest controls, (nu,) each; those without limits lie in -unlimited to unlimited.

    Where the ranges are traced, `jaxsim.optimise.limits` is what to call.
    """
    low, high = np.asarray(model.actuator_ctrlrange).reshape(-1, 2).T
    limited = np.asarray(model.actuator_ctrllimited, bool).reshape(-1)
    return np.where(limited, low, -unlimited), np.where(limited, high, unlimited)


def rest_controls(static: Static) -> np.ndarray:
    """Controls after a reset (nu,): zero, but for quaternions, which are the identity (mj_resetData)."""
    controls = np.zeros(static.nu)
    quaternion = static.actuator_ctrlspec == CtrlInput.QUAT
    turning = static.actuator_gaintype == GainType.SO3
    controls[static.actuator_ctrladr[np.flatnonzero(quaternion & turning)]] = 1
    return controls
