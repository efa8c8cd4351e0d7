"""What is computed of the pairs that touch alone equals what is computed of all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim

SCENE = """
<mujoco>
  <asset><mesh name="wedge" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 .7" scale=".1 .1 .1"/></asset>
  <worldbody>
    <geom name="floor" type="box" size="1 1 .1" pos="0 0 -.1"/>
    <body pos="0 0 -.002"><freejoint/><geom type="mesh" mesh="wedge"/></body>
    {}
  </worldbody>
</mujoco>
"""


CYLINDER = '<body pos=".5 0 .048"><freejoint/><geom type="cylinder" size=".06 .05"/></body>'


@pytest.mark.parametrize("other", ["", pytest.param(CYLINDER, marks=pytest.mark.slow)])
def test_contacts_and_their_derivatives_do_not_depend_on_how_many_worlds_there_are(other):
    model = jaxsim.load_model(SCENE.format(other))
    data = jaxsim.make_data(model)
    rng = np.random.default_rng(1)
    worlds, few = 110, 10
    turns = 0.02 * rng.normal(size=(worlds, model.nv))
    weights = rng.normal(size=(3,))

    def total(v):
        qpos = jax.vmap(lambda v: jaxsim.integrate_pos(model, data.qpos, v, 1.0))(v)
        found = jax.vmap(lambda q: jaxsim.collision(model, jaxsim.kinematics(model, data.replace(qpos=q))))(
            qpos
        )
        own = found.contact
        sizes = jnp.sum(own.dist), jnp.sum(own.pos @ weights), jnp.sum(own.frame @ weights)
        return sum(sizes), (own.dist, own.pos, own.frame, own.geom)

    found = jax.jit(lambda v: jax.tree.leaves(jax.value_and_grad(total, has_aux=True)(v))[1:])
    # of all worlds together only those that touch are looked at, of a few worlds all
    every = found(turns)
    parts = [found(part) for part in np.split(turns, worlds // few)]
    used = np.asarray(every[3])[:, :, 0] >= 0
    assert used.any(axis=1).sum() > 80
    assert not used.all()
    for whole, *own in zip(every, *parts, strict=True):
        np.testing.assert_allclose(whole, np.concatenate(own), atol=1e-11)


def test_meshes_that_differ_between_worlds():
    """All else may be the same: the vertices alone make the search as wide as there are worlds."""
    model = jaxsim.load_model(SCENE.format(""))
    data = jaxsim.make_data(model)

    def contacts(size):
        own = jaxsim.forward(model.replace(mesh_vert=size * model.mesh_vert), data).contact
        return own.dist, own.pos, own.geom

    sizes = jnp.linspace(0.98, 1.05, 280)
    every = jax.jit(jax.vmap(contacts))(sizes)
    assert np.ptp(np.asarray(every[2])[:, :, 0].max(axis=1)) == 0
    alone = jax.jit(contacts)
    for w in (0, 100, 279):
        for found, wanted in zip(every, alone(sizes[w]), strict=True):
            np.testing.assert_allclose(found[w], wanted, atol=1e-12)
    # of the wedge, which lies flat, the larger ones are deeper
    deepest = np.min(np.where(np.asarray(every[2])[:, :, 1] == 1, every[0], 0.0), axis=1)
    assert np.all(np.diff(deepest) < 0)
