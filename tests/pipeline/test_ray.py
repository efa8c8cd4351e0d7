"""Rays equal the C engine's on every kind of geom, and differentiate."""

import functools
import types

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.ray.cast import _AT_ONCE
from jaxsim.results import UnsupportedError

ASSETS = """<asset>
  <mesh name="tetra" vertex="0 0 0  1 0 0  0 1 0  0 0 1" scale=".6 .6 .6"/>
  <mesh name="dent" builtin="sphere" params="3"/>
  <hfield name="hill" nrow="7" ncol="9" size=".8 .5 .4 .2" elevation="{}"/>
</asset>""".format(" ".join(str(round(float(x), 3)) for x in np.random.default_rng(3).random(63)))
GEOMS = {
    "plane": 'type="plane" size=".7 .4 1"',
    "infinite plane": 'type="plane" size="0 .5 1"',
    "sphere": 'size=".5"',
    "capsule": 'type="capsule" size=".2 .4"',
    "ellipsoid": 'type="ellipsoid" size=".2 .6 .4"',
    "cylinder": 'type="cylinder" size=".4 .3"',
    "box": 'type="box" size=".2 .5 .4"',
    "mesh": 'type="mesh" mesh="tetra"',
    "round mesh": 'type="mesh" mesh="dent"',
    "hfield": 'type="hfield" hfield="hill"',
}


def load(worldbody, more=""):
    m = mujoco.MjModel.from_xml_string(f"<mujoco>{ASSETS}{more}<worldbody>{worldbody}</worldbody></mujoco>")
    d = mujoco.MjData(m)
    mujoco.mj_kinematics(m, d)
    return m, d, put_model(m)


def given(d):
    """The part of our data that rays read."""

    return types.SimpleNamespace(
        geom_xpos=jnp.asarray(d.geom_xpos), geom_xmat=jnp.asarray(d.geom_xmat.reshape(-1, 3, 3))
    )


def theirs(m, d, pnt, vec, group=None, static=True, exclude=-1):
    found = []
    for p, v in zip(pnt, vec, strict=True):
        geom, normal = np.zeros(1, np.int32), np.zeros(3)
        dist = mujoco.mj_ray(m, d, p, v, group, static, exclude, geom, normal)
        found.append((dist, geom[0], *normal))
    return np.array(found)


def rays(n, spread=1.0, seed=0):
    """Most aim at the scene from outside, some start within it."""
    rng = np.random.default_rng(seed)
    pnt = rng.standard_normal((n, 3)) * np.where(rng.random((n, 1)) < 0.3, 0.2, 2)
    vec = 0.4 * spread * rng.standard_normal((n, 3)) - pnt
    vec[::7] = rng.standard_normal((len(vec[::7]), 3))
    return pnt, vec * rng.uniform(0.3, 3, (n, 1))


def compare(ours, known, tolerance=1e-9):
    np.testing.assert_array_equal(ours.geomid, known[:, 1])
    np.testing.assert_allclose(ours.dist, known[:, 0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.normal, known[:, 2:], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", GEOMS)
def test_each_geom(name):
    m, d, model = load(f'<geom {GEOMS[name]} pos=".1 -.1 .05" euler="20 -35 50"/>')
    pnt, vec = rays(300)
    known = theirs(m, d, pnt, vec)
    assert (known[:, 0] >= 0).sum() > 30
    compare(jax.jit(lambda p, v: jaxsim.ray(model, given(d), p, v))(pnt, vec), known)


@pytest.mark.parametrize("name", GEOMS)
def test_along_the_axes(name):
    """Rays parallel to axes and faces, through centres and from them, as users aim them."""
    m, d, model = load(f"<geom {GEOMS[name]}/>")
    grid = np.array(np.meshgrid(*[[-1.0, -0.37, 0.0, 0.11, 1.0]] * 3)).reshape(3, -1).T
    pnt, vec = (np.repeat(grid, 6, axis=0), np.tile(np.concatenate([np.eye(3), -np.eye(3)]), (len(grid), 1)))
    known = theirs(m, d, pnt, vec)
    ours = jaxsim.ray(model, given(d), pnt, vec)
    if "mesh" not in name:
        np.testing.assert_allclose(ours.dist, known[:, 0], rtol=0, atol=1e-9)
        return
    # where a ray meets an edge, C may slip between its triangles; either will do, and C's vertices are float32
    both = (known[:, 0] >= 0) & (ours.dist >= 0)
    np.testing.assert_allclose(ours.dist[both], known[both, 0], rtol=0, atol=1e-7)
    if name == "round mesh":
        assert (ours.dist[np.linalg.norm(pnt, axis=1) < 0.9] > 0).all()


@functools.cache
def crowd():
    rng = np.random.default_rng(5)
    text = ""
    for k, kind in enumerate([*GEOMS.values()] * 2):
        x, y, z = rng.uniform(-1.2, 1.2, 3).round(3)
        a, b, c = rng.uniform(-180, 180, 3).round(1)
        hidden = 'rgba="1 0 0 0"' if k == 3 else ""
        geom = f'<geom name="g{k}" {kind} group="{k % 4}" {hidden}/>'
        where = f'pos="{x} {y} {z}" euler="{a} {b} {c}"'
        body = f"<body {where}>{geom if k % 3 else geom + '<freejoint/>'}</body>"
        if ("plane" not in kind and "hfield" not in kind) or k % 3:
            text += body
    return load(text)


CHOICES = {
    "all": {},
    "groups": {"geomgroup": (1, 0, 1, 0, 0, 0)},
    "moving": {"flg_static": False},
    "excluded body": {"bodyexclude": 4},
}


@pytest.mark.parametrize("name", CHOICES)
def test_which_geoms_are_seen(name):
    m, d, model = crowd()
    pnt, vec = rays(200, 2.0)
    choice = CHOICES[name]
    group = np.array(choice["geomgroup"], np.uint8) if "geomgroup" in choice else None
    known = theirs(m, d, pnt, vec, group, choice.get("flg_static", True), choice.get("bodyexclude", -1))
    compare(jax.jit(lambda p, v: jaxsim.ray(model, given(d), p, v, **choice))(pnt, vec), known)


def test_more_rays_than_are_looked_at_together():
    m, d, model = crowd()
    n = _AT_ONCE // m.ngeom + 17
    pnt, vec = rays(n, 2.0)
    compare(jax.jit(lambda p, v: jaxsim.ray(model, given(d), p, v))(pnt, vec), theirs(m, d, pnt, vec))


def test_one_ray_and_worlds():
    m, d, model = crowd()
    pnt, vec = rays(8)
    known = theirs(m, d, pnt, vec)
    one = jaxsim.ray(model, given(d), pnt[0], vec[0])
    assert one.dist.shape == ()
    assert one.normal.shape == (3,)
    origin = jnp.zeros((8, 3))

    def cast(shift, p, v):
        return jaxsim.ray(model, moved(given(d), shift), p, v)

    compare(jax.jit(jax.vmap(cast))(origin, pnt, vec), known)
    ahead = jax.jit(jax.vmap(cast))(origin + vec, pnt + vec, vec)
    compare(ahead, known)


def moved(data, shift):
    return types.SimpleNamespace(geom_xpos=data.geom_xpos + shift, geom_xmat=data.geom_xmat)


def test_rays_of_no_length_meet_nothing():
    _, d, model = crowd()
    found = jaxsim.ray(model, given(d), np.zeros(3), np.zeros(3))
    assert float(found.dist) == -1


def test_says_what_is_wrong():
    _, d, model = crowd()
    with pytest.raises(ValueError, match="6 groups"):
        jaxsim.ray(model, given(d), np.zeros(3), np.ones(3), geomgroup=(1, 1))
    with pytest.raises(ValueError, match="shapes"):
        jaxsim.ray(model, given(d), np.zeros(2), np.ones(3))
    sdf = model.replace(geom_type=np.where(np.arange(model.ngeom) == 3, 8, model.geom_type).astype(np.int32))
    with pytest.raises(UnsupportedError, match="rays against geom g"):
        jaxsim.ray(sdf, given(d), np.zeros(3), np.ones(3))


def as_function(name):
    """Distance and normal of rays as a function of everything they depend on; its start and three directions."""
    m, d, model = load(f'<geom {GEOMS[name]} pos=".1 -.1 .05" euler="20 -35 50"/>')
    pnt, vec = rays(60)
    hit = np.flatnonzero(theirs(m, d, pnt, vec)[:, 0] >= 0)
    start = {"pnt": jnp.asarray(pnt[hit]), "vec": jnp.asarray(vec[hit])}
    start |= {"pos": given(d).geom_xpos, "turn": jnp.zeros((m.ngeom, 3))}
    leaves = ["geom_size"] * ("plane" not in name)  # a size of a plane only says where it ends
    leaves += ["mesh_vert"] * ("mesh" in name) + ["hfield_data", "hfield_size"] * (name == "hfield")
    start |= {leaf: getattr(model, leaf) for leaf in leaves}

    def function(x):
        w = x["turn"]
        skew = jnp.cross(jnp.eye(3)[None], w[:, None]).swapaxes(1, 2)
        posed = types.SimpleNamespace(
            geom_xpos=x["pos"], geom_xmat=jax.scipy.linalg.expm(skew) @ given(d).geom_xmat
        )
        changed = model.replace(**{leaf: x[leaf] for leaf in leaves})
        found = jaxsim.ray(changed, posed, x["pnt"], x["vec"])
        return jnp.concatenate([found.dist[:, None], found.normal], axis=1)

    rng = np.random.default_rng(2)
    directions = {k: jnp.asarray(rng.standard_normal((3, *v.shape))) for k, v in start.items()}
    return function, start, directions


QUICK = ("sphere", "box", "mesh", "hfield")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in GEOMS]
)
def test_derivatives(name):
    function, start, directions = as_function(name)
    h = 1e-7

    def all_of_it(dx):
        moved = [jax.tree.map(lambda x, d, s=s: x + s * h * d, start, dx) for s in (1, -1)]
        ahead, behind = (function(x) for x in moved)
        return (ahead - behind) / (2 * h), jax.jvp(function, (start,), (dx,))[1]

    numeric, push = jax.jit(jax.vmap(all_of_it))(directions)
    assert push.shape[1] > 5
    scale = 1 + jnp.max(jnp.abs(numeric), axis=0)
    # an edge or a silhouette between the two differences spoils few rays at most
    off = jnp.max(jnp.abs(push - numeric) / scale, axis=(0, 2))
    assert float(jnp.quantile(off, 0.9)) < 1e-6
    weights = jnp.asarray(np.random.default_rng(1).standard_normal(push.shape[1:]))
    pull = jax.jit(jax.vjp(function, start)[1])(weights)[0]
    left = sum(jnp.tensordot(directions[k], pull[k], axes=pull[k].ndim) for k in pull)
    np.testing.assert_allclose(left, jnp.tensordot(push, weights, axes=2), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["sphere", "cylinder", "mesh"])
def test_derivatives_are_finite_where_rays_graze(name):
    _, d, model = load(f"<geom {GEOMS[name]}/>")
    edge = float(model.geom_size[0, 0])
    pnt = jnp.asarray([[edge, -2.0, 0], [-edge, -2, 0.05], [0, -2, edge], [edge, 0, 0], [0, 0, 0]])
    vec = jnp.asarray([0, 1.0, 0])

    def total(pnt, vec, size):
        found = jaxsim.ray(model.replace(geom_size=size), given(d), pnt, vec)
        return jnp.sum(found.dist) + jnp.sum(found.normal[:, 0])

    first = jax.grad(total, argnums=(0, 1, 2))
    functions = [first]
    if name == "sphere":
        functions.append(jax.jacfwd(first))
    for function in functions:
        derivatives = jax.jit(function)(pnt, vec, model.geom_size)
        assert all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(derivatives))
