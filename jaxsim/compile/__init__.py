"""Spec to Model."""

from jaxsim.compile.archive import save_model
from jaxsim.compile.assemble import compile_spec
from jaxsim.compile.load import load_model

__all__ = ["compile_spec", "load_model", "save_model"]
