"""Line search: the zero of a slope that rises, in as many worlds, for every platform's program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.math.axis import sum_rows
from jaxsim.math.stage import lowering_for
from jaxsim.solver import cone
from jaxsim.solver.linesearch import find_zero, slope_function, slopes_of
from jaxsim.solver.rows import Cones, Rows, RowValues
from jaxsim.solver.search_kernel import search_in_kernel
from tests.elsewhere import program_for

ROWS, WORLDS = 45, 6


def problem(rng):
    """Slope of a cost with one-sided rows along a random direction, and the same by numpy."""
    D, r = rng.uniform(0.1, 2, (ROWS, WORLDS)), rng.standard_normal((ROWS, WORLDS))
    row_p = rng.standard_normal((ROWS, WORLDS))
    p = rng.standard_normal((3, WORLDS))
    uphill = np.maximum(np.sum(np.where(r < 0, D * r, 0) * row_p, 0), 0)
    balance = -p * (1 + uphill / np.sum(p * p, 0))  # downhill at the start
    none = jnp.zeros((ROWS, 1))
    rows = Rows(D=jnp.asarray(D), aref=none, low=none, high=none + jnp.inf)
    values = [RowValues(jnp.asarray(x), ()) for x in (r, row_p)]
    smooth = jnp.sum(jnp.asarray(balance * p), axis=0), jnp.sum(jnp.asarray(p * p), axis=0)
    ours = slope_function(rows, smooth, *values)

    def slope(t):
        at = r + t * row_p
        return np.sum((balance + t * p) * p, 0) + np.sum(np.where(at < 0, D * at, 0) * row_p, 0)

    return ours, slope


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_finds_the_zero(platform):
    ours, slope = problem(np.random.default_rng(0))
    with lowering_for(platform):
        t = find_zero(ours, slope(0), jnp.full(WORLDS, 1e-10), jnp.asarray(50))
        np.testing.assert_allclose(ours(t)[0], slope(np.asarray(t)), rtol=0, atol=1e-10)
    np.testing.assert_allclose(slope(np.asarray(t)), 0, atol=1e-9)
    assert (slope(np.asarray(t) - 1e-6) < 0).all()


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_a_full_step_that_fits_is_exactly_one(platform):
    ours, slope = problem(np.random.default_rng(1))
    with lowering_for(platform):
        t = find_zero(ours, slope(0), jnp.full(WORLDS, 1e6), jnp.asarray(50))
    np.testing.assert_array_equal(t, 1)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("rows", [1, 15, 17, 300])
def test_sums_of_many_rows(platform, rows):
    x = np.random.default_rng(rows).standard_normal((rows, 2, WORLDS))
    with lowering_for(platform):
        np.testing.assert_allclose(sum_rows(jnp.asarray(x)), x.sum(0), rtol=0, atol=1e-12)


def test_a_slope_that_bends_sharply():
    """Where a contact begins to slip: tangents from beyond the bend miss the bracket, one from before it goes far."""
    tries = []

    def slope(t):
        tries.append(t)
        beyond = jnp.maximum(t - 0.002, 1e-12)
        bent = t > 0.002
        first = 1e4 * (t - 0.003) + jnp.where(bent, 1e5 * jnp.sqrt(beyond), 0)
        return first, 1e4 + jnp.where(bent, 0.5e5 / jnp.sqrt(beyond), 0)

    with jax.disable_jit():
        t = find_zero(slope, jnp.full(1, -30.0), jnp.full(1, 1e-3), jnp.asarray(50))
    assert len(tries) <= 14  # 22 of Newton's method and bisection
    assert abs(slope(t)[0]) < 1e-3


@pytest.mark.parametrize("evaluations", [1, 2, 3, 4])
def test_a_zero_hidden_by_rounding(evaluations):
    """The first step is as near as float32 comes; a search that goes on wanders to 2, 1.5 and 1.25."""
    tries = []

    def slope(t):
        tries.append(t)
        return np.float32(1e4) * (t - 1) - np.float32(1e-4), jnp.full_like(t, 1e4)

    few = jnp.asarray(evaluations)
    t = find_zero(slope, slope(0)[0], jnp.full(WORLDS, 1e-6, jnp.float32), few)
    assert tries
    np.testing.assert_array_equal(t, 1)


@pytest.mark.parametrize(("platform", "worlds"), [("cuda", 32), ("cuda", 37), ("tpu", 37)])
def test_one_kernel_searches_as_the_loop_does(platform, worlds):
    """37: not whole programs."""
    rows, values, smooth = mixed(np.random.default_rng(0), worlds)
    rng = np.random.default_rng(1)
    tolerance = jnp.asarray(rng.choice([1e-9, 1e-2, np.inf], worlds))
    few = jnp.asarray(rng.integers(1, 9, worlds))
    with lowering_for(platform):
        plain = slope_function(rows, smooth, *values)
        start = plain(jnp.zeros(worlds))[0]
        parts = slopes_of(rows, *values)
        ours = search_in_kernel(find_zero, parts, smooth, start, tolerance, few, interpret=True)
        expected = find_zero(plain, start, tolerance, few)
    # 1e-12: another order of the same sums
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)
    assert len(np.unique(np.asarray(ours))) > 15


def mixed(rng, worlds):
    """Rows of every kind: bounded forces, and contacts with elliptic cones in all zones."""
    bound = jnp.asarray(rng.uniform(0.1, 2, (ROWS, 1)))
    cones = []
    for n, dim in ((5, 3), (3, 6)):
        friction = jnp.asarray(rng.uniform(0.2, 1.5, (n, dim - 1, 1)))
        D = jnp.asarray(rng.uniform(0.1, 2, (n, dim, worlds))).at[0].set(0.0)
        cones.append(Cones(J=None, D=D, aref=D, friction=friction, mu=friction[:, 0]))
    D = jnp.asarray(rng.uniform(0.1, 2, (ROWS, worlds)))
    rows = Rows(D=D, aref=0 * bound, low=-bound, high=bound, cones=tuple(cones))
    values = [
        RowValues(
            jnp.asarray(rng.standard_normal((ROWS, worlds))),
            tuple(jnp.asarray(rng.standard_normal(c.D.shape)) for c in cones),
        )
        for _ in range(2)
    ]
    smooth = jnp.asarray(-rng.uniform(1, 20, worlds)), jnp.asarray(rng.uniform(0.5, 2, worlds))
    return rows, values, smooth


def test_slopes_are_derivatives_of_the_cost():
    rows, (r, along), smooth = mixed(np.random.default_rng(0), 40)
    zones = [np.asarray(cone.cone_zone(c, x)) for c, x in zip(rows.cones, r.cones, strict=True)]
    assert all(set(np.unique(z)) == {0, 1, 2} for z in zones)

    def cost(t):
        total = smooth[0] * t + 0.5 * smooth[1] * t * t
        total = total + jnp.sum(cone.scalar_cost(rows, r.scalar + t * along.scalar), axis=0)
        for c, a, b in zip(rows.cones, r.cones, along.cones, strict=True):
            total = total + jnp.sum(cone.cone_cost(c, a + t * b), axis=0)
        return total

    def derivative(f):
        return lambda t: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]

    t = jnp.asarray(np.random.default_rng(1).uniform(-1, 2, 40))
    first, second = slope_function(rows, smooth, r, along)(t)
    np.testing.assert_allclose(first, derivative(cost)(t), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(second, derivative(derivative(cost))(t), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_programs_for_gpus_search_in_one_kernel(cone):
    model = jaxsim.load_model(f"""<mujoco><option cone="{cone}"/><worldbody><geom type="plane" size="1 1 1"/>
    <body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>""")
    many = jax.tree.map(lambda x: jnp.stack([x] * 32), jaxsim.make_data(model))
    step = jax.jit(jax.vmap(jaxsim.step, (None, 0)))
    assert "search_line" in program_for("cuda", step, model, many)
    assert "search_line" not in step.lower(model, many).as_text()
