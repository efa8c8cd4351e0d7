"""Rays against geoms of type SDF: C's torus, a sphere in closed form, a mesh on a grid, derivatives."""

import types

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import sdf
from jaxsim.results import UnsupportedError

from ..collision.test_sdf import corners, of_c
from .test_ray import given, rays, theirs

POSE = 'pos=".1 -.1 .05" euler="20 -35 50"'


def scene(kind, half=(0.5, 0.5, 0.5), more=""):
    return f"""<mujoco><asset><mesh name="m" vertex="{corners(half)}"/></asset><worldbody>
      <geom {kind} {POSE}/>{more}</worldbody></mujoco>"""


def of_function(distance, more=""):
    """A geom with a distance function, and where it is."""
    xml = scene('type="sdf" mesh="m"', more=more)
    model = jaxsim.user_sdf(jaxsim.load_model(xml), "m", distance)
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    return model, given(d)


def ball(point, size):
    """A sphere as large as the first size of its geom."""
    return jnp.sqrt(jnp.sum(point * point)) - 0.8 * size[0]


def of_sphere(more=""):
    """The same as a primitive, in C."""
    m = mujoco.MjModel.from_xml_string(scene('type="sphere" size=".4"', more=more))
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    return m, d


def test_a_torus_beside_c():
    m = of_c("sphere")
    d = mujoco.MjData(m)
    d.qpos[2] = 1e3  # the other geom is out of the way
    mujoco.mj_kinematics(m, d)
    torus = int(np.flatnonzero(m.geom_type == mujoco.mjtGeom.mjGEOM_SDF)[0])
    model = jaxsim.user_sdf(
        jaxsim.load_model(scene('type="sdf" mesh="m"', (0.5, 0.5, 0.15))), "m", sdf.torus(0.35, 0.15)
    )
    turn, mat = np.zeros(9), d.geom_xmat[torus].reshape(3, 3)  # C's geom is in the frame of the function
    mujoco.mju_quat2Mat(turn, np.asarray(model.mesh_quat[0]))
    posed = types.SimpleNamespace(
        geom_xpos=jnp.asarray(d.geom_xpos[torus] + mat @ model.mesh_pos[0])[None],
        geom_xmat=jnp.asarray(mat @ turn.reshape(3, 3))[None],
    )
    pnt, vec = rays(200)
    vec /= np.linalg.norm(vec, axis=1, keepdims=True)  # C's result is in m
    known = theirs(m, d, pnt, vec)
    found = jaxsim.ray(model, posed, pnt, vec)
    hit = known[:, 1] == torus
    assert hit.sum() > 50
    ours = np.asarray(found.geomid) == 0
    assert not np.any(hit & ~ours)
    flat = np.abs(np.sum(np.asarray(found.normal) * vec, axis=1)) < 0.3
    assert np.all(flat[ours & ~hit])  # these take more steps than C makes
    np.testing.assert_allclose(found.dist[hit], known[hit, 0], atol=2e-6)
    np.testing.assert_allclose(found.normal[hit], known[hit, 2:], atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_sphere_in_closed_form(dtype):
    """Beside other geoms, from outside and inside, near and far; rays of any length."""
    more = '<geom type="box" size=".1 .1 .1" pos=".6 0 0"/>'
    m, d = of_sphere(more)
    pnt, vec = rays(200)
    pnt[::9] *= 20
    known = theirs(m, d, pnt, vec)
    model, posed = of_function(ball, more=more)
    model, posed = jax.tree.map(
        lambda x: x.astype(dtype) if x.dtype == "float64" else x, (model, vars(posed))
    )
    found = jax.jit(lambda p, v: jaxsim.ray(model, types.SimpleNamespace(**posed), p, v))(
        pnt.astype(dtype), vec.astype(dtype)
    )
    sure = np.ones(len(pnt), bool)
    if dtype == "float32":  # those that graze may be seen or not
        cosine = np.abs(np.sum(known[:, 2:] * vec, axis=1)) / np.linalg.norm(vec, axis=1)
        sure = (known[:, 1] != 0) | (cosine > 0.05)
    tolerance = 1e-9 if dtype == "float64" else 2e-4
    np.testing.assert_array_equal(found.geomid[sure], known[sure, 1])
    np.testing.assert_allclose(found.dist[sure], known[sure, 0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.normal[sure], known[sure, 2:], atol=1e3 * tolerance)


def test_a_mesh_on_a_grid():
    """Its faces, to a share of a cell of the grid."""
    model = jaxsim.load_model(scene('type="sdf" mesh="m"', (0.3, 0.2, 0.4)))
    m = mujoco.MjModel.from_xml_string(scene('type="mesh" mesh="m"', (0.3, 0.2, 0.4)))
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    pnt, vec = rays(150)
    known = theirs(m, d, pnt, vec)
    found = jaxsim.ray(model, given(d), pnt, vec)
    away = np.abs(np.asarray(found.dist) - known[:, 0]) * np.linalg.norm(vec, axis=1)
    assert np.mean(found.geomid == known[:, 1]) > 0.97
    assert np.quantile(away[known[:, 1] == 0], 0.9) < 2e-3


def test_aligned_touching_and_aside():
    """Along an axis, from the surface, from the centre, past it, away from it, of no length."""
    model, posed = of_function(ball)
    centre, out = np.asarray(posed.geom_xpos[0]), np.asarray(posed.geom_xmat[0][:, 0])
    aside = np.asarray(posed.geom_xmat[0][:, 1])
    pnt = centre + np.array([-2 * out, -0.4 * out, 0 * out, -2 * out + 0.45 * aside, 2 * out, -2 * out])
    found = jaxsim.ray(model, posed, pnt, np.array([out, out, out, out, out, 0 * out]))
    np.testing.assert_allclose(found.dist, [1.6, 0, 0.4, -1, -1, -1], atol=1e-9)
    np.testing.assert_allclose(found.normal[:3], [-out, -out, out], atol=1e-7)
    assert not np.any(found.normal[3:])


def test_derivatives():
    """Those of the sphere's primitive, the second too; finite where a ray grazes."""
    model, posed = of_function(ball)
    m, d = of_sphere()
    primitive = jaxsim.load_model(scene('type="sphere" size=".4"'))
    pnt, vec = rays(60)
    hit = theirs(m, d, pnt, vec)[:, 0] >= 0
    pnt, vec = jnp.asarray(pnt[hit]), jnp.asarray(vec[hit])

    def all_of_it(model):
        def function(x):
            pos, pnt, vec, scale = x
            at = types.SimpleNamespace(geom_xpos=posed.geom_xpos + pos, geom_xmat=posed.geom_xmat)
            found = jaxsim.ray(model.replace(geom_size=model.geom_size * scale), at, pnt, vec)
            return jnp.concatenate([found.dist[:, None], found.normal], axis=1)

        return function

    start = (jnp.zeros(3), pnt, vec, jnp.ones(()))
    rng = np.random.default_rng(0)
    along = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), start)
    one, push = jax.jit(lambda x, dx: jax.jvp(all_of_it(model), (x,), (dx,)))(start, along)
    other, known = jax.jvp(all_of_it(primitive), (start,), (along,))
    np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(push, known, rtol=1e-6, atol=1e-6)
    weights = jnp.asarray(rng.standard_normal(push.shape))
    (pull,) = jax.jit(lambda x, w: jax.vjp(all_of_it(model), x)[1](w))(start, weights)
    left = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(along), jax.tree.leaves(pull), strict=True))
    np.testing.assert_allclose(left, jnp.vdot(push, weights), rtol=1e-9)

    def curvature(model):
        def slope(x):
            return jax.jvp(all_of_it(model), (x,), (along,))[1]

        return jax.jvp(slope, (start,), (along,))[1]

    second = jax.jit(lambda: curvature(model))()
    np.testing.assert_allclose(second, curvature(primitive), rtol=1e-5, atol=1e-5)

    centre, mat = posed.geom_xpos[0], posed.geom_xmat[0]
    grazing = (jnp.zeros(3), (centre - 2 * mat[:, 0] + 0.4 * mat[:, 1])[None], mat[:, 0][None], jnp.ones(()))
    slopes = jax.jacfwd(all_of_it(model))(grazing)
    assert all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(slopes))


def test_a_range_finder_sees_it():
    xml = scene('type="sdf" mesh="m"').replace(
        "</worldbody>",
        """<body pos="2 -.1 .05"><geom size=".1"/><site name="s" zaxis="-1 0 0"/></body></worldbody>
           <sensor><rangefinder site="s"/></sensor>""",
    )
    model = jaxsim.user_sdf(jaxsim.load_model(xml), "m", ball)
    data = jaxsim.make_data(model)
    found = jax.jit(jax.vmap(lambda z: jaxsim.forward(model, data.replace(time=z)).sensordata))(jnp.zeros(3))
    np.testing.assert_allclose(found, np.full((3, 1), 1.5), atol=1e-9)


def test_without_a_function_it_is_refused():
    points = jaxsim.load_model(scene('type="sdf" mesh="m"'))
    points = points.replace(hooks=type(points.hooks)())
    data = types.SimpleNamespace(geom_xpos=jnp.zeros((1, 3)), geom_xmat=jnp.eye(3)[None])
    with pytest.raises(UnsupportedError, match="user_sdf gives one"):
        jaxsim.ray(points, data, np.zeros(3), np.ones(3))
