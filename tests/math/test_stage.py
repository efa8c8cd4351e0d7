"""Stage boundaries go by the platform that a program is lowered for."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim import worlds
from jaxsim.math.matrix import multiply
from jaxsim.math.stage import common_platform, long_stage, lowering_for, platform, stage


@stage
def _inner(x):
    return x * jnp.sin(x)


@stage
def _outer(x):
    return _inner(x) + 1


lifted = worlds.lift(lambda x: _outer(x) * 2)


@pytest.mark.parametrize(("platform", "calls"), [("cpu", 2), ("cuda", 0), ("tpu", 0)])
@pytest.mark.parametrize("batched", [False, True])
def test_calls_stay_on_cpus_only(platform, calls, batched):
    """All of it is a kernel there, which is a call too."""
    f = jax.vmap(lifted) if batched else lifted
    x = jnp.ones((4, 3)) if batched else jnp.ones(3)
    lowered = jax.jit(f).trace(x).lower(lowering_platforms=(platform,))
    kernels = int(platform == "cpu")
    assert lowered.as_text().count('inlineable = "false"') == calls + kernels
    assert lowered.as_text().count('xla_cpu_small_call = "true"') == kernels


def test_derivatives_go_by_platform_too():
    f = jax.grad(lambda x: jnp.sum(lifted(x)))
    texts = {
        platform: jax.jit(f).trace(jnp.ones(3)).lower(lowering_platforms=(platform,)).as_text()
        for platform in ("cpu", "cuda")
    }
    assert 'inlineable = "false"' in texts["cpu"]
    assert 'inlineable = "false"' not in texts["cuda"]


@stage
def _waves(x):
    return jnp.sin(x) * jnp.exp(x), jnp.sqrt(x) * jnp.cos(x)


def test_a_derivative_keeps_what_goes_into_a_stage():
    """And what searches in it find."""
    x = jnp.linspace(1.0, 2.0, 5)
    searched = long_stage(lambda x: x * jax.lax.fori_loop(0, 3, lambda i, n: n + i, jax.lax.stop_gradient(x)))
    with lowering_for("cpu"):
        pull = jax.vjp(searched, x)[1]
    np.testing.assert_array_equal(jax.tree.leaves(pull), [x + 3])
    with lowering_for("cpu"):
        results, pull = jax.vjp(_waves, x)
    kept = jax.tree.leaves(pull)
    assert [k.shape for k in kept] == [x.shape]
    np.testing.assert_array_equal(kept[0], x)
    slopes = [jax.vmap(jax.grad(lambda x, i=i: _waves(x)[i]))(x) for i in range(2)]
    np.testing.assert_allclose(pull(results)[0], slopes[0] * results[0] + slopes[1] * results[1], rtol=1e-12)


@stage
def _bent(x):
    return jnp.where(x > 0, jnp.clip(x * x, 0.0, 2.0), -x)


def test_calls_of_jax_inside_are_inlined_in_derivatives_as_well():
    """JAX differentiates a call by tracing its inside again, where the mark of a stage would hold for all of it."""
    x = jnp.linspace(-1.0, 1.0, 5)
    for f in (_bent, jax.grad(lambda x: jnp.sum(_bent(x))), lambda x: jax.jvp(_bent, (x,), (x,))):
        with lowering_for("cpu"):
            calls = re.findall(r"call @\w+\(.*", jax.jit(f).lower(x).as_text())
        kept = [call for call in calls if 'inlineable = "false"' in call]
        assert kept
        assert all("_bent" in call for call in kept)
        assert any("_where" in call for call in calls)


def test_operations_of_our_own_go_by_platform_too():
    """They are traced when they are lowered, after the platform of the world's program was chosen."""
    product = jax.vmap(worlds.lift(multiply))
    A, x = jnp.ones((4, 3, 2)), jnp.ones((4, 2))
    for of in (product, jax.grad(lambda A, x: jnp.sum(product(A, x)), 1)):
        lowered = {
            platform: jax.jit(of).trace(A, x).lower(lowering_platforms=(platform,)).as_text()
            for platform in ("cpu", "cuda")
        }
        assert 'inlineable = "false"' in lowered["cpu"]
        assert 'inlineable = "false"' not in lowered["cuda"]


def test_both_ways_give_the_same():
    x = jnp.linspace(0.0, 1.0, 5)
    results = []
    for kind in ("cpu", "cuda"):
        with lowering_for(kind):
            results.append(jax.jit(lambda x: _outer(x))(x))
    assert (results[0] == results[1]).all()


def test_a_program_for_several_platforms_has_no_calls():
    assert common_platform(["cpu"]) == platform() == "cpu"
    assert common_platform(["cpu", "cuda"]) == "any"
