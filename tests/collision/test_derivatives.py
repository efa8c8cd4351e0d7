"""Derivatives of contacts with respect to geom poses, on the manifold of poses, in both modes."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim.collision import collision
from jaxsim.collision.pairs import convex
from jaxsim.math import quaternion
from jaxsim.model import Model
from tests.collision import oracle

CONVEX = [(a.name.lower(), b.name.lower()) for a, b in convex.PAIRS]
COSTLY = [("capsule", "box"), ("box", "box"), *CONVEX]
CASES = [pytest.param(*p, marks=[pytest.mark.slow] if p in COSTLY else []) for p in oracle.PAIRS + CONVEX]

WORLDS = 256


def contacts_after(model: Model, xpos: jax.Array, xmat: jax.Array, motion: jax.Array) -> jax.Array:
    """Distance, position and frame (nslot, 13, W) after moving geoms by `motion` (ngeom, 6, W): shift, then turn."""
    return _slots_after(model, xpos, xmat, motion)[0]


def _slots_after(
    model: Model, xpos: jax.Array, xmat: jax.Array, motion: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The same, and which slots are in use, (nslot, W)."""
    angle = motion[:, 3:]
    rotation = quaternion.to_matrix(quaternion.exponential(angle))
    moved = jnp.stack(
        [
            jnp.stack([sum(rotation[:, i, k] * xmat[:, k, j] for k in range(3)) for j in range(3)], axis=1)
            for i in range(3)
        ],
        axis=1,
    )
    data = oracle.native_data(model, xpos, xmat).replace(geom_xpos=xpos + motion[:, :3], geom_xmat=moved)
    contact = collision(model, data).contact
    frame = contact.frame.reshape(contact.frame.shape[0], 9, -1)
    return jnp.concatenate([contact.dist[:, None], contact.pos, frame], axis=1), contact.geom[:, 0] >= 0


@functools.lru_cache
def _derivatives(
    first: str, second: str
) -> tuple[mujoco.MjModel, Model, Callable[..., tuple[jax.Array, ...]]]:
    mj_model = oracle.two_geoms(first, second, 'margin=".05"', tilt="0 0 0")
    model = oracle.native_model(mj_model)

    @jax.jit
    def both(xpos: jax.Array, xmat: jax.Array, tangent: jax.Array, seed: jax.Array) -> tuple[jax.Array, ...]:
        f = functools.partial(_slots_after, model, xpos, xmat)
        rest = jnp.zeros_like(tangent)
        value, pushed, used = jax.jvp(f, (rest,), (tangent,), has_aux=True)
        weight = jax.random.normal(jax.random.key(seed), value.shape) * used[:, None]
        (pulled,) = jax.vjp(f, rest, has_aux=True)[1](weight)
        step = 1e-6
        twice = (jnp.concatenate([x, x], axis=-1) for x in (xpos, xmat))
        moved = contacts_after(model, *twice, step * jnp.concatenate([tangent, -tangent], axis=-1))
        ahead, behind = jnp.split(moved, 2, axis=-1)
        return value, pushed, weight, pulled, (ahead - behind) / (2 * step), used

    return mj_model, model, both


def _evaluate(
    first: str, second: str, qpos: np.ndarray, tangents: np.ndarray
) -> list[tuple[np.ndarray, ...]]:
    """For each direction (ngeom, 6): value, jvp, central difference and which slots are in use.

    All poses along all directions are worlds of one call, filled up to one width: one compilation serves a pair.
    """
    mj_model, _, both = _derivatives(first, second)
    place = np.arange(WORLDS) % (len(qpos) * len(tangents))
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    pose, direction = place % len(qpos), place // len(qpos)
    full = np.moveaxis(tangents, 0, -1)[..., direction]
    found = both(*(jnp.asarray(x) for x in (xpos[..., pose], xmat[..., pose], full)), 0)
    value, pushed, weight, pulled, slope, used = (np.asarray(x) for x in found)
    assert np.all(np.isfinite(pushed))
    assert np.all(np.isfinite(pulled))
    # the two modes are each other's transpose
    one, other = np.sum(pulled * full, axis=(0, 1)), np.sum(pushed * weight, axis=(0, 1))
    ends = [slice(k * len(qpos), (k + 1) * len(qpos)) for k in range(len(tangents))]
    for k in ends:
        np.testing.assert_allclose(one[k], other[k], atol=1e-9 * (1 + abs(other[k]).max()))
    return [(value[..., k], pushed[..., k], slope[..., k], used[:, k]) for k in ends]


@pytest.mark.parametrize(("first", "second"), CASES)
def test_random_poses(first: str, second: str) -> None:
    rng = np.random.default_rng(20)
    mj_model = _derivatives(first, second)[0]
    qpos = oracle.random_qpos(mj_model, 64, rng, 0.3)
    for _, pushed, slope, used in _evaluate(first, second, qpos, rng.normal(size=(4, 2, 6))):
        error = np.abs(pushed - slope).max(1)[used]
        assert used.sum() > 20
        # differences: truncation h^2 times third derivatives that grow as the centres approach each other
        assert np.quantile(error, 0.95) < 1e-6
        assert error.max() < 1e-3


def _pose(*numbers: float) -> np.ndarray:
    return np.array([[0, 0, 0, 1.0, 0, 0, 0, *numbers]])


DEGENERATE = {
    "coincident spheres": ("sphere", "sphere", _pose(0, 0, 0, 1, 0, 0, 0)),
    "exact touch": ("sphere", "sphere", _pose(0.6, 0, 0, 1, 0, 0, 0)),
    "sphere on the axis of a capsule": ("sphere", "capsule", _pose(0, 0, 0.1, 1, 0, 0, 0)),
    "sphere at the centre of a box": ("sphere", "box", _pose(0, 0, 0, 1, 0, 0, 0)),
    "sphere centre on a face": ("sphere", "box", _pose(-0.3, 0, 0, 1, 0, 0, 0)),
    "sphere touching a face": ("sphere", "box", _pose(-0.6, 0, 0, 1, 0, 0, 0)),
    "sphere above an edge": ("sphere", "box", _pose(-0.4, -0.3, 0, 1, 0, 0, 0)),
    "parallel capsules": ("capsule", "capsule", _pose(0.35, 0, 0.1, 1, 0, 0, 0)),
    "coincident capsules": ("capsule", "capsule", _pose(0, 0, 0, 1, 0, 0, 0)),
    "capsules in line": ("capsule", "capsule", _pose(0, 0, 1.2, 1, 0, 0, 0)),
    "crossed capsules with axes that meet": ("capsule", "capsule", _pose(0, 0, 0, 0.8, 0.6, 0, 0)),
    "upright capsule on a plane": ("plane", "capsule", np.array([[0.1, 0.2, 0.6, 1.0, 0, 0, 0]])),
    "flat box on a plane": ("plane", "box", np.array([[0.1, 0.2, 0.45, 1.0, 0, 0, 0]])),
    "cylinder standing on a plane": ("plane", "cylinder", np.array([[0.1, 0.2, 0.25, 1.0, 0, 0, 0]])),
    "cylinder lying on a plane": ("plane", "cylinder", np.array([[0.1, 0.2, 0.35, 1.0, 0, 1.0, 0]])),
    "sphere at the centre of a cylinder": ("sphere", "cylinder", _pose(0, 0, 0, 1, 0, 0, 0)),
    "sphere above a rim": ("sphere", "cylinder", _pose(0.3, 0, 0.3, 1, 0, 0, 0)),
    "capsule along a box": ("capsule", "box", _pose(0, 0.35, 0, 1, 0, 0, 0)),
    "capsule at the centre of a box": ("capsule", "box", _pose(0, 0, 0, 1, 0, 0, 0)),
    "stacked boxes": ("box", "box", _pose(0, 0, 0.8, 1, 0, 0, 0)),
    "coincident boxes": ("box", "box", _pose(0, 0, 0, 1, 0, 0, 0)),
    "coincident ellipsoids": ("ellipsoid", "ellipsoid", _pose(0, 0, 0, 1, 0, 0, 0)),
    "ellipsoids that touch at their poles": ("ellipsoid", "ellipsoid", _pose(0, 0, 0.8, 1, 0, 0, 0)),
    "sphere at the centre of an ellipsoid": ("sphere", "ellipsoid", _pose(0, 0, 0, 1, 0, 0, 0)),
    "sphere at the pole of an ellipsoid": ("sphere", "ellipsoid", _pose(0, 0, 0.7, 1, 0, 0, 0)),
    "ellipsoid touching a face": ("ellipsoid", "box", _pose(0, 0, 0.8, 1, 0, 0, 0)),
    "ellipsoid at the centre of a box": ("ellipsoid", "box", _pose(0, 0, 0, 1, 0, 0, 0)),
    "ellipsoid on the axis of a cylinder": ("ellipsoid", "cylinder", _pose(0, 0, 0.55, 1, 0, 0, 0)),
    "stacked cylinders": ("cylinder", "cylinder", _pose(0, 0, 0.4, 1, 0, 0, 0)),
    "coincident cylinders": ("cylinder", "cylinder", _pose(0, 0, 0, 1, 0, 0, 0)),
    "cylinders side by side": ("cylinder", "cylinder", _pose(0.6, 0, 0, 1, 0, 0, 0)),
    "cylinders that cross": ("cylinder", "cylinder", _pose(0, 0, 0.54, 1, 1, 0, 0)),
    "cylinder standing on a box": ("cylinder", "box", _pose(0, 0, -0.6, 1, 0, 0, 0)),
    "cylinder along a box": ("cylinder", "box", _pose(0.6, 0, 0, 1, 0, 0, 0)),
    "rim on an edge": ("cylinder", "box", _pose(-0.6, 0, -0.6, 1, 0, 0, 0)),
    "capsule along a cylinder": ("capsule", "cylinder", _pose(0.5, 0, 0, 1, 0, 0, 0)),
    "capsule on the axis of a cylinder": ("capsule", "cylinder", _pose(0, 0, 0.8, 1, 0, 0, 0)),
    "capsule across a cylinder's face": ("capsule", "cylinder", _pose(0, 0, 0.4, 0.5, 0.5, 0.5, 0.5)),
    "capsule in an ellipsoid": ("capsule", "ellipsoid", _pose(0, 0, 0, 1, 0, 0, 0)),
    "sphere at the centre of a mesh": ("sphere", "mesh", _pose(0, 0, 0, 1, 0, 0, 0)),
    "coincident meshes": ("mesh", "mesh", _pose(0, 0, 0, 1, 0, 0, 0)),
    "mesh at the centre of a box": ("box", "mesh", _pose(0, 0, 0, 1, 0, 0, 0)),
    "crossed box edges": ("box", "box", _pose(0.4, 0.4, 0, 0.7, 0.7, 0.1, 0.1)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (c[:2] in COSTLY)) for n, c in DEGENERATE.items()]
)
def test_degenerate_states_are_finite(name: str) -> None:
    """Finite in both modes, and of the size of the motion: nothing is divided by a vanishing length."""
    first, second, qpos = DEGENERATE[name]
    if first == "plane":
        qpos = qpos[:, -7:]
    tangents = np.random.default_rng(21).normal(size=(3, 2, 6))
    for tangent, found in zip(tangents, _evaluate(first, second, qpos, tangents), strict=True):
        value, pushed, _, used = found
        assert used.any()
        assert np.all(np.isfinite(value))
        # distances move no faster than the surfaces do
        assert np.abs(pushed[:, 0][used]).max() < 2 * np.abs(tangent).sum()


def test_resting_contact_is_exact() -> None:
    """Sinking into the plane, the flat box and the sphere move by their own depth."""
    for kind, height in (("sphere", 0.25), ("box", 0.38), ("capsule", 0.55)):
        xml = f"<mujoco><worldbody><geom {oracle.SHAPES['plane']}/><body><freejoint/><geom {oracle.SHAPES[kind]}/>"
        mj_model = mujoco.MjModel.from_xml_string(xml + "</body></worldbody></mujoco>")
        model = oracle.native_model(mj_model)
        xpos, xmat, _ = oracle.detect(mj_model, np.array([[0, 0, height, 1.0, 0, 0, 0]]))
        tangent = np.zeros((2, 6, 1))
        tangent[1, 2] = 1
        f = functools.partial(contacts_after, model, jnp.asarray(xpos), jnp.asarray(xmat))
        value, pushed = jax.jvp(f, (jnp.zeros((2, 6, 1)),), (jnp.asarray(tangent),))
        used = np.asarray(value)[:, 0] < 0
        np.testing.assert_allclose(np.asarray(pushed)[:, 0][used], 1, atol=1e-14)
        np.testing.assert_allclose(np.asarray(pushed)[:, 3][used], 0.5, atol=1e-14)
