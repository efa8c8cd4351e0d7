"""From a document to a Model."""

from jaxsim.compile.archive import save_model
from jaxsim.compile.load import load_model
from jaxsim.compile.spec import Spec

__all__ = ["Spec", "load_model", "save_model"]
