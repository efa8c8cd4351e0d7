"""Actuators of one type, and what they see; every row of a type table is a function of such a group."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import CtrlInput
from jaxsim.math.axis import concat, stitch, take
from jaxsim.model import Model
from jaxsim.pytree import Static

__all__ = ["Group", "Signals", "activations_of", "by_type", "group_of", "join", "outputs_of", "owners"]


class Signals(NamedTuple):
    """What drives the actuators at one instant.

    Attributes:
      ctrl: controls (nu, W), delayed, clamped, and slew-limited where the actuator does that.
      act_dot: derivatives of activations (na, W), 1/s.
      act: the activations that make force (na, W): of now, or after the step for actuators with `actearly`.
    """

    ctrl: Array
    act_dot: Array
    act: Array


class Group(NamedTuple):
    """Actuators of one type and what they see.

    Attributes:
      model: the model.
      data: after velocities.
      ids: the actuators (n).
      outs: their force outputs (m), in order; m = n but for actuators with several.
      length: of each output (m, W), m or rad.
      velocity: of each output (m, W), m/s or rad/s.
      signals: what drives all actuators.
    """

    model: Model
    data: Data
    ids: np.ndarray
    outs: np.ndarray
    length: Array
    velocity: Array
    signals: Signals

    def prm(self, table: str, k: int) -> Array:
        """Number k (n, W) of `actuator_dynprm`, `actuator_gainprm` or `actuator_biasprm`: "dyn", "gain", "bias"."""
        return take(getattr(self.model, f"actuator_{table}prm")[:, k], self.ids)

    def control(self) -> Array:
        """The first control (n, W) of each; 0 for actuators without any."""
        adr = np.where(self.model.actuator_ctrlnum[self.ids] > 0, self.model.actuator_ctrladr[self.ids], -1)
        return _rows(self.signals.ctrl, adr)

    def controls(self, meaning: CtrlInput) -> Array:
        """The control (n, W) of each with a meaning; 0 for actuators without it.

        Those present are in the order of their bits.
        """
        spec = self.model.actuator_ctrlspec[self.ids]
        below = np.array([(s & (meaning - 1)).bit_count() for s in spec.tolist()], int)
        return _rows(
            self.signals.ctrl, np.where(spec & meaning, self.model.actuator_ctrladr[self.ids] + below, -1)
        )

    def drive(self) -> Array:
        """What gains multiply (n, W): the last activation, or the first control of actuators without any."""
        model = self.model
        stateful = model.actuator_actnum[self.ids] > 0
        if not stateful.any():
            return self.control()
        if stateful.all():
            return self.last_activation()
        ctrl = np.where(model.actuator_ctrlnum[self.ids] > 0, model.actuator_ctrladr[self.ids], -1)
        last = model.nu + model.actuator_actadr[self.ids] + model.actuator_actnum[self.ids] - 1
        return _rows(concat([self.signals.ctrl, self.signals.act]), np.where(stateful, last, ctrl))

    def last_activation(self) -> Array:
        """The last activation (n, W) of each, now or after the step; 0 for actuators without any."""
        first, count = self.model.actuator_actadr[self.ids], self.model.actuator_actnum[self.ids]
        return _rows(self.signals.act, np.where(count > 0, first + count - 1, -1))


def _rows(x: Array, index: np.ndarray) -> Array:
    """Rows of x (k, W), zeros where the index is -1."""
    if (index >= 0).all():
        return take(x, index)
    padded = concat([x, jnp.zeros((1, x.shape[-1]), x.dtype)])
    return take(padded, np.where(index < 0, x.shape[0], index))


def by_type(types: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Pairs (type, ids) of the types that occur."""
    return [(int(kind), np.flatnonzero(types == kind)) for kind in np.unique(types)]


def outputs_of(static: Static, ids: np.ndarray) -> np.ndarray:
    """Force outputs of actuators, in order."""
    return _blocks(static.actuator_outadr[ids], static.actuator_outnum[ids])


def activations_of(static: Static, ids: np.ndarray) -> np.ndarray:
    """Activations of actuators, in order."""
    return _blocks(static.actuator_actadr[ids], static.actuator_actnum[ids])


def _blocks(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    parts = [np.arange(a, a + n) for a, n in zip(first.tolist(), count.tolist(), strict=True)]
    return np.concatenate([np.zeros(0, int), *parts])


@functools.lru_cache(maxsize=64)
def owners(static: Static) -> np.ndarray:
    """The actuator of each activation (na)."""
    ids = np.flatnonzero(static.actuator_actnum)
    owner = np.zeros(static.na, int)
    owner[activations_of(static, ids)] = np.repeat(ids, static.actuator_actnum[ids])
    return owner


def group_of(
    model: Model, data: Data, signals: Signals, ids: np.ndarray, length: Array, velocity: Array
) -> Group:
    """The group of some actuators, given the lengths and velocities of all outputs (nout, W)."""
    outs = outputs_of(model.static, ids)
    return Group(model, data, ids, outs, take(length, outs), take(velocity, outs), signals)


def join(parts: Sequence[tuple[np.ndarray, Array]], n: int, dtype: np.dtype) -> Array:
    """Rows computed by groups, (rows, (m, W)) each, as one array (n, W); rows that no group has are zero."""
    rows = np.concatenate([np.zeros(0, int), *(rows for rows, _ in parts)])
    missing = np.setdiff1d(np.arange(n), rows)
    values = [x for _, x in parts]
    if len(missing) or not values:
        values.append(jnp.zeros((len(missing), 1), dtype))
    return stitch(values, [rows, missing])
