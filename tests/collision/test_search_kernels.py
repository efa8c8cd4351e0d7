"""The general collider's searches as kernels of a GPU, run without one: they find what the plain ones do."""

import functools

import jax
import pytest

from jaxsim.collision.convex import gjk, hull, polytope
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.interop.mujoco import put_model
from jaxsim.math.stage import lowering_for
from jaxsim.worlds import expand
from tests.collision import searches
from tests.collision.test_hulls import _scene


@pytest.fixture
def _interpreted(monkeypatch):
    """Kernels that run where there is no GPU."""
    names = {gjk: "in_one_kernel", polytope: "grow_in_kernel", hull: "look_up_in_kernel"}
    for module, name in names.items():
        monkeypatch.setattr(module, name, functools.partial(getattr(module, name), interpret=True))


@pytest.mark.usefixtures("_interpreted")
def test_searches_in_kernels_find_the_same():
    tables = hulls_of(expand(put_model(_scene())))
    args = tables, *searches.scene(600, 3)  # no whole number of programs

    def in_kernels(*args):
        with lowering_for("cuda"):
            return searches.found(*args)

    assert "pallas_call" in str(jax.make_jaxpr(in_kernels)(*args))
    # 1e-6: the tolerance of the searches of curved cores
    searches.same(jax.jit(in_kernels)(*args), jax.jit(searches.found)(*args), 1e-6)
