"""Actuators: every shortcut becomes a general actuator, which is then checked and compiled."""

from jaxsim.compile.actuation.compile import compile_actuators

__all__ = ["compile_actuators"]
