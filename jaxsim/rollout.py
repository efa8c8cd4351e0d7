"""Many steps in one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import Array, lax

from jaxsim.data import Data, plain
from jaxsim.hints import hint
from jaxsim.model import Model
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.forward import advance

__all__ = ["rollout"]


def rollout(
    model: Model,
    data: Data,
    ctrl: Array | None = None,
    *,
    steps: int | None = None,
    fields: Sequence[str] = (),
    substeps: int = 1,
) -> tuple[Data, dict[str, Any]]:
    """Steps one world along a sequence of controls.

    Reverse mode keeps only the integration state of each step, and its accelerations.

    Args:
      model: the model.
      data: initial state, one world (add worlds with `jax.vmap`).
      ctrl: controls, (T, nu), each held for `substeps` timesteps; None keeps `data.ctrl`.
      steps: number of controls T when `ctrl` is None.
      fields: names of Data fields to record after every control.
      substeps: timesteps for each control.

    Returns:
      The data after the last step, and a mapping from each field to its trajectory, (T, ...).

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: the number of steps is not given or negative, there are no substeps, a field is unknown, or a shape
        is not that of one world.
    """
    if ctrl is None and steps is None:
        raise ValueError("rollout: give ctrl (T, nu), or steps")
    if steps is not None and steps < 0:
        raise ValueError(f"rollout: steps={steps}; expected 0 or more")
    if isinstance(fields, str):
        raise ValueError(f"rollout: fields={fields!r} is one name; expected a sequence, ({fields!r},)")
    if ctrl is not None:
        ctrl = jax.numpy.asarray(ctrl)
    if ctrl is not None and (ctrl.ndim != 2 or ctrl.shape[1] != model.nu):
        raise ValueError(f"rollout: ctrl has shape {ctrl.shape}; expected (T, {model.nu})")
    length = ctrl.shape[0] if ctrl is not None else steps
    if ctrl is not None and steps not in (None, length):
        raise ValueError(f"rollout: steps={steps}, but ctrl has {length} rows")
    known = Data.__dataclass_fields__  # pyright: ignore
    unknown = [f"{name!r}{hint(name, known)}" for name in fields if name not in known]
    if unknown:
        raise ValueError(f"rollout: Data has no field {', '.join(unknown)}")

    def body(data: Data, u: Array | None) -> tuple[Data, dict[str, Any]]:
        data = advance(model, data if u is None else data.replace(ctrl=u), substeps)
        return data, {name: getattr(data, name) for name in fields}

    data = jax.tree.map(jax.numpy.asarray, plain(admit(model, data, "rollout")))
    return lax.scan(body, data, ctrl, length=length)
