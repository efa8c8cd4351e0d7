"""Physics options: traced where a user sweeps them, static where they select an algorithm."""

from __future__ import annotations

from jax import Array

from jaxsim.pytree import Record, leaf, static

__all__ = ["Option", "Statistic"]


class Option(Record):
    """The fields of mjOption (MJCF reference, `option`)."""

    timestep: Array = leaf("", "integration step, s", least=0)
    impratio: Array = leaf("", "friction-to-normal ratio of contact impedance")
    tolerance: Array = leaf("", "termination threshold of the main solver, scaled improvement or gradient")
    ls_tolerance: Array = leaf("", "termination threshold of the line search, relative to tolerance")
    noslip_tolerance: Array = leaf("", "termination threshold of the no-slip solver")
    ccd_tolerance: Array = leaf("", "termination threshold of convex collision, m")
    sleep_tolerance: Array = leaf("", "velocity below which a tree may sleep, m/s")
    gravity: Array = leaf("3", "gravitational acceleration, m/s^2, world frame")
    wind: Array = leaf("3", "velocity of the medium, m/s, world frame")
    magnetic: Array = leaf("3", "magnetic flux, world frame")
    density: Array = leaf("", "density of the medium, kg/m^3", optional=True, least=0)
    viscosity: Array = leaf("", "viscosity of the medium, Pa s", optional=True, least=0)
    o_margin: Array = leaf("", "contact margin when EnableBit.OVERRIDE is set, m")
    o_solref: Array = leaf("2", "contact solref when EnableBit.OVERRIDE is set")
    o_solimp: Array = leaf("5", "contact solimp when EnableBit.OVERRIDE is set")
    o_friction: Array = leaf("5", "contact friction when EnableBit.OVERRIDE is set", least=0)
    iterations: Array = leaf("", "most iterations of the main solver", dtype=int)
    ls_iterations: Array = leaf("", "most iterations of the line search", dtype=int)
    noslip_iterations: Array = leaf("", "most iterations of the no-slip solver", dtype=int, optional=True)
    ccd_iterations: Array = leaf("", "most iterations of convex collision", dtype=int)
    integrator: int = static("", "enums.IntegratorType")
    cone: int = static("", "enums.ConeType")
    jacobian: int = static("", "0 dense, 1 sparse, 2 auto; kept for compatibility, jaxsim chooses by itself")
    solver: int = static("", "enums.SolverType")
    disableflags: int = static("", "bits of enums.DisableBit")
    enableflags: int = static("", "bits of enums.EnableBit")
    disableactuator: int = static("", "bits: actuator groups that are switched off")
    sdf_initpoints: int = static("", "starting points of signed-distance collision")
    sdf_iterations: int = static("", "iterations of signed-distance collision")


class Statistic(Record):
    """The fields of mjStatistic: sizes of the model at qpos0, used to scale tolerances and views."""

    meaninertia: Array = leaf("", "mean of the diagonal of M, kg m^2")
    meanmass: Array = leaf("", "mean body mass, kg")
    meansize: Array = leaf("", "mean body size, m")
    extent: Array = leaf("", "radius of the model, m")
    center: Array = leaf("3", "centre of the model, m, world frame")
