"""Every transformation that worlds.lift promises, in every nesting, against plain per-world JAX."""

from __future__ import annotations

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from jax.test_util import check_grads

from jaxsim import worlds
from jaxsim.math.blocks import block_size
from jaxsim.math.stage import apart
from tests.elsewhere import program_for

N = 3


def reference(params: dict[str, Any], x: Any) -> dict[str, Any]:
    """One world: a fixed point y = tanh(A y) / 2 + x, a count and a mixed output."""
    a, scale = params["a"], params["scale"]
    y = x
    for _ in range(60):
        y = 0.5 * jnp.tanh(a @ y) + x
    return {"y": y, "z": scale * jnp.sin(y[:2]) * jnp.sum(x), "count": jnp.asarray(N), "shared": scale + 0.0}


@jax.custom_jvp
def _fixed_point(a: Any, x: Any, start: Any) -> Any:
    def body(_: int, y: Any) -> Any:
        return 0.5 * jnp.tanh(jnp.sum(a * y[None], axis=1)) + x

    return jax.lax.fori_loop(0, 60, body, start)


@_fixed_point.defjvp
def _fixed_point_jvp(primals: Any, tangents: Any) -> Any:
    a, x, start = primals
    y = _fixed_point(a, x, start)
    u = jnp.sum(a * y[None], axis=1)
    slope = 0.5 / jnp.cosh(u) ** 2
    rhs = slope * jnp.sum(tangents[0] * y[None], axis=1) + tangents[1]
    dy = rhs
    for _ in range(60):
        dy = slope * jnp.sum(a * dy[None], axis=1) + rhs
    return y, dy


def native(
    params: dict[str, Any], x: Any, solution: Any = None, kept: bool = False
) -> tuple[dict[str, Any], Any]:
    """The same with worlds on the last axis; the fixed point is its solution."""
    assert not (kept and solution is not None)
    a, scale = params["a"], params["scale"]
    start = jnp.zeros(jnp.broadcast_shapes(a.shape[1:], x.shape), x.dtype) if solution is None else solution
    y = _fixed_point(a, jnp.broadcast_to(x, start.shape), start)
    z = scale * jnp.sin(y[:2]) * jnp.sum(x, axis=0)
    return {"y": y, "z": z, "count": jnp.full((1,), N), "shared": scale + 0.0}, y


def native_plain(params: dict[str, Any], x: Any) -> dict[str, Any]:
    return native(params, x)[0]


LIFTED = {
    "solution": worlds.lift(native, has_solution=True),
    "plain": worlds.lift(native_plain),
}


@pytest.fixture(params=list(LIFTED))
def lifted(request: pytest.FixtureRequest) -> Any:
    return LIFTED[request.param]


def example(*batch: int) -> tuple[dict[str, Any], Any]:
    rng = np.random.default_rng(0)
    params = {
        "a": jnp.asarray(0.4 * rng.standard_normal((N, N))),
        "scale": jnp.asarray(rng.uniform(1.0, 2.0)),
    }
    return params, jnp.asarray(rng.standard_normal((*batch, N)))


def loss_of(f: Any) -> Any:
    def loss(params: Any, x: Any) -> Any:
        out = f(params, x)
        return jnp.sum(out["y"] ** 2) + jnp.sum(jnp.cos(out["z"])) + out["shared"] ** 2

    return loss


def assert_same(ours: Any, theirs: Any) -> None:
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), ours, theirs
    )  # both converge to round-off


def batched_params(n: int) -> tuple[dict[str, Any], dict[str, int]]:
    params, _ = example()
    rng = np.random.default_rng(5)
    a = params["a"] + 0.1 * rng.standard_normal((n, N, N))
    return {"a": jnp.asarray(a), "scale": params["scale"]}, {"a": 0, "scale": None}


def test_one_world(lifted: Any) -> None:
    params, x = example()
    assert_same(lifted(params, x), reference(params, x))
    assert_same(jax.jit(lifted)(params, x), reference(params, x))


@pytest.mark.parametrize("jit", [False, True])
def test_vmap_shared_and_batched(lifted: Any, jit: bool) -> None:
    wrap = jax.jit if jit else lambda f: f
    params, x = example(5)
    assert_same(wrap(jax.vmap(lifted, (None, 0)))(params, x), jax.vmap(reference, (None, 0))(params, x))
    params, axes = batched_params(5)
    assert_same(wrap(jax.vmap(lifted, (axes, 0)))(params, x), jax.vmap(reference, (axes, 0))(params, x))
    assert_same(
        wrap(jax.vmap(lifted, (axes, None)))(params, x[0]), jax.vmap(reference, (axes, None))(params, x[0])
    )


def test_vmap_any_axis(lifted: Any) -> None:
    params, x = example(5)
    ours = jax.vmap(lifted, (None, 1), 0)(params, x.T)
    assert_same(ours, jax.vmap(reference, (None, 0))(params, x))


def test_nested_vmap(lifted: Any) -> None:
    _, x = example(4, 5)
    params, axes = batched_params(4)

    def twice(f: Any) -> Any:
        return jax.vmap(jax.vmap(f, (None, 0)), (axes, 0))

    assert_same(twice(lifted)(params, x), twice(reference)(params, x))

    def crossed(f: Any) -> Any:
        return jax.vmap(jax.vmap(f, (axes, None)), (None, 0))

    assert_same(crossed(lifted)(params, x[0]), crossed(reference)(params, x[0]))


def test_no_worlds(lifted: Any) -> None:
    params, x = example(5)
    none = x[:0]
    for f in (lifted, jax.jacrev(lambda p, x: lifted(p, x)["y"], 1)):
        all_worlds = jax.jit(jax.vmap(f, (None, 0)))
        assert_same(all_worlds(params, none), jax.tree.map(lambda y: y[:0], all_worlds(params, x)))
    twice = jax.vmap(jax.vmap(lifted, (None, 0)), (None, 0))
    assert twice(params, x[:0, None])["y"].shape == (0, 1, N)
    assert twice(params, x[None, :0])["y"].shape == (1, 0, N)
    total = jax.grad(lambda p: jnp.sum(jax.vmap(lifted, (None, 0))(p, none)["y"]), allow_int=True)(params)
    assert not total["a"].any()


def test_grad_one_world(lifted: Any) -> None:
    params, x = example()
    for mode in (jax.grad, jax.jacfwd, jax.jacrev):
        assert_same(mode(loss_of(lifted), (0, 1))(params, x), mode(loss_of(reference), (0, 1))(params, x))


def test_jacobians_under_jit(lifted: Any) -> None:
    params, x = example()

    def f(which: Any) -> Any:
        return lambda x: which(params, x)["y"]

    assert_same(jax.jit(jax.jacfwd(f(lifted)))(x), jax.jacfwd(f(reference))(x))
    assert_same(jax.jit(jax.jacrev(f(lifted)))(x), jax.jacrev(f(reference))(x))


def test_vmap_of_grad_keeps_worlds_apart(lifted: Any) -> None:
    params, x = example(5)
    ours = jax.vmap(jax.grad(loss_of(lifted)), (None, 0))(params, x)
    assert_same(ours, jax.vmap(jax.grad(loss_of(reference)), (None, 0))(params, x))


def test_grad_of_vmap_sums_a_shared_leaf(lifted: Any) -> None:
    params, x = example(5)

    def total(f: Any) -> Any:
        return lambda p, x: jnp.sum(jax.vmap(loss_of(f), (None, 0))(p, x) * jnp.arange(1.0, 6.0))

    for args in ((0,), (1,), (0, 1)):
        assert_same(jax.grad(total(lifted), args)(params, x), jax.grad(total(reference), args)(params, x))


def test_vmap_grad_vmap(lifted: Any) -> None:
    params, axes = batched_params(4)
    _, x = example(4, 5)

    def f(which: Any) -> Any:
        def total(p: Any, x: Any) -> Any:
            return jnp.sum(jax.vmap(loss_of(which), (None, 0))(p, x))

        return jax.vmap(jax.grad(total), (axes, 0))(params, x)

    assert_same(f(lifted), f(reference))


def test_hessian(lifted: Any) -> None:
    params, x = example()

    def h(which: Any) -> Any:
        return jax.hessian(lambda x: loss_of(which)(params, x))

    assert_same(h(lifted)(x), h(reference)(x))
    _, xs = example(3)
    assert_same(jax.vmap(h(lifted))(xs), jax.vmap(h(reference))(xs))
    forward_over_reverse = jax.jacfwd(jax.grad(lambda x: loss_of(lifted)(params, x)))
    reverse_over_reverse = jax.jacrev(jax.grad(lambda x: loss_of(lifted)(params, x)))
    assert_same(forward_over_reverse(x), h(reference)(x))
    assert_same(reverse_over_reverse(x), h(reference)(x))


def test_duality_and_differences(lifted: Any) -> None:
    params, x = example(5)
    f = jax.vmap(lambda p, x: lifted(p, x)["y"], (None, 0))
    rng = np.random.default_rng(1)
    u = jnp.asarray(rng.standard_normal(x.shape))
    dp = jax.tree.map(lambda p: jnp.asarray(rng.standard_normal(p.shape)), params)
    y, dy = jax.jvp(f, (params, x), (dp, u))
    w = jnp.asarray(rng.standard_normal(y.shape))
    back_p, back_x = jax.vjp(f, params, x)[1](w)
    inner = jnp.vdot(back_x, u) + sum(jnp.vdot(back_p[k], dp[k]) for k in params)
    np.testing.assert_allclose(inner, jnp.vdot(w, dy), rtol=1e-12)
    check_grads(f, (params, x), order=2, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


def test_scan_while_checkpoint(lifted: Any) -> None:
    params, x = example(5)

    def unrolled(which: Any, x: Any) -> Any:
        for _ in range(4):
            x = 0.3 * which(params, x)["y"]
        return x

    def scanned(x: Any, step: Any) -> Any:
        return jax.lax.scan(lambda c, _: (0.3 * step(params, c)["y"], None), x, length=4)[0]

    expected = jax.vmap(functools.partial(unrolled, reference))(x)
    assert_same(jax.vmap(lambda x: scanned(x, lifted))(x), expected)
    assert_same(scanned(x, jax.vmap(lifted, (None, 0))), expected)
    assert_same(scanned(x, jax.vmap(jax.checkpoint(lifted), (None, 0))), expected)

    def total(step: Any) -> Any:
        return jax.grad(lambda x: jnp.sum(jnp.sin(scanned(x, jax.vmap(step, (None, 0))))))

    reverse = jax.grad(lambda x: jnp.sum(jnp.sin(jax.vmap(functools.partial(unrolled, reference))(x))))(x)
    assert_same(total(lifted)(x), reverse)
    assert_same(total(jax.checkpoint(lifted))(x), reverse)

    def looped(x: Any) -> Any:
        return jax.lax.while_loop(
            lambda c: c[0] < 4, lambda c: (c[0] + 1, 0.3 * lifted(params, c[1])["y"]), (0, x)
        )[1]

    assert_same(jax.vmap(looped)(x), expected)
    u = jnp.ones_like(x)
    forward = jax.jvp(jax.vmap(looped), (x,), (u,))[1]
    assert_same(forward, jax.jvp(jax.vmap(functools.partial(unrolled, reference)), (x,), (u,))[1])


@pytest.fixture
def eight_devices() -> None:
    if jax.device_count() < 8:
        pytest.skip("needs XLA_FLAGS=--xla_force_host_platform_device_count=8")


@pytest.mark.usefixtures("eight_devices")
def test_pmap(lifted: Any) -> None:
    params, x = example(8, 3)
    ours = jax.pmap(jax.vmap(lifted, (None, 0)), in_axes=(None, 0))(params, x)
    assert_same(ours, jax.vmap(jax.vmap(reference, (None, 0)), (None, 0))(params, x))


@pytest.mark.usefixtures("eight_devices")
def test_shard_map(lifted: Any) -> None:
    params, x = example(16)
    mesh = Mesh(np.array(jax.devices()[:8]), ("worlds",))
    spec = PartitionSpec("worlds")

    def sharded(f: Any) -> Any:
        return jax.jit(
            jax.shard_map(jax.vmap(f, (None, 0)), mesh=mesh, in_specs=(PartitionSpec(), spec), out_specs=spec)
        )

    assert_same(sharded(lifted)(params, x), jax.vmap(reference, (None, 0))(params, x))

    def gradient(p: Any, x: Any) -> Any:
        return jax.grad(lambda p: jnp.sum(jax.vmap(loss_of(lifted), (None, 0))(p, x)))(p)

    def per_shard(p: Any, x: Any) -> Any:
        return jax.tree.map(
            lambda g: jax.lax.psum(g, "worlds"), gradient(jax.lax.pcast(p, "worlds", to="varying"), x)
        )

    ours = jax.jit(
        jax.shard_map(per_shard, mesh=mesh, in_specs=(PartitionSpec(), spec), out_specs=PartitionSpec())
    )
    expected = jax.grad(lambda p: jnp.sum(jax.vmap(loss_of(reference), (None, 0))(p, x)))(params)
    assert_same(ours(params, x), expected)


@pytest.mark.parametrize("width", [320, 333, 500])
def test_many_worlds_are_computed_in_blocks(lifted: Any, width: int) -> None:
    """As all at once: values, and derivatives with respect to what worlds share and to what each has."""
    assert block_size(width, "cpu") < width
    rng = np.random.default_rng(width)
    params = {"a": jnp.asarray(0.3 * rng.standard_normal((N, N))), "scale": jnp.asarray(1.5)}
    x = jnp.asarray(rng.standard_normal((width, N)))

    def loss(function: Any, params: Any, x: Any) -> Any:
        found = jax.vmap(function, (None, 0))(params, x)
        return jnp.sum(found["y"] ** 2 * jnp.arange(1.0, width + 1)[:, None]) + jnp.sum(found["z"])

    found, expected = (jax.vmap(f, (None, 0))(params, x) for f in (lifted, reference))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), found, expected)
    found, expected = (
        jax.jit(jax.value_and_grad(functools.partial(loss, f), (0, 1)))(params, x)
        for f in (lifted, reference)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), found, expected)


def test_accelerators_compute_all_worlds_at_once() -> None:
    assert block_size(4096, "cuda") == 4096
    assert block_size(4096, "cpu") < 256
    assert block_size(0, "cpu") == 0
    assert all(block_size(n, "cpu") <= n for n in range(1, 700))


def test_integer_leaves_keep_their_dtype(lifted: Any) -> None:
    params, x = example(2)
    out = jax.vmap(lifted, (None, 0))(params, x)
    assert out["count"].dtype == jnp.asarray(N).dtype
    np.testing.assert_array_equal(out["count"], [N, N])


def test_native_code_sees_worlds_last() -> None:
    seen = []

    def spy(x: Any) -> Any:
        seen.append(x.shape)
        return x * 2.0

    f = worlds.lift(spy)
    jax.vmap(jax.vmap(f))(jnp.ones((4, 5, N)))
    assert seen[-1] == (N, 20)


@pytest.mark.optimised
@pytest.mark.parametrize("width", [0, 40])
def test_tables_that_a_loop_reads_are_not_copied(width: int) -> None:
    """Those of meshes have millions of entries, and a step loops."""

    def native(table: Any, x: Any) -> Any:
        def more(k: Any, x: Any) -> Any:
            return x + table[k, 0] * jnp.cos(x)

        return jax.lax.fori_loop(jnp.int32(0), jnp.sum(table[0, 0]).astype(jnp.int32), more, x)

    lifted = worlds.lift(native)
    run = jax.jit(jax.vmap(lifted, (None, 0)) if width else lifted)
    program = run.lower(jnp.ones((5000, 9)), jnp.ones((width,) if width else ())).compile().as_text()
    assert re.search(r"f64\[5000,9,1\]", program)
    assert not re.search(r"f64\[5000,9,1\]\S* (copy|fusion)\(", program)


@pytest.mark.optimised
@pytest.mark.parametrize("width", [0, 40])
def test_what_depends_on_the_model_alone_is_computed_once(width: int) -> None:
    """A sum over all vertices of a model is no part of a user's loop."""

    def native(table: Any, x: Any) -> Any:
        return jnp.cos(x) + apart(lambda t: jnp.sum(jnp.tan(jax.lax.stop_gradient(t)), axis=(0, 1)))(table)

    lifted = worlds.lift(native)
    step = jax.vmap(lifted, (None, 0)) if width else lifted
    run = jax.jit(lambda table, x: jax.lax.scan(lambda x, _: (step(table, x), None), x, length=9)[0])
    args = jnp.ones((5000, 9)), jnp.ones((width,) if width else ())
    program = run.lower(*args).compile().as_text()
    (own,) = (text for text in program.split("\n\n") if re.search(r"f64\[5000,9,1\]\S* tan\(", text))
    name = own.split()[0]
    assert name == "ENTRY" or re.search(rf"calls={name}\b", program.split("ENTRY")[1])
    expected = args[1]
    for _ in range(9):
        expected = jnp.cos(expected) + 45000 * np.tan(1)
    np.testing.assert_allclose(run(*args), expected, rtol=1e-9)


def test_one_trace_per_shape() -> None:
    seen = []

    def spy(x: Any) -> Any:
        seen.append(x.shape)
        return x * 2.0

    step = jax.jit(jax.vmap(worlds.lift(spy)))
    step(jnp.ones((4, N)))
    step(jnp.zeros((4, N)))
    assert seen == [(N, 4)]


def test_a_world_that_overflows_does_not_spoil_a_shared_gradient() -> None:
    """A derivative that is not finite, times the zero cotangent of a world that the loss leaves out, is zero."""

    def native(scale: Any, x: Any) -> Any:
        y = jnp.exp(scale * x)
        return jnp.where(jnp.isfinite(y), y, 0.0)

    f = worlds.lift(native)
    x = jnp.asarray([1.0, 1e9, -0.5])
    keep = jnp.asarray([True, False, True])

    def loss(scale: Any) -> Any:
        return jnp.sum(jnp.where(keep, jax.vmap(f, (None, 0))(scale, x), 0.0))

    expected = np.sum(np.exp(2.0 * x[keep]) * x[keep])
    np.testing.assert_allclose(jax.grad(loss)(2.0), expected, rtol=1e-12)


def test_second_derivatives_where_a_cotangent_is_zero() -> None:
    """The cotangent of a square is zero at zero, and changes there: its world must not count as left out."""
    f = worlds.lift(lambda a, x: a * jnp.sin(x))

    def loss(x: Any) -> Any:
        return jnp.sum(jax.vmap(f, (None, 0))(3.0, x) ** 2)

    x = jnp.asarray([0.0, 0.4])
    expected = np.diag(18.0 * np.cos(2.0 * x))
    np.testing.assert_allclose(jax.jacfwd(jax.grad(loss))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jacrev(jax.grad(loss))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jacrev(jax.jacfwd(loss))(x), expected, rtol=1e-12)


def test_what_is_remembered_is_bounded() -> None:
    for k in range(worlds._REMEMBERED + 5):
        worlds.lift(lambda x, k=k: x + k)(jnp.ones(()))
    assert len(worlds._outputs.entries) <= worlds._REMEMBERED


def test_matrix_products_follow_the_default_precision() -> None:
    """A change of `jax_default_matmul_precision` traces again, as with `jax.jit`."""
    f = jax.vmap(worlds.lift(lambda a, x: jnp.einsum("ijw,jw->iw", a, x)))

    def precision() -> str:
        args = jnp.ones((3, 2, 2)), jnp.ones((3, 2))
        return str(jax.make_jaxpr(f)(*args).jaxpr) + program_for("cuda", jax.jit(f), *args)

    with jax.default_matmul_precision("highest"):
        assert "HIGHEST" in precision()
    with jax.default_matmul_precision("default"):
        assert "HIGHEST" not in precision()
