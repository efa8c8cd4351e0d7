"""Ways in which published scripts use MJX, with one import changed; numbers are the C engine's."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import mjx

from .scene import XML, close, engine

WORLDS = 3
TO_C = 1e-6
"""Through contacts both solvers stop at their own tolerance."""


@pytest.fixture(scope="module")
def scene():
    """The C engine's model and data, and what a script puts on the device of them."""
    m, d = engine()
    return m, d, mjx.put_model(m), mjx.put_data(m, d)


step = jax.jit(mjx.step)
forward = jax.jit(mjx.forward)
step_all = jax.jit(jax.vmap(mjx.step, in_axes=(None, 0)))


def worlds_of(data):
    """A batch of worlds, one above the other."""
    return jax.vmap(lambda k: data.replace(qpos=data.qpos.at[2].add(0.02 * k)))(jnp.arange(WORLDS))


def in_c(m, qpos, qvel, ctrl, steps, change=None):
    """The C engine from the same state; `change` edits the model."""
    if change is not None:
        m = mujoco.MjModel.from_xml_string(XML)
        change(m)
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:], d.ctrl[:] = qpos, qvel, ctrl
    for _ in range(steps):
        mujoco.mj_step(m, d)
    return d


def test_rollout_by_scan_over_vmapped_steps(scene):
    m, _, model, data = scene

    @jax.jit
    def rollout(batch):
        def one(batch, _):
            batch = step_all(model, batch)
            return batch, batch.qpos

        return jax.lax.scan(one, batch, None, length=5)

    batch = worlds_of(data)
    final, path = rollout(batch)
    assert isinstance(final, mjx.Data)
    assert path.shape == (5, WORLDS, m.nq)
    for k in range(WORLDS):
        close(final.qpos[k], in_c(m, batch.qpos[k], data.qvel, data.ctrl, 5).qpos, TO_C)
    close(final.time, np.full(WORLDS, 5 * m.opt.timestep))


def test_randomisation_by_in_axes(scene):
    m, _, model, data = scene
    mass = jnp.stack([model.body_mass * scale for scale in (1.0, 1.5, 2.0)])
    gravity = jnp.asarray([[0, 0, -9.81], [0, 0, -5.0], [0.5, 0, -9.0]])
    axes = jax.tree.map(lambda x: None, model)
    axes = axes.tree_replace({"body_mass": 0, "opt.gravity": 0})
    models = model.tree_replace({"body_mass": mass, "opt.gravity": gravity})
    found = jax.jit(jax.vmap(mjx.step, in_axes=(axes, None)))(models, data)
    for k in range(WORLDS):

        def change(m, k=k):
            m.body_mass[:] = mass[k]
            m.dof_M0[:3] = m.body_mass[m.body("ball").id]  # C reads the mass of a lone body from here
            m.opt.gravity[:] = gravity[k]

        close(found.qvel[k], in_c(m, data.qpos, data.qvel, data.ctrl, 1, change).qvel, TO_C)


def test_randomisation_of_fields_that_were_zero(scene):
    """Programs leave out what is zero; a model whose tendon becomes stiff must agree with its in_axes."""
    _, _, model, data = scene
    stiffness = jnp.asarray([[0.0], [50.0]])
    axes = jax.tree.map(lambda x: None, model).tree_replace({"tendon_stiffness": 0})
    models = model.tree_replace({"tendon_stiffness": stiffness})
    data = data.replace(qpos=data.qpos.at[7].set(0.5))
    found = jax.jit(jax.vmap(mjx.forward, in_axes=(axes, None)))(models, data)
    assert np.abs(found.qfrc_passive[1, 6:] - found.qfrc_passive[0, 6:]).min() > 1


@pytest.mark.parametrize("name", ["tendon_stiffness", "opt.density"])
def test_randomisation_of_fields_that_stay_zero(scene, name):
    """As randomisers do that scale whatever a model has."""
    _, _, model, data = scene
    value = functools.reduce(getattr, name.split("."), model)
    axes = jax.tree.map(lambda x: None, model).tree_replace({name: 0})
    models = model.tree_replace({name: jnp.stack([value, 2 * value])})
    assert not np.any(functools.reduce(getattr, name.split("."), models))
    found = jax.jit(jax.vmap(mjx.forward, in_axes=(axes, None)))(models, data)
    close(found.qacc[1], forward(model, data).qacc, TO_C)


def test_native_rollouts_of_these_records(scene):
    _, _, model, data = scene
    final, path = jax.eval_shape(lambda: jaxsim.rollout(model, data, steps=3, fields=("qpos",)))
    assert final.qpos.shape == path["qpos"].shape[1:]


def test_worlds_that_fly_apart_are_nan(scene):
    """Environments end an episode by it; a reset of the state is a new start, whatever was before."""
    _, _, model, data = scene
    fast = data.replace(qvel=data.qvel.at[0].set(1e30))
    batch = jax.tree.map(lambda *x: jnp.stack(x), data, fast, data)
    after = step_all(model, batch)
    lost = jnp.isnan(after.qpos).any(axis=-1) & jnp.isnan(after.qvel).any(axis=-1)
    np.testing.assert_array_equal(lost, [False, True, False])
    close(after.qpos[2], step(model, data).qpos)
    assert jnp.isnan(step_all(model, after).qpos[1]).any()
    again = after.replace(
        qpos=batch.qpos, qvel=jnp.zeros_like(batch.qvel), qacc_warmstart=batch.qacc_warmstart
    )
    assert jnp.isfinite(step_all(model, again).qpos).all()
    np.testing.assert_array_equal(step_all(model, again).warning != 0, lost)


def test_reset_where_done(scene):
    _, _, model, data = scene
    start = worlds_of(data)
    after = step_all(model, start)
    done = jnp.asarray([True, False, True])

    def where_done(x, y):
        return jnp.where(jnp.reshape(done, [WORLDS] + [1] * (x.ndim - 1)), x, y)

    @jax.jit
    def all_ways(after, start):
        merged = jax.tree.map(where_done, start, after)
        each = jax.vmap(lambda d, a, b: a.where(d, b))(done, after, start)
        return merged, after.where(done, start), each, merged[1]

    merged, whole, each, second = all_ways(after, start)
    assert jax.tree.structure(merged) == jax.tree.structure(after)
    for k in range(WORLDS):
        np.testing.assert_array_equal(merged.qpos[k], (start if done[k] else after).qpos[k])
    for x, y, z in zip(*(jax.tree.leaves(tree) for tree in (merged, whole, each)), strict=True):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, z)
    np.testing.assert_array_equal(second.xpos, after.xpos[1])


def test_dotted_names(scene):
    m, _, model, data = scene
    slower = model.tree_replace({"opt.timestep": 0.001, "geom_friction": model.geom_friction * 2})
    assert float(step(slower, data).time) == pytest.approx(0.001)
    close(slower.geom_friction, 2 * m.geom_friction)
    close(model.opt.timestep, m.opt.timestep)
    assert float(model.opt.tree_replace({"timestep": 0.5}).timestep) == 0.5
    moved = data.tree_replace({"_impl.contact.dist": data.contact.dist - 1, "qvel": data.qvel * 0})
    close(moved.contact.dist, data.contact.dist - 1)
    with pytest.raises(TypeError, match="no field 'masses'"):
        model.tree_replace({"masses": 1.0})


def test_data_replaced_inside_of_jit(scene):
    m, _, model, data = scene

    @jax.jit
    def act(data, ctrl):
        data = data.replace(ctrl=ctrl)
        return jax.lax.scan(lambda d, _: (mjx.step(model, d), None), data, (), 4)[0]

    ctrl = jnp.asarray([1.0, 0.2])
    close(act(data, ctrl).qpos, in_c(m, data.qpos, data.qvel, ctrl, 4).qpos, TO_C)


def test_sensors_by_address(scene):
    m, _, model, data = scene
    d = engine(1)[1]
    found = step(model, data)
    for name in ("speed", "angle", "place"):
        i = mjx.name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        assert i == m.sensor(name).id
        adr, dim = model.sensor_adr[i], model.sensor_dim[i]
        close(found.sensordata[adr : adr + dim], d.sensordata[adr : adr + dim], TO_C)


def test_shapes_are_those_of_mjx(scene):
    m, _, model, data = scene
    real = pytest.importorskip("mujoco.mjx")
    theirs = real.put_data(m, engine(0)[1])
    names = (
        "xpos",
        "xquat",
        "xmat",
        "ximat",
        "site_xpos",
        "site_xmat",
        "geom_xmat",
        "cam_xmat",
        "cvel",
        "cdof",
    )
    names += (
        "qpos",
        "ctrl",
        "mocap_pos",
        "mocap_quat",
        "sensordata",
        "time",
        "actuator_force",
        "xfrc_applied",
    )
    for name in names:
        assert getattr(data, name).shape == getattr(theirs, name).shape, name
    assert data.contact.frame.shape[1:] == theirs._impl.contact.frame.shape[1:]
    assert isinstance(data.ncon, int)
    assert data.ncon == data._impl.contact.dist.shape[0]
    theirs = real.put_model(m)
    for name in (
        "body_parentid",
        "jnt_qposadr",
        "geom_bodyid",
        "site_bodyid",
        "actuator_trnid",
        "sensor_adr",
    ):
        np.testing.assert_array_equal(getattr(model, name), getattr(theirs, name))
    assert model.nM == theirs.nM
    np.testing.assert_array_equal(model.name_bodyadr, theirs.name_bodyadr)


def test_contacts_by_geom(scene):
    m, _, model, data = scene
    found = forward(model, data)
    contact, (ball, floor) = found.contact, (m.geom("ball").id, m.geom("floor").id)
    mask = (jnp.stack([contact.geom1, contact.geom2]) == jnp.asarray([[floor], [ball]])).all(axis=0)
    mask &= contact.dist < 0
    assert mask.sum() == 1
    d = in_c(m, data.qpos, data.qvel, data.ctrl, 0)
    mujoco.mj_forward(m, d)
    close(contact.dist[jnp.argmax(mask)], d.contact.dist[0])
    force = np.zeros(6)
    mujoco.mj_contactForce(m, d, 0, force)
    close(mjx.contact_force(model, found, jnp.argmax(mask)), force, 1e-5)


def test_get_data_after_a_batched_step(scene):
    m, _, model, data = scene
    after = step_all(model, worlds_of(data))
    found = mjx.get_data(m, after)
    assert len(found) == WORLDS
    for k in range(WORLDS):
        expected = in_c(m, worlds_of(data).qpos[k], data.qvel, data.ctrl, 1)
        close(found[k].qpos, expected.qpos, TO_C)
        close(found[k].xpos, expected.xpos)
        assert found[k].ncon == expected.ncon
    alone = mjx.get_data(m, after[1])
    close(alone.qpos, found[1].qpos)
    with pytest.raises(ValueError, match="give a list of MjData"):
        mjx.get_data_into(mujoco.MjData(m), m, after)
    mjx.get_data_into(found, m, worlds_of(data))
    close(found[2].qpos, worlds_of(data).qpos[2])


def test_get_data_of_a_batch_made_by_arithmetic_on_all_leaves(scene):
    m, _, model, data = scene
    data = mjx.kinematics(model, data)
    shifted = jax.tree.map(lambda x: jnp.stack((x, x + 0.4)), data)
    first, second = mjx.get_data(m, shifted)
    close(first.xpos, data.xpos)
    close(second.qpos, data.qpos + 0.4)
    assert second.ncon <= 1  # slots out of use stay so


def test_get_data_into_data_of_another_model(scene):
    m, _, _, data = scene
    other = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    with pytest.raises(ValueError, match=r"Input field qpos has shape \(9,\).*another model"):
        mjx.get_data_into(mujoco.MjData(other), m, data)


def test_resets_inside_of_jit_make_data_of_the_c_model(scene):
    m, _, model, _ = scene

    @jax.jit
    @jax.vmap
    def reset(key):
        data = mjx.make_data(m, impl="jax", naconmax=8, njmax=30)
        home = jnp.asarray(m.keyframe("home").qpos) + 0.01 * jax.random.normal(key, (m.nq,))
        return mjx.forward(model, data.replace(qpos=home, ctrl=jnp.asarray(m.keyframe("home").ctrl)))

    found = reset(jax.random.split(jax.random.key(0), WORLDS))
    d = in_c(m, found.qpos[0], 0, m.keyframe("home").ctrl, 0)
    mujoco.mj_forward(m, d)
    close(found.xpos[0], d.xpos)
    close(found.qacc[0], d.qacc, 1e-5)


def test_states_as_vectors(scene):
    m, d, model, data = scene
    for spec in (mujoco.mjtState.mjSTATE_FULLPHYSICS, mujoco.mjtState.mjSTATE_INTEGRATION):
        size = mujoco.mj_stateSize(m, spec)
        assert mjx.state_size(model, spec) == size
        expected = np.zeros(size)
        mujoco.mj_getState(m, d, expected, spec)
        close(mjx.get_state(model, data, spec), expected)
        changed = mjx.set_state(model, data, expected + 1, spec)
        close(changed.qpos, d.qpos + 1)
    assert isinstance(changed, mjx.Data)


@pytest.mark.slow
def test_gradients_of_a_rollout(scene):
    _, _, model, data = scene

    @jax.jit
    @jax.grad
    def slope(ctrl):
        final = jax.lax.scan(lambda d, _: (mjx.step(model, d), None), data.replace(ctrl=ctrl), None, 3)[0]
        return final.qvel[6]

    def value(u):
        return in_c(scene[0], data.qpos, data.qvel, [u, data.ctrl[1]], 3).qvel[6]

    u, eps = float(data.ctrl[0]), 1e-5
    close(slope(data.ctrl)[0], (value(u + eps) - value(u - eps)) / (2 * eps), 1e-4)


def test_controls_of_the_wrong_shape_are_an_error(scene):
    _, _, model, data = scene
    with pytest.raises(ValueError, match=r"data\.ctrl has shape \(3,\), the model needs \(2,\)"):
        mjx.step(model, data.replace(ctrl=jnp.zeros(3)))
    with pytest.raises(TypeError, match=r"Model\.body_parentid is static"):
        jax.jit(lambda x: model.replace(body_parentid=x).nq)(jnp.zeros(model.nbody, int))


def test_whole_numbers_in_a_state(scene):
    """A scan wants what a step returns to have the types of what it got."""
    _, _, model, data = scene
    placed = data.replace(mocap_pos=jnp.asarray([[1, 2, 3]]), qvel=np.zeros(model.nv, int))
    assert placed.mocap_pos.dtype == placed.qvel.dtype == data.qpos.dtype
    after = jax.eval_shape(mjx.step, model, placed)
    assert [x.dtype for x in jax.tree.leaves(after)] == [x.dtype for x in jax.tree.leaves(placed)]


@pytest.mark.parametrize("impl", ["jax", "WARP", "cpp", mjx.Impl.C, None])
def test_implementations(scene, impl):
    model = mjx.put_model(scene[0], impl=impl)
    assert model.impl == mjx.make_data(model, impl=impl).impl == mjx.Impl.JAX
    assert model.impl.value == "jax"


def test_unknown_implementations_are_refused(scene):
    with pytest.raises(ValueError, match="cuda"):
        mjx.put_model(scene[0], impl="cuda")


def test_records_of_the_c_engine_are_refused_in_words(scene):
    m, d, model, data = scene
    with pytest.raises(
        TypeError, match=r"expected mjx\.Data, as mjx\.make_data or put_data makes it, not mujoco"
    ):
        mjx.forward(model, d)
    with pytest.raises(TypeError, match=r"expected mjx\.Model, as mjx\.put_model makes it, not mujoco"):
        mjx.step(m, data)
    with pytest.raises(TypeError, match=r"expected mjx\.Model, as mjx\.put_model makes it, not jaxsim.*Data"):
        mjx.step(data, model)


def test_arguments_that_do_not_exist(scene):
    """MJX's for other implementations are taken, whatever they ask; a slip of the pen is not."""
    m, d, _, data = scene
    assert mjx.put_model(m, graph_mode=1, keepalive_refs={}).nq == m.nq
    with pytest.raises(TypeError, match=r"put_model has no argument 'nconmx' \(did you mean 'nconmax'\?\)"):
        mjx.put_model(m, nconmx=3)
    with pytest.raises(TypeError, match="make_data has no argument 'worlds'"):
        mjx.make_data(m, worlds=3)
    with pytest.raises(TypeError, match="put_data has no argument 'batch'"):
        mjx.put_data(m, d, batch=3)
    with pytest.raises(TypeError, match="get_data has no argument 'world'"):
        mjx.get_data(m, data, world=0)
    with pytest.raises(
        TypeError, match="put_model: batch_sizes is not there; give a model leaves of many worlds"
    ):
        mjx.put_model(m, batch_sizes={"geom_size": 3})
