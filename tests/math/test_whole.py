"""Division of whole numbers by one operation is Python's where they are not negative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.whole import quotient, remainder


@pytest.mark.parametrize("by", [1, 3, 16])
@pytest.mark.parametrize("dtype", [jnp.int32, jnp.int64])
def test_division_of_what_is_not_negative(dtype, by):
    x = jnp.arange(50, dtype=dtype)
    for ours, wanted in ((quotient, x // by), (remainder, x % by)):
        found = ours(x, by)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted)
        assert len(jax.make_jaxpr(lambda x, ours=ours: ours(x, by))(x).eqns) <= 2
