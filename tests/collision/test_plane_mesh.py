"""Meshes on planes: faces with many corners, meshes of several sizes in one model, our own compiler's hulls."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim
from jaxsim.structure.lists import Lists
from jaxsim.structure.quads import quads
from jaxsim.worlds import expand
from tests.collision import oracle


def _prism(corners: int, rng: np.random.Generator) -> np.ndarray:
    """A prism over an irregular polygon, (2 corners, 3)."""
    angle = (np.arange(corners) + rng.uniform(-0.3, 0.3, corners)) * 2 * np.pi / corners
    outline = np.round(np.stack([0.1 * np.cos(angle), 0.07 * np.sin(angle)], axis=1), 4)
    return np.concatenate([np.c_[outline, np.full(corners, z)] for z in (-0.1, 0.1)])


def _scene() -> str:
    rng = np.random.default_rng(2)
    cube = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    meshes = [cube, _prism(9, rng), _prism(14, rng), np.round(rng.normal(size=(50, 3)) * 0.1, 4)]
    assets = "".join(
        f'<mesh name="m{i}" vertex="{" ".join(map(str, v.ravel()))}"/>' for i, v in enumerate(meshes)
    )
    bodies = "".join(
        f"""<body><freejoint/><geom type="mesh" mesh="m{i}" contype="0" conaffinity="1" margin=".01"/></body>"""
        for i in range(len(meshes))
    )
    plane = '<geom type="plane" size="1 1 1" euler="10 20 30"/>'
    return f"<mujoco><asset>{assets}</asset><worldbody>{plane}{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize("compiler", ["theirs", "ours"])
def test_flat_and_tilted_faces(compiler: str) -> None:
    xml = _scene()
    mj_model = mujoco.MjModel.from_xml_string(xml)
    rng = np.random.default_rng(3)
    qpos = oracle.random_qpos(mj_model, 300, rng, 0.1).reshape(300, -1, 7)
    # a third lies flat, a third nearly so
    flat = Rotation.from_euler("XYZ", [10, 20, 30], degrees=True) * Rotation.create_group("O")
    quat = np.roll(flat.as_quat(), 1, axis=1)[rng.integers(0, 24, size=qpos.shape[:2])]
    qpos[:200, :, 3:] = (
        quat[:200] + 0.02 * rng.normal(size=(200, *quat.shape[1:])) * (np.arange(200) > 99)[:, None, None]
    )
    qpos[..., 3:] /= np.linalg.norm(qpos[..., 3:], axis=-1, keepdims=True)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos.reshape(300, -1))
    model = oracle.native_model(mj_model) if compiler == "theirs" else expand(jaxsim.load_model(xml))
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    for world, (f, w) in enumerate(zip(found, wanted, strict=True)):
        for geom in range(1, 5):
            mine, theirs = (np.sort(c[c[:, 1] == geom, 3]) for c in (f, w))
            # which corners of a flat face of many stand for it depends on rounding, their number and depth do not
            np.testing.assert_allclose(mine, theirs, atol=1e-7, err_msg=f"world {world}")
            if world >= 100:
                positions = [np.sort(c[c[:, 1] == geom, 5:8], axis=0) for c in (f, w)]
                np.testing.assert_allclose(*positions, atol=1e-6)


@pytest.mark.parametrize("corners", [5, 8, 13])
def test_four_corners_span_a_large_area(corners: int) -> None:
    points = _prism(corners, np.random.default_rng(corners))[:corners]
    b, c, d = quads(Lists(points, np.array([corners])))[0]
    assert 0 < b < c < d < corners

    def area(*at: int) -> float:
        x, y = points[list(at), :2].T
        return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))

    largest = max(
        area(0, i, j, k)
        for i in range(1, corners)
        for j in range(i + 1, corners)
        for k in range(j + 1, corners)
    )
    # a local search
    assert area(0, b, c, d) > 0.85 * largest
