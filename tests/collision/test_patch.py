"""Geoms that lie on each other: how many points, where, how deep; beside the C engine, and their derivatives."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim
from jaxsim.collision.convex import clip, patch
from jaxsim.collision.vec import Vec
from jaxsim.interop.mujoco import put_model
from tests.collision import oracle
from tests.collision.test_convex import reach
from tests.collision.test_derivatives import contacts_after

PAIRS = [
    ("cylinder", "box"),
    ("box", "mesh"),
    pytest.param("capsule", "cylinder", marks=pytest.mark.slow),
    pytest.param("capsule", "mesh", marks=pytest.mark.slow),
    pytest.param("cylinder", "cylinder", marks=pytest.mark.slow),
    pytest.param("cylinder", "mesh", marks=pytest.mark.slow),
    pytest.param("mesh", "mesh", marks=pytest.mark.slow),
    ("box", "disc"),
    pytest.param("disc", "disc", marks=pytest.mark.slow),
]


def _prism(shift: Sequence[float] | np.ndarray) -> np.ndarray:
    """Vertices of a prism, at the angles of a regular polygon but for some shifts, rad."""
    angle = np.arange(len(shift)) * 2 * np.pi / len(shift) + shift
    outline = np.round(np.stack([0.3 * np.cos(angle), 0.22 * np.sin(angle)], axis=1), 3)
    return np.concatenate([np.c_[outline, np.full(len(shift), z)] for z in (-0.2, 0.25)])


_PRISMS = {
    "mesh": _prism([0.1, -0.15, 0.05, 0.2, -0.1]),
    # with faces of more corners than a cylinder's cap has
    "disc": _prism(0.05 * np.random.default_rng(7).uniform(size=40)),
}
_SHAPES = {**oracle.SHAPES, **{name: f'type="mesh" mesh="{name}"' for name in _PRISMS}}


@functools.cache
def _two_geoms(first: str, second: str) -> mujoco.MjModel:
    body = '<body><freejoint/><geom {} margin=".01"/></body>'
    assets = "".join(
        f'<mesh name="{name}" vertex="{" ".join(map(str, _PRISMS[name].ravel()))}"/>'
        for name in sorted({first, second} & set(_PRISMS))
    )
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset>{assets}</asset>
        <worldbody>{body.format(_SHAPES[first])}{body.format(_SHAPES[second])}</worldbody></mujoco>"""
    )


def _sizes(first: str, second: str) -> list[np.ndarray]:
    """Sizes of both geoms; of a mesh its vertices, of which a model has one kind."""
    mj_model = _two_geoms(first, second)
    return [
        mj_model.mesh_vert.astype(float) if kind in _PRISMS else size
        for kind, size in zip((first, second), mj_model.geom_size, strict=True)
    ]


def _reach(kind: str, size: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return reach("mesh" if kind in _PRISMS else kind, size, direction)


def _nearer(
    first: str, second: str, xpos: np.ndarray, xmat: np.ndarray, w: int, found: Any, wanted: Any
) -> bool:
    """Whether the way along the normal of what was found, by which two geoms come apart, is the shorter one."""
    one, two = _sizes(first, second)
    turns = xmat[..., w]
    own, other = (
        _reach(first, one, normal @ turns[0])
        + _reach(second, two, -normal @ turns[1])
        - (xpos[1, :, w] - xpos[0, :, w]) @ normal
        for normal in (found[w][0, 8:11], wanted[w][0, 8:11])
    )
    return own < other - 1e-5 and abs(own + found[w][0, 3]) < 1e-5


def _flat_poses(
    first: str, second: str, count: int, rng: np.random.Generator, lean: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Poses (2, 3, W), (2, 3, 3, W) with axes of both geoms along one line, or up to some degrees or `lean` from it."""
    sizes = _sizes(first, second)
    cube, up = Rotation.create_group("O"), np.array([0, 0, 1.0])
    xpos, xmat = np.zeros((2, 3, count)), np.zeros((2, 3, 3, count))
    for w in range(count):
        base = Rotation.identity() if w % 3 == 0 else Rotation.random(random_state=rng)
        slope = [*rng.uniform(-lean, lean, 2), 0] if lean else (0, 0, 3e-4, 1e-2)[w % 4] * rng.normal(size=3)
        tilt = Rotation.from_rotvec(slope)
        turn = Rotation.from_euler("z", rng.choice([0, np.pi / 2, rng.uniform(0, 6)]))
        one, two = cube[rng.integers(24)], tilt * turn * cube[rng.integers(24)]
        height = _reach(first, sizes[0], one.inv().apply(up))
        height += _reach(second, sizes[1], two.inv().apply(-up))
        aside = rng.choice([0, 0.1, *rng.uniform(-0.3, 0.3, 2)], 2)
        offset = np.array([*aside, height + rng.choice([-0.01, -1e-3, 0, 3e-3])])
        xpos[1, :, w] = base.apply(offset)
        xmat[0, ..., w], xmat[1, ..., w] = (base * one).as_matrix(), (base * two).as_matrix()
    return xpos, xmat


def test_roundings_do_not_swap_the_ends_of_an_edge() -> None:
    """Where an edge is cut are two corners of one place; a slot that jumps from end to end has no derivative."""
    rng = np.random.default_rng(0)
    middle, half = rng.normal(size=(2, 3, 1, 1))
    edge = middle + half * np.array([[-1.0], [1.0]])
    found = middle + half * np.array([[0.3], [1.0], [0.3]]) + 1e-15 * rng.normal(size=(3, 3, 100))
    edge, point = (Vec(*jnp.asarray(x)[:, None]) for x in (edge, found))
    ring = clip.Ring(point, jnp.zeros((1, 3, 100), int), jnp.full((1, 100), 3))
    assert (np.asarray(patch._ends(ring, edge)) == [[[0], [1]]]).all()
    # of the point that an end is alone there is no other
    alone = ring._replace(size=jnp.full((1, 100), 1))
    assert (np.asarray(patch._ends(alone, edge)) == [[[0], [-1]]]).all()


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_flat_contacts_are_the_c_engines(first: str, second: str) -> None:
    mj_model = _two_geoms(first, second)
    xpos, xmat = _flat_poses(first, second, 240, np.random.default_rng(0))
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    counts = np.array([len(f) for f in found]), np.array([len(w) for w in wanted])
    # the C engine's search may end at a corner of an edge that lies on a face, and does not see the edge then
    lone = (counts[0] == 2) & (counts[1] == 1)
    assert np.mean(lone) < (0.12 if first == "cylinder" else 0.08)
    # or it may end in a direction along which the overlap is not the least
    others = [
        w
        for w in np.flatnonzero((counts[0] != counts[1]) & ~lone)
        if not len(wanted[w]) or not len(found[w]) or not _nearer(first, second, xpos, xmat, w, found, wanted)
    ]
    assert len(others) < 0.02 * len(wanted)
    assert np.sum(counts[1] > 1) > 60
    compared, four, unsure = 0, [], 0
    for f, w in zip(found, wanted, strict=True):
        if len(f) != len(w) or not len(w):
            continue
        gap = np.abs(f[:, None, [3, 5, 6, 7]] - w[None, :, [3, 5, 6, 7]]).max(axis=-1)
        worst = max(gap.min(axis=0).max(), gap.min(axis=1).max())
        compared += worst < 1e-3
        if len(w) == 4:
            if abs(w[:, 3].min()) < mj_model.opt.ccd_tolerance and f[0, 8:11] @ w[0, 8:11] < 1 - 1e-6:
                unsure += 1  # geoms are nearer than searches look: neither knows the direction
                continue
            np.testing.assert_allclose(f[0, 8:11], w[0, 8:11], atol=1e-3)
            four.append(worst < (1e-3 if "cylinder" in (first, second) else 1e-6))
    # the same four of more corners; of a cap's, which are a regular polygon, rounding errors choose
    assert np.mean(four or [1]) > (0.85 if "cylinder" in (first, second) else 0.999)
    assert compared > 0.35 * len(wanted)
    assert unsure <= 1


@pytest.mark.parametrize(
    "second",
    [pytest.param("cylinder", marks=pytest.mark.optimised), pytest.param("mesh", marks=pytest.mark.slow)],
)
def test_caps_beside_each_other_do_not_meet(second: str) -> None:
    """Of geoms with parallel axes that stand side by side rounding errors choose the caps: those took the contact."""
    mj_model = _two_geoms("cylinder", second)
    rng, count = np.random.default_rng(3), 120
    xpos, xmat = np.zeros((2, 3, count)), np.zeros((2, 3, 3, count))
    for w in range(count):
        base, aside = Rotation.random(random_state=rng), Rotation.from_euler("z", rng.uniform(0, 6))
        turn = Rotation.from_euler("x", rng.choice([0, np.pi])) * Rotation.from_euler("z", rng.uniform(0, 6))
        xpos[1, :, w] = base.apply(
            aside.apply([rng.choice([0.41, 0.5, 0.58, 0.59]), 0, rng.choice([0, 0.02])])
        )
        xmat[0, ..., w], xmat[1, ..., w] = base.as_matrix(), (base * turn).as_matrix()
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    assert sum(len(w) > 0 for w in wanted) > count / 2
    if second == "cylinder":
        assert [len(f) for f in found] == [len(w) for w in wanted]
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(
                f[:, 3], w[:, 3], atol=1e-5
            )  # the C engine's tolerance for curved geoms
    # whatever the normal, depths are those along it, and no deeper than along the C engine's
    sizes = [
        mj_model.geom_size[0],
        mj_model.mesh_vert.astype(float) if second == "mesh" else mj_model.geom_size[1],
    ]
    for k, (f, w) in enumerate(zip(found, wanted, strict=True)):
        if len(f) and len(w):
            overlap = [
                reach("cylinder", sizes[0], xmat[0, ..., k].T @ n)
                + reach(second, sizes[1], -xmat[1, ..., k].T @ n)
                - n @ xpos[1, :, k]
                for n in (f[0, 8:11], w[0, 8:11])
            ]
            assert overlap[0] <= overlap[1] + 1e-5


def test_curved_meshes_are_the_c_engines() -> None:
    """Of many faces within some degrees those meet that face each other most, and the same four corners stay."""
    rng = np.random.default_rng(5)
    hulls = [rng.normal(size=(60, 3)) for _ in range(2)]
    hulls = [v / np.linalg.norm(v, axis=1, keepdims=True) * (0.2, 0.15, 0.02) for v in hulls]
    assets, bodies = (
        "".join(form.format(k, " ".join(map(str, v.round(6).ravel()))) for k, v in enumerate(hulls))
        for form in (
            '<mesh name="m{0}" vertex="{1}"/>',
            '<body><freejoint/><geom type="mesh" mesh="m{0}"/></body>',
        )
    )
    mj_model = mujoco.MjModel.from_xml_string(
        f"<mujoco><asset>{assets}</asset><worldbody>{bodies}</worldbody></mujoco>"
    )
    count = 240
    xpos, xmat = np.zeros((2, 3, count)), np.zeros((2, 3, 3, count))
    xpos[1] = rng.uniform([-0.1], [0.1], (3, count)) * np.array([[1.0], [1.0], [0.0]])
    xpos[1, 2] = rng.uniform(0.02, 0.035, count)
    for w in range(count):
        xmat[0, ..., w], xmat[1, ..., w] = Rotation.from_euler(
            "zyx", rng.normal(size=(2, 3)) * (1, 0.05, 0.05)
        ).as_matrix()
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    same = [len(f) == len(w) for f, w in zip(found, wanted, strict=True)]
    exact = [
        max(gap.min(axis=0).max(), gap.min(axis=1).max()) < 1e-6
        for f, w in zip(found, wanted, strict=True)
        if len(f) == len(w) > 0
        for gap in [np.abs(f[:, None, [3, *range(5, 11)]] - w[None, :, [3, *range(5, 11)]]).max(axis=-1)]
    ]
    assert sum(len(w) > 2 for w in wanted) > 60
    assert np.mean(same) > 0.99
    assert np.mean(exact) > 0.99


def test_tilted_faces_are_the_c_engines() -> None:
    """At angles where it matters whose normal a depth is measured along, and where on it a point is."""
    mj_model = _two_geoms("box", "mesh")
    xpos, xmat = _flat_poses("box", "mesh", 240, np.random.default_rng(3), lean=0.06)
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    same = []
    for f, w in zip(found, wanted, strict=True):
        if len(w) > 1 and len(f) == len(w):
            gap = np.abs(f[:, None, [3, *range(5, 11)]] - w[None, :, [3, *range(5, 11)]]).max(axis=-1)
            same.append(max(gap.min(axis=0).max(), gap.min(axis=1).max()) < 1e-7)
    assert len(same) > 180
    assert np.mean(same) > 0.99


@pytest.mark.parametrize("other", ["mesh", "box", "plane"])
def test_of_many_faces_at_a_corner_the_one_that_faces_the_other(other: str) -> None:
    """A flat cone of 24 sides stands on its tip, a little less tilted than its sides: 24 faces may lie on the other."""
    angle = np.arange(24) * 2 * np.pi / 24
    cone = np.concatenate([[[0, 0, -0.03]], np.c_[0.15 * np.cos(angle), 0.15 * np.sin(angle), 0 * angle]])
    plate = np.stack(np.meshgrid([-0.3, 0.3], [-0.3, 0.3], [-0.1, 0.1]), -1).reshape(-1, 3)
    assets = "".join(
        f'<mesh name="{name}" vertex="{" ".join(map(str, v.round(6).ravel()))}"/>'
        for name, v in (("cone", cone), ("plate", plate))
    )
    below = {"mesh": 'mesh="plate"', "box": 'size=".3 .3 .1"', "plane": 'size="1 1 .1"'}[other]
    mj_model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset>{assets}</asset><worldbody><geom type="{other}" {below}/>
        <body><freejoint/><geom type="mesh" mesh="cone" margin=".02"/></body></worldbody></mujoco>"""
    )
    model = oracle.native_model(mj_model)
    assert model.mesh_hulls.most == 24
    count = 120
    rng = np.random.default_rng(4)
    xpos, xmat = np.zeros((2, 3, count)), np.zeros((2, 3, 3, count))
    place, own = mj_model.geom_pos[1], Rotation.from_quat(mj_model.geom_quat, scalar_first=True)
    top = 0.0 if other == "plane" else 0.1
    for w in range(count):
        lean = np.arctan2(0.03, 0.15) - np.radians(rng.uniform(0.5, 2.0))
        # side `w % 24` points to x before it is lowered
        turn = Rotation.from_euler(
            "zy", [-(w % 24 + 0.5) * 15 + rng.uniform(-2, 2), np.degrees(lean)], degrees=True
        )
        turn = Rotation.from_euler("z", rng.uniform(0, 360), degrees=True) * turn
        tip = np.array([*rng.uniform(-0.05, 0.05, 2), top - 0.001])
        xpos[1, :, w] = tip - turn.apply([0, 0, -0.03]) + turn.apply(place)
        xmat[0, ..., w], xmat[1, ..., w] = own[0].as_matrix(), (turn * own[1]).as_matrix()
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    assert all(len(w) > 0 for w in wanted)
    assert other == "plane" or np.mean([len(w) == 3 for w in wanted]) > 0.9
    for f, w in zip(found, wanted, strict=True):
        assert len(f) == len(w)
        order = [np.lexsort(x[:, 5:7].round(6).T) for x in (f, w)]
        np.testing.assert_allclose(f[order[0], 3:11], w[order[1], 3:11], atol=1e-6)


def test_of_a_box_the_first_level_edge_lies_on_a_face() -> None:
    """Two edges at a corner may be within 5 degrees of a face that the box's own face is farther from."""
    plate = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-0.1, 0.1))
    mj_model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="plate" vertex="{plate}"/></asset><worldbody>
        <body><freejoint/><geom type="box" size=".3 .2 .1"/></body>
        <body><freejoint/><geom type="mesh" mesh="plate"/></body></worldbody></mujoco>"""
    )
    tilts = np.radians([(3.0, 4.5), (4.5, 3.0), (-3.0, 4.5), (4.7, -2.5), (3.0, 3.0), (6.0, 1.0)])
    xpos, xmat = np.zeros((2, 3, len(tilts))), np.zeros((2, 3, 3, len(tilts)))
    for w, (about_x, about_y) in enumerate(tilts):
        turn = Rotation.from_rotvec([about_x, about_y, 0]).as_matrix()
        xpos[0, 2, w] = 0.04 + np.abs(turn[2]) @ [0.3, 0.2, 0.1]
        # the compiler turns a mesh into its principal axes
        flat = Rotation.from_quat(mj_model.geom_quat[1], scalar_first=True).as_matrix()
        xmat[0, ..., w], xmat[1, ..., w] = turn, flat
    wanted = oracle.detect_at(mj_model, xpos, xmat)
    model = oracle.native_model(mj_model)
    found = oracle.ours(oracle.run(model, oracle.native_data(model, xpos, xmat)))
    for f, w in zip(found, wanted, strict=True):
        assert len(f) == len(w)
        order = [np.lexsort(x[:, 5:7].round(6).T) for x in (f, w)]
        np.testing.assert_allclose(f[order[0], 3:11], w[order[1], 3:11], atol=1e-7)


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.slow
def test_derivatives(first: str, second: str) -> None:
    """Of distances, points and frames, in both modes; what is chosen does not change within the difference's step."""
    mj_model = _two_geoms(first, second)
    model = oracle.native_model(mj_model)
    xpos, xmat = (jnp.asarray(x) for x in _flat_poses(first, second, 200, np.random.default_rng(1)))

    @jax.jit
    def both(tangent: jax.Array, weight: jax.Array) -> Any:
        f = functools.partial(contacts_after, model, xpos, xmat)
        rest = jnp.zeros_like(tangent)
        value, pushed = jax.jvp(f, (rest,), (tangent,))
        (pulled,) = jax.vjp(f, rest)[1](weight)
        step = 1e-6
        ends = f(step * tangent), f(-step * tangent)
        return value, pushed, pulled, ends, (ends[0] - ends[1]) / (2 * step)

    used = np.asarray(oracle.run(model, oracle.native_data(model, xpos, xmat)).contact.geom)[:, 0] >= 0
    rng = np.random.default_rng(2)
    weight = rng.normal(size=(len(used), 13, 200)) * used[:, None]
    for _ in range(2):
        tangent = jnp.asarray(rng.normal(size=(2, 6, 200)))
        value, pushed, pulled, ends, slope = (jax.tree.map(np.asarray, x) for x in both(tangent, weight))
        assert np.all(np.isfinite(pushed))
        assert np.all(np.isfinite(pulled))
        inner = np.sum(pushed * weight, axis=(0, 1))
        np.testing.assert_allclose(
            np.sum(pulled * tangent, axis=(0, 1)), inner, atol=1e-9 * (1 + abs(inner).max())
        )
        # distances move no faster than the surfaces do, at ties as well
        assert np.abs(pushed[:, 0][used]).max() < 3 * np.abs(tangent).sum(axis=(0, 1)).max()
        same = (
            used & (np.abs(ends[0] - value).max(axis=1) < 1e-3) & (np.abs(ends[1] - value).max(axis=1) < 1e-3)
        )
        # the C engine's order of two points changes where an end of an edge comes to the side of a face
        tilted = same & (np.arange(200) % 4 == 3)
        assert np.sum(tilted) > 40
        error = np.abs(pushed - slope).max(axis=1)
        assert np.quantile(error[tilted], 0.98) < 1e-6


@pytest.mark.slow
def test_stacks_rest() -> None:
    """A prism on a cylinder on a box on a plane stays, in float32 too, as long as the C engine's."""
    vertex = " ".join(map(str, _PRISMS["mesh"].ravel()))
    geoms = [("box", 0.2), ("cylinder", 0.6), ("mesh", 1.0)]
    shapes = {**_SHAPES, "box": 'type="box" size=".4 .4 .2"'}
    bodies = "".join(f'<body pos="0 0 {z}"><freejoint/><geom {shapes[kind]}/></body>' for kind, z in geoms)
    mj_model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="mesh" vertex="{vertex}"/></asset><worldbody>
        <geom type="plane" size="1 1 1"/>{bodies}</worldbody></mujoco>"""
    )
    mj_data = mujoco.MjData(mj_model)
    for _ in range(500):
        mujoco.mj_step(mj_model, mj_data)
    for dtype in (jnp.float64, jnp.float32):
        model = jax.tree.map(
            lambda x, d=dtype: x.astype(d) if jnp.issubdtype(x.dtype, jnp.floating) else x,
            put_model(mj_model),
        )
        data = jaxsim.make_data(model)
        data = jax.jit(lambda m, d: jax.lax.fori_loop(0, 500, lambda _, x: jaxsim.step(m, x), d))(model, data)
        assert np.abs(data.qvel).max() < 1e-3
        np.testing.assert_allclose(data.qpos, mj_data.qpos, atol=1e-3)


@pytest.mark.parametrize(("first", "second"), [("box", "cylinder"), ("box", "mesh"), ("cylinder", "sphere")])
def test_geoms_that_just_touch(first: str, second: str) -> None:
    """At a distance of exactly 0 there is no contact, but of a sphere; of any overlap there is."""
    cube = " ".join(f"{x} {y} {z}" for x in (-0.25, 0.25) for y in (-0.25, 0.25) for z in (-0.25, 0.25))
    shapes = {
        "box": 'type="box" size=".5 .5 .25"',
        "cylinder": 'type="cylinder" size=".5 .25"',
        "sphere": 'size=".25"',
        "mesh": 'type="mesh" mesh="cube"',
    }
    mj_model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="cube" vertex="{cube}"/></asset><worldbody>
        <body><freejoint/><geom {shapes[first]}/></body>
        <body><freejoint/><geom {shapes[second]}/></body></worldbody></mujoco>"""
    )
    qpos = np.zeros((3, 14))
    qpos[:, [3, 10]] = 1.0
    qpos[:, 7:10] = [0.03125, 0.0625, 0.5]
    qpos[:, 9] += [1e-9, 0.0, -1e-9]
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    counts = [len(contacts) for contacts in wanted]
    assert counts == ([0, 1, 1] if second == "sphere" else [0, 0, 4])
    np.testing.assert_array_equal(np.asarray(data.ncon), counts)


@pytest.mark.parametrize("kind", ["box", "mesh"])
def test_equal_faces_share_their_outline(kind: str) -> None:
    """Of equal faces on each other every side is one geom's: all corners together move as central differences say."""
    cube = " ".join(f"{x} {y} {z}" for x in (-0.25, 0.25) for y in (-0.5, 0.5) for z in (-0.25, 0.25))
    geom = {"box": 'type="box" size=".25 .5 .25"', "mesh": 'type="mesh" mesh="cube"'}[kind]
    mj_model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="cube" vertex="{cube}"/></asset><worldbody>
        <body><freejoint/><geom {geom}/></body><body><freejoint/><geom {geom}/></body></worldbody></mujoco>"""
    )
    turned = Rotation.from_rotvec([[0, 0, 0], [0, 0, 0.5], [0, 0, -2.0], [0.3, -0.2, 0.7], [1.0, 2.0, -0.5]])
    qpos = np.zeros((5, 14))
    qpos[:, 3:7] = qpos[:, 10:14] = turned.as_quat(scalar_first=True)
    qpos[:, 7:10] = turned.apply([0.0, 0.0, 0.499])
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model)
    used = np.asarray(oracle.run(model, oracle.native_data(model, xpos, xmat)).contact.geom)[:, 0] >= 0
    assert np.all(used.sum(axis=0) == 4)

    @jax.jit
    def along(tangent: jax.Array) -> tuple[jax.Array, jax.Array]:
        f = functools.partial(contacts_after, model, xpos, xmat)
        step = 1e-6
        slope = (f(step * tangent) - f(-step * tangent)) / (2 * step)
        return jax.jvp(f, (jnp.zeros_like(tangent),), (tangent,))[1], slope

    for axis in (0, 1):
        for number in (0, 1):
            tangent = np.zeros((2, 6, 5))
            tangent[number, :3] = turned.as_matrix()[:, :, axis].T
            pushed, slope = (np.where(used[:, None], x, 0.0).sum(axis=0) for x in along(tangent))
            np.testing.assert_allclose(pushed, slope, atol=1e-7)
            np.testing.assert_allclose(pushed[1:4], 2.0 * tangent[number, :3], atol=1e-7)
