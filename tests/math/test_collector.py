"""Python's garbage collector does not run while a program is traced or lowered, and does before and after."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import pytest

from jaxsim.math.collector import paused_collector
from jaxsim.math.linear import primitive
from jaxsim.worlds import lift


@pytest.fixture
def collections():
    """What collections began since."""
    found = []

    def began(phase, info):
        found.append(info) if phase == "start" else None

    gc.callbacks.append(began)
    yield found
    gc.callbacks.remove(began)


def test_programs_are_traced_and_lowered_without_collections(collections):
    inside = []

    def cosine(x):
        collections.clear()
        made = [[k] for k in range(20_000)]  # of so many lists some would be collected
        inside.append((len(made), len(collections)))
        return jnp.cos(x)

    when_lowered = primitive("cosine", cosine, False)
    traced = jax.jit(jax.vmap(lift(lambda x: cosine(x) + when_lowered.bind(x)))).trace(jnp.ones((3, 2)))
    tracings = len(inside)
    traced.lower(lowering_platforms=("cpu",))
    assert 0 < tracings < len(inside)
    assert set(inside) == {(20_000, 0)}
    assert gc.isenabled()


def test_collector_is_as_it_was():
    with pytest.raises(ValueError, match="False"), paused_collector():
        raise ValueError(gc.isenabled())
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
