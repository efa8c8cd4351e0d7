"""Hulls of many corners: tables and climbs find the farthest one; meshes of different sizes collide in one program."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.collision.convex.hull import Hull, Tables, cell_of, farthest_corners, first_row, hulls_of
from jaxsim.collision.convex.hull_kernel import look_up_in_kernel
from jaxsim.collision.vec import Vec
from jaxsim.interop.mujoco import put_model
from jaxsim.math.stage import lowering_for
from jaxsim.structure.directions import CLIMB, LISTED, NEXT, WIDTH
from jaxsim.worlds import expand
from tests.collision import oracle


def _corners() -> list[np.ndarray]:
    """A cube; a prism, whose caps have corners with many neighbours; a ball of more corners than are searched whole."""
    rng = np.random.default_rng(0)
    angle = np.arange(40) * 2 * np.pi / 40
    prism = np.concatenate(
        [np.stack([0.2 * np.cos(angle), 0.2 * np.sin(angle), 0 * angle + z], 1) for z in (0, 0.3)]
    )
    cube = np.stack(np.meshgrid(*[[-0.2, 0.2]] * 3), axis=-1).reshape(-1, 3)
    ball = rng.normal(size=(150, 3))
    return [cube, prism, ball / np.linalg.norm(ball, axis=1, keepdims=True) * [0.2, 0.3, 0.25]]


@functools.lru_cache
def _scene() -> mujoco.MjModel:
    assets, bodies = "", f'<body><freejoint/><geom {oracle.SHAPES["box"]} margin=".05"/></body>'
    for i, corners in enumerate(_corners()):
        assets += f'<mesh name="m{i}" vertex="{" ".join(map(str, corners.ravel()))}"/>'
        bodies += f'<body><freejoint/><geom type="mesh" mesh="m{i}" margin=".05"/></body>'
    mj_model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{assets}</asset><worldbody>{bodies}</worldbody></mujoco>"
    )
    mj_model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    return mj_model


def _farthest(tables: Tables, mesh: jax.Array, direction: jax.Array) -> jax.Array:
    return farthest_corners([(Hull(mesh, tables), Vec.split(direction))])[0]


def _in_kernel(tables: Tables, mesh: jax.Array, direction: jax.Array) -> jax.Array:
    """The same in the kernel of GPUs."""
    toward = Vec.split(direction)
    assert tables.moved is not None
    with lowering_for("cuda"):
        row = first_row(tables.hulls, mesh, toward)
        return look_up_in_kernel(tables.hulls, tables.vert, tables.moved, toward, row, interpret=True)


SEARCHES = pytest.mark.parametrize("search", [_farthest, _in_kernel])


def _directions(tables: Tables) -> np.ndarray:
    """Random directions, the normals of polygons, where corners tie, directions beside them, axes, and none; (3, n)."""
    rng = np.random.default_rng(1)
    normal = np.asarray(tables.normal)[..., 0]
    beside = np.repeat(normal, 4, axis=0)
    beside += np.geomspace(1e-9, 1e-2, len(beside))[:, None] * rng.normal(size=beside.shape)
    axes = np.stack(np.meshgrid(*[[-1.0, 0, 1]] * 3), axis=-1).reshape(-1, 3)
    return np.concatenate([rng.normal(size=(2000, 3)), normal, beside, axes]).T


@SEARCHES
@pytest.mark.parametrize("moved", [False, True])
def test_the_farthest_corner_is_found(moved: bool, search: Any) -> None:
    """By the table of directions; and by climbs, where all vertices are elsewhere than when it was made."""
    mj_model = _scene()
    model = oracle.native_model(mj_model)
    if moved:
        # a hull that is stretched and turned keeps its neighbours, but other corners are farthest
        turn = np.array([[0.2, -1.3, 0], [0.8, 0.1, 0], [0, 0.3, 2.0]])
        model = model.replace(mesh_vert=jnp.einsum("ij,njw->niw", turn, model.mesh_vert))
    tables = hulls_of(model)
    assert tables.moved is not None
    np.testing.assert_array_equal(tables.moved, [moved])
    direction = _directions(tables)
    mesh = jnp.arange(3, dtype=jnp.int32)[:, None]
    each = jnp.asarray(np.broadcast_to(direction, (3, *direction.shape)))
    rows = np.asarray(jax.jit(search)(tables, mesh, each))
    vert = np.asarray(model.mesh_vert, float)[..., 0]
    for k in range(3):
        start, count = mj_model.mesh_vertadr[k], mj_model.mesh_vertnum[k]
        assert rows[k].min() >= start
        assert rows[k].max() < start + count
        reach = vert[start : start + count] @ direction
        found = reach[rows[k] - start, np.arange(len(direction.T))]
        np.testing.assert_allclose(found, reach.max(0), atol=1e-14)


@SEARCHES
def test_vertices_of_each_world(search: Any) -> None:
    """Worlds whose vertices are those of the table, and worlds where they are not, beside each other."""
    model = oracle.native_model(_scene())
    factor = jnp.array([1.0, 2.0])
    scaled = jnp.stack(
        [model.mesh_vert[:, 0] * factor, model.mesh_vert[:, 1] / factor, model.mesh_vert[:, 2] * factor], 1
    )
    tables = hulls_of(model.replace(mesh_vert=scaled))
    np.testing.assert_array_equal(tables.moved, [False, True])
    direction = _directions(tables)
    mesh = jnp.full((direction.shape[1], 1), 2, jnp.int32)
    rows = np.asarray(jax.jit(search)(tables, mesh, jnp.asarray(direction.T[..., None] * np.ones(2))))
    start, count = _scene().mesh_vertadr[2], _scene().mesh_vertnum[2]
    for w in range(2):
        reach = np.asarray(scaled)[start : start + count, :, w] @ direction
        found = reach[rows[:, w] - start, np.arange(len(direction.T))]
        np.testing.assert_allclose(found, reach.max(0), atol=1e-14)


def test_the_table_lists_few_corners() -> None:
    """Of random directions nearly all are found in one row."""
    tables = hulls_of(oracle.native_model(_scene()))
    direction = np.random.default_rng(3).normal(size=(3, 2000))
    for k in range(3):
        row = first_row(
            tables.hulls, jnp.full((1, 1), k, jnp.int32), Vec(*map(jnp.asarray, direction[:, None]))
        )
        what = np.asarray(tables.hulls.row)[np.asarray(row)[0], WIDTH, 0]
        assert np.mean(what == LISTED) > 0.99


def test_climbs_begin_near_their_end() -> None:
    """Beside the normal of a large polygon corners from all around it are listed, and one is next to the farthest."""
    mj_model = _scene()
    tables = hulls_of(oracle.native_model(mj_model))
    mesh = jnp.ones((1, 1), jnp.int32)
    row, vert = np.asarray(tables.hulls.row)[..., 0], np.asarray(tables.vert)[..., 0]
    own = vert[mj_model.mesh_vertadr[1] :][: mj_model.mesh_vertnum[1]]
    flat = int(np.argmin([len(np.unique(x.round(6))) for x in own.T]))
    ring = np.arctan2(*np.delete(vert, flat, axis=1).T)
    for angle in np.linspace(0, 2 * np.pi, 50):
        along = np.insert([1e-4 * np.cos(angle), 1e-4 * np.sin(angle)], flat, 1.0)
        start = stop = int(first_row(tables.hulls, mesh, Vec(*(jnp.full((1, 1), x) for x in along)))[0, 0])
        while row[stop, WIDTH] & NEXT:
            stop += 1
        assert row[stop, WIDTH] == LISTED + CLIMB
        listed = row[start : stop + 1, :WIDTH].ravel()
        best = listed[np.argmax(vert[listed] @ along)]
        farthest = int(_farthest(tables, mesh, jnp.asarray(along)[None, :, None])[0, 0])
        assert np.abs(np.angle(np.exp(1j * (ring[best] - ring[farthest])))) < 2.5 * 2 * np.pi / 40


def test_directions_that_are_none_have_a_cell() -> None:
    beyond = [(0.0, 0.0, 0.0), (np.inf, 1.0, 0.0), (np.nan, 0.0, 1.0), (1e-40, -1e-40, 0.0)]
    tables = hulls_of(oracle.native_model(_scene()))
    direction = Vec.split(jnp.asarray(beyond)[..., None])
    face, u, v = (np.asarray(x) for x in cell_of(direction))
    assert face.min() >= 0
    assert face.max() < 6
    for row in (u, v):
        assert not np.any((row < 0) | (row > 1))
    mesh = jnp.zeros((4, 1), jnp.int32)
    corner = np.asarray(_farthest(tables, mesh, jnp.asarray(beyond)[..., None]))
    assert corner.min() >= 0
    assert corner.max() < 8


def test_meshes_of_different_sizes() -> None:
    mj_model = _scene()
    qpos = oracle.random_qpos(mj_model, 60, np.random.default_rng(2), 0.2)
    model = oracle.native_model(mj_model)
    mj_model.opt.ccd_tolerance = 1e-10
    mj_model.opt.ccd_iterations = 400
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    errors = []
    for f, w in zip(found, wanted, strict=True):
        pairs = [{tuple(row[:2].astype(int)): row for row in side} for side in (f, w)]
        assert pairs[0].keys() == pairs[1].keys()
        errors += [
            np.abs(pairs[0][key][[3, 5, 6, 7, 8, 9, 10]] - pairs[1][key][[3, 5, 6, 7, 8, 9, 10]])
            for key in pairs[0]
        ]
    assert len(errors) > 150
    table = np.array(errors)
    # between polytopes both engines are exact
    assert table[:, 0].max() < 1e-6
    # depths that are nearly equal along several directions leave the normal to rounding
    assert np.quantile(table.max(1), 0.97) < 1e-6


def _tilted_asset() -> str:
    """A mesh whose vertices are rounded where its frame of inertia is moved to."""
    vertex = " ".join(map(str, np.round(3 * _corners()[1] + [0.1, 0.3, 7.1], 3).ravel()))
    return (
        f'<mujoco><asset><mesh name="m" vertex="{vertex}" refquat="1 .1 .2 .3"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>'
    )


def test_normals_of_polygons_are_those_before_rounding() -> None:
    """Of vertices in single precision they would be off by their rounding, of caps of 40 corners too."""
    xml = _tilted_asset()
    wanted = mujoco.MjModel.from_xml_string(xml).mesh_polynormal
    for model in (jaxsim.load_model(xml), put_model(mujoco.MjModel.from_xml_string(xml))):
        normal = np.asarray(hulls_of(expand(model)).normal)[..., 0]
        np.testing.assert_allclose(normal, wanted, atol=1e-10)
        assert np.abs(np.asarray(model.mesh_polytilt)).max() > 1e-8


@pytest.mark.parametrize("large", [False, True])
def test_derivative_of_normals_by_vertices(large: bool) -> None:
    """Both modes against central differences: normals follow vertices that are moved, looked up before or not."""
    model = oracle.native_model(_scene()) if large else expand(jaxsim.load_model(_tilted_asset()))
    assert len(model.mesh_hulls.normal) == (len(model.mesh_polytilt) if large else 0)
    rng = np.random.default_rng(0)
    along = jnp.asarray(rng.normal(size=model.mesh_vert.shape))
    weight = jnp.asarray(rng.normal(size=model.mesh_polytilt.shape))

    def total(vert: jax.Array) -> jax.Array:
        return jnp.sum(weight * hulls_of(model.replace(mesh_vert=vert)).normal)

    # of triangles a few millimetres wide the third derivative is larger
    at, step = model.mesh_vert, 5e-8 if large else 1e-6
    slope = (total(at + step * along) - total(at - step * along)) / (2 * step)
    forward = jax.jvp(total, (at,), (along,))[1]
    reverse = jnp.sum(jax.grad(total)(at) * along)
    # central differences: rounding 1e-16 / 1e-6, and a third derivative of 1e2 times 1e-12
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-8)
