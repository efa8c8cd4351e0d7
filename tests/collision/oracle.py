"""The C engine's contacts beside ours, for many poses at once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from scipy.optimize import linear_sum_assignment

import jaxsim
from jaxsim.collision import collision
from jaxsim.data import Data
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from jaxsim.worlds import expand

SHAPES = {
    "plane": 'type="plane" size="1 1 1"',
    "sphere": 'type="sphere" size=".3"',
    "capsule": 'type="capsule" size=".2 .4"',
    "box": 'type="box" size=".3 .2 .4"',
    "cylinder": 'type="cylinder" size=".3 .2"',
    "ellipsoid": 'type="ellipsoid" size=".3 .2 .4"',
    "mesh": 'type="mesh" mesh="rock"',
}
_CORNERS = np.round(np.random.default_rng(0).normal(size=(30, 3)) * [0.15, 0.1, 0.2], 3)
ASSETS = f'<asset><mesh name="rock" vertex="{" ".join(map(str, _CORNERS.ravel()))}"/></asset>'
PAIRS = [
    ("plane", "sphere"),
    ("plane", "capsule"),
    ("plane", "box"),
    ("plane", "cylinder"),
    ("plane", "ellipsoid"),
    ("plane", "mesh"),
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "box"),
    ("sphere", "cylinder"),
    ("capsule", "capsule"),
    ("capsule", "box"),
    ("box", "box"),
]

run = jax.jit(collision)


def two_geoms(first: str, second: str, attributes: str = "", tilt: str = "10 20 30") -> mujoco.MjModel:
    """Two geoms, free unless a plane; the plane is turned by the Euler angles `tilt`, degrees."""
    body = "<body><freejoint/><geom {} {}/></body>"
    lead = body.format(SHAPES[first], attributes)
    if first == "plane":
        lead = f'<geom {SHAPES[first]} pos=".1 .2 .05" euler="{tilt}" {attributes}/>'
    xml = f"<mujoco>{ASSETS}<worldbody>{lead}{body.format(SHAPES[second], '')}</worldbody></mujoco>"
    return mujoco.MjModel.from_xml_string(xml)


def random_qpos(mj_model: mujoco.MjModel, count: int, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Poses of a model of free bodies around the origin, (count, nq)."""
    qpos = rng.normal(size=(count, mj_model.nq // 7, 7))
    qpos[..., :3] *= spread
    qpos[..., 3:] /= np.linalg.norm(qpos[..., 3:], axis=-1, keepdims=True)
    return qpos.reshape(count, -1)


def native_model(mj_model: mujoco.MjModel, nconmax: int = -1, max_geom_pairs: str | int = "") -> Model:
    """Our model, native layout."""
    return expand(put_model(mj_model, nconmax=nconmax, max_geom_pairs=max_geom_pairs))


def native_data(model: Model, geom_xpos: np.ndarray, geom_xmat: np.ndarray) -> Data:
    """A state with given geom poses (ngeom, 3, W) and (ngeom, 3, 3, W)."""
    one = jax.tree.map(lambda x: x[..., 0], model)
    data = expand(jaxsim.make_data(one))
    return data.replace(geom_xpos=jnp.asarray(geom_xpos), geom_xmat=jnp.asarray(geom_xmat))


def contact_rows(mj_data: mujoco.MjData) -> np.ndarray:
    """The C engine's contacts, one row of numbers each."""
    rows = [
        [
            *c.geom,
            c.dim,
            c.dist,
            c.includemargin,
            *c.pos,
            *c.frame,
            *c.friction,
            *c.solref,
            *c.solreffriction,
            *c.solimp,
        ]
        for c in mj_data.contact
    ]
    return np.array(rows) if rows else np.zeros((0, 31))


def detect_at(mj_model: mujoco.MjModel, geom_xpos: np.ndarray, geom_xmat: np.ndarray) -> list[np.ndarray]:
    """The C engine's contacts at given geom poses (ngeom, 3, W), (ngeom, 3, 3, W), free of a quaternion's rounding."""
    mj_data = mujoco.MjData(mj_model)
    mujoco.mj_forward(mj_model, mj_data)
    contacts = []
    for w in range(geom_xpos.shape[-1]):
        mj_data.geom_xpos[:] = geom_xpos[..., w]
        mj_data.geom_xmat[:] = geom_xmat[..., w].reshape(-1, 9)
        mujoco.mj_collision(mj_model, mj_data)
        contacts.append(contact_rows(mj_data))
    return contacts


def detect(mj_model: mujoco.MjModel, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Geom poses (ngeom, ..., W) and the C engine's contacts of each world, one row of numbers each."""
    mj_data = mujoco.MjData(mj_model)
    xpos, xmat, contacts = [], [], []
    for q in qpos:
        mj_data.qpos[:] = q
        mujoco.mj_kinematics(mj_model, mj_data)
        mujoco.mj_comPos(mj_model, mj_data)
        mujoco.mj_collision(mj_model, mj_data)
        xpos.append(mj_data.geom_xpos.copy())
        xmat.append(mj_data.geom_xmat.reshape(-1, 3, 3).copy())
        contacts.append(contact_rows(mj_data))
    return np.stack(xpos, -1), np.stack(xmat, -1), contacts


def ours(data: Data) -> list[np.ndarray]:
    """Our contacts in use, as `detect` lists them."""
    c = data.contact
    fields = [
        c.geom,
        c.dim,
        c.dist,
        c.includemargin,
        c.pos,
        c.frame,
        c.friction,
        c.solref,
        c.solreffriction,
        c.solimp,
    ]
    width = data.geom_xpos.shape[-1]
    if not len(c.dist):
        return [np.zeros((0, 31))] * width
    flat = [np.broadcast_to(np.asarray(f), (*f.shape[:-1], width)).reshape(len(f), -1, width) for f in fields]
    table = np.concatenate(flat, axis=1)
    return [table[table[:, 0, w] >= 0, :, w] for w in range(width)]


def assert_same_contacts(found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> None:
    """The same sets of contacts in all worlds; the order may differ."""
    counts = [len(f) for f in found], [len(w) for w in wanted]
    np.testing.assert_array_equal(*counts)
    for world, (f, w) in enumerate(zip(found, wanted, strict=True)):
        if len(w):
            gap = np.abs(f[:, None] - w[None]).max(-1)
            pairing = linear_sum_assignment(np.minimum(gap, 1e3))
            assert gap[pairing].max() < tolerance, (world, f[pairing[0]], w[pairing[1]])


def check(mj_model: mujoco.MjModel, qpos: np.ndarray, tolerance: float, **sizes: Any) -> Data:
    """Compares all contacts of all poses with the C engine; returns our result."""
    xpos, xmat, wanted = detect(mj_model, qpos)
    model = native_model(mj_model, **sizes)
    data = run(model, native_data(model, xpos, xmat))
    assert_same_contacts(ours(data), wanted, tolerance)
    np.testing.assert_array_equal(np.asarray(data.ncon), [len(w) for w in wanted])
    assert not np.any(np.asarray(data.warning))
    return data
