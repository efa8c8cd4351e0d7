"""Tree-structured systems against numpy, and their derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxsim import worlds
from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.stage import lowering_for
from jaxsim.solver import linalg
from jaxsim.solver.tree_kernel import solve_in_kernel
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from tests.elsewhere import program_for

solve = jax.jit(linalg.solve_tree, static_argnums=0)
multiply = jax.jit(linalg.mul_tree, static_argnums=0)

TREES = {
    "one": (-1,),
    "chain": tuple(range(-1, 12)),
    "forest": (-1, 0, 1, 1, 3, 4, 2, -1, 7, 7, 8),
    "star": (-1, 0, 0, 0, 0, 0),
    "alike": (-1, 0, 1, 1, -1, 4, 5, -1, 7, 8, 8, -1, 11, 12, -1),
    "diagonal": (-1, -1, -1),
    "coupled": (-1, -1, 0, -1),
    "coupled, alike": (-1, -1, 0, 1, -1, -1, 4, 5, -1),
    "limbs": (-1, 0, 1, 2, 3, 4, 5, 6, 7, 5, 9, 10, 5, 12, 13),
    "random": tuple(int(np.random.default_rng(i).integers(-1, i)) for i in range(20)),
    "large": tuple(range(-1, linalg.LARGE + 2)),
    "large, two trees": (*range(-1, 40), -1, *range(41, 50)),
}


def system(parent: tuple[int, ...], width: int) -> tuple[TreeStructure, np.ndarray, np.ndarray]:
    """A structure, positive definite matrices of it, (n, n, W), and right-hand sides, (n, W)."""
    structure = tree_structure(parent)
    rng = np.random.default_rng(0)
    mask = np.zeros((structure.n, structure.n))
    mask[structure.rows, structure.cols] = 1
    factor = (rng.standard_normal((width, structure.n, structure.n)) + 3 * np.eye(structure.n)) * mask
    matrix = np.einsum("wki,wkj->ijw", factor, factor)
    return structure, matrix, rng.standard_normal((structure.n, width))


def conditioned(matrix: np.ndarray) -> np.ndarray:
    """Scales the diagonal to 2, with eigenvalues from 1 to n + 1."""
    return matrix / np.sqrt(np.einsum("iiw,jjw->ijw", matrix, matrix)) + np.eye(len(matrix))[..., None]


@pytest.mark.parametrize(
    ("name", "widths"),
    [(name, (4, 4)) for name in TREES]
    + [(name, widths) for name in ("forest", "alike") for widths in ((1, 4), (4, 1))],
)
def test_solution(name: str, widths: tuple[int, int]) -> None:
    structure, matrix, b = system(TREES[name], 4)
    matrix, b = matrix[..., : widths[0]], b[..., : widths[1]]
    entries = jnp.asarray(matrix[structure.rows, structure.cols])
    x = solve(structure, entries, jnp.asarray(b))
    width = max(widths)
    full = np.broadcast_to(matrix, (*matrix.shape[:2], width))
    expected = np.linalg.solve(full.transpose(2, 0, 1), np.broadcast_to(b, (structure.n, width)).T[..., None])
    np.testing.assert_allclose(x, expected[..., 0].T, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(multiply(structure, entries, x), np.broadcast_to(b, x.shape), atol=1e-10)


@pytest.mark.parametrize("widths", [(5, 5), (1, 5), (1, 1), (5, 1)])
@pytest.mark.parametrize("name", TREES)
def test_one_elimination_serves_many_right_hand_sides(name: str, widths: tuple[int, int]) -> None:
    structure, matrix, b = system(TREES[name], 5)
    matrix, b = matrix[..., : widths[0]], b[..., : widths[1]]
    entries = jnp.asarray(matrix[structure.rows, structure.cols])

    @jax.jit
    def both(entries: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        solve_for = linalg.solver_of(structure, entries)
        return solve_for(b), solve_for(2 * b)

    once, twice = both(entries, jnp.asarray(b))
    expected = solve(structure, entries, jnp.asarray(b))
    # another order of the same sums
    np.testing.assert_allclose(once, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(twice, 2 * expected, rtol=1e-9, atol=1e-11)


def test_one_elimination_clamps_pivots() -> None:
    structure = tree_structure([-1, 0, 1])
    entries, b = jnp.zeros((structure.size, 2)), jnp.ones((3, 2))
    # huge but finite, as in C
    for x in (linalg.solver_of(structure, entries)(b), solve(structure, entries, b)):
        np.testing.assert_array_equal(x, 1 / LEAST_PIVOT)


def test_badly_scaled() -> None:
    """Masses from grams to tons in one system cost no relative accuracy of the residual."""
    structure, matrix, b = system(TREES["forest"], 2)
    scale = np.logspace(-3, 3, structure.n)[:, None]
    entries = jnp.asarray((matrix * scale[:, None] * scale[None])[structure.rows, structure.cols])
    x = np.asarray(solve(structure, entries, jnp.asarray(b)))
    expected = np.linalg.solve(matrix.transpose(2, 0, 1), (b / scale).T[..., None])[..., 0].T / scale
    np.testing.assert_allclose(x, expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["chain", "large", "limbs"])
def test_float32(name: str) -> None:
    """Condition numbers are at most n + 1, so the error is about n times the rounding unit: 6e-6 for 51 rows."""
    structure, matrix, b = system(TREES[name], 3)
    matrix = conditioned(matrix)
    entries = jnp.asarray(matrix[structure.rows, structure.cols], np.float32)
    x = solve(structure, entries, jnp.asarray(b, np.float32))
    assert x.dtype == np.float32
    expected = np.linalg.solve(matrix.transpose(2, 0, 1), b.T[..., None])[..., 0].T
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_one_bad_world_spoils_no_other() -> None:
    structure, matrix, b = system(TREES["forest"], 3)
    entries = matrix[structure.rows, structure.cols]
    good = solve(structure, jnp.asarray(entries), jnp.asarray(b))
    entries[:, 1] = np.nan
    bad = solve(structure, jnp.asarray(entries), jnp.asarray(b))
    np.testing.assert_array_equal(bad[:, ::2], good[:, ::2])


@pytest.mark.parametrize("name", ["forest", "alike"])
@pytest.mark.parametrize("widths", [(3, 3), (1, 3), (3, 1)])
def test_products(name: str, widths: tuple[int, int]) -> None:
    structure, matrix, x = system(TREES[name], 3)
    mask = np.zeros((structure.n, structure.n, 1))
    mask[structure.rows, structure.cols] = mask[structure.cols, structure.rows] = 1
    matrix, x = (matrix * mask)[..., : widths[0]], x[..., : widths[1]]
    entries = jnp.asarray(matrix[structure.rows, structure.cols])
    expected = np.sum(matrix * x, axis=1)
    for product in (lambda x: multiply(structure, entries, x), linalg.product_of(structure, entries)):
        np.testing.assert_allclose(product(jnp.asarray(x)), expected, atol=1e-12)


@pytest.mark.parametrize("width", [1, 3])
def test_singular_systems_have_finite_solutions(width: int) -> None:
    """Four slides along three axes: the last pivot is zero, and counts as 1e-15 as in the C engine."""
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [np.sqrt(0.5), np.sqrt(0.5), 0]])
    structure = tree_structure((-1, 0, 1, 2))
    entries = (axes @ axes.T)[structure.rows, structure.cols][:, None].repeat(width, axis=1)
    b = np.arange(4.0)[:, None].repeat(width, axis=1)
    x = np.asarray(solve(structure, jnp.asarray(entries), jnp.asarray(b)))
    assert np.isfinite(x).all()
    assert x[2] == pytest.approx(2)
    first = (0 - 3 * axes[3, 0]) + (1 - 3 * axes[3, 1])  # the right-hand side that is left for the last pivot
    np.testing.assert_allclose(x[0], first / 1e-15, rtol=1e-9)


def test_derivatives_large() -> None:
    structure, matrix, b = system(TREES["large"], 2)
    matrix = conditioned(matrix)
    entries = jnp.asarray(matrix[structure.rows, structure.cols])
    f = jax.jit(lambda a, b: linalg.solve_tree(structure, a, b))
    check_grads(f, (entries, jnp.asarray(b)), order=1, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["chain", "forest", "alike"])
def test_derivatives(name: str) -> None:
    structure, matrix, b = system(TREES[name], 2)
    entries = jnp.asarray(matrix[structure.rows, structure.cols])
    f = jax.jit(lambda a, b: linalg.solve_tree(structure, a, b))
    check_grads(f, (entries, jnp.asarray(b)), order=2, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


def test_parents_come_first() -> None:
    with pytest.raises(ValueError, match="parent of degree of freedom 1 is 2"):
        tree_structure((-1, 2, 0))


def test_one_primitive_serves_all_structures():
    """A primitive cannot be unregistered: one a structure would be a leak in a process that compiles many models."""

    def primitives(n):
        structure = tree_structure(range(-1, n - 1))
        entries, x = jnp.ones((structure.size, 1)), jnp.ones((n, 1))
        eqns = jax.make_jaxpr(lambda A, x: linalg.mul_tree(structure, A, x))(entries, x).eqns
        return [eqn.primitive for eqn in eqns if eqn.primitive.name == "mul_tree"]

    assert len(primitives(3)) == 1
    assert primitives(3)[0] is primitives(4)[0]


@pytest.mark.parametrize(
    ("platform", "width"), [("cuda", 5), ("cuda", 32), ("cuda", 40), ("tpu", 5), ("tpu", 1027)]
)
def test_kernel_equals_elimination(platform, width):
    """Widths are whole programs, and are not."""
    rng = np.random.default_rng(0)
    structure = tree_structure([-1, 0, 1, 1, 3, 0, 5, -1, 7])
    dense = rng.standard_normal((structure.n, structure.n, width))
    dense = np.einsum("ikw,jkw->ijw", dense, dense) + 3 * np.eye(structure.n)[..., None]
    A, b = jnp.asarray(dense[structure.rows, structure.cols]), jnp.asarray(rng.standard_normal((9, width)))
    with lowering_for(platform):
        ours = solve_in_kernel(structure, A, b, interpret=True)
    # 1e-12: another order of the same sums
    np.testing.assert_allclose(ours, linalg.solve_tree(structure, A, b), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", TREES)
def test_one_world_is_solved_in_loops(name):
    """In programs of few kernels, as `jit` of a lifted function makes them."""
    structure, matrix, b = system(TREES[name], 1)
    one = jax.jit(worlds.lift(lambda A, b: linalg.solve_tree(structure, A, b)))
    x = one(matrix[structure.rows, structure.cols, 0], b[:, 0])
    np.testing.assert_allclose(x, np.linalg.solve(matrix[..., 0], b[:, 0]), rtol=1e-9, atol=1e-11)
    singular = one(jnp.zeros(structure.size), jnp.ones(structure.n))
    if name != "alike":  # trees of one shape are worlds, whose blocks of two clamp a determinant
        np.testing.assert_array_equal(singular, 1 / LEAST_PIVOT)


@pytest.mark.parametrize("name", TREES)
def test_written_out_equals_loops(name):
    """CPUs solve in loops, but where XLA divides a program among devices."""
    structure, matrix, b = system(TREES[name], 3)
    entries, b = jnp.asarray(matrix[structure.rows, structure.cols]), jnp.asarray(b)
    many = jnp.stack([b, 2 * b], axis=1)
    with lowering_for("cpu", divided=True):
        one, two = (f(structure, entries, x) for f, x in ((linalg.solve_tree, b), (linalg.solve_many, many)))
    # another order of the same sums
    np.testing.assert_allclose(one, solve(structure, entries, b), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(two, linalg.solve_many(structure, entries, many), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_kernel_clamps_pivots(platform):
    structure = tree_structure([-1, 0])
    A, b = jnp.zeros((3, 32)), jnp.ones((2, 32))
    with lowering_for(platform):
        ours = solve_in_kernel(structure, A, b, interpret=True)
    # huge but finite, as in C; blocks of two clamp a determinant instead of its second pivot
    np.testing.assert_array_equal(ours, 1 / LEAST_PIVOT)


def _lowered_solution(platform, dtype=jnp.float32):
    """The program for a platform that solves a system in each of 32 worlds."""
    structure = tree_structure([-1, 0, 1])
    solve = worlds.lift(lambda A, b: linalg.solve_tree(structure, A, b))
    A, b = jnp.ones((32, structure.size), dtype), jnp.ones((32, 3), dtype)
    return program_for(platform, jax.jit(jax.vmap(solve)), A, b)


@pytest.mark.parametrize(("platform", "call"), [("cuda", "__gpu$xla.gpu.triton"), ("tpu", "tpu_custom_call")])
def test_programs_for_accelerators_solve_in_one_kernel(platform, call):
    assert _lowered_solution(platform).count(f"stablehlo.custom_call @{call}") == 1
    assert call not in _lowered_solution("cpu")


def test_tpus_have_no_kernel_for_float64():
    assert "tpu_custom_call" not in _lowered_solution("tpu", jnp.float64)
