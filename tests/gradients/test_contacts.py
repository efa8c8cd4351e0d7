"""Steps of free bodies on a floor, with both kinds of cones: at rest, sliding, bouncing, at apex, in flight."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from tests.gradients import scenes
from tests.gradients.jacobians import Jacobians, Scene

LEAVES = (
    "body_mass",
    "body_inertia",
    "geom_friction",
    "geom_solref",
    "geom_solimp",
    "geom_size",
    "opt.gravity",
    "opt.timestep",
)
CONES = ("pyramidal", "elliptic")
STATES = {
    state.__name__: state
    for state in (scenes.resting, scenes.sliding, scenes.bouncing, scenes.still, scenes.flying)
}
FIRST, TENTH = 0, 1


@functools.cache
def scene(cone: str) -> Scene:
    return Scene(scenes.OBJECTS.format(cone=cone), LEAVES)


@functools.cache
def jacobians(cone: str, state: str) -> Jacobians:
    s = scene(cone)
    upright = jnp.array([0.0, 0.0, -9.81])
    model = s.model
    if state == "still":
        model = model.replace(opt=model.opt.replace(gravity=upright))
    return s.at(STATES[state](s.mj_model), model)


@pytest.mark.parametrize("body", scenes.FREE)
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("cone", CONES)
def test_against_differences(cone, state, body):
    found = jacobians(cone, state)
    for quantity in found.scene.columns:
        for step in (FIRST, TENTH):
            # differences at 1e-6: rounding of the solver, magnified by the stiffness of a contact
            assert found.error(body, quantity, step) < 3e-6, (quantity, step)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("cone", CONES)
def test_modes_agree(cone, state):
    """Column by column: so `w . (J u) = (J^T w) . u` for all tangents u and cotangents w."""
    found = jacobians(cone, state)
    assert np.isfinite(found.forward).all()
    assert np.isfinite(found.reverse).all()
    assert found.duality_error() < 1e-10


@pytest.mark.parametrize("cone", CONES)
def test_the_scenes_are_what_they_are_called(cone):
    """Contacts push where they should, friction does what the state says."""
    m = scene(cone).mj_model
    first = {name: jacobians(cone, name) for name in STATES}
    speed = {name: j.value[:, m.nq : m.nq + m.nv].reshape(2, 4, 6) for name, j in first.items()}
    assert np.abs(speed["resting"][:, :3]).max() < 0.03  # friction is soft: what it holds creeps
    assert (np.abs(speed["sliding"][:, :, :2]).max(axis=2) > 0.01).all()
    assert (speed["bouncing"][1, :, 2] > [-0.9, -0.9, -3, -1.2]).all()
    np.testing.assert_allclose(speed["flying"][1, :, 2], 10 * -9.81 * 0.002)
    friction = first["sliding"].forward[:, :, first["sliding"].scene.columns["geom_friction"]]
    assert np.abs(friction).max() > 1e-3


@pytest.mark.parametrize("cone", CONES)
def test_the_warm_start_does_not_matter(cone):
    s = scene(cone)
    d = scenes.sliding(s.mj_model)
    d.qacc_warmstart[:] = 30 * np.random.default_rng(0).standard_normal(s.mj_model.nv)
    other = s.at(d)
    expected = jacobians(cone, "sliding")
    scale = np.abs(expected.forward).max(axis=(0, 1)) + 1e-2
    # both solutions are converged to rounding
    np.testing.assert_allclose(other.forward / scale, expected.forward / scale, rtol=0, atol=1e-8)
    np.testing.assert_allclose(other.reverse / scale, expected.reverse / scale, rtol=0, atol=1e-8)


def test_a_turn_from_standstill_has_the_right_derivative():
    """At zero angular velocity the quaternion moves by dt / 2 times the velocity."""
    found = jacobians("pyramidal", "flying")
    s = found.scene
    body = s.mj_model.body("box")
    q = s.mj_model.jnt(body.jntadr[0]).qposadr[0] + 3
    velocity = np.arange(s.columns["qvel"].start, s.columns["qvel"].stop)[body.dofadr[0] + 3 :][:3]
    for jacobian in (found.forward, found.reverse):
        turn = jacobian[FIRST, q : q + 4][:, velocity]
        np.testing.assert_allclose(turn, 0.001 * np.eye(4)[:, 1:], rtol=0, atol=1e-12)
