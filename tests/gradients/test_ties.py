"""Ties of limits and of features have the derivative of one side, not something between two."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim

_STEP = 1e-6


def _check(function: Callable[[jax.Array], jax.Array]) -> None:
    """The derivative at 0 of a function of a number is that of one side, in both modes."""
    value = jax.jit(jax.vmap(function))
    behind, here, ahead = np.asarray(value(jnp.asarray([-_STEP, 0.0, _STEP])))
    pushed = float(jax.jit(jax.jacfwd(function))(0.0))
    pulled = float(jax.jit(jax.jacrev(function))(0.0))
    sides = (ahead - here) / _STEP, (here - behind) / _STEP
    assert abs(sides[0] - sides[1]) > 1e-3  # it is a tie
    assert min(abs(pushed - side) for side in sides) < 1e-3 * max(map(abs, sides))
    assert pulled == pytest.approx(pushed, rel=1e-9)


def _ball_on_floor(timestep: float, attributes: str = "") -> jaxsim.Model:
    return jaxsim.load_model(f"""
    <mujoco>
      <option timestep="{timestep}" tolerance="1e-14" iterations="100"/>
      <worldbody>
        <geom type="plane" size="1 1 1" {attributes}/>
        <body pos="0 0 .099"><freejoint/><geom size=".1" {attributes}/></body>
      </worldbody>
    </mujoco>""")


def test_a_time_constant_of_twice_the_timestep():
    """The default one, of all models with steps of 0.01 s."""
    model = _ball_on_floor(0.01)
    data = jaxsim.make_data(model)

    def lift(change):
        return jaxsim.forward(model.replace(geom_solref=model.geom_solref + change), data).qacc[2]

    _check(lift)


@pytest.mark.parametrize(("k", "solimp"), [(4, ".9 .95 .01 .5 1"), (0, ".9999 .9999 .01 .5 2")])
def test_impedance_at_its_bounds(k, solimp):
    model = _ball_on_floor(0.002, f'solimp="{solimp}"')
    data = jaxsim.make_data(model)

    def lift(change):
        moved = jnp.asarray(model.geom_solimp).at[:, k].add(change)
        return jaxsim.forward(model.replace(geom_solimp=moved), data).qacc[2]

    _check(lift)


def test_tendon_at_an_end_of_its_relaxed_range():
    model = jaxsim.load_model("""
    <mujoco>
      <worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
      <tendon><fixed stiffness="7" springlength="0 1"><joint joint="a" coef="1"/></fixed></tendon>
    </mujoco>""")
    data = jaxsim.make_data(model)
    _check(lambda change: jaxsim.forward(model, data.replace(qpos=data.qpos + change)).qfrc_passive[0])


@pytest.mark.parametrize(
    ("fixed", "free"),
    [
        ('type="box" size=".3 .2 .1"', 'type="sphere" size=".1" pos=".3 0 .199"'),
        ('type="capsule" size=".1 .3" zaxis="1 0 0"', 'type="sphere" size=".1" pos=".3 0 .199"'),
        (
            'type="capsule" size=".1 .3" zaxis="1 0 0"',
            'type="capsule" size=".1 .3" zaxis="1 0 0" pos="0 0 .199"',
        ),
        (
            'type="capsule" size=".1 .3" zaxis="1 0 0"',
            'type="capsule" size=".1 .2" zaxis="0 1 0" pos=".3 0 .199"',
        ),
    ],
)
def test_contacts_above_edges_and_ends(fixed, free):
    model = jaxsim.load_model(f"""
    <mujoco><worldbody>
      <geom {fixed}/>
      <body><joint type="slide" axis="1 0 0"/><geom {free}/></body>
    </worldbody></mujoco>""")
    data = jaxsim.make_data(model)
    _check(lambda change: jaxsim.forward(model, data.replace(qpos=data.qpos + change)).contact.pos[0, 0])


@pytest.mark.parametrize(("lower", "upper"), [((0.5, 0.6), (0.1, 0.2)), ((0.1, 0.2), (0.5, 0.6))])
def test_boxes_that_lie_flat_on_each_other(lower, upper):
    """The face of the larger box is what they touch along, however little one is tilted: rounding has no say."""
    box = '<geom type="box" size="{0[0]} {0[1]} .1"/>'
    model = jaxsim.load_model(f"""
    <mujoco><worldbody>
      {box.format(lower)}
      <body pos=".03 .02 .1999"><freejoint/>{box.format(upper)}</body>
    </worldbody></mujoco>""")
    data = jaxsim.make_data(model)

    def normal(turn):
        moved = jaxsim.integrate_pos(model, data.qpos, jnp.zeros(6).at[3:].set(turn), 1.0)
        return jaxsim.forward(model, data.replace(qpos=moved)).contact.frame[0].reshape(3, 3)[0]

    @jax.jit
    @jax.vmap
    def both(yaw):
        steps = _STEP * jnp.eye(3)[:2]
        start = jnp.zeros(3).at[2].set(yaw)
        # turns about two level axes after the yaw: at these angles the sum is as good as their product
        slopes = jax.vmap(lambda s: (normal(start + s) - normal(start - s)) / (2 * _STEP))(steps)
        return slopes, jnp.moveaxis(jax.jacfwd(normal)(start)[:, :2], 0, 1)

    slopes, found = both(jnp.linspace(0, 1e-3, 24))
    np.testing.assert_allclose(found, slopes, atol=1e-6)
