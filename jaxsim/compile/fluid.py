"""Coefficients of the ellipsoid fluid model of a geom: drag, lift and added mass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jaxsim.compile.shapes import half_sizes
from jaxsim.enums import GeomType
from jaxsim.pipeline.fluid.added_mass import added_mass

__all__ = ["coefficients"]


def coefficients(type: GeomType, size: Sequence[float], given: Sequence[float]) -> tuple[float, ...]:
    """Returns the twelve numbers of `geom_fluid` for a geom that interacts as an ellipsoid.

    They are a flag, the five given coefficients, and the virtual mass and inertia per unit density of the medium
    (computation chapter, fluid forces, ellipsoid model).

    Args:
        type: the geom's type.
        size: its sizes.
        given: blunt drag, slender drag, angular drag, Kutta lift and Magnus lift.
    """
    mass, inertia = added_mass([np.float64(axis) for axis in half_sizes(type, size)], np)
    return (1.0, *given, *map(float, mass), *map(float, inertia))
