"""The stages that run sensors: all sensors of one type at once, each limited by its `cutoff`, maybe delayed.

A sensor with a history stores its value when a step ends. What it shows is read from the history if it has a delay, or
while its interval has not passed.
"""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DataType, DisableBit, SensorType, Stage
from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.model import Model
from jaxsim.pipeline.acting import acting_wrenches
from jaxsim.pipeline.history import insert, is_due, later, read, user_slot
from jaxsim.pipeline.sensors.table import SENSORS
from jaxsim.pipeline.velocity import rne_postconstraint, subtree_vel
from jaxsim.pytree import Static
from jaxsim.structure.channels import Channels, sensor_channels
from jaxsim.structure.sensors import BY_TYPE, Needs

__all__ = ["sensor_acc", "sensor_history", "sensor_pos", "sensor_vel"]


class _Groups(NamedTuple):
    """Sensors of one stage.

    Attributes:
      by_type: ids of the sensors of each type.
      owner: the sensor of each output, in the order of `by_type`.
      start: first output of each sensor (nsensor,), in that order.
      where: where each row of sensordata comes from: the old rows, then the new ones in that order.
      needs: results that the stage computes for its sensors.
    """

    by_type: tuple[tuple[SensorType, np.ndarray], ...]
    owner: np.ndarray
    start: np.ndarray
    where: np.ndarray
    needs: Needs


@functools.lru_cache(maxsize=64)
def _groups(static: Static, stage: int, stored: bool = False) -> _Groups:
    """All sensors of a stage, or those that keep a history; not user sensors without a function: they stay zero."""
    mine = static.sensor_needstage == stage
    hooked = np.isin(np.arange(static.nsensor), [sensor for sensor, _ in static.hooks.sensors])
    mine &= (static.sensor_type != SensorType.USER) | hooked
    if stored:
        mine &= static.sensor_history[:, 0] > 0
    by_type = tuple(
        (SensorType(kind), np.flatnonzero(mine & (static.sensor_type == kind)))
        for kind in np.unique(static.sensor_type[mine])
    )
    where, start, offset = np.arange(static.nsensordata), np.zeros(static.nsensor, int), 0
    owner = []
    for _, ids in by_type:
        for i in ids:
            first, count = int(static.sensor_adr[i]), int(static.sensor_dim[i])
            where[first : first + count] = static.nsensordata + offset + np.arange(count)
            start[i] = offset
            owner += [i] * count
            offset += count
    needs = functools.reduce(operator.or_, (BY_TYPE[kind].needs for kind, _ in by_type), Needs.NOTHING)
    allowed = {Stage.VEL: Needs.SUBTREES, Stage.ACC: ~Needs.NOTHING}.get(Stage(stage), Needs.NOTHING)
    needs &= allowed
    return _Groups(by_type, np.array(owner, int), start, where, needs)


def _measure(model: Model, data: Data, groups: _Groups) -> tuple[Data, Array]:
    """The outputs of sensors now, (n, W), in the order of the groups, and the data with what they need."""
    if Needs.SUBTREES in groups.needs:
        data = subtree_vel(model, data)
    if Needs.ACCELERATIONS in groups.needs:
        data = rne_postconstraint(model, data, acting_wrenches(model, data))
    parts = [
        jax.named_call(SENSORS[kind], name=kind.name.lower())(model, data, ids)
        for kind, ids in groups.by_type
    ]
    return data, _clip(model, concat(parts), groups.owner)


def _clip(model: Model, x: Array, owner: np.ndarray) -> Array:
    """Outputs x (n, W) of the sensors `owner` (n,), limited by their cutoffs; a cutoff of 0 is none."""
    clipped = np.array([BY_TYPE[SensorType(kind)].clipped for kind in model.sensor_type[owner]], bool)
    kind = model.sensor_datatype[owner]
    above = clipped & np.isin(kind, (DataType.REAL, DataType.POSITIVE))
    below = clipped & (kind == DataType.REAL)
    cutoff = take(model.sensor_cutoff, owner)
    low = jnp.where(jnp.asarray(below)[:, None] & (cutoff > 0), -cutoff, -jnp.inf)
    high = jnp.where(jnp.asarray(above)[:, None] & (cutoff > 0), cutoff, jnp.inf)
    return safe.clamp(x, low, high)


def _run(model: Model, data: Data, stage: Stage) -> Data:
    """Writes the rows of `sensordata` of one stage's sensors, and computes what they need."""
    if model.opt.disableflags & DisableBit.SENSOR:
        return data
    groups = _groups(model.static, stage)
    if not groups.by_type:
        return data
    data, new = _measure(model, data, groups)
    where, parts, offset = np.arange(len(groups.owner)), [new], len(groups.owner)
    samples = []
    for channels in _of_stage(model, stage):
        rows = _rows(groups, channels)
        samples.append(take(new, rows))
        parts.append(_shown(model, data, channels, samples[-1]))
        where[rows] = offset + np.arange(len(rows))
        offset += len(rows)
    if samples and data.work is not None:
        data = data.replace(work=data.work.replace(samples=(data.work.samples or {}) | {int(stage): samples}))
    new = take(concat(parts), where)
    return data.replace(sensordata=take(concat([data.sensordata, new]), groups.where))


def _of_stage(model: Model, stage: int) -> list[Channels]:
    return [c for c in sensor_channels(model.static) if c.stage == stage]


def _rows(groups: _Groups, channels: Channels) -> np.ndarray:
    """Outputs of sensors with a history, among those of their groups."""
    return (groups.start[channels.owner][:, None] + np.arange(channels.dim)).reshape(-1)


def _shown(model: Model, data: Data, channels: Channels, fresh: Array) -> Array:
    """What sensors with a history show (n dim, W), where `fresh` is their value now."""
    delay = take(model.sensor_delay, channels.owner)
    old = read(model, data.history, channels, data.time - delay)
    stale = (delay > 0) | ~is_due(model, data.history, channels, data.time)
    fresh = fresh.reshape(len(channels.owner), channels.dim, -1)
    shown = jnp.where(stale[:, None], old, fresh)
    return shown.reshape(-1, shown.shape[-1])


def sensor_history(model: Model, data: Data) -> list[tuple[Channels, Array]]:
    """Rows of the history buffer after sensors have stored their values, at the end of a step.

    As in the C engine, a sensor without delay stores what it shows; one with a delay is measured again unless the
    forward pass has just done so, which matters where the last evaluation is not the first (Runge-Kutta).
    """
    if model.opt.disableflags & DisableBit.SENSOR:
        return []
    changed = []
    known = data.work.samples if data.work is not None and data.work.samples else {}
    for stage in (Stage.POS, Stage.VEL, Stage.ACC):
        for k, channels in enumerate(_of_stage(model, stage)):
            if stage not in known:
                groups = _groups(model.static, stage, stored=True)
                _, new = _measure(model, data, groups)
                known |= {int(stage): [take(new, _rows(groups, c)) for c in _of_stage(model, stage)]}
            changed.append((channels, _stored(model, data, channels, known[stage][k])))
    return changed


def _stored(model: Model, data: Data, channels: Channels, fresh: Array) -> Array:
    """Channels after values are added to those that are due."""
    n, dim = len(channels.owner), channels.dim
    rows = (model.sensor_adr[channels.owner][:, None] + np.arange(dim)).reshape(-1)
    delayed = (take(model.sensor_delay, channels.owner) > 0)[:, None]
    values = jnp.where(delayed, fresh.reshape(n, dim, -1), take(data.sensordata, rows).reshape(n, dim, -1))
    due = is_due(model, data.history, channels, data.time)
    period = jnp.maximum(take(model.sensor_interval[:, 0], channels.owner), 0)
    user = user_slot(data.history, channels)
    user = jnp.where(due, later(user, period), user)
    return insert(model, data.history, channels, data.time, values, due, user)


def sensor_pos(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on position."""
    return _run(model, data, Stage.POS)


def sensor_vel(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on velocity; computes subtree velocities if a sensor asks."""
    return _run(model, data, Stage.VEL)


def sensor_acc(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on acceleration and forces; computes body accelerations if one asks."""
    return _run(model, data, Stage.ACC)
