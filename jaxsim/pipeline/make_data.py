"""Makes the state of a model, and puts it back to the start or to a keyframe."""

from __future__ import annotations

from jax import Array

from jaxsim.data import Data
from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.pipeline.admit import check_state
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.supported import check_supported

__all__ = ["make_data", "reset"]


def make_data(model: Model) -> Data:
    """Returns the state at qpos0, at rest, with all results zero; one world.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    check_supported(model)
    return blank(model).replace(**initial_state(model))


def reset(model: Model, data: Data, keyframe: str | int | Array | None = None) -> Data:
    """The state at the start or in a keyframe; results and warnings are cleared (mj_resetData, mj_resetDataKeyframe).

    Differentiable with respect to the model's leaves, `qpos0` and `key_qpos` for instance.

    Args:
      model: the model.
      data: one world; none of its numbers are used.
      keyframe: name or number of a keyframe; an array, traced or not, is not checked. None: qpos0, at rest.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      KeyError: there is no keyframe of that name.
      IndexError: there is no keyframe of that number.
      ValueError: `data` does not have the shapes of one world of the model.
    """
    check_state(model, data, "reset")
    fresh = make_data(model)
    if keyframe is None:
        return fresh
    if not isinstance(keyframe, Array):
        keyframe = model.find(ObjType.KEY, keyframe)
    return fresh.replace(
        **{
            name: getattr(model, key)[keyframe].reshape(getattr(fresh, name).shape)
            for name, key in _KEYFRAME.items()
        }
    )


_KEYFRAME = {
    "time": "key_time",
    "qpos": "key_qpos",
    "qvel": "key_qvel",
    "act": "key_act",
    "ctrl": "key_ctrl",
    "mocap_pos": "key_mpos",
    "mocap_quat": "key_mquat",
}
"""Fields of the state that a keyframe gives, and those of the model that hold them."""
