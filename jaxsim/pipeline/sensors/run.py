"""The stages that run sensors: all sensors of one type at once, each limited by its `cutoff`."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DataType, DisableBit, SensorType, Stage
from jaxsim.math.axis import concat, take
from jaxsim.model import Model
from jaxsim.pipeline.reaction import constraint_wrenches
from jaxsim.pipeline.sensors.table import SENSORS
from jaxsim.pipeline.velocity import rne_postconstraint, subtree_vel
from jaxsim.pytree import Static
from jaxsim.structure.sensors import BY_TYPE, Needs

__all__ = ["sensor_acc", "sensor_pos", "sensor_vel"]


class _Groups(NamedTuple):
    """The sensors of one stage.

    Attributes:
      by_type: ids of the sensors of each type.
      where: where each row of sensordata comes from: the old rows, then the new ones in the order of `by_type`.
      needs: results that the stage computes for its sensors.
    """

    by_type: tuple[tuple[SensorType, np.ndarray], ...]
    where: np.ndarray
    needs: frozenset[Needs]


@functools.lru_cache(maxsize=64)
def _groups(static: Static, stage: Stage) -> _Groups:
    """The sensors of a stage."""
    by_type, where, offset = [], np.arange(static.nsensordata), static.nsensordata
    mine = static.sensor_needstage == stage
    for kind in np.unique(static.sensor_type[mine]):
        ids = np.flatnonzero(mine & (static.sensor_type == kind))
        by_type.append((SensorType(kind), ids))
        for i in ids:
            first, count = int(static.sensor_adr[i]), int(static.sensor_dim[i])
            where[first : first + count] = offset + np.arange(count)
            offset += count
    needs = frozenset(BY_TYPE[kind].needs for kind, _ in by_type)
    return _Groups(tuple(by_type), where, needs)


def _run(model: Model, data: Data, stage: Stage) -> Data:
    """Writes the rows of `sensordata` of one stage's sensors, and computes what they need."""
    if model.opt.disableflags & DisableBit.SENSOR:
        return data
    groups = _groups(model.static, stage)
    if not groups.by_type:
        return data
    if Needs.SUBTREES in groups.needs:
        data = subtree_vel(model, data)
    if Needs.ACCELERATIONS in groups.needs:
        data = rne_postconstraint(model, data, constraint_wrenches(model, data))
    parts = []
    for kind, ids in groups.by_type:
        with jax.named_scope(kind.name.lower()):
            parts.append(SENSORS[kind](model, data, ids))
    owner = np.concatenate([np.repeat(ids, model.sensor_dim[ids]) for _, ids in groups.by_type])
    new = _clip(model, concat(parts), owner)
    return data.replace(sensordata=take(concat([data.sensordata, new]), groups.where))


def _clip(model: Model, x: Array, owner: np.ndarray) -> Array:
    """Outputs x (n, W) of the sensors `owner` (n,), limited by their cutoffs; a cutoff of 0 is none."""
    clipped = np.array([BY_TYPE[SensorType(kind)].clipped for kind in model.sensor_type[owner]], bool)
    kind = model.sensor_datatype[owner]
    above = clipped & np.isin(kind, (DataType.REAL, DataType.POSITIVE))
    below = clipped & (kind == DataType.REAL)
    cutoff = take(model.sensor_cutoff, owner)
    low = jnp.where(jnp.asarray(below)[:, None] & (cutoff > 0), -cutoff, -jnp.inf)
    high = jnp.where(jnp.asarray(above)[:, None] & (cutoff > 0), cutoff, jnp.inf)
    return jnp.minimum(jnp.maximum(x, low), high)


def sensor_pos(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on position."""
    return _run(model, data, Stage.POS)


def sensor_vel(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on velocity; computes subtree velocities if a sensor asks."""
    return _run(model, data, Stage.VEL)


def sensor_acc(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on acceleration and forces; computes body accelerations if one asks."""
    return _run(model, data, Stage.ACC)
