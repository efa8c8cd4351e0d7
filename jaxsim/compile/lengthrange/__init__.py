"""Feasible lengths of actuators, found by pulling them from both sides in simulation."""

from jaxsim.compile.lengthrange.pull import set_length_ranges

__all__ = ["set_length_ranges"]
