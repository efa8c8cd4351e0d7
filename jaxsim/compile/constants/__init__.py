"""Constants that follow from the model at its reference configuration, computed on the host in double precision."""

from jaxsim.compile.constants.fixed import SleepError, set_fixed
from jaxsim.compile.constants.reference import set_reference

__all__ = ["SleepError", "set_fixed", "set_reference"]
