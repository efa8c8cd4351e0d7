"""A running simulation that can be looked at and meddled with: the physics behind the browser viewer and the socket.

Methods may be called from any thread; one lock keeps them apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.data import STATE_FIELDS, Data
from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.pipeline.forward import step
from jaxsim.pipeline.make_data import make_data, reset
from jaxsim.viewer.poses import configurations

__all__ = ["FRAME", "Session"]

_SPREAD = 0.02
"""Standard deviation of the velocities with which worlds that start alike are set apart, m/s and rad/s."""

_BUSY = 0.7
"""Part of the time that physics may take; the rest is for pictures."""

FRAME = 1 / 30
"""Time of a picture, s."""


class Session:
    """One or more worlds of a model in real time, or a recorded trajectory.

    Attributes:
        model: The model.
        worlds: How many worlds.
        playing: Whether time goes on.
        speed: Simulated seconds a second.
        pace: Simulated seconds a second that were reached of late.
        recording: Times `(T,)` and configurations `(worlds, T, nq)` of a trajectory; None: it is simulated.
    """

    def __init__(
        self,
        model: Model,
        worlds: int = 1,
        *,
        keyframe: str | int | None = None,
        trajectory: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the worlds.

        Args:
            model: The model.
            worlds: How many worlds; with several, small random velocities set them apart.
            keyframe: Where to start; None: qpos0.
            trajectory: `qpos`, `(T, nq)` or `(worlds, T, nq)`, and `time` `(T,)`: to be played instead of simulated.

        Raises:
            ValueError: The trajectory does not fit the model, or there is no world.
            KeyError: There is no keyframe of that name.
            IndexError: There is no keyframe of that number.
        """
        if worlds < 1:
            raise ValueError(f"worlds={worlds}: there is at least one")
        self.model, self.worlds = model, worlds
        self.playing, self.speed, self.pace = False, model.vis.global_.realtime, 0.0
        self.recording = None if trajectory is None else _recorded(model, trajectory, worlds)
        self.lock = threading.RLock()
        self._owed, self._cost = 0.0, 0.0
        self._pull: tuple[int, int, np.ndarray] | None = None
        self._masses = 1 / np.maximum(np.asarray(model.body_invweight0, float)[:, 0], 1e-6)
        if self.recording is not None:
            self.worlds = len(self.recording[1])
        self.reset(keyframe)

    def reset(self, keyframe: str | int | None = None) -> None:
        """Goes back to a keyframe, or to the start; warnings are cleared."""
        with self.lock:
            one = reset(self.model, make_data(self.model), keyframe)
            data = jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], self.worlds, 0), one)
            if self.worlds > 1 and self.recording is None:
                noise = _SPREAD * np.random.default_rng(0).standard_normal(data.qvel.shape)
                noise[0] = 0
                data = data.replace(qvel=(data.qvel + noise).astype(data.qvel.dtype))
            self._data, self._moment = data, 0.0 if self.recording is None else float(self.recording[0][0])
            self._show_moment()

    @property
    def data(self) -> Data:
        """The state, worlds in front."""
        with self.lock:
            return self._data

    def change(self, world: int | None = None, **fields: Any) -> None:
        """Sets fields of the state.

        Args:
            world: In which world; None: in all.
            fields: Arrays of one world.

        Raises:
            ValueError: A shape is wrong, or a number is not finite.
        """
        with self.lock:
            new = {}
            for name, value in fields.items():
                old = np.array(getattr(self._data, name))
                value = np.asarray(value, float)
                if value.shape != old.shape[1:]:
                    raise ValueError(f"{name} has shape {value.shape}; expected {old.shape[1:]}")
                if not np.isfinite(value).all():
                    raise ValueError(f"{name} is not finite")
                old[slice(None) if world is None else world] = value
                new[name] = old
            self._data = self._data.replace(**new)

    def refresh(self) -> None:
        """Computes contacts, forces and sensors of the state as it is."""
        with self.lock:
            before = {name: getattr(self._data, name) for name in STATE_FIELDS}
            if self.recording is None:  # a step computes all of it on the way; one program is enough
                self.step(1)
                self._data = self._data.replace(**before)

    def pull(self, body: int, point: np.ndarray, world: int = 0) -> None:
        """Pulls a body's centre of mass towards a point (m, world frame) until `release`."""
        with self.lock:
            self._pull = body, world, np.asarray(point, float)

    def release(self) -> None:
        """Ends `pull`."""
        with self.lock:
            self._pull = None

    def push(self, body: int, wrench: np.ndarray, world: int | None = None) -> None:
        """Applies a force and a torque, `(6,)`, N and N m, world frame, at a body's centre of mass, until changed."""
        with self.lock:
            applied = np.array(self._data.xfrc_applied)
            applied[slice(None) if world is None else world, body] = wrench
            self._data = self._data.replace(xfrc_applied=applied)

    def step(self, count: int = 1) -> None:
        """Takes steps; of a recording, goes on by as many moments."""
        with self.lock:
            if self.recording is not None:
                times = self.recording[0]
                at = int(np.searchsorted(times, self._moment + 1e-9)) - 1 + count
                self.seek(float(times[np.clip(at, 0, len(times) - 1)]))
                return
            body, world, point = self._pull or (0, 0, np.zeros(3))
            real = self._data.qpos.dtype
            mass = np.zeros(self.worlds, real)
            mass[world] = self._masses[body] if self._pull else 0.0
            stiffness = max(self.model.vis.map.stiffness, 0.0)
            spring = np.array([stiffness, 2 * np.sqrt(stiffness)], real)
            pulled = np.int32(body), point.astype(real), mass, spring
            self._data = _advance(self.model, self._data, np.int32(count), *pulled)

    def seek(self, moment: float) -> None:
        """Goes to a moment of a recording, s."""
        with self.lock:
            if self.recording is not None:
                self._moment = float(np.clip(moment, self.recording[0][0], self.recording[0][-1]))
                self._show_moment()

    def tick(self, elapsed: float) -> int:
        """Lets time go on, if it is playing.

        Args:
            elapsed: Seconds since the last call.

        Returns:
            Steps taken: as many as real time asks for, and fewer where they take too long.
        """
        with self.lock:
            if not self.playing:
                self._owed = 0.0
                return 0
            if self.recording is not None:
                times = self.recording[0]
                after = self._moment + self.speed * elapsed
                self.seek(after if after <= times[-1] else times[0])
                self.pace = self.speed
                return 1
            timestep = float(self.model.opt.timestep)
            self._owed += self.speed * elapsed / timestep
            count = int(self._owed)
            if self._cost:
                count = min(count, max(int(_BUSY * FRAME / self._cost), 1))
            if not count:
                return 0
            start = time.perf_counter()
            self.step(count)
            jax.block_until_ready(self._data.qpos)
            cost = (time.perf_counter() - start) / count
            self._cost = cost if not self._cost else 0.8 * self._cost + 0.2 * cost
            # what cannot be made up for is forgotten: the simulation is slow then, not jerky
            self._owed = min(self._owed - count, 2.0)
            reached = count * timestep / max(elapsed, 1e-6)
            self.pace = 0.9 * self.pace + 0.1 * reached if self.pace else reached
            return count

    def warm_up(self) -> None:
        """Compiles what a step and a refresh need."""
        self.refresh()
        jax.block_until_ready(self._data.qacc)

    @property
    def moment(self) -> float:
        """Simulated time, s."""
        return self._moment if self.recording is not None else float(np.asarray(self._data.time)[0])

    def body(self, name: str | int) -> int:
        """Number of a body.

        Raises:
            KeyError: There is no body of that name.
            IndexError: There is no body of that number.
        """
        return self.model.find(ObjType.BODY, name)

    def _show_moment(self) -> None:
        if self.recording is not None:
            times, qpos = self.recording
            k = int(np.searchsorted(times, self._moment + 1e-9).clip(1, len(times))) - 1
            self._data = self._data.replace(qpos=qpos[:, k].astype(self._data.qpos.dtype))


def _recorded(model: Model, trajectory: Mapping[str, Any], worlds: int) -> tuple[np.ndarray, np.ndarray]:
    qpos = configurations(trajectory)
    qpos = qpos[None] if qpos.ndim == 2 else qpos
    if qpos.ndim != 3 or qpos.shape[2] != model.nq or not qpos.shape[0] * qpos.shape[1]:
        raise ValueError(f"qpos has shape {qpos.shape}; expected (T, {model.nq}) or (worlds, T, {model.nq})")
    times = trajectory.get("time", float(model.opt.timestep) * np.arange(qpos.shape[1]))
    times = np.asarray(times, float)
    if times.shape != (qpos.shape[1],):
        raise ValueError(f"time has shape {times.shape}, but qpos has {qpos.shape[1]} moments")
    return times, np.nan_to_num(qpos[:worlds], nan=0.0, posinf=0.0, neginf=0.0)


@jax.jit
def _advance(
    model: Model,
    data: Data,
    count: jax.Array,
    body: jax.Array,
    point: jax.Array,
    mass: jax.Array,
    spring: jax.Array,
) -> Data:
    """`count` steps of all worlds; in each a spring pulls a body to a point as if it had `mass` (worlds,), kg.

    The `spring` (2,) is critically damped: its stiffness and damping for each kg, 1/s^2 and 1/s.
    """

    def one(data: Data, mass: jax.Array) -> Data:
        arm = data.xipos[body] - data.subtree_com[jnp.asarray(model.body_rootid)[body]]
        velocity = data.cvel[body, 3:] + jnp.cross(data.cvel[body, :3], arm)
        gap = point - data.xipos[body]
        force = mass * (spring[0] * gap - spring[1] * velocity)
        known = jnp.any(data.xipos != 0)  # before the first step nothing is
        applied = data.xfrc_applied.at[body, :3].add(jnp.where(known, force, 0))
        return step(model, data.replace(xfrc_applied=applied)).replace(xfrc_applied=data.xfrc_applied)

    return jax.lax.fori_loop(0, count, lambda _, d: jax.vmap(one)(d, mass), data)
