"""Jacobians of some steps with respect to everything at once: forward, reverse, and by central differences.

The state and the model are functions of one flat vector of perturbations, zero at the point of interest, so that two
compilations serve a scene, however many states and quantities are looked at.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.integrate import integrate_pos

STATE = ("qpos", "qvel", "act", "ctrl")
STEP = 1e-6
"""Of the differences: truncation grows with its square, rounding with its inverse."""


@dataclasses.dataclass(frozen=True)
class Jacobians:
    """The map from perturbations to the states after some steps, at one state.

    Attributes:
      scene: what was differentiated.
      value: outputs, (steps, n): positions, velocities, activations.
      forward: by jvp, (steps, n, p).
      reverse: by vjp, (steps, n, p).
      differences: central differences, (steps, n, p).
    """

    scene: Scene
    value: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    differences: np.ndarray

    def error(self, body: str, quantity: str, step: int, floor: float = 1e-2) -> float:
        """Largest deviation of a block of the Jacobian from the differences, relative to its largest entry.

        Blocks with entries below `floor` are measured against it: the differences carry an absolute error.
        """
        rows, columns = self.scene.rows(body), self.scene.columns[quantity]
        exact, differences = (x[step, rows][:, columns] for x in (self.forward, self.differences))
        return float(
            np.abs(exact - differences).max(initial=0) / max(np.abs(differences).max(initial=0), floor)
        )

    def duality_error(self) -> float:
        """Largest deviation of reverse from forward mode, relative to the largest entry of the column."""
        scale = np.abs(self.forward).max(axis=(0, 1)) + 1e-2
        return float((np.abs(self.forward - self.reverse) / scale).max())


class Scene:
    """A model and the derivatives of its steps.

    Args:
      xml: the model.
      leaves: Model leaves to differentiate, with dots: `opt.gravity`. A number is perturbed relative to its value, and
        left alone where it is zero; gravity in units of 10 m/s^2.
      steps: how many; results are recorded after the first and after the last.
    """

    def __init__(self, xml: str, leaves: Sequence[str], steps: int = 10):
        self.mj_model = mujoco.MjModel.from_xml_string(xml)
        self.model = put_model(self.mj_model)
        self.steps = steps
        self._targets: dict[str, np.ndarray] = {}
        self.columns: dict[str, slice] = {}
        sizes = {"qpos": self.model.nv, "qvel": self.model.nv, "act": self.model.na, "ctrl": self.model.nu}
        for name in leaves:
            value = np.asarray(_get(self.model, name))
            everything = name == "opt.gravity"
            self._targets[name] = np.flatnonzero(
                everything | ((value.ravel() != 0) & np.isfinite(value.ravel()))
            )
            sizes[name] = len(self._targets[name])
        self.size = 0
        for name, n in sizes.items():
            self.columns[name] = slice(self.size, self.size + n)
            self.size += n

    def rows(self, body: str) -> np.ndarray:
        """Outputs that belong to the joints of a body and of all below it, and their actuators."""
        m = self.mj_model
        root = m.body(body).id
        below = [b for b in range(m.nbody) if self._is_below(b, root)]
        joints = [j for j in range(m.njnt) if m.jnt_bodyid[j] in below]
        width = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}
        q, v = [], []
        for j in joints:
            nq, nv = width[int(m.jnt_type[j])]
            q += range(m.jnt_qposadr[j], m.jnt_qposadr[j] + nq)
            v += range(m.jnt_dofadr[j], m.jnt_dofadr[j] + nv)
        owner = [i for i in range(m.nu) if m.actuator_actnum[i] and m.actuator_trnid[i, 0] in joints]
        act = [m.actuator_actadr[i] for i in owner]
        return np.array(q + [m.nq + i for i in v] + [m.nq + m.nv + i for i in act])

    def _is_below(self, body: int, root: int) -> bool:
        while body not in (0, root):
            body = int(self.mj_model.body_parentid[body])
        return body == root

    def data(self, d: mujoco.MjData) -> jaxsim.Data:
        """Our data at the state of the C engine's."""
        data = jaxsim.make_data(self.model)
        return data.replace(**{name: jnp.asarray(getattr(d, name)) for name in (*STATE, "qacc_warmstart")})

    def at(self, d: mujoco.MjData, model: jaxsim.Model | None = None) -> Jacobians:
        """The Jacobians at a state of the C engine; `model` may have other numbers than the scene's."""
        model, data = self.model if model is None else model, self.data(d)
        rows = STEP * np.eye(self.size)
        far = np.asarray(self._values(model, data, jnp.asarray(np.concatenate([rows, -rows]))))
        ahead, behind = far[: self.size], far[self.size :]
        differences = np.moveaxis(ahead - behind, 0, -1) / (2 * STEP)
        value, forward, reverse = self._derivatives(model, data)
        return Jacobians(self, *(np.asarray(x) for x in (value, forward, reverse)), differences)

    def perturbed(self, model: jaxsim.Model, data: jaxsim.Data, p: jax.Array) -> tuple[Any, Any]:
        """The model and the state moved by a vector of perturbations."""
        for name, targets in self._targets.items():
            value = jnp.asarray(_get(model, name))
            scale = 10.0 if name == "opt.gravity" else value.ravel()[targets]
            moved = value.ravel().at[targets].add(scale * p[self.columns[name]]).reshape(value.shape)
            model = _replace(model, name, moved)
        qpos = integrate_pos(model, data.qpos[:, None], p[self.columns["qpos"], None], jnp.ones(1))[:, 0]
        rest = {name: getattr(data, name) + p[self.columns[name]] for name in ("qvel", "act", "ctrl")}
        return model, data.replace(qpos=qpos, **rest)

    def outputs(self, model: jaxsim.Model, data: jaxsim.Data, p: jax.Array) -> jax.Array:
        """States after the first and the last step, (2, n) or (1, n)."""
        _, path = jaxsim.rollout(
            *self.perturbed(model, data, p), steps=self.steps, fields=("qpos", "qvel", "act")
        )
        flat = jnp.concatenate([path["qpos"], path["qvel"], path["act"]], axis=1)
        return flat[np.array([0, self.steps - 1] if self.steps > 1 else [0])]

    @functools.cached_property
    def _values(self) -> Callable[..., jax.Array]:
        return jax.jit(jax.vmap(self.outputs, in_axes=(None, None, 0)))

    @functools.cached_property
    def _derivatives(self) -> Callable[..., tuple[jax.Array, jax.Array, jax.Array]]:
        def both(model: Any, data: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
            origin = jnp.zeros(self.size)
            value, push = jax.linearize(functools.partial(self.outputs, model, data), origin)
            forward = jax.vmap(push, out_axes=-1)(jnp.eye(self.size))
            pull = jax.linear_transpose(push, origin)
            weights = jnp.eye(value.size).reshape(-1, *value.shape)
            reverse = jax.vmap(lambda w: pull(w)[0])(weights).reshape(*value.shape, self.size)
            return value, forward, reverse

        return jax.jit(both)


def _get(record: Any, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), record)


def _replace(record: Any, name: str, value: Any) -> Any:
    first, _, rest = name.partition(".")
    return record.replace(**{first: _replace(getattr(record, first), rest, value) if rest else value})
