"""Fits: exact Jacobians, known truths from the C engine, what is and what is not known afterwards."""

import dataclasses
import functools

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import identify
from jaxsim.identify.residual import _without_gaps

PENDULUM = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="arm"><joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom name="rod" type="capsule" fromto="0 0 0 .4 0 0" size=".04" mass="1"/><site name="tip" pos=".4 0 0"/></body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge" gear="1"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><velocimeter name="speed" site="tip"/></sensor>
</mujoco>
"""


def simulated(xml, ctrl, qpos=None, qvel=None):
    """Positions, velocities and sensors of the C engine along controls."""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    d.qpos[:] = d.qpos if qpos is None else qpos
    d.qvel[:] = 0 if qvel is None else qvel
    paths = {"qpos": [d.qpos.copy()], "qvel": [d.qvel.copy()], "sensordata": []}
    for u in ctrl:
        d.ctrl[:] = u
        mujoco.mj_step(m, d)
        for name, path in paths.items():
            path.append(getattr(d, name).copy())
    return {name: np.array(path) for name, path in paths.items()}


def noisy(paths, sigma):
    rng = np.random.default_rng(0)
    return {
        name: x + sigma[name] * rng.standard_normal(x.shape) for name, x in paths.items() if name in sigma
    }


@functools.cache
def pendulum():
    ctrl = 0.6 * np.sin(0.11 * np.arange(60))[:, None]
    return jaxsim.load_model(PENDULUM), ctrl, simulated(PENDULUM, ctrl, [0.4])


def unknown(model, gain=2.0, damping=0.03):
    return [
        identify.parameter(model, "actuator_gainprm", "motor", 0, nominal=gain, scale="log"),
        identify.parameter(model, "dof_damping", "hinge", nominal=damping),
    ]


@functools.cache
def fitted():
    """Strength of the motor and damping of a pendulum, from noisy positions, velocities and sensors."""
    model, ctrl, paths = pendulum()
    sigma = {"qpos": 1e-3, "qvel": 1e-2, "sensordata": 1e-2}
    measured = noisy(paths, sigma)
    for name, row in (("qpos", 25), ("qvel", 7), ("sensordata", 20)):
        measured[name][row] = np.nan  # not measured
    residual = identify.build_residual(
        model, unknown(model), [identify.Trajectory(ctrl, **measured)], window=25, sigma=sigma
    )
    fit = identify.optimize(residual)
    assert residual.simulations == fit.solution.evaluations
    return residual, fit


def test_a_pendulum_is_found():
    _, fit = fitted()
    assert fit.solution.converged
    error = [fit["motor.gainprm[0]"] - 1, fit["hinge.damping"] - 0.1]
    assert np.all(np.abs(error) < 4 * fit.deviations)
    assert np.all(fit.deviations < 0.02)
    np.testing.assert_allclose(fit.model.dof_damping[0], fit["hinge.damping"])
    for name, rms in fit.rms.items():  # the noise is what is left; as many numbers as make 1 to 20%
        assert rms == pytest.approx(1, abs=0.2), name
    assert fit.blind == []
    text = fit.report()
    assert "hinge.damping" in text
    assert "residual of sensordata" in text
    assert "than noise" not in text
    text = dataclasses.replace(fit, rms={"qpos": 2.04, "qvel": 0.3}).report()
    assert "residual of qpos: 2.04 standard deviations, more than noise\n" in text
    assert "residual of qvel: 0.3 standard deviations, less than noise: `sigma` is too large" in text
    assert "a local minimum (begin with shorter windows)" in text


def test_lost_positions_are_on_straight_lines():
    """Where a window begins: a joint's angle, and a free body's turn."""
    model = jaxsim.load_model(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body>"
        "<body><joint/><geom size='1'/></body></worldbody></mujoco>"
    )
    turn = np.array([[np.cos(x), 0, np.sin(x), 0] for x in (0.0, 0.1, 0.2, 0.3)])
    whole = np.concatenate([np.arange(4)[:, None] * [1.0, 2, 3], turn, np.arange(4)[:, None] * 0.5], axis=1)
    lost = whole.copy()
    lost[1] = np.nan
    np.testing.assert_allclose(_without_gaps(model, lost), whole, atol=1e-12)
    lost[1:, 7] = np.nan
    assert _without_gaps(model, lost) is None


def test_covariance_is_that_of_the_whole_problem():
    """The block of parameters of the inverse of J^T J, in units of the values."""
    residual, fit = fitted()
    J = fit.solution.jacobian.toarray()
    r = fit.solution.residual
    noise = r @ r / (np.count_nonzero(r) - J.shape[1])
    expected = noise * np.linalg.inv(J.T @ J)[:2, :2] * np.outer(fit.values, fit.values)
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-6)
    assert residual.size == J.shape[1] == 2 + 3 * 2


def test_the_jacobian_is_exact():
    residual, fit = fitted()
    x = fit.solution.x + 0.01 * np.random.default_rng(1).standard_normal(residual.size)
    r, J = residual(x)
    np.testing.assert_allclose(residual.value(x), r, atol=1e-9 * np.abs(r).max())
    eps = 1e-6
    for k in range(residual.size):
        step = eps * np.eye(residual.size)[k]
        slope = (residual(x + step)[0] - residual(x - step)[0]) / (2 * eps)
        np.testing.assert_allclose(J.toarray()[:, k], slope, atol=1e-5 * (1 + np.abs(slope).max()))


@pytest.mark.slow
def test_an_unknown_start_and_sensors_only():
    """Without positions the start comes from `initial`; one window is single shooting."""
    model, ctrl, paths = pendulum()
    initial = jaxsim.make_data(model).replace(qpos=jnp.asarray([0.4]))
    for states in ("measured", "free"):
        residual = identify.build_residual(
            model,
            unknown(model, 1.2, 0.12)[: 2 if states == "measured" else 1],
            [identify.Trajectory(ctrl, sensordata=paths["sensordata"], initial=initial)],
            window=None,
            states=states,
            sensors=["angle"],
        )
        assert residual.measured() == {"sensordata": 60}
        if states == "measured":
            fit = identify.optimize(residual)
            np.testing.assert_allclose(fit.values, [1, 0.1], rtol=1e-4)


@pytest.mark.slow
def test_what_cannot_be_identified_is_named():
    """A gain, a damping and a mass without gravity all scale one motion: only ratios are known."""
    text = PENDULUM.replace("<option ", '<option gravity="0 0 0" ').replace('axis="0', 'type="slide" axis="0')
    model, ctrl, _ = pendulum()
    model = jaxsim.load_model(text)
    chosen = [
        *unknown(model, 1.1, 0.12),
        identify.parameter(model, "body_mass", "arm", nominal=1.3),
        identify.parameter(model, "geom_friction", "rod", 0),
    ]
    paths = simulated(text, ctrl, qvel=[0.3])
    trajectory = identify.Trajectory(ctrl, paths["qpos"], paths["qvel"])
    fit = identify.optimize(
        identify.build_residual(model, chosen, [trajectory], window=30, states="measured")
    )
    assert len(fit.blind) == 2
    assert np.all(np.isinf(fit.deviations))
    span = np.array([[d[name] for name in fit.names] for d in fit.blind])
    for direction in (np.array([1, 1, 1, 0]) / np.sqrt(3), np.eye(4)[3]):
        np.testing.assert_allclose(np.linalg.norm(span @ direction), 1, atol=1e-3)
    assert fit["arm.mass"] / fit["motor.gainprm[0]"] == pytest.approx(1, rel=1e-4)
    assert "cannot be identified" in fit.report()


@pytest.mark.slow
def test_differences_take_the_same_path():
    """On a manifold, with activations, two trajectories of different length; counts what differences cost."""
    text = """
    <mujoco>
      <worldbody>
        <body name="top"><joint type="ball" damping="0.05"/><geom name="g" type="box" size=".1 .2 .05" pos="0 0 -.3"/>
        </body>
        <body name="cart" pos="1 0 0"><joint name="slide" type="slide" damping="1"/><geom name="c" size=".1"/></body>
      </worldbody>
      <actuator><general joint="slide" dyntype="filter" dynprm="0.05" gainprm="20"/></actuator>
    </mujoco>
    """
    model = jaxsim.load_model(text)
    rng = np.random.default_rng(0)
    trajectories = []
    for steps in (13, 20):
        ctrl = rng.standard_normal((steps, 1))
        paths = simulated(text, ctrl, qvel=rng.standard_normal(4))
        trajectories.append(identify.Trajectory(ctrl, paths["qpos"], paths["qvel"]))
    chosen = [
        identify.body_inertia(model, "top"),
        identify.parameter(model, "dof_damping", "slide", nominal=2.0),
    ]
    found = {}
    for how in ("exact", "differences"):
        residual = identify.build_residual(model, chosen, trajectories, window=7, jacobian=how)
        x = residual.nominal() + 0.02 * np.random.default_rng(2).standard_normal(residual.size)
        found[how] = residual(x)
        assert residual.simulations == (1 if how == "exact" else 1 + 11 + 9)
    np.testing.assert_allclose(found["exact"][0], found["differences"][0], atol=1e-12)
    a, b = (found[how][1].toarray() for how in found)
    np.testing.assert_allclose(a, b, atol=2e-5 * np.abs(b).max())  # one-sided


BOX = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" friction="0.1"/>
    <body name="box" pos="0 0 0.13">
      <joint name="x" type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint axis="0 1 0"/>
      <geom name="box" type="box" size="0.15 0.1 0.1" mass="1.3" friction="0.35" solref="-2000 -5"/>
    </body>
  </worldbody>
  <actuator><motor joint="x"/></actuator>
</mujoco>
"""


@pytest.mark.slow
def test_a_sliding_box_that_chatters():
    """Contacts make and break 14 times in 0.6 s: a long simulation leads astray, short windows do not."""
    ctrl = 6 * np.sin(2 * np.pi * 1.5 * 0.005 * np.arange(120))[:, None]
    sigma = {"qpos": 1e-3, "qvel": 1e-2}
    measured = noisy(simulated(BOX, ctrl, qvel=[1.5, 0, 0.5]), sigma)
    model = jaxsim.load_model(BOX)
    chosen = [
        identify.parameter(model, "body_mass", "box", nominal=2.5),
        identify.parameter(model, "geom_friction", "box", 0, nominal=0.15),
    ]
    errors = {}
    for window in (4, None):
        trajectory = identify.Trajectory(ctrl, **measured)
        fit = identify.optimize(
            identify.build_residual(model, chosen, [trajectory], window=window, sigma=sigma)
        )
        errors[window] = np.abs(fit.values / [1.3, 0.35] - 1).max()
    assert errors[4] < 0.02
    assert errors[None] > 0.3


model = jaxsim.load_model(PENDULUM)
CTRL = np.zeros((5, 1))
QPOS = np.zeros((6, 1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": []}, "no parameters"),
        ({"parameters": unknown(model) + unknown(model)}, "parameters repeat: hinge.damping"),
        ({"trajectories": []}, "no trajectories"),
        (
            {"trajectories": identify.Trajectory(CTRL, QPOS)},
            r"trajectories is one Trajectory; expected a seq",
        ),
        (
            {"parameters": unknown(model)[0]},
            r"parameters is one Parameter; expected a sequence, \[parameters\]",
        ),
        ({"states": "fixed"}, "'free' or 'measured'"),
        ({"jacobian": "complex"}, "'exact' or 'differences'"),
        (
            {"trajectories": [identify.Trajectory(np.array([[0], [0], [np.nan], [0], [0.0]]), QPOS)]},
            "ctrl of trajectory 0 is not finite in 1 rows, the first is 2",
        ),
        ({"window": 0}, "window=0; expected an integer of at least 1"),
        ({"window": 2.5}, r"window=2\.5; expected an integer of at least 1"),
        ({"substeps": 0}, "substeps=0; expected an integer of at least 1"),
        ({"sigma": {"xpos": 1.0}}, "sigma of xpos"),
        ({"sigma": {"qpos": -1.0}}, "sigma of qpos has to be positive"),
        ({"defect": 0.0}, "defects has to be positive"),
        ({"trajectories": [identify.Trajectory(np.zeros(5), QPOS)]}, r"expected \(T, 1\)"),
        (
            {"trajectories": [identify.Trajectory(CTRL, QPOS[1:])]},
            r"qpos has shape \(5, 1\); expected \(6, 1\)",
        ),
        ({"trajectories": [identify.Trajectory(CTRL)]}, "give the state `initial`"),
        (
            {"trajectories": [identify.Trajectory(CTRL, QPOS)], "sigma": {"qpos": np.inf}},
            "nothing is measured",
        ),
    ],
)
def test_wrong_arguments(changes, message):
    given = {"parameters": unknown(model), "trajectories": [identify.Trajectory(CTRL, QPOS)], **changes}
    with pytest.raises(ValueError, match=message):
        identify.build_residual(model, given.pop("parameters"), given.pop("trajectories"), **given)


def test_deviations_are_by_field():
    with pytest.raises(TypeError, match=r"sigma=0\.1; expected numbers by field"):
        identify.build_residual(model, unknown(model), [identify.Trajectory(CTRL, QPOS)], sigma=0.1)


def test_trajectories_by_name():
    with pytest.raises(TypeError, match="trajectories holds str; expected a sequence of Trajectory"):
        identify.build_residual(model, unknown(model), {"log": identify.Trajectory(CTRL, QPOS)})


def test_a_model_of_another_precision():
    single = model.replace(qpos0=np.float32(model.qpos0))
    with pytest.raises(ValueError, match="the model is float32, JAX now float64; set jax_enable_x64 before"):
        identify.build_residual(single, unknown(model), [identify.Trajectory(CTRL, QPOS)])


def test_a_sensor_that_is_not_there():
    with pytest.raises(KeyError, match="did you mean 'speed'"):
        identify.build_residual(model, unknown(model), [identify.Trajectory(CTRL, QPOS)], sensors=["sped"])


def test_a_parameter_that_is_not_there():
    with pytest.raises(KeyError, match=r"there are motor\.gain"):
        fitted()[1]["leg.mass"]
