"""Geoms with signed distance functions: the shapes, their contacts beside C's plugins, derivatives, rest."""

import functools
import os
import re

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim
from jaxsim import sdf
from jaxsim.collision.field import without_voxels
from jaxsim.enums import GeomType
from tests.elsewhere import program_for

RADIUS, TUBE = 0.35, 0.15
SHAPES = {
    "plane": 'type="plane" size="2 2 1"',
    "sphere": 'type="sphere" size=".1"',
    "capsule": 'type="capsule" size=".1 .2"',
    "ellipsoid": 'type="ellipsoid" size=".1 .15 .2"',
    "cylinder": 'type="cylinder" size=".1 .15"',
    "box": 'type="box" size=".1 .15 .2"',
}
DISTANCES = {
    "torus": (sdf.torus(RADIUS, TUBE), (0.5, 0.5, 0.15)),
    "bowl": (sdf.bowl(0.4, 0.1, 0.05), (0.45, 0.45, 0.45)),
    "gear": (sdf.gear(0.4, 9, 0.15, 0.1, 0.1), (0.48, 0.48, 0.1)),
    "bolt": (sdf.bolt(0.2, 0.8, 0.1, 0.04, 0.3), (0.4, 0.4, 0.8)),
    "nut": (sdf.nut(0.2, 0.35, 0.15, 0.1, 0.04, 0.01), (0.41, 0.41, 0.15)),
    "union": (sdf.union(sdf.sphere, sdf.moved(sdf.torus(0.3, 0.1), (0.2, 0, 0))), (0.6, 0.4, 0.4)),
    "cut": (sdf.subtraction(sdf.box, sdf.torus(0.3, 0.1)), (0.3, 0.3, 0.3)),
    "lens": (sdf.intersection(sdf.sphere, sdf.moved(sdf.sphere, (0.2, 0, 0))), (0.3, 0.3, 0.3)),
}


def corners(half):
    return " ".join(
        f"{x * half[0]} {y * half[1]} {z * half[2]}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)
    )


def scene(other, distance=DISTANCES["torus"], option=""):
    """A model of a geom and an SDF, both free but for a plane."""
    first = f"<geom {SHAPES.get(other, other)}/>"
    first = first if other == "plane" else f"<body><freejoint/>{first}</body>"
    model = jaxsim.load_model(f"""<mujoco><option {option}/><asset><mesh name="t" vertex="{corners(distance[1])}"/>
      <mesh name="m" vertex="{corners((0.1, 0.15, 0.2))}"/></asset><worldbody>{first}
      <body><freejoint/><geom type="sdf" mesh="t"/></body></worldbody></mujoco>""")
    return jaxsim.user_sdf(model, "t", distance[0])


@functools.cache
def contacts(other):
    """Positions -> contacts of a geom and a torus."""
    model = scene(other)
    data = jaxsim.make_data(model)
    return model, jax.jit(jax.vmap(lambda q: jaxsim.fwd_position(model, data.replace(qpos=q)).contact))


def poses(count, reach, plane=False, seed=0):
    """Random poses of the two bodies, or of the torus alone above a plane, (count, nq)."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 1 if plane else 2, 7))
    q[..., 3:] /= np.linalg.norm(q[..., 3:], axis=-1, keepdims=True)
    q[:, -1, :3] = 0
    if plane:
        q[:, 0, 2] = reach
    else:
        q[:, 0, :3] *= reach / np.linalg.norm(q[:, 0, :3], axis=-1, keepdims=True)
    return q.reshape(count, -1)


def deepest(contact):
    """The deepest contact of each world: distance, position, normal."""
    dist = np.where(np.asarray(contact.geom[..., 0]) >= 0, contact.dist, np.inf)
    k = dist.argmin(1)
    row = np.arange(len(k))
    return dist[row, k], np.asarray(contact.pos)[row, k], np.asarray(contact.frame)[row, k, 0]


@functools.cache
def plugin():
    mujoco.mj_loadPluginLibrary(os.path.join(os.path.dirname(mujoco.__file__), "plugin", "libsdf_plugin.so"))


def of_c(other):
    """The same scene of the C engine."""
    plugin()
    first = f"<geom {SHAPES[other]}/>"
    first = first if other == "plane" else f"<body><freejoint/>{first}</body>"
    config = f'<config key="radius1" value="{RADIUS}"/><config key="radius2" value="{TUBE}"/>'
    return mujoco.MjModel.from_xml_string(f"""<mujoco><extension><plugin plugin="mujoco.sdf.torus"><instance name="t">
      {config}</instance></plugin></extension><asset><mesh name="t"><plugin instance="t"/></mesh></asset><worldbody>
      {first}<body><freejoint/><geom type="sdf" mesh="t"><plugin instance="t"/></geom></body></worldbody></mujoco>""")


@pytest.mark.parametrize("other", ["sphere", "capsule", "ellipsoid", "cylinder"])
def test_distance_normal_and_position_as_c_has_them(other):
    """At every contact of C's our functions give its distance, normal and position: C's descents end early."""
    m = of_c(other)
    d = mujoco.MjData(m)
    own, ring = sdf.PRIMITIVES[GeomType[other.upper()]], DISTANCES["torus"][0]
    size = jnp.asarray(m.geom_size[0])

    def look(x, pos, mat):
        local = [(x - p) @ a for p, a in zip(pos, mat, strict=True)]
        (f1, g1), (f2, g2) = (jax.value_and_grad(f)(y, size) for f, y in zip((own, ring), local, strict=True))
        return jnp.maximum(f1, f2), mat[0] @ g1 - mat[1] @ g2

    look = jax.jit(jax.vmap(look, (0, None, None)))
    seen = 0
    for q in poses(12, 0.4):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        if not d.ncon:
            continue
        dist, pos, normal = d.contact.dist, d.contact.pos, d.contact.frame[:, :3]
        worst, apart = look(pos - 0.5 * dist[:, None] * normal, d.geom_xpos, d.geom_xmat.reshape(-1, 3, 3))
        np.testing.assert_allclose(worst, dist, atol=1e-9)
        apart /= np.linalg.norm(apart, axis=1, keepdims=True)
        if other != "ellipsoid":  # C's gradient of its ellipsoid is not that of its distance
            np.testing.assert_allclose(apart, normal, atol=1e-6)
        seen += d.ncon
    assert seen > 100


def test_sphere_against_torus_in_closed_form():
    _, run = contacts("sphere")
    q = poses(40, 0.4, seed=1)
    dist, pos, normal = deepest(run(jnp.asarray(q)))
    touching = 0
    for k in range(len(q)):
        mat = np.zeros(9)
        mujoco.mju_quat2Mat(mat, q[k, 10:])
        local = q[k, :3] @ mat.reshape(3, 3)
        ring = np.array([*local[:2], 0]) * RADIUS / np.hypot(*local[:2])
        away = np.linalg.norm(local - ring)
        true = away - TUBE - 0.1
        if true > 0:
            assert np.isinf(dist[k])
            continue
        touching += 1
        assert abs(dist[k] - true / 2) < 1e-7  # half, as in C
        n = mat.reshape(3, 3) @ (ring - local) / away
        if away > 0.02:  # near the circle the descent is that of a cone
            np.testing.assert_allclose(normal[k], n, atol=1e-4)
            middle = q[k, :3] + n * (0.1 + true / 2) + n * dist[k] / 2
            np.testing.assert_allclose(pos[k], middle, atol=1e-4)
    assert touching > 15


@pytest.mark.slow
@pytest.mark.parametrize("other", ["plane", "capsule", "ellipsoid", "cylinder", "box"])
def test_finds_what_c_finds(other):
    """Contacts where C has some, and none less deep: C's descents end before the deepest point.

    Against a plane C takes the corners of the mesh that it makes of the function.
    """
    m = of_c(other)
    d = mujoco.MjData(m)
    _, run = contacts(other)
    q = poses(40, 0.3 if other == "plane" else 0.45, other == "plane", seed=2)
    dist, _, _ = deepest(run(jnp.asarray(q)))
    both = 0
    for k in range(len(q)):
        d.qpos[:] = q[k]
        mujoco.mj_forward(m, d)
        least = min((c.dist for c in d.contact), default=0.0)
        if other == "box":  # inside of which C's function is not the distance
            assert min(dist[k], 0.0) < 0.5 * least + 2e-4
        else:
            assert min(dist[k], 0.0) < least + 2e-4
        assert other != "plane" or abs(min(dist[k], 0.0) - least) < 2e-3
        both += d.ncon > 0
    assert both > 10


@pytest.mark.slow
@pytest.mark.parametrize("other", [*SHAPES, 'type="mesh" mesh="m"'])
def test_derivatives(other):
    """Of the deepest point: the distance by the envelope theorem, position and normal by the implicit function's."""
    model = scene(other, option='sdf_iterations="60"')  # so that all descents are at their ends
    data = jaxsim.make_data(model)

    def point(x, q):
        at = jaxsim.integrate_pos(model, q, x[:-1], 1.0)
        sized = model.replace(geom_size=model.geom_size.at[0].multiply(1 + x[-1]))
        contact = jaxsim.fwd_position(sized, data.replace(qpos=at)).contact
        k = jnp.argmin(jnp.where(contact.geom[:, 0] >= 0, contact.dist, jnp.inf))
        return jnp.concatenate([contact.dist[k][None], contact.pos[k], contact.frame[k, 0]])

    rng = np.random.default_rng(4)
    dx, dy = jnp.asarray(rng.normal(size=model.nv + 1)), jnp.asarray(rng.normal(size=7))
    reach = {"plane": 0.3, "sphere": 0.45}.get(other, 0.5)
    q = jnp.asarray(poses(16, reach, other == "plane", seed=3))
    zero, h = jnp.zeros(model.nv + 1), 1e-4
    start, tangent = jax.jit(jax.vmap(lambda q: jax.jvp(lambda x: point(x, q), (zero,), (dx,))))(q)
    pull = jax.jit(jax.vmap(lambda q: jax.vjp(lambda x: point(x, q), zero)[1](dy)[0]))
    assert bool(jnp.isfinite(tangent).all())
    single = np.ones(len(q), bool)  # away from kinks of the other's function
    if other == "box":  # it has one midway between its faces
        single = np.asarray(start[:, 0] > -0.05)
    if other == "cylinder":  # below its rim as well, where deepest points like to lie
        middle = start[:, 1:4] - 0.5 * start[:, :1] * start[:, 4:]
        turns = Rotation.from_quat(np.array(q[:, 3:7]), scalar_first=True)
        x, y, z = turns.inv().apply(np.array(middle - q[:, :3])).T
        radius, half = model.geom_size[0, :2]
        single = np.asarray(jnp.abs(jnp.hypot(x, y) - radius - (jnp.abs(z) - half)) > 1e-3)
    np.testing.assert_allclose((pull(q) @ dx)[single], (tangent @ dy)[single], atol=1e-9)
    ahead, behind = jax.jit(jax.vmap(jax.vmap(point, (None, 0)), (0, None)))(jnp.stack([h * dx, -h * dx]), q)
    numeric = (ahead - behind) / (2 * h)
    # a unique deepest point: neighbours have theirs beside it
    smooth = single & (jnp.abs(jnp.stack([ahead, behind]) - start).max((0, 2)) < 50 * h) & (start[:, 0] < 0)
    assert int(smooth.sum()) >= 3
    np.testing.assert_allclose(tangent[smooth, 0], numeric[smooth, 0], atol=1e-4)
    # where a descent ends is known to the square root of rounding, and its difference no better than that over h
    np.testing.assert_allclose(tangent[smooth, 1:], numeric[smooth, 1:], atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("other", ["plane", 'type="mesh" mesh="m"'])
def test_derivatives_are_of_the_points_that_are_found(other):
    """They are not searched again: of a torus flat on a plane rounding would find others."""
    model = scene(other)
    data = jaxsim.make_data(model)

    def depth(q):
        return jaxsim.fwd_position(model, data.replace(qpos=q)).contact.dist.sum()

    program = program_for("cuda", jax.jit(jax.vmap(jax.value_and_grad(depth))), jnp.zeros((2, model.nq)))
    assert len(re.findall(r"call @(_searched|_deepest_vertices)\w*\(", program)) == 1


@pytest.mark.parametrize("name", DISTANCES)
def test_shapes(name):
    """No distance grows faster than its point moves, gradients are finite everywhere, and bounds enclose."""
    distance, half = DISTANCES[name]
    size = jnp.array([0.3, 0.3, 0.3])
    both = jax.jit(jax.vmap(jax.value_and_grad(distance), (0, None)))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(4000, 3)) * np.array(half) * 1.3
    x[:100, :2] = 0
    x[50:200, 2] = 0
    x[0] = 0
    value, slope = both(jnp.asarray(x), size)
    assert bool(jnp.isfinite(slope).all())
    assert float(jnp.linalg.norm(slope, axis=1).max()) < 1.2  # a little above 1 in the core of a thread
    outside = (np.abs(x) > np.array(half) * 1.001).any(1)
    assert float(value[outside].min()) > 0
    assert (np.asarray(value) < 0).sum() > 50


def test_shapes_at_known_points():
    size = jnp.zeros(3)

    def at(name, *point):
        return float(DISTANCES[name][0](jnp.array(point), size))

    np.testing.assert_allclose(at("torus", 0.35, 0, 0.2), 0.05)
    np.testing.assert_allclose(at("bowl", 0, 0, -0.5), 0.05)
    np.testing.assert_allclose(at("bowl", 0, 0, 0.5), np.hypot(np.sqrt(0.15), 0.4) - 0.05)
    np.testing.assert_allclose(at("gear", 0.6, 0, 0), 0.6 - 0.475)  # from the tip of a tooth
    np.testing.assert_allclose(at("gear", 0.05, 0, 0), 0.05)  # in the bore
    np.testing.assert_allclose(at("nut", 0.45, 0, 0), 0.1)
    np.testing.assert_allclose(at("bolt", 0, 0.35, -0.2), 0.35 * np.sqrt(0.75) - 0.3, atol=1e-12)
    with pytest.raises(ValueError, match="rim=2"):
        sdf.bowl(1.0, 2.0, 0.1)


@pytest.mark.slow
def test_torus_comes_to_rest_on_a_plane():
    model = scene("plane", option='timestep="0.004"')
    data = jaxsim.make_data(model)
    data = data.replace(qpos=data.qpos.at[2].set(0.16).at[4].set(0.03))
    final, path = jax.jit(lambda d: jaxsim.rollout(model, d, steps=750, fields=("ncon",)))(data)
    assert float(jnp.abs(final.qvel).max()) < 1e-3
    assert abs(float(final.qpos[2]) - TUBE) < 2e-3
    assert int(path["ncon"][-1]) >= 3
    assert int(final.warning) == 0


@pytest.mark.slow
def test_two_distance_functions():
    """A ball in a bowl, both by functions: in the middle of the bowl, the half depth as of two spheres."""
    xml = f"""<mujoco><asset><mesh name="bowl" vertex="{corners((0.45,) * 3)}"/>
      <mesh name="ball" vertex="{corners((0.1,) * 3)}"/></asset><worldbody><geom type="sdf" mesh="bowl"/>
      <body><freejoint/><geom type="sdf" mesh="ball"/></body></worldbody></mujoco>"""
    model = jaxsim.user_sdf(jaxsim.load_model(xml), "bowl", DISTANCES["bowl"][0])
    model = jaxsim.user_sdf(model, "ball", sdf.sphere)
    data = jaxsim.make_data(model)
    run = jax.jit(
        jax.vmap(lambda z: jaxsim.fwd_position(model, data.replace(qpos=data.qpos.at[2].set(z))).contact)
    )
    z = jnp.array([-0.24, -0.26, -0.28])
    dist, _, normal = deepest(run(z))
    assert np.isinf(dist[0])
    np.testing.assert_allclose(dist[1:], (0.35 + np.asarray(z[1:]) - 0.1) / 2, atol=1e-6)
    np.testing.assert_allclose(np.abs(normal[1:, 2]), 1, atol=1e-3)


def test_other_hooks_leave_the_functions_of_meshes():
    """Those of the user's, and those that compiling makes, which are not part of what a model is."""
    xml = f"""<mujoco><asset><mesh name="m" vertex="{corners((0.1, 0.15, 0.2))}"/></asset>
      <worldbody><geom type="sdf" mesh="m"/></worldbody></mujoco>"""
    hooks = jaxsim.Hooks(control=lambda m, d: d.ctrl)
    for made in (jaxsim.load_model(xml), jaxsim.user_sdf(jaxsim.load_model(xml), "m", sdf.sphere)):
        model = made.replace(hooks=hooks)
        assert model.hooks.sdfs == made.hooks.sdfs != ()
        bare = without_voxels(model).hooks
        assert bare.control is hooks.control
        assert (bare.sdfs == ()) is isinstance(made.hooks.sdfs[0][1], sdf.Voxels)


def test_a_mesh_without_a_function_is_refused():
    model = scene("sphere")
    bare = model.replace(hooks=jaxsim.Hooks())
    with pytest.raises(jaxsim.UnsupportedError, match="sphere against sdf"):
        jaxsim.make_data(bare)
    with pytest.raises(KeyError):
        jaxsim.user_sdf(bare, "nothing", sdf.sphere)


def test_what_is_no_distance_is_refused():
    model = scene("sphere")
    with pytest.raises(TypeError, match=r"user_sdf: not \(point, size\) -> distance"):
        jaxsim.user_sdf(model, "t", sdf.torus)
    with pytest.raises(ValueError, match=r"the distance has shape \(3,\); expected a scalar"):
        jaxsim.user_sdf(model, "t", lambda point, size: point)


BENCH = (
    (-0.4, -0.3),
    (0.4, -0.3),
    (0.4, 0.2),
    (0.25, 0.2),
    (0.2, -0.1),
    (-0.2, -0.1),
    (-0.25, 0.2),
    (-0.4, 0.2),
)
"""Outline of a channel with a flat ground between slanting walls, x and z."""


def channel():
    """Vertices and faces of the channel, along y."""
    points = [(x, y, z) for y in (-0.5, 0.5) for x, z in BENCH]
    n = len(BENCH)
    sides = [f for i in range(n) for j in [(i + 1) % n] for f in ((j, i, j + n), (j + n, i, i + n))]
    caps = [(0, 1, 5), (1, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 6), (0, 6, 7)]
    back = [(a + n, c + n, b + n) for a, b, c in caps]
    return np.array(points), np.array(sides + caps + back)


def channel_xml(other, place='pos="0.1 0.05 0.02" euler="0 0 20"'):
    points, faces = channel()
    text = {name: " ".join(map(str, x.ravel())) for name, x in (("vertex", points), ("face", faces))}
    return f"""<mujoco><asset><mesh name="t" vertex="{text["vertex"]}" face="{text["face"]}"/></asset><worldbody>
      <body {place}><geom type="sdf" mesh="t"/></body>
      <body><freejoint/><geom {SHAPES[other]}/></body></worldbody></mujoco>"""


def test_voxels_of_a_mesh():
    """Of a channel that is not convex: distances, to a share of a cell at edges, signs and gradients."""
    points, faces = channel()
    shape = sdf.voxels(points, faces, cells=40)
    step = 1.0 / 40
    both = jax.jit(jax.vmap(jax.value_and_grad(shape), (0, None)))
    rng = np.random.default_rng(0)
    x = rng.uniform([-0.5, -0.6, -0.4], [0.5, 0.6, 0.3], size=(2000, 3))
    value, slope = both(jnp.asarray(x), jnp.zeros(3))
    outline = np.array(BENCH)
    edge = np.roll(outline, -1, axis=0) - outline
    offset = x[:, None, [0, 2]] - outline
    share = np.clip((offset * edge).sum(-1) / (edge**2).sum(-1), 0, 1)
    across = np.linalg.norm(offset - share[..., None] * edge, axis=-1).min(1)
    down = (offset[..., 1] >= 0) != (np.roll(offset, -1, axis=1)[..., 1] >= 0)
    right = edge[:, 0] * offset[..., 1] - edge[:, 1] * offset[..., 0]
    inside = (down & ((right > 0) == (edge[:, 1] > 0))).sum(1) % 2 == 1
    across = np.where(inside, -across, across)
    along = np.abs(x[:, 1]) - 0.5
    true = np.hypot(np.maximum(across, 0), np.maximum(along, 0)) + np.minimum(np.maximum(across, along), 0)
    near = np.abs(true) < 0.05
    assert near.sum() > 300
    assert np.abs(value - true)[near].max() < 0.5 * step
    assert np.median(np.abs(value - true)[near]) < 1e-3 * step
    assert bool(np.all((np.sign(value) == np.sign(true))[np.abs(true) > 0.5 * step]))
    assert bool(jnp.isfinite(slope).all())
    assert float(jnp.linalg.norm(slope, axis=1).max()) < 1.8
    again = sdf.voxels(points, faces, cells=40)
    assert (again, hash(again)) == (shape, hash(shape))
    assert sdf.voxels(points, faces, cells=41) != shape
    with pytest.raises(ValueError, match="0 faces"):
        sdf.voxels(points, faces[:0])


def test_a_mesh_is_its_own_distance_function(tmp_path):
    """A model needs no function: contacts are where C's octree has them, and not with the hull."""
    m = mujoco.MjModel.from_xml_string(channel_xml("sphere"))
    d = mujoco.MjData(m)
    jaxsim.save_model(jaxsim.load_model(channel_xml("sphere")), tmp_path / "channel.npz")
    models = [
        jaxsim.put_model(m),
        jaxsim.load_model(channel_xml("sphere")),
        jaxsim.load_model(tmp_path / "channel.npz"),
    ]
    run = jax.jit(
        jax.vmap(
            lambda model, q: jaxsim.fwd_position(model, jaxsim.make_data(model).replace(qpos=q)).contact,
            (None, 0),
        )
    )
    rng = np.random.default_rng(1)
    q = np.tile([0, 0, 0, 1.0, 0, 0, 0], (40, 1))
    q[:, :3] = np.array([0.1, 0.05, 0.02]) + rng.uniform(
        [-0.15, -0.4, -0.05], [0.15, 0.4, 0.05], size=(40, 3)
    )
    found = [deepest(run(model, jnp.asarray(q))) for model in models]
    for other in found[1:]:
        np.testing.assert_allclose(other[0], found[0][0], atol=1e-6)
    dist, _, normal = found[0]
    both = 0
    for k in range(len(q)):
        d.qpos[:] = q[k]
        mujoco.mj_forward(m, d)
        least = min((c.dist for c in d.contact), default=0.0)
        assert min(dist[k], 0.0) < least + 2e-3  # C's descents end before the deepest point
        both += d.ncon > 0
    assert 10 < both < 35
    flat = (dist < 0) & (np.abs(normal[:, 2]) > 0.9)
    assert flat.sum() > 5
    depth = (q[:, 2] - 0.02) - 0.1 - (-0.1)
    np.testing.assert_allclose(dist[flat], depth[flat] / 2, atol=2e-3)


@pytest.mark.slow
def test_derivatives_beside_a_mesh():
    """Of the deepest point's distance, in both modes, within a cell."""
    model = jaxsim.load_model(channel_xml("sphere"))
    data = jaxsim.make_data(model)

    def least(x, q):
        contact = jaxsim.fwd_position(
            model, data.replace(qpos=jaxsim.integrate_pos(model, q, x, 1.0))
        ).contact
        return jnp.min(jnp.where(contact.geom[:, 0] >= 0, contact.dist, 1.0))

    rng = np.random.default_rng(2)
    q = np.tile([0, 0, 0, 1.0, 0, 0, 0], (12, 1))
    q[:, :3] = np.array([0.1, 0.05, 0.005]) + rng.uniform(-0.08, 0.08, size=(12, 3)) * [1, 1, 0.1]
    dx, h = jnp.asarray(rng.normal(size=model.nv)), 1e-5
    slopes = jax.jit(jax.vmap(jax.grad(least), (None, 0)))(jnp.zeros(model.nv), jnp.asarray(q))
    pushed = jax.jit(jax.vmap(lambda q: jax.jvp(lambda x: least(x, q), (0 * dx,), (dx,))))(jnp.asarray(q))
    ends = jax.jit(jax.vmap(jax.vmap(least, (0, None)), (None, 0)))(
        jnp.stack([h * dx, -h * dx]), jnp.asarray(q)
    )
    assert bool((pushed[0] < 0).all())
    np.testing.assert_allclose(slopes @ dx, pushed[1], atol=1e-9)
    error = np.abs(pushed[1] - (ends[:, 0] - ends[:, 1]) / (2 * h))
    assert np.median(error) < 1e-3


@pytest.mark.slow
def test_a_ball_rests_in_a_channel():
    """On the ground of a mesh that is not convex, where its hull would hold it up at the rims."""
    xml = channel_xml("sphere", "").replace("<asset>", '<option timestep=".004"/><asset>')
    # with friction against rolling, as nothing else holds a ball on level ground
    model = jaxsim.load_model(xml.replace('size=".1"', 'size=".1" condim="6" friction="1 .01 .01"'))
    data = jaxsim.make_data(model)
    data = data.replace(qpos=data.qpos.at[:3].set(jnp.array([0.05, 0.1, 0.05])))
    final = jax.jit(lambda d: jaxsim.rollout(model, d, steps=500)[0])(data)
    assert float(jnp.abs(final.qvel).max()) < 1e-2
    assert abs(float(final.qpos[2])) < 5e-3
    assert int(final.warning) == 0
