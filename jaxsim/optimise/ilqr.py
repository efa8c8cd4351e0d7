"""iLQR: differential dynamic programming with a linear model of the step, and its form with gaps.

A trajectory is linearised exactly, on the manifold of positions; a Riccati recursion from its end gives feedforward k
and feedback K under limits; rollouts with feedback, several step lengths at once, choose how far to go.

Sources: Li, Todorov 2004; Tassa, Erez, Todorov 2012 (regularisation, value update); Tassa, Mansard, Todorov 2014
(control limits); Giftthaler et al. 2018 and Mastalli et al. 2020 (gaps).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.math.dense_inverse import product
from jaxsim.model import Model
from jaxsim.optimise.boxqp import box_qp, solve_free
from jaxsim.optimise.cost import Cost, State, Term, check, fresh, limits, lost, state_of, with_state
from jaxsim.pipeline.forward import step
from jaxsim.support.position import differentiate_pos, integrate_pos
from jaxsim.support.transition import transition

__all__ = ["Plan", "ilqr", "multiple_shooting"]

_LENGTHS = tuple(1.1 ** -(k * k) for k in range(10))
"""Step lengths that are tried at once, 1 to 4e-4."""

_LEAST, _MOST = 1e-9, 1e9
"""Bounds of the regularisation."""

_CHANGE = 5.0
"""Factor by which the regularisation falls after a success and rises after a failure."""


_ROUNDING = 1e3
"""Rounding errors of a cost, below which a promised decrease that does not show is no failure."""


class Plan(NamedTuple):
    """A locally optimal trajectory of T controls.

    Attributes:
      ctrl: controls, (T, nu).
      qpos: positions, (T + 1, nq).
      qvel: velocities, (T + 1, nv).
      act: activations, (T + 1, na).
      cost: of it.
      gains: feedback, (T, nu, 2 nv + na): control k for a displacement of state k in the tangent space. Rows of
        controls at their limits are zero.
      history: cost after each iteration, (iterations,).
      gap: how far the states are from being a simulation, the sum of all defects' absolute values; 0 for `ilqr`.
      gradient: largest feedforward that is left, in units of controls; near 0 at an optimum.
    """

    ctrl: Array
    qpos: Array
    qvel: Array
    act: Array
    cost: Array
    gains: Array
    history: Array
    gap: Array
    gradient: Array


class _Path(NamedTuple):
    """A trajectory: states 0 to T, of which state k + 1 is `gaps[k]` short of the step from state k."""

    states: State
    ctrl: Array
    gaps: Array
    cost: Array
    merit: Array


class _Search(NamedTuple):
    """Between iterations: the best path, where it should go from there, what that promises, and the regularisation."""

    path: _Path
    k: Array
    K: Array
    promise: Array
    mu: Array


class _Rules(NamedTuple):
    """What does not change in a search: limits of controls (nu,), gaps or none and what they cost, steps a control."""

    low: Array
    high: Array
    gaps: bool
    penalty: float
    substeps: int


def ilqr(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    cost: Cost,
    *,
    iterations: int = 50,
    bounds: tuple[Array, Array] | None = None,
    regularisation: float = 1e-6,
    substeps: int = 1,
) -> Plan:
    """Improves controls by iLQR.

    Args:
      model: the model.
      data: one world; its state is where the trajectory starts.
      ctrl: where to start, (T, nu); clipped to the limits.
      cost: what to make small; its Hessians are taken where they are positive.
      iterations: how many; of converged starts further ones change nothing, so that starts can be batched by `vmap`.
      bounds: lower and upper limits of controls, (nu,) each; those of the model by default.
      regularisation: the first multiple of the unit matrix that is added to the Hessian by controls; it follows success
        and failure.
      substeps: timesteps for each control; states of the plan are those in which controls change.

    Raises:
      ValueError: shapes do not agree, data holds several worlds, lower limits are above upper ones, there are no
        iterations or substeps, or the model has delayed actuators.
      TypeError: the cost is not a Cost.
    """
    ctrl = check("ilqr", model, data, ctrl, cost, iterations=iterations, substeps=substeps)
    return _search(model, data, ctrl, None, cost, iterations, bounds, regularisation, 0.0, substeps)


def multiple_shooting(
    model: Model,
    data: Data,
    ctrl: ArrayLike,
    qpos: ArrayLike,
    qvel: ArrayLike,
    cost: Cost,
    *,
    act: ArrayLike | None = None,
    iterations: int = 50,
    bounds: tuple[Array, Array] | None = None,
    regularisation: float = 1e-6,
    penalty: float = 10.0,
    substeps: int = 1,
) -> Plan:
    """Improves controls and states together: states may begin as a wish and need not follow from the controls.

    The same Gauss-Newton step as that of `ilqr`, with the gaps between states in the linear model. A step of length a
    leaves 1 - a of every gap, so that the first full step makes the trajectory a simulation.

    Args:
      model: the model.
      data: one world; its state is where the trajectory starts.
      ctrl: where to start, (T, nu); clipped to the limits.
      qpos: wished positions 1 to T, (T, nq).
      qvel: wished velocities 1 to T, (T, nv).
      cost: what to make small.
      act: wished activations 1 to T, (T, na); those of `data` by default.
      iterations: how many.
      bounds: lower and upper limits of controls, (nu,) each; those of the model by default.
      regularisation: as of `ilqr`.
      penalty: cost of a unit of gap, by which steps are judged.
      substeps: as of `ilqr`.

    Raises:
      ValueError: shapes do not agree, data holds several worlds, lower limits are above upper ones, there are no
        iterations or substeps, or the model has delayed actuators.
      TypeError: the cost is not a Cost.
    """
    ctrl = check("multiple_shooting", model, data, ctrl, cost, iterations=iterations, substeps=substeps)
    act = jnp.broadcast_to(data.act, (len(ctrl), model.na)) if act is None else act
    wish = tuple(jnp.asarray(x, ctrl.dtype) for x in (qpos, qvel, act))
    for name, value, width in zip(("qpos", "qvel", "act"), wish, (model.nq, model.nv, model.na), strict=True):
        if value.shape != (len(ctrl), width):
            raise ValueError(
                f"multiple_shooting: {name} has shape {value.shape}; expected {(len(ctrl), width)}"
            )
    return _search(model, data, ctrl, wish, cost, iterations, bounds, regularisation, penalty, substeps)


def _search(
    model: Model,
    data: Data,
    ctrl: Array,
    wish: tuple[Array, ...] | None,
    cost: Cost,
    iterations: int,
    bounds: tuple[Array, Array] | None,
    regularisation: float,
    penalty: float,
    substeps: int,
) -> Plan:
    """Iterates: try the last direction, linearise where that led, find the next direction.

    The first direction is none, so that its rollout is that of the given controls; wished states are gaps from it.
    """
    if np.any(np.asarray(model.actuator_historyadr) >= 0):
        raise ValueError(
            "actuators with a delay: what they remember is no part of the state that is linearised here; "
            "use shooting, cem or mppi, or a model without delays"
        )
    low, high = limits(model, bounds)
    rules = _Rules(low, high, wish is not None, penalty, substeps)
    dtype, n, T = data.qpos.dtype, 2 * model.nv + model.na, len(ctrl)
    ctrl = jnp.clip(ctrl, low, high)
    start = fresh(state_of(data))
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (T + 1, *x.shape)), start)
    states = states._replace(
        time=start.time + jnp.arange(T + 1, dtype=dtype) * (substeps * model.opt.timestep)
    )
    if wish is not None:
        pairs = zip((start.qpos, start.qvel, start.act), wish, strict=True)
        qpos, qvel, act = (jnp.concatenate([a[None], b]) for a, b in pairs)
        states = states._replace(qpos=qpos, qvel=qvel, act=act)
    inf = jnp.asarray(jnp.inf, dtype)
    path = _Path(states, ctrl, jnp.zeros((T, n), dtype), inf, inf)
    direction = jnp.zeros((T, model.nu), dtype), jnp.zeros((T, model.nu, n), dtype)
    search = _Search(path, *direction, inf, jnp.asarray(regularisation, dtype))

    def body(search: _Search, first: Array) -> tuple[_Search, tuple[Array, Array]]:
        tried = _best(model, data, search, cost, rules, first)
        better = tried.merit < search.path.merit
        path = jax.tree.map(lambda a, b: jnp.where(better, a, b), tried, search.path)
        visible = search.promise > _ROUNDING * jnp.finfo(dtype).eps * jnp.abs(path.cost)
        factor = jnp.where(better, 1 / _CHANGE, jnp.where(visible, _CHANGE, 1.0))
        mu = jnp.clip(search.mu * factor, _LEAST, _MOST)
        k, K, promise = _backward(model, data, path, cost, mu, rules)
        return _Search(path, k, K, promise, mu), (path.cost, jnp.max(jnp.abs(k), initial=0.0))

    found, (history, gradient) = lax.scan(body, search, jnp.arange(iterations) == 0)
    path = found.path
    return Plan(
        ctrl=path.ctrl,
        qpos=path.states.qpos,
        qvel=path.states.qvel,
        act=path.states.act,
        cost=path.cost,
        gains=found.K,
        history=history,
        gap=jnp.sum(jnp.abs(path.gaps)),
        gradient=gradient[-1],
    )


def displaced(model: Model, state: State, x: Array) -> State:
    """A state displaced by x (2 nv + na,) in the tangent space."""
    nv = model.nv
    return state._replace(
        qpos=integrate_pos(model, state.qpos, x[:nv], 1.0),
        qvel=state.qvel + x[nv : 2 * nv],
        act=state.act + x[2 * nv :],
    )


def difference(model: Model, a: State, b: State) -> Array:
    """The displacement (2 nv + na,) that leads from state a to state b."""
    turn = differentiate_pos(model, 1.0, a.qpos, b.qpos)
    return jnp.concatenate([turn, b.qvel - a.qvel, b.act - a.act])


def _best(model: Model, data: Data, search: _Search, cost: Cost, rules: _Rules, first: Array) -> _Path:
    """The best of the paths with feedback, one for each step length."""
    path = search.path

    def roll(length: Array) -> _Path:
        def body(state: State, at: tuple[State, State, Array, Array, Array, Array]) -> tuple[State, Any]:
            old, goal, u, k, K, gap = at
            u = jnp.clip(u + length * k + product(K, difference(model, old, state)), rules.low, rules.high)
            here = with_state(data, state, u)
            after = state_of(step(model, here, rules.substeps))
            if rules.gaps:
                gap = jnp.where(first, difference(model, goal, after), (1 - length) * gap)
                after = displaced(model, after, -gap)
            return after, (after, u, gap, cost.running(model, here))

        old = jax.tree.map(lambda x: x[:-1], path.states)
        goal = jax.tree.map(lambda x: x[1:], path.states)
        begin = jax.tree.map(lambda x: x[0], path.states)
        along = (old, goal, path.ctrl, search.k, search.K, path.gaps)
        end, (states, ctrl, gaps, running) = lax.scan(body, begin, along)
        value = jnp.sum(running) + cost.terminal(model, with_state(data, end))
        states = jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), begin, states)
        value = value + lost(end, value.dtype)
        merit = value + rules.penalty * jnp.sum(jnp.abs(gaps))
        return _Path(states, ctrl, gaps, value, jnp.where(jnp.isfinite(merit), merit, jnp.inf))

    paths = jax.vmap(roll)(jnp.asarray(_LENGTHS, path.ctrl.dtype))
    best = jnp.argmin(paths.merit)
    return jax.tree.map(lambda x: x[best], paths)


class _Quadratic(NamedTuple):
    """A term of the cost to second order: slope and Hessian by (state, control)."""

    slope: Array
    hessian: Array


def _quadratic(model: Model, data: Data, term: Term, state: State, u: Array) -> _Quadratic:
    """Expands a term around a state and a control; the Hessian without its negative directions."""
    n = 2 * model.nv + model.na

    def moved(z: Array) -> Array:
        return term(model, with_state(data, displaced(model, state, z[:n]), u + z[n:]))

    zero = jnp.zeros(n + model.nu, data.qpos.dtype)
    H = jax.hessian(moved)(zero)
    values, axes = jnp.linalg.eigh((H + H.T) / 2)
    return _Quadratic(jax.grad(moved)(zero), product(axes * jnp.maximum(values, 0.0), axes.T))


def _backward(
    model: Model, data: Data, path: _Path, cost: Cost, mu: Array, rules: _Rules
) -> tuple[Array, Array, Array]:
    """The Riccati recursion along a path: feedforward (T, nu), feedback (T, nu, n), and the decrease they promise."""
    n = 2 * model.nv + model.na
    before = jax.tree.map(lambda x: x[:-1], path.states)
    last = jax.tree.map(lambda x: x[-1], path.states)
    linear = jax.vmap(lambda s, u: transition(model, with_state(data, s, u), rules.substeps))(
        before, path.ctrl
    )
    running = jax.vmap(lambda s, u: _quadratic(model, data, cost.running, s, u))(before, path.ctrl)
    end = _quadratic(model, data, cost.terminal, last, path.ctrl[-1])

    def body(carry: tuple[Array, Array], at: Any) -> tuple[tuple[Array, Array], Any]:
        v, V = carry
        A, B, (slope, H), gap, u = at
        v = v + product(V, gap)
        q, r = slope[:n] + product(A.T, v), slope[n:] + product(B.T, v)
        Q = H[:n, :n] + product(A.T, product(V, A))
        R = H[n:, n:] + product(B.T, product(V, B))
        S = H[n:, :n] + product(B.T, product(V, A))
        damped = R + mu * jnp.eye(model.nu, dtype=R.dtype)
        k, free = box_qp(damped, r, rules.low - u, rules.high - u)
        K = -solve_free(damped, S, free)
        promise = -jnp.sum(k * (r + product(R, k) / 2))
        v = q + product(K.T, product(R, k) + r) + product(S.T, k)
        V = Q + product(K.T, product(R, K) + S) + product(S.T, K)
        return (v, (V + V.T) / 2), (k, K, promise)

    begin = end.slope[:n], end.hessian[:n, :n]
    _, (k, K, promise) = lax.scan(
        body, begin, (linear.A, linear.B, running, path.gaps, path.ctrl), reverse=True
    )
    return k, K, jnp.sum(promise)
