"""Distances of geoms at any distance, as a query and as sensors, beside the C engine; and their derivatives."""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jaxsim
from tests.collision import oracle

XML = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="a" pos="0 0 1"><freejoint/>
      <geom name="box" type="box" size=".2 .1 .3"/>
      <geom name="ball" size=".15" pos=".4 0 .1"/>
    </body>
    <body name="b" pos="1 0 1"><freejoint/>
      <geom name="capsule" type="capsule" size=".1 .2" pos="0 .2 0"/>
      <geom name="brick" type="box" size=".1 .2 .15" pos="0 -.2 0"/>
    </body>
    <body name="empty" pos="0 0 3"><site name="s"/></body>
  </worldbody>
  <sensor>
    <distance body1="a" body2="b" cutoff="2"/>
    <normal body1="a" body2="b" cutoff="2"/>
    <fromto body1="a" body2="b" cutoff="2"/>
    <distance geom1="capsule" body2="a" cutoff=".8"/>
    <fromto geom1="brick" geom2="floor" cutoff="3"/>
    <fromto geom1="ball" geom2="capsule" cutoff="3"/>
    <normal geom1="box" geom2="brick" cutoff=".6"/>
    <distance body1="a" body2="empty" cutoff="2"/>
  </sensor>
</mujoco>
"""
VISUAL = """
<mujoco>
  <default><geom type="mesh" contype="0" conaffinity="0"/></default>
  <asset>
    <mesh name="egg" builtin="sphere" params="2" scale=".1 .2 .15"/>
    <mesh name="cushion" builtin="supersphere" params="8 .5 .5" scale=".1 .1 .2"/>
    <mesh name="plate" builtin="plate" params="3 3" scale=".1 .1 .1" inertia="shell"/>
    <mesh name="other" builtin="hemisphere" params="3" scale=".1 .1 .1"/>
  </asset>
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint/>
      <geom name="egg" mesh="egg"/>
      <geom name="ball" type="sphere" size=".05" pos=".3 0 0" contype="1"/>
    </body>
    <body name="b" pos=".5 .1 1"><freejoint/><geom name="cushion" mesh="cushion" euler="10 20 30"/></body>
    <body pos="0 0 3"><geom name="other" mesh="other"/></body>
    <body name="flat" pos="0 0 4"><geom name="plate" mesh="plate"/></body>
  </worldbody>
  <sensor>
    <distance body1="a" body2="b" cutoff="1"/>
    <fromto geom1="egg" geom2="cushion" cutoff="1"/>
    <normal geom1="cushion" geom2="ball" cutoff="1"/>%s
  </sensor>
</mujoco>
"""
"""Meshes that collide with nothing: the compiler gives them no hulls."""
PAIRS = [("box", "brick"), ("brick", "ball"), ("capsule", "floor"), ("capsule", "box"), ("ball", "capsule")]


@functools.cache
def _problem(xml: str = XML) -> tuple[mujoco.MjModel, jaxsim.Model]:
    m = mujoco.MjModel.from_xml_string(xml)
    return m, jaxsim.put_model(m)


def _states(m: mujoco.MjModel, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    qpos = np.repeat(m.qpos0[None], count, axis=0)
    for start in (0, 7):
        qpos[:, start : start + 3] += rng.normal(size=(count, 3)) * rng.choice([0.2, 0.6], (count, 1))
        quat = rng.normal(size=(count, 4))
        qpos[:, start + 3 : start + 7] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
    return qpos


def _sensors(model: jaxsim.Model, qpos: jax.Array) -> jax.Array:
    data = jaxsim.kinematics(model, jaxsim.make_data(model).replace(qpos=qpos))
    return jaxsim.sensor_pos(model, data).sensordata


def test_sensors_are_the_c_engines() -> None:
    m, model = _problem()
    qpos = _states(m, 100)
    found = np.asarray(jax.jit(jax.vmap(functools.partial(_sensors, model)))(jnp.asarray(qpos)))
    d = mujoco.MjData(m)
    wanted = []
    for q in qpos:
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        wanted.append(d.sensordata.copy())
    error = np.abs(found - np.array(wanted))
    assert np.quantile(error[:, 0], 0.97) < 1e-6
    assert error[:, 0].max() < 1e-4
    assert np.quantile(error.max(axis=1), 0.9) < 1e-3
    np.testing.assert_array_equal(found[:, -1], 2.0)
    far = found[:, m.sensor_adr[3]] == 0.8
    assert 5 < far.sum() < 95


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_query_is_the_c_engines(first: str, second: str) -> None:
    m, model = _problem()
    ids = [model.id("geom", name) for name in (first, second)]

    def query(qpos: jax.Array, distmax: float) -> tuple[jax.Array, jax.Array]:
        data = jaxsim.kinematics(model, jaxsim.make_data(model).replace(qpos=qpos))
        return jaxsim.geom_distance(model, data, *ids, distmax)

    run = jax.jit(jax.vmap(query, in_axes=(0, None)))
    qpos = _states(m, 60)
    d = mujoco.MjData(m)
    for distmax in (3.0, 0.4):
        dist, fromto = (np.asarray(x) for x in run(jnp.asarray(qpos), distmax))
        for w, q in enumerate(qpos):
            d.qpos[:] = q
            mujoco.mj_kinematics(m, d)
            segment = np.zeros(6)
            wanted = mujoco.mj_geomDistance(m, d, *ids, distmax, segment)
            np.testing.assert_allclose(dist[w], wanted, atol=1e-4)
            if wanted == distmax:
                np.testing.assert_array_equal(fromto[w], 0)
            elif wanted > 1e-3:
                # where the nearest points are not unique, the segment still is as long
                np.testing.assert_allclose(np.linalg.norm(fromto[w, 3:] - fromto[w, :3]), wanted, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("xml", [XML, VISUAL % ""], ids=["shapes", "meshes that collide with nothing"])
def test_derivatives(xml) -> None:
    m, model = _problem(xml)
    qpos = jnp.asarray(_states(m, 40))
    rng = np.random.default_rng(1)

    def moved(q: jax.Array, v: jax.Array) -> jax.Array:
        return _sensors(model, jaxsim.integrate_pos(model, q, v, 1.0))

    @jax.jit
    @jax.vmap
    def both(q: jax.Array, v: jax.Array, weight: jax.Array) -> tuple[jax.Array, ...]:
        f = functools.partial(moved, q)
        pushed = jax.jvp(f, (0 * v,), (v,))[1]
        (pulled,) = jax.vjp(f, 0 * v)[1](weight)
        return pushed, pulled, (f(1e-6 * v) - f(-1e-6 * v)) / 2e-6

    v, weight = jnp.asarray(rng.normal(size=(40, m.nv))), jnp.asarray(rng.normal(size=(40, m.nsensordata)))
    pushed, pulled, slope = (np.asarray(x) for x in both(qpos, v, weight))
    assert np.all(np.isfinite(pushed))
    assert np.all(np.isfinite(pulled))
    np.testing.assert_allclose((pulled * v).sum(1), (pushed * weight).sum(1), atol=1e-9)
    assert np.quantile(np.abs(pushed - slope), 0.97) < 1e-5


SHAPES = {
    "ellipsoid": "type='ellipsoid' size='.2 .3 .15'",
    "cylinder": "type='cylinder' size='.2 .15'",
    "hull": "type='mesh' mesh='hull'",
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ellipsoid", "hull"),
        *(pytest.param(*p, marks=pytest.mark.slow) for p in (("hull", "hull"), ("cylinder", "hull"))),
    ],
)
def test_second_derivatives_of_nearest_points(first: str, second: str) -> None:
    model = jaxsim.load_model(
        "<mujoco><asset><mesh name='hull' vertex='0 0 0 .2 0 .02 0 .3 0 .03 .05 .25 .15 .2 .2'/></asset><worldbody>"
        f"<geom {SHAPES[first]}/><body><freejoint/><geom {SHAPES[second]}/></body></worldbody></mujoco>"
    )
    data, rng = jaxsim.make_data(model), np.random.default_rng(0)
    weights, u = rng.normal(size=6), rng.normal(size=6)
    qpos = np.c_[0.35 * rng.normal(size=(12, 3)), Rotation.random(12, random_state=rng).as_quat()]

    def at(v: jax.Array, qpos: jax.Array) -> jax.Array:
        moved = data.replace(qpos=jaxsim.integrate_pos(model, qpos, v, 1.0))
        return jaxsim.geom_distance(model, jaxsim.kinematics(model, moved), 0, 1, 10.0)[1] @ weights

    def both(h: jax.Array, qpos: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(lambda v: jax.grad(at)(v, qpos), (h * u,), (jnp.asarray(u),))

    run, h = jax.jit(jax.vmap(both, (None, 0))), 1e-6
    bent = run(0.0, qpos)[1]
    differences = (run(h, qpos)[0] - run(-h, qpos)[0]) / (2 * h)
    size = 1 + np.abs(bent).max(1, keepdims=True)
    np.testing.assert_allclose(bent / size, differences / size, atol=1e-6)


def test_a_large_capsule_meets_a_box() -> None:
    """The collider of the contact; a squared distance was compared with a length."""
    bodies = [
        f"<body><freejoint/><geom {kind}/></body>"
        for kind in ("type='capsule' size='9 2'", "type='box' size='1 1 1'")
    ]
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>")
    qpos = np.tile([0, 0, 0, 1.0, 0, 0, 0], (3, 2))
    qpos[:, 7], qpos[2, 9] = (9.99, 10.5, 0), 11.98
    oracle.check(m, qpos, 1e-9)


def test_a_vertex_over_a_vertex() -> None:
    """No edge touches; one between a corner and itself, computed twice, was as long as the rounding error."""
    shape = '<mesh name="m" vertex="0 0 0 .2 0 0 0 .3 0 0 0 .25 .15 .2 .2"/>'
    bodies = 2 * '<body><freejoint/><geom type="mesh" mesh="m" margin=".2"/></body>'
    model = jaxsim.load_model(f"<mujoco><asset>{shape}</asset><worldbody>{bodies}</worldbody></mujoco>")
    data = jaxsim.make_data(model)

    def distance(height: jax.Array) -> jax.Array:
        moved = data.replace(qpos=data.qpos.at[9].set(height))
        return jaxsim.geom_distance(model, jaxsim.kinematics(model, moved), 0, 1, 10.0)[0]

    heights = jnp.asarray(np.random.default_rng(1).uniform(0.26, 1.0, 64))
    dist, slope = jax.jit(jax.vmap(jax.value_and_grad(distance)))(heights)
    # the search ends within 1e-6 m
    np.testing.assert_allclose(dist, heights - 0.25, atol=1e-6)
    np.testing.assert_allclose(slope, 1.0, atol=1e-4)


@pytest.mark.parametrize("apart", [1.0, 0.0])
def test_corners_that_coincide(apart: float) -> None:
    """Cubes that touch corner to corner, and cubes at one place; a distance of rounding has no direction."""
    corners = np.array(list(itertools.product((-0.25, 0.25), repeat=3)))
    shape = f'<mesh name="m" vertex="{" ".join(map(str, corners.ravel()))}"/>'
    bodies = 2 * '<body><freejoint/><geom type="mesh" mesh="m" margin=".05"/></body>'
    model = jaxsim.load_model(f"<mujoco><asset>{shape}</asset><worldbody>{bodies}</worldbody></mujoco>")
    data = jaxsim.make_data(model)
    turns = Rotation.random(64, random_state=0)
    qpos = np.zeros((64, 14))
    qpos[:, 3:7] = qpos[:, 10:] = turns.as_quat(scalar_first=True)
    qpos[:, :3] = np.random.default_rng(0).normal(size=(64, 3))
    qpos[:, 7:10] = qpos[:, :3] + apart * turns.apply([0.5, 0.5, 0.5])

    @jax.jit
    @jax.vmap
    def found(qpos: jax.Array) -> tuple[jax.Array, jax.Array]:
        contact = jaxsim.collision(model, jaxsim.kinematics(model, data.replace(qpos=qpos))).contact
        return contact.dist, contact.frame[:, 0]

    dist, normal = map(np.asarray, found(qpos))
    deepest = dist.argmin(axis=1)
    local = turns.apply(normal[np.arange(64), deepest], inverse=True)
    overlap = 0.5 * np.abs(local).sum(1) - apart * local @ [0.5, 0.5, 0.5]
    np.testing.assert_allclose(dist.min(axis=1), 0 if apart else -0.5, atol=1e-8)
    np.testing.assert_allclose(overlap, 0 if apart else 0.5, atol=1e-6)


def test_a_capsule_on_the_axis_of_a_cylinder() -> None:
    """All directions across are as good: one is taken, and does not turn, in either mode."""
    bodies = "".join(
        f"<body><freejoint/><geom {kind}/></body>"
        for kind in ('type="capsule" size=".08 .1"', 'type="cylinder" size=".1 .2"')
    )
    model = jaxsim.load_model(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    data = jaxsim.make_data(model)

    def segment(move: jax.Array) -> jax.Array:
        moved = data.replace(qpos=jaxsim.integrate_pos(model, data.qpos, move, 1.0))
        dist, fromto = jaxsim.geom_distance(model, jaxsim.kinematics(model, moved), 0, 1, 10.0)
        return jnp.append(fromto, dist)

    rest = jnp.zeros(model.nv)
    found, forward, reverse = jax.jit(lambda x: (segment(x), jax.jacfwd(segment)(x), jax.jacrev(segment)(x)))(
        rest
    )
    np.testing.assert_allclose(found[-1], -0.18, atol=1e-12)
    np.testing.assert_allclose(forward, reverse, atol=1e-12)
    across = found[3:5] - found[:2]
    np.testing.assert_allclose(forward[-1, 6:8], across / found[-1], atol=1e-9)


def test_a_hull_deep_in_an_ellipsoid() -> None:
    """The search gives up before it comes to all corners that touch; found on the way, they turn the normal."""
    corners = np.random.default_rng(5).standard_normal((40, 3))
    corners *= 0.2 / np.linalg.norm(corners, axis=1, keepdims=True)
    vertices = " ".join(f"{x:.6f}" for x in corners.ravel())
    model = jaxsim.load_model(f"""
        <mujoco>
          <asset><mesh name="hull" vertex="{vertices}"/></asset>
          <worldbody>
            <geom type="mesh" mesh="hull"/>
            <body><freejoint/><geom type="ellipsoid" size=".1 .15 .2"/></body>
          </worldbody>
        </mujoco>""")
    data = jaxsim.make_data(model)
    qpos = np.array([-0.06609505, 0.12564965, -0.08246902, -0.53815675, 0.23827667, -0.7455233, 0.31274037])
    turn = jnp.array([-0.75859369, 0.14268025, 0.57375932, 0.67708319, -0.21585833, 0.41819947])

    def found(t: jax.Array) -> jax.Array:
        moved = data.replace(qpos=jaxsim.integrate_pos(model, qpos, t * turn, 1.0))
        dist, ends = jaxsim.geom_distance(model, jaxsim.kinematics(model, moved), 0, 1, 1.0)
        return jnp.append((ends[3:] - ends[:3]) / dist, dist)

    of = jax.jit(lambda t: jax.jvp(found, (t,), (1.0,)))
    h = 1e-6
    differences = (of(h)[0] - of(-h)[0]) / (2 * h)
    np.testing.assert_allclose(of(0.0)[1], differences, rtol=1e-5, atol=1e-6)


def test_meshes_that_collide_with_nothing() -> None:
    xml = VISUAL % ""
    m = mujoco.MjModel.from_xml_string(xml)
    assert (m.mesh_graphadr < 0).all()
    d = mujoco.MjData(m)
    models = jaxsim.load_model(xml), jaxsim.put_model(m)
    forward = jax.jit(jaxsim.forward)
    for qpos in _states(m, 6):
        d.qpos[:] = qpos
        mujoco.mj_forward(m, d)
        for model in models:
            data = forward(model, jaxsim.make_data(model).replace(qpos=qpos))
            np.testing.assert_allclose(data.sensordata, d.sensordata, rtol=0, atol=1e-9)
    distance, _ = jaxsim.geom_distance(model, data, m.geom("egg").id, m.geom("ball").id, 2.0)
    assert distance == pytest.approx(
        mujoco.mj_geomDistance(m, d, m.geom("egg").id, m.geom("ball").id, 2.0, None)
    )
    with pytest.raises(jaxsim.UnsupportedError, match="the distance of mesh other, which has no hull"):
        jaxsim.geom_distance(model, data, m.geom("egg").id, m.geom("other").id, 2.0)
    everything = jnp.ones(m.ngeom, int)
    with pytest.raises(jaxsim.UnsupportedError, match="geom 'other': a mesh without a hull"):
        jaxsim.make_data(model.replace(geom_contype=everything))
    m.geom_contype[:4] = m.geom_conaffinity[:4] = 1  # the plate has no volume
    d.qpos[7:10] = d.qpos[:3] + 0.05
    mujoco.mj_forward(m, d)
    model = jaxsim.put_model(m)
    data = jaxsim.kinematics(model, jaxsim.make_data(model).replace(qpos=d.qpos))
    data = jax.jit(jaxsim.collision)(model, data)
    least = mujoco.mj_geomDistance(m, d, m.geom("egg").id, m.geom("cushion").id, 2.0, None)
    assert least < 0
    assert data.contact.dist.min() == pytest.approx(least)
    flat = jaxsim.load_model(VISUAL % '<distance body1="a" body2="flat" cutoff="9"/>')
    with pytest.raises(jaxsim.UnsupportedError, match="distance of mesh plate, which has no hull"):
        jaxsim.make_data(flat)


def test_height_fields_need_no_hull() -> None:
    """There are more of them than meshes."""
    fields = [f'<hfield name="{k}" nrow="2" ncol="2" size="1 1 1 1" elevation="0 0 0 1"/>' for k in range(2)]
    geoms = [f'<geom type="hfield" hfield="{k}" pos="{3 * k} 0 0"/>' for k in range(2)]
    model = jaxsim.load_model(
        f"<mujoco><asset>{fields[0]}{fields[1]}</asset><worldbody>{geoms[0]}{geoms[1]}</worldbody></mujoco>"
    )
    assert jaxsim.make_data(model).geom_xpos.shape == (2, 3)


def test_wrong_arguments() -> None:
    _, model = _problem()
    data = jaxsim.make_data(model)
    with pytest.raises(IndexError, match="geom_distance: geom2 9: the model has 5"):
        jaxsim.geom_distance(model, data, 0, 9, 1.0)
    field = jaxsim.load_model(
        """<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 0 0 1"/></asset>
        <worldbody><geom type="hfield" hfield="h"/><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    )
    # the C engine refuses them as well
    with pytest.raises(jaxsim.UnsupportedError, match="the distance of hfield and sphere"):
        jaxsim.geom_distance(field, jaxsim.make_data(field), 0, 1, 1.0)


def test_a_rim_that_just_touches_an_edge_in_float32() -> None:
    """The shortest vector is rounding there, and no direction to begin with: depths were centimetres."""
    geoms = ('type="box" size=".2 .2 .2"', 'type="cylinder" size=".2 .15"')
    bodies = "".join(f'<body><freejoint/><geom {geom} margin=".1"/></body>' for geom in geoms)
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    pose = "0 0 0 .32505758 -.88807383 0 .32505758 .3767073 .3767073 0 .82047324 .4247083 -.1759199 .33985114"
    qpos = np.tile(np.array(pose.split(), float), (128, 1))
    rng = np.random.default_rng(0)
    qpos[:, 7:10] += rng.normal(size=(128, 3)) * 10 ** rng.uniform(-7, -4, (128, 1))
    qpos = qpos.astype(np.float32)
    with jax.enable_x64(False):
        model = jaxsim.put_model(m)
        data = jaxsim.make_data(model)

        def least(q: jax.Array) -> jax.Array:
            placed = jaxsim.kinematics(model, data.replace(qpos=q))
            return jnp.min(jaxsim.collision(model, placed).contact.dist)

        dist = np.asarray(jax.jit(jax.vmap(least))(qpos))
    d = mujoco.MjData(m)
    errors = []
    for ours, q in zip(dist, qpos, strict=True):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        errors.append(abs(ours - d.contact.dist.min()))
    assert np.quantile(errors, 0.95) < 5e-6
    assert np.max(errors) < 1e-3
