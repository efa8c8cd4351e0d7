"""The bundled models step by step, beside the C engine."""

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import models, put_data, put_model

pytestmark = pytest.mark.optimised

STEPS = 60


@pytest.mark.parametrize("name", ["arm", "quadruped"])
def test_a_rollout_is_the_c_engines(name):
    """From the first keyframe under changing controls: contacts are made and broken, servos work."""
    m = mujoco.MjModel.from_xml_path(str(models.path(name)))
    m.opt.tolerance = 1e-14  # both at the optimum, so that only rounding grows
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    # what touches exactly in the keyframe falls a tenth of a millimetre: else rounding decides whether it touches
    free = m.jnt_qposadr[m.jnt_type == mujoco.mjtJoint.mjJNT_FREE]
    d.qpos[free + 2] += 1e-4
    low, high = m.actuator_ctrlrange.T
    rng = np.random.default_rng(5)
    steps = np.repeat(rng.uniform(-1, 1, (STEPS // 20, m.nu)), 20, axis=0)
    ctrl = np.clip(d.ctrl + 0.1 * (high - low) * steps, low, high)
    model, data = put_model(m), put_data(m, d)
    touching, expected = [], []
    for u in ctrl:
        d.ctrl[:] = u
        mujoco.mj_step(m, d)
        touching.append(d.ncon)
        expected.append(np.concatenate([d.qpos, d.qvel]))
    fields = ("qpos", "qvel", "ncon", "warning")
    end, path = jax.jit(lambda data: jaxsim.rollout(model, data, ctrl, fields=fields))(data)
    found = np.concatenate([path["qpos"], path["qvel"]], axis=1)
    assert len(set(touching)) > 1
    np.testing.assert_array_equal(path["ncon"], touching)
    np.testing.assert_allclose(found, expected, atol=1e-7)  # rounding, magnified by stiff contacts
    assert int(end.warning) == 0
