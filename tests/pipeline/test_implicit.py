"""Integrators that are implicit in velocity: steps against the C engine, derivatives of forces against jax.jacfwd."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.enums import IntegratorType
from jaxsim.pipeline.coriolis import bias_slope, bias_slope_free
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.structure.free import free_trees
from jaxsim.structure.trees import m_entries
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, native_stages, put_state, states

NO_CONSTRAINT = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
SCENES = {"mixed": scenes.MIXED, "free": scenes.FREE, "fluid": scenes.FLUID}
FLAGS = {
    "default": 0,
    "no damper": int(mujoco.mjtDisableBit.mjDSBL_DAMPER),
    "no actuation": int(mujoco.mjtDisableBit.mjDSBL_ACTUATION),
}


@functools.cache
def stepper(scene, integrator, flags):
    m, model = load(SCENES[scene], integrator=integrator, disableflags=NO_CONSTRAINT | flags)
    finish = INTEGRATORS[integrator].finish

    def step(model, data):
        data = native_stages(model, data)
        return finish(model, data.replace(qacc=data.qacc_smooth)).replace(work=None)

    return m, model, jax.jit(worlds.lift(step))


@pytest.mark.parametrize(
    ("integrator", "scene", "flags"),
    [
        (IntegratorType.IMPLICIT, "mixed", "default"),
        (IntegratorType.IMPLICITFAST, "mixed", "default"),
        (IntegratorType.IMPLICITFAST, "free", "default"),
        (IntegratorType.IMPLICIT, "fluid", "default"),
        (IntegratorType.IMPLICITFAST, "fluid", "default"),
        (IntegratorType.IMPLICITFAST, "mixed", "no damper"),
        (IntegratorType.IMPLICITFAST, "mixed", "no actuation"),
    ],
)
def test_step_without_constraints(integrator, scene, flags):
    m, model, step = stepper(scene, int(integrator), FLAGS[flags])
    for d in states(m, n=3 if flags == "default" else 1):
        d.qvel *= 3
        ours = step(model, put_state(model, d))
        mujoco.mj_step(m, d)
        for name in ("qpos", "qvel", "act", "time", "qacc_warmstart"):
            assert error(getattr(ours, name), getattr(d, name)) < 1e-10, name


def test_forces_that_drive_velocities_apart():
    """M - h D has a negative pivot: not that of an inertia, and no reason to lose the worlds of a batch."""
    xml = """<mujoco><option timestep=".01" integrator="implicit"/><worldbody><body><joint name="j" axis="0 1 0"/>
      <geom size=".1" mass="1"/></body></worldbody>
      <actuator><general joint="j" biastype="affine" biasprm="0 0 1"/></actuator></mujoco>"""
    m, model = load(xml)
    d = mujoco.MjData(m)
    d.qvel[:] = 1
    pair = jax.tree.map(lambda x: jnp.stack([x, x]), put_state(model, d))
    ours = jax.jit(jax.vmap(jaxsim.step, (None, 0)))(model, pair)
    mujoco.mj_step(m, d)
    assert d.qvel[0] < -0.6
    assert error(ours.qvel, np.stack([d.qvel, d.qvel])) < 1e-10
    assert not ours.warning.any()


@pytest.mark.parametrize("scene", ["mixed", "free"])
def test_slope_of_the_bias_force_is_its_jacobian(scene):
    """Entries and their transposes, of all dofs and of the free trees apart; nothing is outside of M's sparsity."""
    m, model = load(SCENES[scene])
    native = worlds.expand(model)
    rows, cols = m_entries(model.static)
    layout = free_trees(model.static)

    @jax.jit
    def both(data):
        def bias(v):
            return native_stages(native, data.replace(qvel=v[:, None])).qfrc_bias[:, 0]

        done = native_stages(native, data)
        free = bias_slope_free(native, done)[..., 0]
        return jax.jacfwd(bias)(data.qvel[:, 0]), *bias_slope(native, done), free

    for d in states(m, n=2):
        J, lower, upper, free = (np.asarray(x) for x in both(worlds.expand(put_state(model, d))))
        found = np.zeros_like(J)
        found[cols, rows] = upper[:, 0]
        found[rows, cols] = lower[:, 0]
        assert error(found, J) < 1e-13
        assert error(free, J[layout.dofs[:, :, None], layout.dofs[:, None, :]]) < 1e-13
