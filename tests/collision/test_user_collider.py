"""A collider of the user's in place of jaxsim's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.math import safe

XML = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
  <body pos="0 0 .09"><freejoint/><geom size=".1"/></body>
  <body pos="1 0 .09"><freejoint/><geom name="ball" size=".1"/></body>
  <body pos="1.15 0 .12"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


def balls(geom1, geom2):
    """As the built-in collider of spheres."""
    offset = geom2.pos - geom1.pos
    away = safe.norm(offset, axis=0)
    normal = offset / away
    dist = away - geom1.size[0] - geom2.size[0]
    return dist[None], (geom1.pos + normal * (geom1.size[0] + dist / 2))[None], normal[None]


def on_floor(plane, ball):
    """Two points below a sphere, beside each other; the second only of a sphere that is deep."""
    normal = plane.mat[:, 2]
    dist = normal @ (ball.pos - plane.pos) - ball.size[0]
    pos = ball.pos - normal * (ball.size[0] + dist / 2)
    side = jnp.where(dist < -0.005, dist, jnp.inf)
    return (
        jnp.stack([dist, side]),
        jnp.stack([pos, pos + plane.mat[:, 0] * 0.02]),
        jnp.stack([normal, normal]),
    )


def test_as_the_built_in_one():
    model = jaxsim.load_model(XML)
    mine = jaxsim.user_collider(model, "sphere", "sphere", balls)
    data = jaxsim.make_data(model)
    qvel = jnp.linspace(-1, 1, 3 * model.nv).reshape(3, -1)

    def end(model):
        return jax.jit(jax.vmap(lambda v: jaxsim.step(model, data.replace(qvel=v)).qvel))(qvel)

    np.testing.assert_allclose(end(mine), end(model), rtol=1e-9, atol=1e-12)
    assert mine.static != model.static
    distance = jax.jit(lambda model: jaxsim.geom_distance(model, jaxsim.kinematics(model, data), 2, 3, 1.0))
    for ours, theirs in zip(distance(mine), distance(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_points_and_derivatives():
    model = jaxsim.user_collider(jaxsim.load_model(XML), "plane", "sphere", on_floor, points=2)
    data = jaxsim.make_data(model)
    contact = jax.jit(jaxsim.forward)(model, data).contact
    floor = (contact.geom[:, 0] == 0) & (contact.geom[:, 1] < 3)
    np.testing.assert_allclose(contact.dist[floor], -0.01)
    assert int(floor.sum()) == 4

    def end(z):
        return jaxsim.step(model, data.replace(qpos=data.qpos.at[2].set(z))).qvel

    numeric = (end(jnp.asarray(0.0901)) - end(jnp.asarray(0.0899))) / 2e-4
    np.testing.assert_allclose(jax.jacfwd(end)(0.09), numeric, atol=2e-4 * jnp.abs(numeric).max())
    np.testing.assert_allclose(jax.jacrev(end)(0.09), jax.jacfwd(end)(0.09), atol=1e-9)


def test_says_what_is_wrong():
    model = jaxsim.load_model(XML)
    with pytest.raises(ValueError, match="plane comes before sphere"):
        jaxsim.user_collider(model, "sphere", "plane", on_floor)
    with pytest.raises(ValueError, match="no geom type 'ball'"):
        jaxsim.user_collider(model, "ball", "sphere", on_floor)
    with pytest.raises(ValueError, match="points=0; expected an integer of at least 1"):
        jaxsim.user_collider(model, "plane", "sphere", on_floor, points=0)
    with pytest.raises(ValueError, match=r"collider of plane and sphere: .*\(2,\).* not \[\(1,\)"):
        jax.eval_shape(
            jaxsim.forward, jaxsim.user_collider(model, "plane", "sphere", on_floor), jaxsim.make_data(model)
        )
    with pytest.raises(ValueError, match="cannot be saved"):
        jaxsim.save_model(jaxsim.user_collider(model, "sphere", "sphere", balls), "nowhere.npz")
