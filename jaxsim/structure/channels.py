"""The history buffer: where each delayed actuator and sensor keeps its samples. Static.

A channel is a run of `data.history`: a number for its owner, the place of the newest sample, the times of n samples
and their values, one sample after the other. The samples form a ring.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.pytree import Static, index_array

__all__ = ["Channels", "actuator_channels", "channel_size", "controls_of", "sensor_channels"]


def channel_size(samples: int, dim: int) -> int:
    """Numbers of a channel that keeps so many samples of `dim` numbers."""
    return 2 + samples * (1 + dim)


class Channels(NamedTuple):
    """Channels of one shape.

    Attributes:
      owner: actuators or sensors (n,).
      address: their first numbers in `data.history` (n,).
      samples: samples of each.
      dim: numbers of a sample.
      interp: between samples, 0: the one before, 1: a line, 2: a cubic.
      stage: the `Stage` after which sensors are known; of controls, none.
    """

    owner: np.ndarray
    address: np.ndarray
    samples: int
    dim: int
    interp: int
    stage: int

    @property
    def size(self) -> int:
        """Numbers of a channel."""
        return channel_size(self.samples, self.dim)

    @property
    def rows(self) -> np.ndarray:
        """Rows of `data.history`, channel by channel."""
        return (self.address[:, None] + np.arange(self.size)).reshape(-1)


def _channels(
    history: np.ndarray, address: np.ndarray, dim: np.ndarray, stage: np.ndarray
) -> tuple[Channels, ...]:
    """Channels of elements that keep samples, by shape and stage."""
    kept = np.flatnonzero(history[:, 0] > 0)
    shapes = np.column_stack([history[:, 0], dim, history[:, 1], stage])[kept]
    found = []
    for shape in np.unique(shapes, axis=0):
        own = kept[(shapes == shape).all(axis=1)]
        found.append(Channels(index_array(own), index_array(address[own]), *(int(x) for x in shape)))
    return tuple(found)


@functools.lru_cache(maxsize=64)
def actuator_channels(static: Static) -> tuple[Channels, ...]:
    """Channels of controls; a sample has all of an actuator's."""
    none = np.zeros(static.nactuator, int)
    return _channels(static.actuator_history, static.actuator_historyadr, static.actuator_ctrlnum, none)


def controls_of(static: Static, channels: Channels) -> np.ndarray:
    """Rows of `data.ctrl` of the controls in samples of channels (n, dim)."""
    return static.actuator_ctrladr[channels.owner][:, None] + np.arange(channels.dim)


@functools.lru_cache(maxsize=64)
def sensor_channels(static: Static) -> tuple[Channels, ...]:
    """Channels of sensors."""
    return _channels(
        static.sensor_history, static.sensor_historyadr, static.sensor_dim, static.sensor_needstage
    )
