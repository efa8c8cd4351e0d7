"""On a GPU: the CPU's results, steps and derivatives, and the kernels that only GPUs run.

JAX_DISABLE_MOST_OPTIMIZATIONS=0 python -m pytest -m gpu
"""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import models
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.interop.mujoco import put_model
from jaxsim.math.stage import lowering_for
from jaxsim.solver import linalg
from jaxsim.solver.tree_kernel import solve_in_kernel
from jaxsim.structure.sparsity import tree_structure
from jaxsim.worlds import expand
from tests.collision import searches
from tests.collision.test_hulls import _scene as many_hulls

pytestmark = pytest.mark.gpu

SHAPES = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom type="plane" size="2 2 0.1"/>
    <body pos="0 0 0.10"><freejoint/><geom type="box" size="0.1 0.12 0.1"/></body>
    <body pos="0.02 0 0.27"><freejoint/><geom type="cylinder" size="0.09 0.07"/></body>
    <body pos="0 0.02 0.41"><freejoint/><geom type="capsule" size="0.07 0.1" euler="0 90 0"/></body>
    <body pos="0.3 0 0.08"><freejoint/><geom type="ellipsoid" size="0.1 0.09 0.08"/></body>
    <body pos="0.3 0 0.22"><freejoint/><geom type="sphere" size="0.06"/></body>
  </worldbody>
</mujoco>
"""
MODELS = {name: models.path(name).read_text() for name in ("humanoid", "quadruped", "arm")} | {
    "shapes": SHAPES
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 32, 1000])
def test_elimination_in_a_kernel(width, dtype):
    rng = np.random.default_rng(0)
    structure = tree_structure([-1, 0, 1, 1, 3, 0, 5, -1, 7])
    dense = rng.standard_normal((structure.n, structure.n, width))
    dense = np.einsum("ikw,jkw->ijw", dense, dense) + 3 * np.eye(structure.n)[..., None]
    A, b = (
        jnp.asarray(x, dtype)
        for x in (dense[structure.rows, structure.cols], rng.standard_normal((9, width)))
    )
    ours = jax.jit(functools.partial(solve_in_kernel, structure))(A, b)
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(ours, linalg.solve_tree(structure, A, b), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_searches_in_kernels(dtype):
    tables = hulls_of(expand(put_model(many_hulls())))
    tables = jax.tree.map(lambda x: x.astype(dtype) if x.dtype == np.float64 else x, tables)
    args = tables, *searches.scene(1000, 3, dtype)

    def search(platform, *args):
        with lowering_for(platform):
            return searches.found(*args)

    ours, plain = (
        jax.jit(functools.partial(search, platform))(*jax.device_put(args, jax.devices(kind)[0]))
        for platform, kind in (("cuda", "gpu"), ("cpu", "cpu"))
    )
    searches.same(ours, plain, 1e-6 if dtype == np.float64 else 1e-4)


def rollout(model, data, ctrl):
    """Ten steps; the state, and what was dropped on the way."""

    def body(data, _):
        return jaxsim.step(model, data), None

    final, _ = jax.lax.scan(body, data.replace(ctrl=ctrl), None, length=10)
    return final.qpos, final.qvel, final.warning


def start(name):
    """The C engine's model, and its state once everything has sunk in: no contact that a rounding could open."""
    model = mujoco.MjModel.from_xml_string(MODELS[name])
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=20)
    return model, data


def batch(name, worlds):
    """A model, a world of it, and controls of many."""
    _, state = start(name)
    model = jaxsim.load_model(MODELS[name])
    low, high = np.asarray(model.actuator_ctrlrange).reshape(-1, 2).T
    ctrl = np.random.default_rng(0).uniform(low, high, (worlds, model.nu)) * 0.3
    return model, jaxsim.make_data(model).replace(qpos=state.qpos.copy(), qvel=state.qvel.copy()), ctrl


def on(device, function, *args):
    """Results of a function compiled for a device, on the host."""
    with jax.default_device(device):
        return [np.asarray(x) for x in jax.jit(function)(*jax.device_put(args, device))]


@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_the_cpu_and_of_c(name):
    args = batch(name, 40)
    run = jax.vmap(rollout, in_axes=(None, None, 0))
    (qpos, qvel, warning), (qpos_cpu, qvel_cpu, _) = (
        on(jax.devices(kind)[0], run, *args) for kind in ("gpu", "cpu")
    )
    assert not warning.any()
    # 1e-7: both end their iterations when the solver's tolerance is met, and round differently
    np.testing.assert_allclose(qpos, qpos_cpu, rtol=0, atol=1e-7)
    np.testing.assert_allclose(qvel, qvel_cpu, rtol=0, atol=1e-5)
    for ctrl, q in zip(args[2][:3], qpos, strict=False):
        model, state = start(name)
        state.ctrl[:] = ctrl
        state.qacc_warmstart[:] = 0
        mujoco.mj_step(model, state, nstep=10)
        # 1e-4: curved shapes; C ends its search of distances at another tolerance
        np.testing.assert_allclose(q, state.qpos, rtol=0, atol=1e-4 if name == "shapes" else 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_the_cpu(name):
    model, data, ctrl = batch(name, 40)

    def loss(model, data, ctrl, qvel):
        qpos, qvel, _ = jax.vmap(lambda u, v: rollout(model, data.replace(qvel=v), u))(ctrl, qvel)
        return jnp.sum(qpos**2) + jnp.sum(qvel**2)

    qvel = data.qvel + 0.01 * np.random.default_rng(1).standard_normal((40, model.nv))
    gradient = jax.grad(loss, argnums=(2, 3))
    results = (on(jax.devices(kind)[0], gradient, model, data, ctrl, qvel) for kind in ("gpu", "cpu"))
    for gpu, cpu in zip(*results, strict=True):
        assert np.isfinite(gpu).all()
        scale = np.abs(cpu).max(initial=0.0) + 1e-30
        off = np.abs(gpu - cpu).max(axis=-1, initial=0.0) / scale
        # in most worlds; in a few a contact opens within a rounding of a step's end
        assert np.median(off) < 1e-7
        assert (off > 1e-4).mean() < 0.05


def test_float32_and_float64_agree():
    model, data, ctrl = batch("humanoid", 40)
    run = jax.jit(jax.vmap(rollout, in_axes=(None, None, 0)))
    wide = np.asarray(run(model, data, ctrl)[0])
    single = jax.tree.map(lambda x: np.float32(x) if x.dtype == np.float64 else x, (model, data, ctrl))
    narrow = np.asarray(run(*single)[0])
    assert narrow.dtype == np.float32
    assert np.median(np.abs(narrow - wide).max(axis=1)) < 1e-4
