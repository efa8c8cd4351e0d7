"""The C engine at random states, and the smooth stages of the pipeline on one world."""

import jax.numpy as jnp
import mujoco
import numpy as np

from jaxsim import worlds
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.acceleration import fwd_acceleration
from jaxsim.pipeline.actuation import fwd_actuation
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.inertia import com_pos, crb
from jaxsim.pipeline.kinematics import camlight, kinematics
from jaxsim.pipeline.passive import passive
from jaxsim.pipeline.tendon import tendon, tendon_bias
from jaxsim.pipeline.transmission import transmission, transmission_velocity
from jaxsim.pipeline.velocity import com_vel, rne
from jaxsim.pipeline.work import Work

STAGES = (
    kinematics,
    com_pos,
    camlight,
    tendon,
    crb,
    transmission,
    com_vel,
    transmission_velocity,
    passive,
    rne,
    tendon_bias,
    fwd_actuation,
    fwd_acceleration,
)
INPUTS = ("time", "qpos", "qvel", "ctrl", "act", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat")


def native_stages(model, data):
    """The data after all smooth stages, with what they hand to each other."""
    data = data.replace(work=Work())
    for stage in STAGES:
        data = stage(model, data)
    return data


def native_smooth(model, data):
    return native_stages(model, data).replace(work=None)


smooth = worlds.lift(native_smooth)


def load(xml, **options):
    """(mjModel, Model) of an XML string with some options replaced."""
    m = mujoco.MjModel.from_xml_string(xml)
    for name, value in options.items():
        setattr(m.opt, name, value)
    return m, put_model(m)


def states(m, n=3, seed=0, spread=0.3):
    """Random states of the C engine; the first is at qpos0."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, spread * k * rng.standard_normal(m.nv), 1.0)
        d.time = 0.3
        d.qvel[:] = rng.standard_normal(m.nv)
        d.ctrl[:] = rng.uniform(-1.5, 1.5, m.nu)
        d.act[:] = rng.uniform(size=m.na)
        d.qfrc_applied[:] = rng.standard_normal(m.nv)
        d.xfrc_applied[1:] = rng.standard_normal((m.nbody - 1, 6))
        d.mocap_pos[:] += rng.standard_normal(d.mocap_pos.shape)
        d.mocap_quat[:] = rng.standard_normal(d.mocap_quat.shape)
        yield d


def put_state(model, d, data=None):
    """A Data of one world with the inputs of an MjData."""
    data = blank(model).replace(**initial_state(model)) if data is None else data
    fields = {name: np.array(getattr(d, name)) for name in INPUTS}
    return data.replace(
        **{k: jnp.asarray(v, float).reshape(getattr(data, k).shape) for k, v in fields.items()}
    )


def error(ours, theirs):
    """Relative to the largest entry, in the max norm."""
    ours, theirs = (np.asarray(x, float).reshape(-1) for x in (ours, theirs))
    assert ours.size == theirs.size
    assert np.isfinite(ours).all()
    return np.abs(ours - theirs).max(initial=0) / (1 + np.abs(theirs).max(initial=0))
