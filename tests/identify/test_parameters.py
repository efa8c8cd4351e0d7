"""Parameters by name: where they are, how they are searched, that the model follows."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import identify
from jaxsim.identify.inertia import from_pseudo, inertial, log_cholesky, pseudo_inertia
from jaxsim.identify.parameters import apply, coordinates, values_of

XML = """
<mujoco>
  <compiler autolimits="true"/>
  <worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0" damping="0.3" armature="0.01" frictionloss="0.1"/>
      <geom name="rod" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/>
      <body name="ball" pos=".4 0 0"><joint name="socket" type="ball" damping="0.1"/>
        <geom name="bob" type="box" size=".1 .1 .1" pos="0 0 -.2" friction="0.7 0.01 0.001"/></body></body>
  </worldbody>
  <actuator><position name="servo" joint="hinge" kp="30"/><motor name="motor" joint="hinge"/></actuator>
</mujoco>
"""
model = jaxsim.load_model(XML)


def test_defaults():
    mass = identify.parameter(model, "body_mass", "arm")
    assert (mass.name, mass.scale, mass.constants) == ("arm.mass", "log", True)
    np.testing.assert_allclose(mass.nominal, 1)
    friction = identify.parameter(model, "geom_friction", "bob", 0, nominal=0.2, max_value=3)
    assert (friction.names, friction.constants) == (("bob.friction[0]",), False)
    np.testing.assert_allclose(
        [friction.nominal, friction.min_value, friction.max_value], [[0.2], [2e-4], [3]]
    )
    damping = identify.parameter(model, "dof_damping", "socket")
    assert damping.names == ("socket.damping.0", "socket.damping.1", "socket.damping.2")
    some = identify.parameter(model, "body_ipos", "ball", (0, 2))
    assert (some.scale, some.names) == ("linear", ("ball.ipos.0", "ball.ipos.2"))


def test_values_arrive_and_constants_follow():
    """The same as a file with these numbers."""
    chosen = [
        identify.parameter(model, "body_mass", "arm", nominal=2.0),
        identify.parameter(model, "dof_damping", "socket", nominal=0.4),
        identify.parameter(model, "geom_friction", "bob", 0, nominal=0.2),
        identify.position_gain(model, "servo", nominal=50.0),
    ]
    found = jax.jit(lambda z: apply(model, chosen, z))(jnp.asarray(coordinates(chosen, "nominal")))
    text = XML.replace('mass="1"', 'mass="2"').replace('damping="0.1"', 'damping="0.4"')
    expected = jaxsim.load_model(text.replace('friction="0.7', 'friction="0.2').replace('kp="30"', 'kp="50"'))
    for name in ("body_mass", "body_subtreemass", "dof_damping", "geom_friction", "geom_size"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, err_msg=name)
    for name in ("actuator_gainprm", "actuator_biasprm"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, err_msg=name)
    whole = jaxsim.set_const(
        found.replace(body_inertia=expected.body_inertia)
    )  # a mass alone leaves the inertia
    np.testing.assert_allclose(
        whole.dof_invweight0, expected.dof_invweight0, rtol=1e-6
    )  # the compiler's digits


def test_coordinates_and_values():
    chosen = [identify.parameter(model, "body_mass", "arm"), identify.parameter(model, "body_ipos", "ball")]
    z = coordinates(chosen, "nominal")
    values, slopes = values_of(chosen, z)
    np.testing.assert_allclose(values, [1, *np.asarray(model.body_ipos[2])])
    np.testing.assert_allclose(slopes, [1, 1, 1, 1])
    np.testing.assert_allclose(
        coordinates(chosen, "min_value")[0], np.log(1e-3)
    )  # there its slope is not lost
    none = [identify.parameter(model, "body_mass", "arm", min_value=0.0)]
    assert coordinates(none, "min_value")[0] == -np.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: identify.parameter(model, "body_weight", "arm"), "no field of real numbers"),
        (lambda: identify.parameter(model, "geom_type", "rod"), "no field of real numbers"),
        (lambda: identify.parameter(model, "body_mass", "arm", 3), "has 1 numbers, none is 3"),
        (lambda: identify.parameter(model, "body_mass", "arm", nominal=9.0, max_value=2.0), "not within"),
        (
            lambda: identify.parameter(model, "body_mass", "arm", min_value=3.0, max_value=2.0),
            r"min_value \[3\.\] is above max_value \[2\.\]",
        ),
        (lambda: identify.parameter(model, "dof_damping", "hinge", nominal=0.0), "no logarithm"),
        (
            lambda: identify.parameter(model, "dof_damping", "socket", nominal=[1.0, 2.0]),
            "2 nominal values for 3",
        ),
        (lambda: identify.parameter(model, "body_mass", "arm", scale="square"), "'log' or 'linear'"),  # pyright: ignore
        (lambda: identify.position_gain(model, "motor"), "no position servo"),
        (lambda: identify.body_inertia(model, 0), "not positive definite"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_names_that_are_not_there():
    with pytest.raises(KeyError, match="did you mean 'arm'"):
        identify.parameter(model, "body_mass", "arms")
    with pytest.raises(KeyError, match="no body named"):
        identify.body_inertia(model, "leg")


def full(m, c, moments, R):
    """The pseudo-inertia from mass, centre of mass, principal moments and axes."""
    second = (R * (np.sum(moments) / 2 - moments)) @ R.T + m * np.outer(c, c)
    return np.block([[second, m * c[:, None]], [m * c[None], np.array([[m]])]])


@pytest.mark.parametrize("seed", range(5))
def test_log_cholesky_is_one_to_one(seed):
    rng = np.random.default_rng(seed)
    theta = 0.5 * rng.standard_normal(10)
    J = np.asarray(log_cholesky(jnp.asarray(theta)))
    assert np.linalg.eigvalsh(J).min() > 0
    np.testing.assert_allclose(from_pseudo(J), theta, atol=1e-10)
    mass, center, moments, axes = map(np.asarray, inertial(jnp.asarray(J)))
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, axes)
    np.testing.assert_allclose(full(mass, center, moments, R.reshape(3, 3)), J, atol=1e-12)
    assert moments.max() < moments.sum() - moments.max()  # the triangle inequality


def test_the_model_has_the_inertia():
    """The kinetic energy of a motion is that of C's model with the same mass, centre and full inertia."""
    ball = identify.body_inertia(model, "ball")
    rng = np.random.default_rng(0)
    theta = ball.nominal + 0.3 * rng.standard_normal(10)
    found = apply(model, [ball], jnp.asarray(theta))
    J = np.asarray(log_cholesky(jnp.asarray(theta)))
    m, c = J[3, 3], J[:3, 3] / J[3, 3]
    second = J[:3, :3] - m * np.outer(c, c)
    turning = np.trace(second) * np.eye(3) - second
    spec = mujoco.MjSpec.from_string(XML)
    body = spec.body("ball")
    body.mass, body.ipos, body.explicitinertial = m, c, True
    body.fullinertia = turning[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    theirs = spec.compile()
    d = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, d)
    expected = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, d, expected)
    data = jax.jit(jaxsim.forward)(found, jaxsim.make_data(found))
    np.testing.assert_allclose(jaxsim.full_m(found, data), expected, atol=1e-9)
    np.testing.assert_allclose(found.body_invweight0, theirs.body_invweight0, rtol=1e-6)


@pytest.mark.parametrize("apart", [False, True])
def test_derivatives_of_the_inertia(apart):
    """Of a cube, whose moments are equal: by way of principal axes that may turn any way, the inertia is smooth."""
    ball = identify.body_inertia(model, "ball")
    theta = ball.nominal if apart else from_pseudo(pseudo_inertia(model, "ball"))

    @jax.jit
    def turning(theta):
        changed = ball.modifier(model, theta)
        R = jax.vmap(lambda e: rotate(changed.body_iquat[2], e))(jnp.eye(3)).T
        return changed.body_mass[2], changed.body_ipos[2], (R * changed.body_inertia[2]) @ R.T

    def rotate(q, v):
        t = 2 * jnp.cross(q[1:], v)
        return v + q[0] * t + jnp.cross(q[1:], t)

    slopes = jax.jit(jax.jacfwd(turning))(jnp.asarray(theta))
    assert all(np.all(np.isfinite(x)) for x in slopes)
    back = jax.jit(jax.jacrev(turning))(jnp.asarray(theta))
    for a, b in zip(slopes, back, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    if not apart:  # of equal moments the axes' part is cut off
        return
    eps = 1e-6
    for k in range(10):
        step = eps * np.eye(10)[k]
        up, down = turning(jnp.asarray(theta + step)), turning(jnp.asarray(theta - step))
        for a, b, slope in zip(up, down, slopes, strict=True):
            np.testing.assert_allclose(slope[..., k], (a - b) / (2 * eps), atol=1e-6)


def test_pseudo_inertia_of_a_model():
    J = pseudo_inertia(model, "ball")
    np.testing.assert_allclose(J[3, 3], model.body_mass[2])
    np.testing.assert_allclose(J[:3, 3], model.body_mass[2] * model.body_ipos[2], atol=1e-12)
    np.testing.assert_allclose(J[0, 0], 8 * 0.1**2 / 3, rtol=1e-9)  # a cube of side 0.2 with 8 kg
