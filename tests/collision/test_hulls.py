"""Hulls of many corners: climbs end at the farthest one, and meshes of different sizes collide in one program."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

import jaxsim
from jaxsim.collision.convex.hull import Hull, Tables, direction_cell, farthest_corners, hulls_of
from jaxsim.collision.vec import Vec
from jaxsim.interop.mujoco import put_model
from jaxsim.structure.climb import CELLS
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


def test_climbs_reach_the_farthest_corner() -> None:
    """In random directions, along the axis of a prism and nearly so, where corners tie, and in none."""
    mj_model = _scene()
    tables = hulls_of(oracle.native_model(mj_model))
    assert tables.ladder is not None
    rng = np.random.default_rng(1)
    direction = rng.normal(size=(3, 3, 1000))
    direction[..., :300] = np.array([0, 0, 1.0])[:, None] + 1e-3 * rng.normal(size=(3, 3, 300))
    direction[..., :100] = np.round(direction[..., :100])
    direction[..., 0] = 0
    mesh = jnp.arange(3, dtype=jnp.int32)[:, None]
    rows = np.asarray(jax.jit(_farthest)(tables, mesh, jnp.asarray(direction)))
    for k in range(3):
        start, count = mj_model.mesh_vertadr[k], mj_model.mesh_vertnum[k]
        assert rows[k].min() >= start
        assert rows[k].max() < start + count
        reach = mj_model.mesh_vert[start : start + count].astype(float) @ direction[k]
        np.testing.assert_allclose(reach[rows[k] - start, np.arange(1000)], reach.max(0), atol=1e-14)


def test_climbs_begin_near_their_end() -> None:
    """At the corner that is farthest along the middle of a cell of directions: host and device number them alike."""
    mj_model = _scene()
    tables = hulls_of(oracle.native_model(mj_model))
    middle = (np.arange(CELLS) + 0.5) * 2 / CELLS - 1
    rng = np.random.default_rng(3)
    for axis, sign in itertools.product(range(3), (-1.0, 1.0)):
        u, v = rng.choice(middle, size=(2, 200))
        direction = np.roll(np.stack([np.full(200, sign), u, v]), axis, axis=0) * rng.uniform(
            0.1, 9, size=200
        )
        cell = np.asarray(direction_cell(Vec(*map(jnp.asarray, direction))))
        for k in range(3):
            start, count = mj_model.mesh_vertadr[k], mj_model.mesh_vertnum[k]
            reach = mj_model.mesh_vert[start : start + count].astype(float) @ direction
            first = np.asarray(tables.starts)[k * 6 * CELLS**2 + cell] - start
            np.testing.assert_allclose(reach[first, np.arange(200)], reach.max(0), atol=1e-12)
    beyond = [(0.0, 0.0, 0.0), (np.inf, 1.0, 0.0), (np.nan, 0.0, 1.0), (1e-40, -1e-40, 0.0)]
    cells = np.asarray(direction_cell(Vec.split(jnp.asarray(beyond)[..., None])))
    assert cells.min() >= 0
    assert cells.max() < 6 * CELLS**2


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


def test_derivative_of_normals_by_vertices() -> None:
    """Both modes against central differences: normals follow vertices that are moved."""
    model = expand(jaxsim.load_model(_tilted_asset()))
    rng = np.random.default_rng(0)
    along = jnp.asarray(rng.normal(size=model.mesh_vert.shape))
    weight = jnp.asarray(rng.normal(size=model.mesh_polytilt.shape))

    def total(vert: jax.Array) -> jax.Array:
        return jnp.sum(weight * hulls_of(model.replace(mesh_vert=vert)).normal)

    at = model.mesh_vert
    slope = (total(at + 1e-6 * along) - total(at - 1e-6 * along)) / 2e-6
    forward = jax.jvp(total, (at,), (along,))[1]
    reverse = jnp.sum(jax.grad(total)(at) * along)
    # central differences: rounding 1e-16 / 1e-6, and a third derivative of 1e2 times 1e-12
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-8)
