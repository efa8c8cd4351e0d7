"""Tree-structured systems that are not symmetric, against numpy, and their derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxsim.math.stage import lowering_for
from jaxsim.solver.general import mul_general, solve_general
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from tests.solver.test_linalg import TREES

solve = jax.jit(solve_general, static_argnums=0)
multiply = jax.jit(mul_general, static_argnums=0)


def system(parent: tuple[int, ...], width: int) -> tuple[TreeStructure, np.ndarray, np.ndarray]:
    """A structure, matrices (n, n, W) with dominant diagonals of both signs, and right-hand sides (n, W)."""
    structure = tree_structure(parent)
    rng = np.random.default_rng(0)
    mask = np.zeros((structure.n, structure.n))
    mask[structure.rows, structure.cols] = mask[structure.cols, structure.rows] = 1
    matrix = rng.standard_normal((structure.n, structure.n, width)) * mask[..., None]
    diagonal = np.arange(structure.n)
    matrix[diagonal, diagonal] += structure.n * np.where(diagonal % 3 == 1, -1, 1)[:, None]
    return structure, matrix, rng.standard_normal((structure.n, width))


def sides(structure: TreeStructure, matrix: np.ndarray) -> tuple[jax.Array, jax.Array]:
    lower, upper = matrix[structure.rows, structure.cols], matrix[structure.cols, structure.rows]
    return jnp.asarray(lower), jnp.asarray(upper)


@pytest.mark.parametrize(
    ("name", "widths"), [(name, (3, 3)) for name in TREES] + [("forest", (1, 1)), ("forest", (3, 1))]
)
def test_solution(name: str, widths: tuple[int, int]) -> None:
    structure, matrix, b = system(TREES[name], 3)
    matrix, b = matrix[..., : widths[0]], b[..., : widths[1]]
    both = sides(structure, matrix)
    x = solve(structure, *both, jnp.asarray(b))
    b = np.broadcast_to(b, x.shape)
    expected = np.linalg.solve(matrix.transpose(2, 0, 1), b.T[..., None])[..., 0].T
    np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(multiply(structure, *both, x), b, atol=1e-11)


@pytest.mark.parametrize("name", TREES)
def test_written_out_equals_loops(name: str) -> None:
    """CPUs solve in loops, but where XLA divides a program among devices."""
    structure, matrix, b = system(TREES[name], 3)
    both = sides(structure, matrix)
    with lowering_for("cpu", divided=True):
        x = solve_general(structure, *both, jnp.asarray(b))
    np.testing.assert_allclose(x, solve(structure, *both, jnp.asarray(b)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["forest", "alike"])
def test_derivatives(name: str) -> None:
    structure, matrix, b = system(TREES[name], 2)
    args = (*sides(structure, matrix), jnp.asarray(b))
    check_grads(lambda *a: solve_general(structure, *a), args, order=1, modes=("fwd", "rev"), rtol=1e-6)


@pytest.mark.parametrize("width", [1, 2])
def test_singular_systems_have_finite_solutions(width: int) -> None:
    structure, matrix, b = system(TREES["chain"], width)
    matrix[3] = 0
    x = solve(structure, *sides(structure, matrix), jnp.asarray(b))
    assert np.isfinite(x).all()
