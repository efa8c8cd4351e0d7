"""The derivative of the optimum, on random problems with every kind of row: against differences, twice, both modes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.solver import linalg
from jaxsim.solver.adjoint import Optimum, evaluate, optimum
from jaxsim.solver.assembly import Problem
from jaxsim.solver.cone import cone_cost, cone_force
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.jacobian import DenseJacobian, EdgeJacobian
from jaxsim.solver.newton import Limits, finish, start
from jaxsim.solver.pyramid import edges
from jaxsim.solver.rows import Cones, Rows, join
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.sparsity import tree_structure

NV = 5


@functools.cache
def layout() -> RowLayout:
    full = tree_structure(np.arange(-1, NV - 1))
    return RowLayout(classes={}, contacts=(), size=0, inertia=full, hessian=full)


def random_problem(seed: int) -> Problem:
    """Equalities, friction loss, limits, a pyramid and an elliptic cone of dimension 4; one world."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> jax.Array:
        return jnp.asarray(rng.standard_normal((*shape, 1)))

    def positive(*shape: int) -> jax.Array:
        return jnp.asarray(rng.uniform(0.5, 2, (*shape, 1)))

    root = rng.standard_normal((NV, NV))
    M = root @ root.T + np.eye(NV)
    structure = layout().inertia
    inf, zero = jnp.full((2, 1), jnp.inf), jnp.zeros((2, 1))
    loss = positive(2)
    parts = [
        Rows(J=(DenseJacobian(J=normal(2, NV)),), D=positive(2), aref=normal(2), low=low, high=high)
        for low, high in ((-inf, inf), (-loss, loss), (zero, inf))
    ]
    friction = positive(2, 2)
    edge = jnp.zeros((8, 1))
    parts.append(
        Rows(
            J=(EdgeJacobian(contacts=ContactJacobian(J=normal(2, 3, NV)), friction=friction),),
            D=jnp.repeat(positive(2), 4, axis=0),
            aref=edges(friction, normal(2, 3)),
            low=edge,
            high=edge + jnp.inf,
        )
    )
    cones = Cones(
        J=ContactJacobian(J=normal(3, 4, NV)),
        D=positive(3, 1) * jnp.ones((1, 4, 1)),
        aref=2 * normal(3, 4),
        friction=positive(3, 3),
        mu=positive(3),
    )
    # friction rows of a cone share R mu^2: the middle zone's cost joins the others smoothly
    D = cones.D[:, :1] * jnp.concatenate(
        [jnp.ones_like(cones.D[:, :1]), cones.friction**2 / cones.mu[:, None] ** 2], axis=1
    )
    rows = join([*parts, cones.replace(D=D)])
    return Problem(M=jnp.asarray(M[structure.rows, structure.cols])[:, None], force=3 * normal(NV), rows=rows)


LIMITS = Limits(
    decrement=jnp.zeros(1), slope=jnp.zeros(1), iterations=jnp.full(1, 100), evaluations=jnp.full(1, 50)
)


@jax.jit
def solved(problem: Problem) -> Optimum:
    fixed = jax.lax.stop_gradient(problem)
    smooth = linalg.solve_tree(layout().inertia, fixed.M, fixed.force)
    state = finish(
        layout(),
        LIMITS,
        fixed,
        smooth,
        start(fixed, linalg.full(fixed.M, structure=layout().inertia), smooth, None),
    )
    return optimum(layout(), problem, evaluate(fixed, jax.lax.stop_gradient(state.x)))


def perturbation(problem: Problem, seed: int) -> Problem:
    """A direction in which everything changes but what is infinite."""
    rng = np.random.default_rng(seed)

    def along(x: jax.Array) -> jax.Array:
        return jnp.where(jnp.isinf(x) | (x == 0), 0, jnp.asarray(rng.standard_normal(x.shape)))

    return jax.tree.map(along, problem)


def moved(problem: Problem, direction: Problem, t: float) -> Problem:
    return jax.tree.map(lambda x, d: x + t * d, problem, direction)


@pytest.mark.parametrize("seed", range(6))
def test_optimum_is_stationary(seed):
    problem = random_problem(seed)
    found = solved(problem)
    imbalance = linalg.mul_tree(layout().inertia, problem.M, found.x) - problem.force - found.push
    assert np.abs(imbalance).max() < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_derivative_equals_differences(seed):
    problem = random_problem(seed)
    direction = perturbation(problem, seed + 100)
    _, tangent = jax.jvp(solved, (problem,), (direction,))
    h = 1e-6
    plus, minus = solved(moved(problem, direction, h)), solved(moved(problem, direction, -h))
    for ours, a, b in zip(
        jax.tree.leaves(tangent), jax.tree.leaves(plus), jax.tree.leaves(minus), strict=True
    ):
        difference = (np.asarray(a) - np.asarray(b)) / (2 * h)
        # 1e-6: truncation and rounding of central differences
        np.testing.assert_allclose(ours, difference, rtol=0, atol=1e-6 * (1 + np.abs(difference).max()))


@pytest.mark.parametrize("seed", range(3))
def test_modes_are_dual(seed):
    problem = random_problem(seed)
    direction = perturbation(problem, seed + 200)
    out, tangent = jax.jvp(solved, (problem,), (direction,))
    weights = jax.tree.map(lambda x: jnp.asarray(np.random.default_rng(seed).standard_normal(x.shape)), out)
    (cotangent,) = jax.vjp(solved, problem)[1](weights)

    def inner(a, b):
        return sum(float(jnp.vdot(x, y)) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))

    forward, reverse = inner(weights, tangent), inner(cotangent, direction)
    assert abs(forward - reverse) < 1e-10 * (1 + abs(forward))


@pytest.mark.parametrize("seed", range(3))
def test_second_order_equals_differences_of_the_first(seed):
    problem = random_problem(seed)
    direction = perturbation(problem, seed + 300)

    def slope(p: Problem) -> jax.Array:
        return jax.jvp(solved, (p,), (direction,))[1].x

    second = jax.jvp(slope, (problem,), (direction,))[1]
    h = 1e-5
    difference = (slope(moved(problem, direction, h)) - slope(moved(problem, direction, -h))) / (2 * h)
    # 1e-5: truncation of central differences
    np.testing.assert_allclose(second, difference, rtol=0, atol=1e-5 * (1 + np.abs(difference).max()))


def test_degenerate_cones_have_finite_derivatives():
    """At zero tangential residual, at zero residual, and out of use."""
    problem = random_problem(0)
    cones = problem.rows.cones[0]
    J = cones.J.replace(J=jnp.zeros_like(cones.J.J))
    aref = jnp.zeros_like(cones.aref).at[0, 0].set(1.0)
    D = cones.D.at[2].set(0)
    rows = problem.rows.replace(cones=(cones.replace(J=J, aref=aref, D=D),))
    problem = problem.replace(rows=rows)
    _, tangent = jax.jvp(solved, (problem,), (perturbation(problem, 1),))
    grad = jax.grad(lambda p: jnp.sum(solved(p).x ** 2))(problem)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((tangent, grad)))


@pytest.mark.parametrize("slip", [0.0, 1e-30, 1e-14, 1e-7])
@pytest.mark.parametrize("normal", [1.0, -1.0])
def test_cones_have_finite_second_derivatives_where_nearly_nothing_slips(slip, normal):
    rows = random_problem(0).rows.cones[0]
    rows = jax.tree.map(lambda x: x.astype(jnp.float32), rows)
    r = jnp.full((3, 4, 1), slip, jnp.float32).at[:, 0].set(normal)
    for function in (cone_cost, cone_force):
        second = jax.jacfwd(jax.jacrev(lambda r, f=function: jnp.sum(f(rows, r))))(r)
        assert np.isfinite(second).all()
