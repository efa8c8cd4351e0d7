"""Trajectory optimisation: shooting by gradients, iLQR, multiple shooting, sampling, and control in a loop around them.

    cost = optimise.Cost(running=lambda model, data: ..., terminal=lambda model, data: ...)
    plan = jax.jit(lambda u: optimise.ilqr(model, data, u, cost, iterations=50))(ctrl)

Every planner is a pure function of a state and controls: `jit` it; `vmap` it over starts.
"""

from jaxsim.optimise.boxqp import box_qp
from jaxsim.optimise.cost import Cost, limits, total_cost
from jaxsim.optimise.ilqr import Plan, ilqr, multiple_shooting
from jaxsim.optimise.mpc import Run, mpc
from jaxsim.optimise.sampling import Sampled, cem, mppi
from jaxsim.optimise.shooting import Optimiser, Shot, shooting
from jaxsim.optimise.smoothing import Smoothed, randomised, smooth_onset

__all__ = [
    "Cost",
    "Optimiser",
    "Plan",
    "Run",
    "Sampled",
    "Shot",
    "Smoothed",
    "box_qp",
    "cem",
    "ilqr",
    "limits",
    "mpc",
    "mppi",
    "multiple_shooting",
    "randomised",
    "shooting",
    "smooth_onset",
    "total_cost",
]
