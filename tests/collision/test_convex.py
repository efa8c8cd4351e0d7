"""The general convex collider against the C engine, and against support functions written out."""

from __future__ import annotations

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.collision.pairs.convex import PAIRS
from tests.collision import oracle

NAMES = [(a.name.lower(), b.name.lower()) for a, b in PAIRS]
FUSED = {("ellipsoid", "cylinder"), ("cylinder", "cylinder")}
"""Pairs whose kernels, as XLA's optimisations make them, must agree on points of disks that rounding decides."""
RANDOM = [pytest.param(*pair, marks=pytest.mark.optimised if pair in FUSED else []) for pair in NAMES]


def reach(kind: str, size: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Support functions of geoms about their centres; local directions (..., 3); of a mesh by its vertices."""
    if kind == "mesh":
        return np.max(direction @ size.T, axis=-1)
    if kind == "sphere":
        return size[0] * np.linalg.norm(direction, axis=-1)
    if kind == "capsule":
        return size[0] * np.linalg.norm(direction, axis=-1) + size[1] * np.abs(direction[..., 2])
    if kind == "ellipsoid":
        return np.linalg.norm(size * direction, axis=-1)
    if kind == "cylinder":
        return size[0] * np.hypot(direction[..., 0], direction[..., 1]) + size[1] * np.abs(direction[..., 2])
    assert kind == "box"
    return np.abs(direction) @ size


def overlap(
    kinds: tuple[str, str], sizes: list[np.ndarray], xpos: np.ndarray, xmat: np.ndarray, n: np.ndarray
) -> np.ndarray:
    """How far the geoms overlap along unit vectors (W, 3) from the first to the second; poses as of `detect`."""
    local = [np.einsum("ijw,wi->wj", m, s * n) for m, s in zip(xmat, (1, -1), strict=True)]
    total = sum(reach(k, s, d) for k, s, d in zip(kinds, sizes, local, strict=True))
    return total - np.einsum("iw,wi->w", xpos[1] - xpos[0], n)


@pytest.mark.parametrize(("first", "second"), RANDOM)
def test_random_poses(first: str, second: str) -> None:
    """Separated within the margin, touching, shallow and deep: one point, the right distance, normal and place."""
    mj_model = oracle.two_geoms(first, second, 'margin=".1"')
    mj_model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    model = oracle.native_model(mj_model)
    qpos = oracle.random_qpos(mj_model, 300, np.random.default_rng(1), 0.35)
    # with the default options the C engine leaves errors up to 1e-2 in deep contacts of curved geoms
    mj_model.opt.ccd_tolerance = 1e-10
    mj_model.opt.ccd_iterations = 400
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    found = oracle.ours(data)
    assert [len(f) for f in found] == [len(w) for w in wanted]
    touching = np.array([len(w) > 0 for w in wanted])
    assert touching.sum() > 80
    f, w = (np.array([rows[0] for rows in side if len(rows)]) for side in (found, wanted))
    error = np.abs(f[:, 3] - w[:, 3])
    # a few deep contacts of ellipsoids stay inexact in the C engine
    assert np.quantile(error, 0.97) < 1e-6
    assert error.max() < 1e-4
    # depths that are nearly equal along several directions leave the normal to rounding
    assert np.quantile(np.linalg.norm(f[:, 8:11] - w[:, 8:11], axis=1), 0.97) < 1e-3
    assert np.quantile(np.linalg.norm(f[:, 5:8] - w[:, 5:8], axis=1), 0.97) < 1e-3

    kinds = first, second
    sizes = [
        mj_model.mesh_vert.astype(float) if kind == "mesh" else size
        for kind, size in zip(kinds, mj_model.geom_size, strict=True)
    ]
    along = overlap(kinds, sizes, xpos[..., touching], xmat[..., touching], f[:, 8:11])
    np.testing.assert_allclose(-f[:, 3], along, atol=1e-9)
    # no direction nearby has less
    rng = np.random.default_rng(2)
    for size in (1e-1, 1e-2, 1e-3):
        other = f[:, 8:11] + size * rng.normal(size=(len(f), 3))
        other /= np.linalg.norm(other, axis=1, keepdims=True)
        assert np.all(overlap(kinds, sizes, xpos[..., touching], xmat[..., touching], other) > along - 1e-9)


@pytest.mark.parametrize("first", ["ellipsoid", "cylinder"])
@pytest.mark.parametrize("second", ["ellipsoid", "cylinder", "box"])
def test_geoms_that_just_touch_have_no_contact(first: str, second: str) -> None:
    """Stacked by their sizes: the same wherever rounding puts the distance, and as in the C engine."""
    size = {"ellipsoid": ".05 .04 .03", "cylinder": ".04 .03", "box": ".06 .05 .03"}
    bodies = "".join(
        f'<body><freejoint/><geom type="{kind}" size="{size[kind]}"/></body>' for kind in (first, second)
    )
    mj_model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    place = np.round(np.random.default_rng(0).uniform(-1, 1, (40, 3)), 2)
    qpos = np.tile([0.0, 0, 0, 1, 0, 0, 0], (40, 2))
    qpos[:, :3] = qpos[:, 7:10] = place
    qpos[:, 9] += 0.06
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    assert not any(map(len, found))
    if (first, second) != ("ellipsoid", "box"):  # half of which C sees 2e-9 m deep
        assert not any(map(len, wanted))


@pytest.mark.parametrize("away", [0.0, 100.0, 1000.0])
def test_thin_overlaps_far_from_the_origin(away: float) -> None:
    """In float32 what places along a floor are rounded by does not hide a contact with it."""
    xml = f"""<mujoco><worldbody><geom type="box" pos="{away} {away} .1" size=".3 .3 .1"/>
      <body pos="{away} {away} .22999"><freejoint/><geom type="cylinder" size=".024 .03"/></body>
      </worldbody></mujoco>"""
    with jax.enable_x64(False):
        model = jaxsim.load_model(xml)
        data = jaxsim.forward(model, jaxsim.make_data(model))
        assert data.ncon == 4
        np.testing.assert_allclose(data.contact.dist, -1e-5, atol=2e-7)
