"""Height fields against the C engine: contacts, budgets, rest, derivatives."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import jaxsim
from jaxsim.collision import collision
from jaxsim.enums import GeomType
from jaxsim.interop.mujoco import put_model
from jaxsim.math import quaternion
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.structure.cells import MOST_CELLS
from jaxsim.structure.colliders import COLLIDERS
from jaxsim.structure.slots import slot_layout
from tests.collision import oracle

KINDS = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
QUICK = ("sphere", "box")
CASES = [pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.slow]) for kind in KINDS]


def heights(nrow: int, ncol: int) -> str:
    """Bumps, and a flat part at the end of the rows."""
    y, x = np.meshgrid(np.arange(nrow), np.arange(ncol), indexing="ij")
    bumps = np.where(x < ncol - 2, 0.5 + 0.5 * np.sin(2.3 * x + 0.4) * np.cos(1.7 * y), 0.0)
    return " ".join(map(str, np.round(bumps, 3).ravel()))


def hfield(name: str, nrow: int, ncol: int, size: str) -> str:
    return (
        f'<hfield name="{name}" nrow="{nrow}" ncol="{ncol}" size="{size}" elevation="{heights(nrow, ncol)}"/>'
    )


def scene(assets: str, *geoms: str) -> mujoco.MjModel:
    """Geoms with a `hfield` are the world's, others float."""
    body = "".join(
        f"<geom {g}/>" if "hfield" in g else f"<body><freejoint/><geom {g}/></body>" for g in geoms
    )
    xml = f"<mujoco>{oracle.ASSETS.replace('</asset>', assets)}</asset><worldbody>{body}</worldbody></mujoco>"
    return mujoco.MjModel.from_xml_string(xml)


def on_field(kind: str) -> mujoco.MjModel:
    ground = 'type="hfield" hfield="bumps" pos=".1 .2 .05" euler="10 20 30" margin=".05"'
    return scene(hfield("bumps", 7, 8, "2 1.5 .3 .2"), ground, oracle.SHAPES[kind])


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(QUICK)))
def test_every_convex_type_has_a_program(kind: str) -> None:
    """Traced alone, since the rest of these types' tests are slow."""
    mj_model = on_field(kind)
    model = oracle.native_model(mj_model)
    xpos, xmat, _ = oracle.detect(mj_model, mj_model.qpos0[None])
    data = oracle.native_data(model, xpos, xmat)
    found = jax.eval_shape(lambda data: collision(model, data).contact.dist, data)
    assert found.shape[0] >= 2


def test_every_convex_type_has_a_collider() -> None:
    for kind in KINDS:
        assert (GeomType.HFIELD, GeomType[kind.upper()]) in COLLIDERS


@pytest.mark.parametrize("kind", CASES)
def test_random_poses(kind: str) -> None:
    """Apart, touching and deep, over bumps and flat parts, across the border and beside the field: one contact a prism.

    There is a margin: without one, depths of boxes and meshes end too early in the C engine (docs/differences.md).
    """
    mj_model = on_field(kind)
    model = oracle.native_model(mj_model)
    qpos = oracle.random_qpos(mj_model, 100, np.random.default_rng(1), 1.0) * [1, 1, 0.4, 1, 1, 1, 1]
    # with the default options the C engine leaves errors up to 1e-2 in deep contacts of curved geoms
    mj_model.opt.ccd_tolerance = 1e-10
    mj_model.opt.ccd_iterations = 400
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    found = oracle.ours(data)
    assert not np.any(np.asarray(data.warning))
    assert [len(f) for f in found] == [len(w) for w in wanted]
    pairs = [matched(f, w) for f, w in zip(found, wanted, strict=True) if len(w)]
    assert 30 < len(pairs) < 100
    f, w = (np.concatenate(side) for side in zip(*pairs, strict=True))
    assert np.sum(w[:, 3] < 0) > 100
    assert np.sum(w[:, 3] > 0) > 30
    error = w[:, 3] - f[:, 3]
    # our search ends after 34 rounds: into an overlap with a curved geom it may be too deep, never too shallow
    assert np.quantile(np.abs(error), 0.97) < 1e-6
    assert error.min() > -1e-6
    assert error.max() < (5e-3 if kind in ("ellipsoid", "cylinder") else 1e-6)
    np.testing.assert_array_equal(f[:, :3], w[:, :3])
    # near ties leave the normal to rounding; positions are as exact as the C engine's search
    assert np.quantile(np.abs(f[:, 8:11] - w[:, 8:11]).max(1), 0.97) < 1e-3
    assert np.quantile(np.abs(f[:, 5:8] - w[:, 5:8]).max(1), 0.97) < 1e-4
    np.testing.assert_allclose(f[:, 17:], w[:, 17:], atol=1e-12)


def matched(found: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same contacts in the same order, by distance, position and normal."""
    gap = np.abs(found[:, None, 3:11] - wanted[None, :, 3:11]).max(-1)
    rows, columns = linear_sum_assignment(np.minimum(gap, 1e3))
    return found[rows], wanted[columns]


def test_fields_of_different_sizes() -> None:
    """One program collides geoms with fields of other grids and sizes."""
    assets = hfield("coarse", 3, 4, "1 1.5 .3 .2") + hfield("fine", 7, 6, "1 .8 .2 .1")
    grounds = [f'type="hfield" hfield="{n}" pos="{x} 0 0"' for n, x in (("coarse", -1), ("fine", 1))]
    mj_model = scene(assets, *grounds, oracle.SHAPES["sphere"])
    assert len(slot_layout(put_model(mj_model)).kinds) == 1
    qpos = oracle.random_qpos(mj_model, 60, np.random.default_rng(2), 1.0) * [1.5, 1, 0.3, 1, 1, 1, 1]
    model = oracle.native_model(mj_model)
    mj_model.opt.ccd_tolerance = 1e-10
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    assert [len(f) for f in found] == [len(w) for w in wanted]
    pairs = [matched(f, w) for f, w in zip(found, wanted, strict=True) if len(w)]
    f, w = (np.concatenate(side) for side in zip(*pairs, strict=True))
    assert set(w[:, 0]) == {0, 1}
    np.testing.assert_array_equal(f[:, :2], w[:, :2])
    np.testing.assert_allclose(f[:, 3:11], w[:, 3:11], atol=1e-5)


def test_more_cells_than_a_geom_can_be_above() -> None:
    """Of many prisms those that are high are collided; a geom that reaches more sets the overflow bit."""
    mj_model = scene(
        hfield("fine", 41, 41, "1 1 .02 .1"), 'type="hfield" hfield="fine"', 'type="sphere" size=".4"'
    )
    model = oracle.native_model(mj_model)
    assert model.geom_hfieldcells.tolist() == [[0, 0], [17, 17]]
    (kind,) = slot_layout(model).kinds
    assert kind.points == 50
    shallow, deep = [0.2, 0.1, 0.408, 1, 0, 0, 0], [0.2, 0.1, 0.3, 1, 0, 0, 0]
    xpos, xmat, wanted = oracle.detect(mj_model, np.array([shallow, deep]))
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    assert np.asarray(data.warning).tolist() == [0, int(WarningBit.PAIR_OVERFLOW)]
    found = oracle.ours(data)
    assert 0 < len(wanted[0]) == len(found[0])
    np.testing.assert_allclose(*(np.sort(side[0][:, 3]) for side in (found, wanted)), atol=1e-6)
    assert 0 < len(found[1]) <= 50
    assert found[1][:, 3].min() < -0.08


def test_geom_larger_than_its_window() -> None:
    """Sizes that grow after the model was made: the cells in the middle stay, and the overflow bit is set."""
    mj_model = scene(
        hfield("bumps", 9, 9, "2 2 .3 .2"), 'type="hfield" hfield="bumps"', 'type="sphere" size=".2"'
    )
    model = oracle.native_model(mj_model)
    assert model.geom_hfieldcells[1].tolist() == [2, 2]
    assert MOST_CELLS > 2
    size, bound = model.geom_size.at[1, 0].set(0.7), model.geom_rbound.at[1].set(0.7)
    grown = model.replace(geom_size=size, geom_rbound=bound)
    xpos, xmat, _ = oracle.detect(
        mj_model, np.array([[0.1, 0.2, 0.5, 1, 0, 0, 0], [0.1, 0.2, 3, 1, 0, 0, 0]])
    )
    data = oracle.run(grown, oracle.native_data(model, xpos, xmat))
    assert np.asarray(data.warning).tolist() == [int(WarningBit.PAIR_OVERFLOW), 0]
    assert np.asarray(data.ncon)[0] > 0


def _contacts(model: Model, xpos: jax.Array, xmat: jax.Array, move: dict[str, jax.Array]) -> jax.Array:
    """Distance, position and normal (nslot, 7, W) after moving geoms (ngeom, 6, W) and changing fields of the model."""
    motion = move["motion"]
    rotation = quaternion.to_matrix(quaternion.exponential(motion[:, 3:]))
    moved = jnp.einsum("gikw,gkjw->gijw", rotation, xmat)
    data = oracle.native_data(model, xpos, xmat).replace(geom_xpos=xpos + motion[:, :3], geom_xmat=moved)
    model = model.replace(
        hfield_data=model.hfield_data + move["data"], hfield_size=model.hfield_size + move["size"]
    )
    contact = collision(model, data).contact
    return jnp.concatenate([contact.dist[:, None], contact.pos, contact.frame[:, 0]], axis=1)


@functools.lru_cache
def _derivatives(kind: str) -> tuple[mujoco.MjModel, Model, Any]:
    mj_model = on_field(kind)
    model = oracle.native_model(mj_model)

    @jax.jit
    def both(xpos: Any, xmat: Any, tangent: Any, weight: Any) -> tuple[Any, ...]:
        f = functools.partial(_contacts, model, xpos, xmat)
        value, pushed = jax.jvp(f, (jax.tree.map(jnp.zeros_like, tangent),), (tangent,))
        (pulled,) = jax.vjp(f, jax.tree.map(jnp.zeros_like, tangent))[1](weight)
        h = 1e-6
        ahead, behind = (f(jax.tree.map(lambda x: s * h * x, tangent)) for s in (1, -1))  # noqa: B023
        return value, pushed, pulled, (ahead - behind) / (2 * h)

    return mj_model, model, both


def _check_derivatives(kind: str, qpos: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, and by slot and world jvp and central difference, after checks of what holds at every state."""
    mj_model, model, both = _derivatives(kind)
    rng = np.random.default_rng(seed)
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    used = np.asarray(oracle.run(model, oracle.native_data(model, xpos, xmat)).contact.geom)[:, 0] >= 0
    width = len(qpos)
    tangent = {
        "motion": rng.normal(size=(2, 6, width)),
        "data": rng.normal(size=(*model.hfield_data.shape[:-1], width)),
        "size": rng.normal(size=(1, 4, width)),
    }
    weight = rng.normal(size=(len(used), 7, width)) * used[:, None]
    value, pushed, pulled, slope = both(xpos, xmat, tangent, weight)
    # the two modes are each other's transpose
    inner = np.sum(np.asarray(pushed) * weight, axis=(0, 1))
    other = sum(np.sum(np.asarray(pulled[k]) * v, axis=tuple(range(v.ndim - 1))) for k, v in tangent.items())
    np.testing.assert_allclose(other, inner, atol=1e-9 * (1 + np.abs(inner).max()))
    for x in (value, pushed, *pulled.values()):
        assert np.all(np.isfinite(x))
    return used, np.moveaxis(np.asarray(pushed), 1, 2)[used], np.moveaxis(np.asarray(slope), 1, 2)[used]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind: str) -> None:
    """With respect to poses of both geoms, heights and sizes of the field, in both modes."""
    mj_model = _derivatives(kind)[0]
    rng = np.random.default_rng(20)
    qpos = oracle.random_qpos(mj_model, 32, rng, 1.0) * [1, 1, 0.4, 1, 1, 1, 1]
    used, pushed, slope = _check_derivatives(kind, qpos, 21)
    error = np.abs(pushed - slope).max(1)
    assert used.sum() > 50
    # differences: truncation h^2 times third derivatives that grow as nearest points approach each other
    assert np.quantile(error, 0.95) < 1e-6
    assert np.quantile(error, 0.99) < 1e-3


FLAT = [
    [0.0, 0.0, 0.3, 1, 0, 0, 0],
    [0.0, 0.0, 0.0, 1, 0, 0, 0],
    [0.5, 0.5, 0.3, 1, 0, 0, 0],
    [0.25, 0.25, 0.3, 1, 0, 0, 0],
    [1.0, 0.0, 0.3, 1, 0, 0, 0],
    [0.1, 0.2, 0.299, 1, 0, 0, 0],
    [0.1, 0.2, 0.2, 1, 0, 0, 0],
    [0.1, 0.2, 0.4, 1, 0, 0, 0],
    [-1.0, -1.0, -0.1, 1, 0, 0, 0],
]
"""On a corner of the grid, in it, at the border, on a diagonal, touching exactly, resting, in the ground."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sphere", "cylinder", "box"])
def test_degenerate_states_are_finite(kind: str) -> None:
    """A flat field without height, geoms upright on its lines, corners and diagonals."""
    flat = '<hfield name="flat" nrow="5" ncol="5" size="1 1 .3 .2"/>'
    mj_model = scene(flat, 'type="hfield" hfield="flat" margin=".01"', oracle.SHAPES[kind])
    model = oracle.native_model(mj_model)
    xpos, xmat, wanted = oracle.detect(mj_model, np.array(FLAT))
    touching = np.array([len(w) > 0 for w in wanted])
    assert touching.sum() > 1

    @jax.jit
    def both(move: dict[str, Any]) -> tuple[Any, ...]:
        f = functools.partial(_contacts, model, xpos, xmat)
        value, pushed = jax.jvp(f, (jax.tree.map(jnp.zeros_like, move),), (move,))
        return value, pushed, *jax.vjp(f, move)[1](jnp.ones_like(value))[0].values()

    rng = np.random.default_rng(3)
    width = len(FLAT)
    shapes = {"motion": (2, 6), "data": (25,), "size": (1, 4)}
    tangent = {k: rng.normal(size=(*s, width)) for k, s in shapes.items()}
    results = both(tangent)
    for x in results:
        assert np.all(np.isfinite(x))
    used = np.asarray(oracle.run(model, oracle.native_data(model, xpos, xmat)).contact.geom)[:, 0] >= 0
    assert np.all(used.any(0)[touching])
    # distances move no faster than the surfaces do
    most = sum(np.abs(v).sum(axis=tuple(range(v.ndim - 1))) for v in tangent.values())
    assert np.all(np.abs(np.asarray(results[1])[:, 0]) * used < 2 * most)


@pytest.mark.slow
def test_rest() -> None:
    """A sphere settles in a valley and a box on the flat part, where the C engine has them.

    Faces that lie flat on a triangle leave the place of its contact open: the C engine's box rocks by up to 0.09 rad/s.
    """
    bowl = np.array(
        [[(i - 3) ** 2 + (j - 3) ** 2 if j < 6 else 0 for j in range(9)] for i in range(7)], float
    )
    text = " ".join(map(str, (bowl / bowl.max()).ravel()))
    assets = f'<hfield name="bowl" nrow="7" ncol="9" size="1.2 .9 .4 .2" elevation="{text}"/>'
    mj_model = scene(
        assets,
        'type="hfield" hfield="bowl" friction="1 .05 .02" condim="6" margin="1e-6"',
        'type="sphere" size=".15" pos="-.3 .05 .2"',
        'type="box" size=".08 .1 .05" pos="1.05 0 .06" euler="2 3 20"',
    )
    model = put_model(mj_model)
    run = jax.jit(lambda m, d: jax.lax.fori_loop(0, 1000, lambda _, d: jaxsim.step(m, d), d))
    data = run(model, jaxsim.make_data(model))
    mj_data = mujoco.MjData(mj_model)
    for _ in range(1000):
        mujoco.mj_step(mj_model, mj_data)
    assert not np.any(np.asarray(data.warning))
    assert np.abs(np.asarray(data.qvel)[:6]).max() < 1e-3
    assert np.abs(np.asarray(data.qvel)[6:]).max() < 0.05
    np.testing.assert_allclose(np.asarray(data.qpos)[:7], mj_data.qpos[:7], atol=1e-3)
    np.testing.assert_allclose(np.asarray(data.qpos)[7:], mj_data.qpos[7:], atol=4e-3)
