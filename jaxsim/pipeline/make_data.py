"""Makes the state of a model."""

from __future__ import annotations

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.supported import check_supported

__all__ = ["make_data"]


def make_data(model: Model) -> Data:
    """Returns the state at qpos0, at rest, with all results zero; one world.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    check_supported(model)
    return blank(model).replace(**initial_state(model))
