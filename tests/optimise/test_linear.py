"""Every planner on a cart that is a linear system with a quadratic cost, where the optimum is known."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import optimise

XML = """
<mujoco>
  <compiler autolimits="true"/>
  <option timestep="0.05" gravity="0 0 0"><flag contact="disable"/></option>
  <worldbody>
    <body><joint name="x" type="slide" axis="1 0 0" damping="0.3"/><geom size=".1" mass="1.5"/></body>
    <body><joint name="y" type="slide" axis="0 1 0" stiffness="2"/><geom size=".1" mass="0.8"/></body>
  </worldbody>
  <actuator><motor joint="x" ctrlrange="-99 99"/><motor joint="y" ctrlrange="-99 99"/></actuator>
</mujoco>
"""
T = 20
Q, R, END = np.array([2.0, 1.0, 0.1, 0.2]), np.array([0.1, 0.3]), np.array([30.0, 20.0, 3.0, 2.0])
NARROW = (jnp.array([-0.5, -0.4]), jnp.array([0.5, 0.4]))
WIDE = optimise.limits(jaxsim.load_model(XML))

model = jaxsim.load_model(XML)
data = jaxsim.make_data(model).replace(qpos=jnp.array([1.0, -0.5]), qvel=jnp.array([0.2, 0.3]))
zeros = jnp.zeros((T, 2))


def quadratic(data, weights):
    x = jnp.concatenate([data.qpos, data.qvel])
    return jnp.sum(weights * x**2) / 2


cost = optimise.Cost(
    running=lambda model, data: quadratic(data, Q) + jnp.sum(R * data.ctrl**2) / 2,
    terminal=lambda model, data: quadratic(data, END),
)


@functools.cache
def planner():
    """iLQR from a position, under limits."""

    @jax.jit
    def plan(qpos, bounds):
        return optimise.ilqr(model, data.replace(qpos=qpos), zeros, cost, iterations=8, bounds=bounds)

    return plan


@functools.cache
def riccati(substeps=1):
    """Gains (T, 2, 4) and the matrix of the cost of the best controls, in numpy."""
    A, B, _, _ = (np.asarray(x) for x in jax.jit(jaxsim.transition, static_argnums=2)(model, data, substeps))
    V, gains = np.diag(END), []
    for _ in range(T):
        K = -np.linalg.solve(np.diag(R) + B.T @ V @ B, B.T @ V @ A)
        V = np.diag(Q) + A.T @ V @ A + A.T @ V @ B @ K
        gains.append(K)
    return A, B, np.array(gains[::-1]), V


@pytest.mark.slow
def test_ilqr_is_the_linear_quadratic_regulator():
    A, B, gains, V = riccati()
    plan = planner()(data.qpos, WIDE)
    x = np.concatenate([data.qpos, data.qvel])
    assert float(plan.cost) == pytest.approx(x @ V @ x / 2, rel=1e-9)
    np.testing.assert_allclose(plan.gains, gains, rtol=0, atol=1e-6)  # regularisation
    for k in range(T):
        u = gains[k] @ x
        np.testing.assert_allclose(plan.ctrl[k], u, rtol=0, atol=1e-6)
        x = A @ x + B @ u
    np.testing.assert_allclose(plan.qpos[-1], x[:2], rtol=0, atol=1e-6)
    assert float(plan.gradient) < 1e-6
    assert float(plan.gap) == 0
    assert plan.history[1] == pytest.approx(float(plan.cost), rel=1e-6)  # one step
    assert np.all(np.diff(plan.history) <= 0)


def simulate(ctrl, x):
    A, B, _, _ = riccati()
    value = 0.0
    for u in ctrl:
        value += (Q * x**2).sum() / 2 + (R * u**2).sum() / 2
        x = A @ x + B @ u
    return value + (END * x**2).sum() / 2


@pytest.mark.slow
def test_limits_hold_and_are_optimal():
    """Where no limit holds a control, the slope is zero; where one does, it points outwards."""
    plan = planner()(data.qpos, NARROW)
    u = np.asarray(plan.ctrl)
    high = np.asarray(NARROW[1])
    assert np.all(np.abs(u) <= high)
    at = np.abs(u) == high
    assert 3 < at.sum() < 2 * T
    x = np.concatenate([data.qpos, data.qvel])
    assert float(plan.cost) == pytest.approx(simulate(u, x), rel=1e-9)
    slope = np.zeros_like(u)
    for k in np.ndindex(*u.shape):
        step = np.zeros_like(u)
        step[k] = 1e-5
        slope[k] = (simulate(u + step, x) - simulate(u - step, x)) / 2e-5
    np.testing.assert_allclose(slope[~at], 0, atol=1e-5)
    assert np.all(slope[at] * u[at] < 0)
    np.testing.assert_array_equal(plan.gains[at], 0)


@pytest.mark.slow
def test_starts_in_a_batch():
    starts = jnp.array([[1.0, -0.5], [0.2, 0.1], [-2.0, 0.0]])
    many = jax.jit(jax.vmap(planner(), in_axes=(0, None)))(starts, NARROW)
    for k, start in enumerate(starts):
        one = planner()(start, NARROW)
        np.testing.assert_allclose(many.ctrl[k], one.ctrl, rtol=0, atol=1e-9)
        np.testing.assert_allclose(many.cost[k], one.cost, rtol=1e-9)


@pytest.mark.slow
def test_states_may_begin_as_a_wish():
    wish = jnp.linspace(0, 1, T)[:, None] * jnp.array([-1.0, 0.5]) + data.qpos
    plan = jax.jit(
        lambda q: optimise.multiple_shooting(
            model, data, zeros, q, jnp.zeros((T, 2)), cost, iterations=6, bounds=WIDE
        )
    )(wish)
    best = planner()(data.qpos, WIDE)
    assert float(plan.gap) < 1e-12
    assert float(plan.cost) == pytest.approx(float(best.cost), rel=1e-9)
    np.testing.assert_allclose(plan.ctrl, best.ctrl, rtol=0, atol=1e-6)


class Momentum(NamedTuple):
    """Gradient descent with momentum, with the interface of optax."""

    rate: float = 0.05

    def init(self, x):
        return jnp.zeros_like(x)

    def update(self, slope, speed, x):
        speed = 0.8 * speed - self.rate * slope
        return speed, speed


def test_shooting():
    shot = jax.jit(
        lambda: optimise.shooting(model, data, zeros, cost, Momentum(), iterations=200, bounds=NARROW)
    )()
    best = planner()(data.qpos, NARROW)
    assert float(shot.cost) == pytest.approx(float(best.cost), rel=1e-4)
    assert np.all(np.abs(shot.ctrl) <= NARROW[1])
    assert float(shot.cost) == pytest.approx(float(jnp.min(shot.history)))


@pytest.mark.slow
def test_shooting_by_optax():
    optax = pytest.importorskip("optax")
    shot = jax.jit(lambda: optimise.shooting(model, data, zeros, cost, optax.adam(0.1), bounds=NARROW))()
    assert float(shot.cost) == pytest.approx(float(planner()(data.qpos, NARROW).cost), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cem", "mppi"])
def test_sampling(method):
    """Comes near; the same key gives the same, another one something else."""
    more = {"temperature": 0.05} if method == "mppi" else {"samples": 200, "elites": 20}

    @jax.jit
    def run(key):
        return getattr(optimise, method)(
            model, data, zeros, cost, key, knots=5, iterations=25, deviation=0.3, bounds=NARROW, **more
        )

    found = run(jax.random.key(0))
    best = float(planner()(data.qpos, NARROW).cost)
    assert best * (1 - 1e-9) < float(found.cost) < 1.05 * best
    assert np.all(np.abs(found.ctrl) <= NARROW[1])
    assert np.all(np.diff(found.history) <= 0)
    np.testing.assert_array_equal(found.ctrl, run(jax.random.key(0)).ctrl)
    assert np.any(found.ctrl != run(jax.random.key(1)).ctrl)
    again = jax.jit(lambda u: optimise.total_cost(model, data, u, cost))(found.ctrl)
    assert float(again) == pytest.approx(float(found.cost), rel=1e-12)


@pytest.mark.slow
def test_control_in_a_loop():
    """The best controls of a horizon that shrinks nowhere: the first gain of the regulator, again and again."""
    A, B, gains, _ = riccati()

    def plan(data, ctrl, key):
        return optimise.ilqr(model, data, ctrl, cost, iterations=3, bounds=WIDE).ctrl

    final, run = jax.jit(lambda: optimise.mpc(model, data, zeros, plan, steps=6, hold=2))()
    x = np.concatenate([data.qpos, data.qvel])
    for k in range(6):
        u = gains[k % 2] @ x
        np.testing.assert_allclose(run.ctrl[k], u, rtol=0, atol=1e-5)
        x = A @ x + B @ u
    np.testing.assert_allclose(np.r_[run.qpos[-1], run.qvel[-1]], x, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(final.qpos, run.qpos[-1])
    assert run.qpos.shape == (7, 2)
    assert run.plan.shape == (T, 2)


def test_a_transition_of_several_steps():
    A, B, _, _ = riccati()
    several = riccati(3)
    np.testing.assert_allclose(several[0], A @ A @ A, rtol=0, atol=1e-12)
    np.testing.assert_allclose(several[1], (A @ A + A + np.eye(4)) @ B, rtol=0, atol=1e-12)


def test_costs_of_controls_that_are_held():
    """The running cost counts once for each control."""
    value = jax.jit(lambda u: optimise.total_cost(model, data, u, cost, substeps=3))(zeros[:4] + 0.3)
    A, B, _, _ = riccati(3)
    x, expected = np.concatenate([data.qpos, data.qvel]), 0.0
    for _ in range(4):
        expected += (Q * x**2).sum() / 2 + (R * 0.3**2).sum() / 2
        x = A @ x + B @ [0.3, 0.3]
    assert float(value) == pytest.approx(expected + (END * x**2).sum() / 2, rel=1e-12)


@pytest.mark.slow
def test_plans_of_controls_that_are_held():
    """The best plan is that of the linear system of three steps; every planner tells the cost of what it found."""
    _, _, gains, V = riccati(3)
    arguments = {"iterations": 4, "bounds": WIDE, "substeps": 3}

    @jax.jit
    def run():
        plan = optimise.ilqr(model, data, zeros, cost, **arguments)
        wish = zeros + data.qpos, zeros
        shot = optimise.multiple_shooting(model, data, zeros, *wish, cost, **arguments)
        found = [
            optimise.shooting(model, data, zeros, cost, Momentum(), **arguments),
            optimise.cem(model, data, zeros, cost, KEY, samples=8, elites=4, **arguments),
            optimise.mppi(model, data, zeros, cost, KEY, samples=8, **arguments),
        ]
        again = [optimise.total_cost(model, data, x.ctrl, cost, substeps=3) for x in found]
        _, path = jaxsim.rollout(model, data, plan.ctrl, substeps=3, fields=("qpos", "time"))
        return plan, shot, found, again, path

    plan, shot, found, again, path = run()
    x = np.concatenate([data.qpos, data.qvel])
    for best in plan, shot:
        assert float(best.cost) == pytest.approx(x @ V @ x / 2, rel=1e-9)
        np.testing.assert_allclose(best.gains, gains, rtol=0, atol=1e-5)  # regularisation
    np.testing.assert_allclose(plan.qpos[1:], path["qpos"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(path["time"], 0.15 * np.arange(1, T + 1), rtol=0, atol=1e-12)
    for one, value in zip(found, again, strict=True):
        assert float(one.cost) == pytest.approx(float(value), rel=1e-12)
        assert float(one.cost) < float(found[0].history[0])


@pytest.mark.slow
def test_a_loop_of_controls_that_are_held():
    def plan(data, ctrl, key):
        return ctrl + 0.1 * data.qpos

    final, run = jax.jit(lambda: optimise.mpc(model, data, zeros, plan, steps=6, hold=2, substeps=3))()
    _, path = jax.jit(lambda u: jaxsim.rollout(model, data, u, substeps=3, fields=("qpos",)))(run.ctrl)
    np.testing.assert_allclose(run.qpos[1:], path["qpos"], rtol=0, atol=1e-12)
    assert float(final.time) == pytest.approx(6 * 3 * 0.05)


KEY = jax.random.key(0)
TIP = optimise.Cost(
    lambda model, data: jnp.sum(data.xpos[-1] ** 2 + data.qpos[0]) + jnp.sum(data.contact.dist)
)
two = jax.tree.map(lambda x: jnp.stack([x, x]), data)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: optimise.ilqr(model, data, zeros[:, :1], cost),
            r"ilqr: ctrl has shape \(20, 1\); expected \(T, 2\)",
        ),
        (lambda: optimise.ilqr(model, data, zeros[:0], cost), "ilqr: ctrl has shape"),
        (
            lambda: optimise.ilqr(model, data, zeros, cost, iterations=0),
            "ilqr: iterations=0; expected an integer",
        ),
        (lambda: optimise.ilqr(model, data, zeros + jnp.nan, cost), "ilqr: ctrl is not finite"),
        (
            lambda: optimise.total_cost(model, data, zeros, cost, substeps=0),
            "total_cost: substeps=0; expected an",
        ),
        (
            lambda: optimise.cem(model, data, zeros, cost, KEY, substeps=1.5),
            "cem: substeps=1.5; expected an int",
        ),
        (
            lambda: optimise.mpc(model, data, zeros, lambda d, u, k: u, steps=2, substeps=-1),
            "mpc: substeps=-1; expected an integer",
        ),
        (
            lambda: optimise.cem(model, data, zeros, cost, KEY, bounds=1.0),
            r"bounds: 1\.0; expected a lower and an",
        ),
        (lambda: optimise.cem(model, data, zeros, cost, KEY, bounds=(jnp.nan, 1.0)), "bounds: not a number"),
        (
            lambda: optimise.multiple_shooting(model, data, zeros, zeros[1:], zeros, cost),
            r"qpos has shape \(19, 2\); expected \(20, 2\)",
        ),
        (lambda: optimise.total_cost(model, data, zeros[0], cost), "total_cost: ctrl has shape"),
        (lambda: optimise.shooting(model, data, zeros[0], cost, Momentum()), "shooting: ctrl has shape"),
        (lambda: optimise.cem(model, data, zeros, cost, KEY, elites=1), "1 < elites <= samples"),
        (lambda: optimise.cem(model, data, zeros, cost, KEY, elites=9, samples=8), "1 < elites <= samples"),
        (lambda: optimise.cem(model, data, zeros, cost, KEY, knots=1), "knots=1; expected 2 to 20"),
        (lambda: optimise.mppi(model, data, zeros, cost, KEY, temperature=0.0), "expected a positive number"),
        (
            lambda: optimise.mppi(model, data, zeros, cost, KEY, temperature=np.nan),
            "temperature=nan; expected a pos",
        ),
        (
            lambda: optimise.cem(model, data, zeros, cost, KEY, deviation=-1.0),
            "deviation=-1.0; expected a positive",
        ),
        (lambda: optimise.mppi(model, data, zeros[0], cost, KEY), "mppi: ctrl has shape"),
        (
            lambda: optimise.mppi(model, data, zeros, cost, KEY, samples=0),
            "mppi: samples=0; expected an integer of at least 1",
        ),
        (
            lambda: optimise.cem(model, data, zeros, cost, KEY, iterations=0),
            "cem: iterations=0; expected an integer",
        ),
        (lambda: optimise.mpc(model, data, zeros, lambda d, u, k: u, steps=5, hold=2), "a multiple of hold"),
        (lambda: optimise.mpc(model, data, zeros[0], lambda d, u, k: u, steps=5), "mpc: ctrl has shape"),
        (
            lambda: optimise.mpc(model, data, zeros, lambda d, u, k: optimise.Sampled(u, 0, u, u), steps=2),
            r"planner gives Sampled; expected controls \(20, 2\), as `\.ctrl`",
        ),
        (
            lambda: optimise.mpc(model, data, zeros, lambda d, u, k: u[:3], steps=2),
            r"the planner gives \(3, 2\); expected controls \(20, 2\)",
        ),
        (
            lambda: optimise.ilqr(model, data, zeros, cost._replace(terminal=lambda m, d: d.qpos[:1])),
            r"ilqr: Cost\.terminal gives shape \(1,\); expected a scalar",
        ),
        (
            lambda: optimise.cem(model, data, zeros, optimise.Cost(lambda m, d: (d.qpos[0], 1)), KEY),
            r"cem: Cost\.running gives shape \(\(\), \(\)\); expected a scalar",
        ),
        (
            lambda: optimise.shooting(model, data, zeros, TIP, Momentum()),
            r"shooting: Cost\.running reads data\.xpos, data\.contact\.dist, which is not up to date there; begin with",
        ),
        (lambda: optimise.ilqr(model, two, zeros, cost), "ilqr: data holds 2 worlds"),
        (lambda: optimise.cem(model, two, zeros, cost, KEY), "cem: data holds 2 worlds"),
        (
            lambda: optimise.ilqr(model, data, zeros, cost, bounds=WIDE[::-1]),
            "lower limit is above its upper one",
        ),
        (
            lambda: optimise.shooting(
                model, data, zeros, cost, Momentum(), bounds=(jnp.ones(3), jnp.ones(3))
            ),
            r"bounds: shape \(3,\); expected a lower and an upper limit, \(2,\) each",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_follows_from_a_state_is_known_once_it_is_computed():
    """Costs that begin with a stage are not refused, nor are those of stages that read it themselves."""
    fresh = optimise.Cost(
        lambda model, data: jnp.sum(jaxsim.kinematics(model, data).xpos[-1] ** 2),
        lambda model, data: jnp.sum(jaxsim.inverse(model, data.replace(qacc=data.qvel)).qfrc_inverse ** 2),
    )
    found = optimise.total_cost(model, data, zeros[:2].tolist(), fresh)
    assert float(found) > 0
    np.testing.assert_allclose(optimise.total_cost(model, data, np.zeros((2, 2), np.float32), fresh), found)


@pytest.mark.parametrize("optimiser", ["adam", 0.05])
def test_a_name_is_no_optimiser(optimiser):
    with pytest.raises(TypeError, match=r"optax\.adam\(0\.05\)"):
        optimise.shooting(model, data, zeros, cost, optimiser)


@pytest.mark.parametrize(
    "sample",
    [
        lambda key: optimise.cem(model, data, zeros, cost, key),
        lambda key: optimise.mppi(model, data, zeros, cost, key),
        lambda key: optimise.mpc(model, data, zeros, lambda data, ctrl, key: ctrl, steps=1, key=key),
        lambda key: optimise.randomised(jnp.sum, zeros, key, deviation=1.0),
    ],
)
def test_a_number_is_no_key(sample):
    with pytest.raises(TypeError, match=r"key: 0 is no random key: jax\.random\.key\(0\)"):
        sample(0)


@pytest.mark.parametrize("planner", [optimise.ilqr, optimise.total_cost])
def test_a_function_is_no_cost(planner):
    with pytest.raises(TypeError, match=r"cost is of type function; expected Cost\(running, terminal\)"):
        planner(model, data, zeros, cost.running)
