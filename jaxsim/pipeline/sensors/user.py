"""User sensors: outputs computed by functions of the user's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute

__all__ = ["SENSORS", "user_sensor"]


def user_sensor(model: Model, sensor: str | int, function: Callable[[Model, Data], Any]) -> Model:
    """Returns the model with a function that computes a `<user>` sensor (C: mjcb_sensor); without one it stays zero.

    Args:
      model: the model.
      sensor: name or number of the sensor.
      function: `(model, data) -> outputs (dim,)`, a pure function of one world. Results up to the sensor's `needstage`
        are known: `pos`, `vel` (with subtree velocities) or `acc` (with `cacc` and `cfrc_int`). It is compiled and
        differentiated with the rest. In it the model has no names: look them up outside.

    Raises:
      KeyError: there is no sensor of this name.
      ValueError: it is not a user sensor.
    """
    i = model.id("sensor", sensor) if isinstance(sensor, str) else int(sensor)
    if model.sensor_type[i] != SensorType.USER:
        kind = SensorType(model.sensor_type[i]).name.lower()
        raise ValueError(f"sensor {sensor!r} is of type {kind}; only user sensors take a function")
    return model.replace(hooks=dataclasses.replace(model.hooks, sensors=((i, function),)))


def _user(m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs of user sensors, one after the other."""
    functions = dict(m.hooks.sensors)
    parts = []
    for sensor in i:
        function = functions[int(sensor)]
        outputs = worlds.in_each(
            lambda m, d, own=function: jnp.asarray(own(m, d)), f"user sensor {int(sensor)}"
        )(m, d.replace(work=None))
        dim = int(m.sensor_dim[sensor])
        if jnp.shape(outputs)[:-1] not in ((dim,), ()) or (dim != 1 and jnp.ndim(outputs) == 1):
            raise ValueError(
                f"user sensor {int(sensor)}: its function gives shape {jnp.shape(outputs)[:-1]}, not ({dim},)"
            )
        parts.append(jnp.reshape(outputs, (dim, -1)).astype(d.qpos.dtype))
    return concat(parts)


SENSORS: dict[SensorType, Compute] = {SensorType.USER: _user}
