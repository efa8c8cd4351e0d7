"""The ranges of controls, as numbers of the host."""

from __future__ import annotations

import numpy as np

from jaxsim.model import Model

__all__ = ["control_range"]


def control_range(model: Model, unlimited: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest controls, (nu,) each; those without limits lie in -unlimited to unlimited.

    Where the ranges are traced, `jaxsim.optimise.limits` is what to call.
    """
    low, high = np.asarray(model.actuator_ctrlrange).reshape(-1, 2).T
    limited = np.asarray(model.actuator_ctrllimited, bool).reshape(-1)
    return np.where(limited, low, -unlimited), np.where(limited, high, unlimited)
