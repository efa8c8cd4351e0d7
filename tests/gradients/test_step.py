"""Derivatives of a step against central differences on the manifold: at rest, sliding, bouncing, at a limit, in flight.

Every quantity is perturbed in one flat vector, so that three compilations serve all the cases.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline.integrate import integrate_pos

from .scenes import SCENES

LEAVES = (
    "body_mass",
    "body_inertia",
    "geom_friction",
    "geom_solref",
    "geom_solimp",
    "jnt_solref",
    "dof_damping",
)
"""Model leaves that are differentiated, each perturbed relative to its value."""
BODIES = (
    "box_at_rest",
    "sphere_at_rest",
    "capsule_at_rest",
    "box_sliding",
    "sphere_bouncing",
    "arm",
    "flyer",
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A differentiable map from perturbations to the next state."""

    model: Any
    function: Callable[[jax.Array], jax.Array]
    columns: dict[str, slice]
    forward: np.ndarray
    reverse: np.ndarray
    differences: np.ndarray


def state(model: Any) -> Any:
    """The scenes, each in its situation: bodies at rest have settled for two seconds."""
    data = jaxsim.make_data(model)
    data, _ = jax.jit(lambda d: jaxsim.rollout(model, d, steps=1000))(data)
    qpos, qvel = np.array(data.qpos), np.array(data.qvel)
    free = {name: (7 * i, 6 * i) for i, name in enumerate(BODIES[:5])}
    for name, (q, v) in free.items():
        if name in ("box_sliding", "sphere_bouncing"):
            qpos[q : q + 7] = model.qpos0[q : q + 7]
            qvel[v : v + 6] = 0
    qvel[free["box_sliding"][1] :][:2] = [1.5, 0.4]
    qvel[free["sphere_bouncing"][1] :][:6] = [0.3, 0.1, -1.0, 2.0, 1.0, -1.0]
    arm_q, arm_v = 35, 30
    qpos[arm_q] = np.deg2rad(60.5)
    qpos[arm_q + 1 : arm_q + 5] = [1, 0, 0, 0]
    qvel[arm_v : arm_v + 4] = [0.7, 0, 0, 0]
    qpos[-7:] = [6, 0, 3, 1, 0, 0, 0]
    qvel[-6:] = [0.1, 0.2, 0.3, 0.5, -0.4, 1.0]
    return data.replace(qpos=jnp.asarray(qpos), qvel=jnp.asarray(qvel), ctrl=jnp.asarray([0.2]))


@pytest.fixture(scope="session")
def case() -> Case:
    model = jaxsim.load_model(SCENES)
    data = state(model)
    sizes = {"qpos": model.nv, "qvel": model.nv, "ctrl": model.nu}
    sizes |= {name: getattr(model, name).size for name in LEAVES}
    ends = np.cumsum([0, *sizes.values()])
    spans = itertools.pairwise(ends.tolist())
    columns = {name: slice(*span) for name, span in zip(sizes, spans, strict=True)}

    def function(p: jax.Array) -> jax.Array:
        changed = {
            name: getattr(model, name) * (1 + p[columns[name]].reshape(getattr(model, name).shape))
            for name in LEAVES
        }
        m = model.replace(**changed)
        qpos = integrate_pos(model, data.qpos[:, None], p[columns["qpos"], None], 1.0)[:, 0]
        d = data.replace(qpos=qpos, qvel=data.qvel + p[columns["qvel"]], ctrl=data.ctrl + p[columns["ctrl"]])
        d, _ = jaxsim.rollout(m, d, steps=1)
        return jnp.concatenate([d.qpos, d.qvel])

    origin = jnp.zeros(int(ends[-1]))
    step = 1e-6 * jnp.eye(origin.size)
    batched = jax.jit(jax.vmap(function))
    differences = (batched(step) - batched(-step)).T / 2e-6
    return Case(
        model,
        function,
        columns,
        np.asarray(jax.jit(jax.jacfwd(function))(origin)),
        np.asarray(jax.jit(jax.jacrev(function))(origin)),
        np.asarray(differences),
    )


def rows_of(model: Any, body: str) -> np.ndarray:
    """Outputs, positions then velocities, that belong to a body's tree."""
    i = BODIES.index(body)
    q = np.arange(7 * i, 7 * i + 7) if i < 5 else (np.arange(35, 40) if body == "arm" else np.arange(40, 47))
    v = np.arange(6 * i, 6 * i + 6) if i < 5 else (np.arange(30, 34) if body == "arm" else np.arange(34, 40))
    return np.concatenate([q, model.nq + v])


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl", *LEAVES])
def test_against_differences(case: Case, body: str, name: str) -> None:
    rows, columns = rows_of(case.model, body), case.columns[name]
    exact, differences = case.forward[rows, columns], case.differences[rows, columns]
    scale = np.abs(differences).max() + 1e-2
    np.testing.assert_allclose(
        exact / scale, differences / scale, atol=1e-5
    )  # round-off of the differences: 1e-7


def test_forward_and_reverse_agree(case: Case) -> None:
    """Column by column: so `w . (J u) = (J^T w) . u` for all tangents u and cotangents w."""
    scale = np.abs(case.forward).max(axis=0) + 1e-2
    np.testing.assert_allclose(case.reverse / scale, case.forward / scale, atol=1e-9)  # solves to round-off
