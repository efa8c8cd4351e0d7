"""What is computed of some worlds only."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.some import in_some_worlds
from jaxsim.math.stage import lowering_for


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("width", [1, 3, 64, 200])
@pytest.mark.parametrize(("share", "lanes"), [(0.0, 64), (0.2, 64), (1.0, 64), (0.2, 16)])
def test_worlds_that_are_asked_alone_change(platform: str, width: int, share: float, lanes: int) -> None:
    """Each world once, with its own rows of the tables, of which some are shared by all."""
    rng = np.random.default_rng(width)
    asked = rng.random(width) < share
    own, shared = rng.normal(size=(2, 3, width)), rng.normal(size=(3, 1))
    found = {"x": rng.normal(size=(3, width)), "count": np.zeros(width, int)}

    def moved(tables, found):
        a, b = tables
        return {"x": found["x"] + a[0] * a[1] * b, "count": found["count"] + 1}

    with lowering_for(platform):
        new = jax.jit(lambda *args: in_some_worlds(moved, *args, lanes=lanes))(
            jnp.asarray(asked), (jnp.asarray(own), jnp.asarray(shared)), jax.tree.map(jnp.asarray, found)
        )
    np.testing.assert_array_equal(new["count"], asked)
    wanted = np.where(asked, found["x"] + own[0] * own[1] * shared, found["x"])
    np.testing.assert_allclose(new["x"], wanted, rtol=1e-14)


def test_a_function_may_loop() -> None:
    """Worlds that take longer than others end where they would alone."""
    start = jnp.arange(1, 131)

    def halved(_, x):
        return jax.lax.while_loop(lambda x: jnp.any(x > 1), lambda x: jnp.where(x > 1, x // 2, x), x)

    ends = jax.jit(lambda x: in_some_worlds(halved, x % 2 == 0, (), x))(start)
    np.testing.assert_array_equal(ends, np.where(np.arange(1, 131) % 2 == 0, 1, np.arange(1, 131)))
