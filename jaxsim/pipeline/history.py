"""Reading and writing the history buffer of delayed actuators and sensors; worlds on the last axis.

Samples are ordered by time from the oldest, number 0, which stands behind the newest in the ring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import width_of
from jaxsim.model import Model
from jaxsim.structure.channels import Channels, actuator_channels, controls_of, sensor_channels
from jaxsim.structure.controls import rest_controls

__all__ = ["initial_history", "insert", "is_due", "later", "read", "replace_channels", "user_slot"]

_NEAR = 0.01
"""In float32, part of a timestep within which two times are the same: many steps' sums differ in the last digits."""


class _Ring(NamedTuple):
    """Channels taken apart.

    Attributes:
      user: the owner's number (n, W).
      cursor: place of the newest sample (n, W).
      times: in the order of places (n, samples, W).
      values: the same (n, samples, dim, W).
    """

    user: Array
    cursor: Array
    times: Array
    values: Array

    def place(self, number: Array) -> Array:
        """Where sample `number` (n, W) stands."""
        return (self.cursor + 1 + number) % self.times.shape[1]


def _ring(history: Array, channels: Channels) -> _Ring:
    n, k = len(channels.owner), channels.samples
    x = take(history, channels.rows).reshape(n, channels.size, history.shape[-1])
    values = x[:, 2 + k :].reshape(n, k, channels.dim, x.shape[-1])
    return _Ring(x[:, 0], x[:, 1].astype(jnp.int32), x[:, 2 : 2 + k], values)


def user_slot(history: Array, channels: Channels) -> Array:
    """The owner's number of each channel (n, W): of sensors the time at which they were last due."""
    return take(history, channels.address)


def _at(x: Array, place: Array) -> Array:
    """Entries of x (n, samples, ..., W) at a place (n, W)."""
    index = place.reshape(place.shape[0], 1, *(1,) * (x.ndim - 3), place.shape[-1])
    width = width_of((x, place))
    x, index = (jnp.broadcast_to(a, (*a.shape[:-1], width)) for a in (x, index))
    return jnp.take_along_axis(x, index, axis=1)[:, 0]


def _same(model: Model, a: Array, b: Array) -> Array:
    """Whether times are the same: as in the C engine in float64, within part of a timestep in float32."""
    return jnp.abs(a - b) < _tolerance(model, a)


def _tolerance(model: Model, time: Array) -> Array | float:
    h = model.opt.timestep
    if h.dtype == jnp.float64:
        return MINVAL
    return jnp.maximum(_NEAR * h, 2 * float(jnp.finfo(h.dtype).eps) * jnp.abs(time))


def later(time: Array, h: Array) -> Array:
    """A timestep later. In float32, where sums drift by seconds in minutes, a whole number of timesteps stays one.

    Args:
      time: in s, any shape (..., W).
      h: the timestep, s, of a shape that broadcasts to that.
    """
    plain = time + h
    if plain.dtype == jnp.float64:
        return plain
    now, step = lax.stop_gradient((time, h))
    count = jnp.round(now / step)
    whole = jnp.abs(now - count * step) <= 2 * jnp.finfo(plain.dtype).eps * jnp.abs(now)
    return plain + jnp.where(whole, (count + 1) * step - lax.stop_gradient(plain), 0)


def is_due(model: Model, history: Array, channels: Channels, time: Array) -> Array:
    """Whether sensors (n, W) are to be measured at a time (W,); those without an interval always are."""
    period = take(model.sensor_interval[:, 0], channels.owner)
    slack = 0 if time.dtype == jnp.float64 else _tolerance(model, time)
    return (period <= 0) | (user_slot(history, channels) + period <= time + slack)


def read(model: Model, history: Array, channels: Channels, time: Array) -> Array:
    """Values (n, dim, W) of channels at times (n, W): held before the first sample and after the last."""
    ring = _ring(history, channels)
    last = channels.samples - 1
    # of the first sample not before `time`; one of the same time is not, on whichever side rounding puts it
    number = jnp.sum(ring.times < (time - _tolerance(model, time))[:, None], axis=1, dtype=jnp.int32)

    def sample(number: Array) -> tuple[Array, Array]:
        place = ring.place(jnp.clip(number, 0, last))
        return _at(ring.times, place), _at(ring.values, place)

    t0, before = sample(number - 1)
    t1, after = sample(number)
    exact = _same(model, time, t1) & (number <= last)
    if channels.interp == 0:
        between = jnp.where(exact[:, None], after, before)
    else:
        span = jnp.where(t1 > t0, t1 - t0, 1)
        s = ((time - t0) / span)[:, None]
        # at a sample, where delays of whole steps end, its value, with the derivative of the curve before it
        s = jnp.where(exact[:, None], 1 + s - lax.stop_gradient(s), s)
        between = (1 - s) * before + s * after
        if channels.interp == 2:
            between = _cubic(s, span[:, None], before, after, *_slopes(sample, number, last))
    return jnp.where((number == 0)[:, None], after, jnp.where((number > last)[:, None], before, between))


def _slopes(sample: Callable[[Array], tuple[Array, Array]], number: Array, last: int) -> tuple[Array, Array]:
    """Slopes (n, dim, W) at the samples before and after: of the line through their neighbours, 0 at both ends."""
    (t, x) = zip(*(sample(number + k) for k in (-2, -1, 0, 1)), strict=True)

    def slope(a: int, b: int, inside: Array) -> Array:
        span = jnp.where(inside, t[b] - t[a], 1)[:, None]
        return jnp.where(inside[:, None], (x[b] - x[a]) / span, 0)

    return slope(0, 2, number > 1), slope(1, 3, number < last)


def _cubic(s: Array, span: Array, x0: Array, x1: Array, slope0: Array, slope1: Array) -> Array:
    """Hermite's cubic at s in [0, 1] of a span."""
    square, cube = s * s, s * s * s
    value = (2 * cube - 3 * square + 1) * x0 + (3 * square - 2 * cube) * x1
    return value + span * ((cube - 2 * square + s) * slope0 + (cube - square) * slope1)


def insert(
    model: Model,
    history: Array,
    channels: Channels,
    time: Array,
    values: Array,
    due: Array | None = None,
    user: Array | None = None,
) -> Array:
    """Rows `channels.rows` of the history after samples are added.

    A sample of a time that is there already takes its place; otherwise the oldest goes.

    Args:
      model: the model.
      history: the buffer (nhistory, W).
      channels: to which samples are added.
      time: of the samples (W,).
      values: the samples (n, dim, W).
      due: to which of the channels one is added (n, W); None: to all.
      user: the owners' new numbers (n, W); None: they stay.
    """
    ring = _ring(history, channels)
    due = jnp.ones((1, 1), bool) if due is None else due
    k = channels.samples
    number = jnp.sum(ring.times < time, axis=1, dtype=jnp.int32)
    exact = (number < k) & _same(model, time, _at(ring.times, ring.place(jnp.minimum(number, k - 1))))
    newest = number == k
    # the new sample stands before sample `number`, and the older ones move up; as newest it takes the oldest's place
    place = ring.place(jnp.where(exact, number, jnp.where(newest, 0, jnp.maximum(number - 1, 0))))
    moves = ~exact & ~newest
    places = jnp.arange(k)[:, None]
    numbers = (places - ring.cursor[:, None] - 1) % k
    moved = moves[:, None] & (numbers < number[:, None] - 1) & due[:, None]
    here = (places == place[:, None]) & due[:, None]

    def put(x: Array, new: Array, here: Array, moved: Array) -> Array:
        return jnp.where(here, new, jnp.where(moved, jnp.roll(x, -1, axis=1), x))

    times = put(ring.times, time, here & ~exact[:, None], moved)
    samples = put(ring.values, values[:, None], here[:, :, None], moved[:, :, None])
    cursor = jnp.where(newest & due, (ring.cursor + 1) % k, ring.cursor)
    width = width_of((history, times, samples, cursor))
    user = ring.user if user is None else user
    parts = (user[:, None], cursor[:, None].astype(history.dtype), times)
    parts = (*parts, samples.reshape(len(samples), -1, samples.shape[-1]))
    parts = [jnp.broadcast_to(p, (*p.shape[:-1], width)) for p in parts]
    return jnp.concatenate(parts, axis=1).reshape(-1, width)


def replace_channels(history: Array, changed: list[tuple[Channels, Array]]) -> Array:
    """The history with the rows of some channels replaced."""
    if not changed:
        return history
    where = np.arange(history.shape[0])
    offset = len(where)
    for channels, _ in changed:
        where[channels.rows] = offset + np.arange(len(channels.rows))
        offset += len(channels.rows)
    return take(concat([history, *(rows for _, rows in changed)]), where)


def initial_history(model: Model) -> Array:
    """The buffer after a reset, (nhistory,) or, of a native model, (nhistory, 1 or W).

    Values are zero, of controls those at rest, their times those of the steps, or intervals, that would have been
    before time 0.
    """
    h, interval = model.opt.timestep, model.sensor_interval
    if h.ndim == 0:
        return _initial(model, h[None], interval[..., None])[:, 0]
    return _initial(model, h, interval)


def _initial(model: Model, h: Array, interval: Array) -> Array:
    """The buffer (nhistory, 1 or W) for a timestep (1 or W,) and intervals (nsensor, 2, 1 or W)."""
    changed = []
    for channels in actuator_channels(model.static):
        steps = jnp.broadcast_to(_before(channels) * h, (len(channels.owner), channels.samples, len(h)))
        rest = rest_controls(model.static)[controls_of(model.static, channels)]
        changed.append((channels, _rows(channels, jnp.zeros_like(steps[:, 0]), steps, rest)))
    for channels in sensor_channels(model.static):
        period, phase = (take(interval[:, k], channels.owner) for k in (0, 1))
        start = jnp.where(phase == 0, -period, phase)
        regular = jnp.ceil((start[:, None] + (_before(channels) + 1) * period[:, None]) / h) * h
        times = jnp.where(period[:, None] > 0, regular, _before(channels) * h)
        changed.append((channels, _rows(channels, jnp.where(period > 0, start, -h), times)))
    return replace_channels(jnp.zeros((model.nhistory, 1), h.dtype), changed)


def _before(channels: Channels) -> np.ndarray:
    """Of each sample, how many steps before time 0 it stands, negative, (samples, 1)."""
    return np.arange(-channels.samples, 0)[:, None]


def _rows(channels: Channels, user: Array, times: Array, value: np.ndarray | float = 0.0) -> Array:
    """Channels from their numbers (n, W), times (n, samples, W) and the value (n, dim) of all of their samples."""
    n, k, width = times.shape
    values = np.broadcast_to(np.asarray(value, float), (n, channels.dim))
    values = jnp.broadcast_to(np.tile(values, (1, k))[:, :, None], (n, k * channels.dim, width))
    parts = (user[:, None], jnp.full((n, 1, width), k - 1), times, values)
    return concat([p.astype(times.dtype) for p in parts], axis=1).reshape(-1, width)
