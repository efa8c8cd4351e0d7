"""System identification: parameters of a model from measured motion, by multiple shooting and exact Jacobians.

    parameters = [identify.parameter(model, "body_mass", "box"), identify.parameter(model, "geom_friction", "box", 0)]
    residual = identify.build_residual(model, parameters, [identify.Trajectory(ctrl, qpos, qvel)], window=20)
    fit = identify.optimize(residual)
    print(fit.report())

Names follow the C engine's Python toolbox, `mujoco.sysid`, where the two have the same thing.
"""

from jaxsim.identify.fit import Fit, optimize
from jaxsim.identify.inertia import body_inertia
from jaxsim.identify.levenberg import Solution, least_squares
from jaxsim.identify.parameters import Parameter, parameter, position_gain
from jaxsim.identify.residual import Residual, Trajectory, build_residual

__all__ = [
    "Fit",
    "Parameter",
    "Residual",
    "Solution",
    "Trajectory",
    "body_inertia",
    "build_residual",
    "least_squares",
    "optimize",
    "parameter",
    "position_gain",
]
