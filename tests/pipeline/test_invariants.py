"""What physics keeps: energy, momentum, mirror images, and that worlds know nothing of each other."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import EnableBit

pytestmark = pytest.mark.optimised

CHAIN = """
<mujoco>
  <option timestep="0.0005" gravity="0 0 0" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="root">
      <freejoint/>
      <geom type="box" size=".2 .1 .05"/>
      <body pos=".2 0 0">
        <joint type="ball"/>
        <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/>
        <body pos=".3 0 .1">
          <joint axis="0 1 0" stiffness="2"/>
          <geom type="capsule" fromto="0 0 0 .2 .1 0" size=".03"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""Afloat: nothing acts from outside, and nothing is lost inside."""

BOX = """
<mujoco>
  <option timestep="0.004" tolerance="1e-14" cone="{cone}"/>
  <worldbody>
    <geom type="plane" size="2 2 .1" friction=".6"/>
    <body pos="0 0 .11">
      <freejoint/>
      <geom type="box" size=".2 .1 .1" friction=".6"/>
      <body pos="0 0 .1">
        <joint type="ball" damping=".01"/>
        <geom type="sphere" size=".05" pos="0 0 .1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""Its own mirror image in the plane y = 0."""


@functools.cache
def _box(cone):
    model = jaxsim.load_model(BOX.format(cone=cone))
    return model, jaxsim.make_data(model), jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))


def _spread(model, data, n):
    """Several states in motion, some of them on the floor."""
    rng = np.random.default_rng(2)
    qvel = jnp.asarray(rng.normal(size=(n, model.nv)))
    worlds = jax.vmap(lambda v: data.replace(qvel=v))(qvel)
    return worlds.replace(qpos=worlds.qpos.at[:, 2].add(jnp.asarray(np.linspace(-0.02, 0.02, n))))


def test_energy_and_momentum_of_what_floats_are_kept():
    model = jaxsim.load_model(CHAIN)
    model = model.replace(opt=model.opt.replace(enableflags=int(EnableBit.ENERGY)))
    rng = np.random.default_rng(0)
    data = jaxsim.make_data(model).replace(qvel=jnp.asarray(rng.normal(size=model.nv)))

    @jax.jit
    def kept(data):
        data = jaxsim.forward(model, data)
        linear = jnp.einsum("b,bi->i", model.body_mass, _velocities(model, data))
        angular = jaxsim.angmom_mat(model, data, 1) @ data.qvel
        return jnp.concatenate([jnp.sum(data.energy, keepdims=True), linear, angular])

    end, _ = jax.jit(lambda data: jaxsim.rollout(model, data, steps=400, fields=()))(data)
    before, after = kept(data), kept(end)
    assert np.abs(np.asarray(end.qpos - data.qpos)).max() > 0.2  # it did move
    # Runge-Kutta's error, of fourth order in the timestep: at 2 ms it is 5e-7
    np.testing.assert_allclose(after[0], before[0], rtol=1e-8)
    np.testing.assert_allclose(after[1:], before[1:], atol=1e-8)


def _velocities(model, data):
    """Velocities of the bodies' centres of mass."""
    J = jnp.stack([jaxsim.jac_body_com(model, data, body)[0] for body in range(model.nbody)])
    return jnp.einsum("bij,j->bi", J, data.qvel)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_a_mirror_image_moves_as_a_mirror_image(cone):
    model, data, step = _box(cone)
    position = jnp.asarray([1, -1, 1, 1, -1, 1, -1, 1, -1, 1, -1.0])  # of a free joint, then of a ball
    velocity = jnp.asarray([1, -1, 1, -1, 1, -1, -1, 1, -1.0])
    worlds = _spread(model, data, 6)
    mirrored = worlds.replace(qpos=worlds.qpos * position, qvel=worlds.qvel * velocity)
    contacts = 0
    for _ in range(20):
        worlds, mirrored = step(model, worlds), step(model, mirrored)
        contacts += int(worlds.ncon.sum())
    assert contacts > 20
    # a ten-thousandth of what the images differ by; rounding grows in contacts
    np.testing.assert_allclose(mirrored.qpos, worlds.qpos * position, atol=1e-8)
    np.testing.assert_allclose(mirrored.qvel, worlds.qvel * velocity, atol=1e-6)
    assert np.abs(np.asarray(worlds.qpos * position - worlds.qpos)).max() > 1e-3


def test_worlds_in_another_order_have_the_same_results():
    model, data, step = _box("elliptic")
    worlds = _spread(model, data, 6)
    order = np.array([3, 0, 5, 1, 4, 2])
    moved = step(model, jax.tree.map(lambda x: x[order], worlds))
    stayed = step(model, worlds)
    for name in ("qpos", "qvel", "qacc", "efc_force", "cfrc_ext"):
        np.testing.assert_allclose(getattr(moved, name), getattr(stayed, name)[order], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(moved.contact.geom, stayed.contact.geom[order])


def test_a_world_alone_moves_as_among_others():
    model, data, step = _box("elliptic")
    worlds = _spread(model, data, 6)
    together = step(model, worlds)
    alone = jax.jit(jaxsim.step)
    for w in range(2):
        one = alone(model, jax.tree.map(lambda x, w=w: x[w], worlds))
        # rounding of qacc times the timestep
        np.testing.assert_allclose(one.qvel, together.qvel[w], atol=1e-11)
