"""The general collider's searches as kernels of a GPU, run without one: they find what the plain ones do."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim.collision.convex import hull, polytope
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.interop.mujoco import put_model
from jaxsim.math import one_kernel
from jaxsim.math.one_kernel import in_one_kernel
from jaxsim.math.stage import lowering_for
from jaxsim.worlds import expand
from tests.collision import searches
from tests.collision.test_hulls import _scene


@pytest.fixture
def _interpreted(monkeypatch):
    """Kernels that run where there is no GPU."""
    names = {one_kernel: "in_one_kernel", polytope: "grow_in_kernel", hull: "look_up_in_kernel"}
    for module, name in names.items():
        monkeypatch.setattr(module, name, functools.partial(getattr(module, name), interpret=True))


CUBE = " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2))
TURNS = np.arange(21) * 2.4
HEIGHTS = np.linspace(-0.25, 0.25, 21)
WIDTHS = np.sqrt(0.07 - HEIGHTS**2)
ROUND = np.stack([WIDTHS * np.cos(TURNS), WIDTHS * np.sin(TURNS), HEIGHTS], axis=1)
SMALL = f"""
<mujoco>
  <asset>
    <mesh name="cube" vertex="{CUBE}"/>
    <mesh name="round" vertex="{" ".join(map(str, ROUND.reshape(-1)))}"/>
  </asset>
  <worldbody>
    <body><freejoint/><geom type="mesh" mesh="cube"/></body>
    <body><freejoint/><geom type="mesh" mesh="round"/></body>
  </worldbody>
</mujoco>
"""
"""Hulls of eight corners, and of more than are compared at once."""


@pytest.mark.usefixtures("_interpreted")
@pytest.mark.parametrize("small", [False, True], ids=["looked up", "searched whole"])
def test_searches_in_kernels_find_the_same(small):
    mj_model = mujoco.MjModel.from_xml_string(SMALL) if small else _scene()
    tables = hulls_of(expand(put_model(mj_model)))
    assert (tables.moved is None) == small
    args = tables, *searches.scene(600, mj_model.nmesh)  # no whole number of programs

    def in_kernels(*args):
        with lowering_for("cuda"):
            return searches.found(*args)

    assert "pallas_call" in str(jax.make_jaxpr(in_kernels)(*args))
    # 1e-6: the tolerance of the searches of curved cores
    searches.same(jax.jit(in_kernels)(*args), jax.jit(searches.found)(*args), 1e-6)


def test_what_a_kernel_of_lanes_does_not_know_is_refused():
    def sorted_lanes(lanes, x):
        return lanes.run(jnp.sort, x)

    x = jnp.ones((2, 32))
    with lowering_for("cuda"), pytest.raises(NotImplementedError, match="sort in a kernel of lanes"):
        in_one_kernel(sorted_lanes, "sorted", (x,), jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)
