"""Functions of the user's in a model, against the C engine with the same callbacks, and their derivatives."""

import contextlib

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from tests.pipeline.oracle import error, put_state

XML = """<mujoco><option timestep=".01"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body name="a" pos="0 0 .3"><joint name="x" axis="0 1 0" pos="0 0 .5"/><geom name="low" size=".1" pos="0 0 -.21"/>
    <geom name="side" size=".1" pos=".3 0 -.21"/>
    <body pos="0 0 .4"><joint name="y" axis="1 0 0" damping=".1"/><geom type="capsule" size=".05 .2" contype="0"
      conaffinity="0"/></body></body></worldbody>
  <actuator><general name="u" joint="x" dyntype="user" gaintype="user" biastype="user" dynprm="3" gainprm="2"
      biasprm=".5"/>
    <general name="v" joint="y" dyntype="user" actdim="2" gaintype="user"/><motor joint="y"/></actuator>
  <sensor><jointpos joint="x"/><jointvel joint="y"/><user dim="1" needstage="vel"/><actuatorfrc actuator="u"/></sensor>
  </mujoco>"""
FIELDS = ("ctrl", "act_dot", "actuator_force", "qfrc_passive", "qfrc_smooth", "qacc", "sensordata", "ncon")
SMOOTH = (*FIELDS[:5], "sensordata")


def control(model, data):
    pull = -4 * data.sensordata[0] - data.sensordata[1] * data.qvel[0]
    return jnp.stack([pull, 0.3 * data.time, data.sensordata[2]])


def passive(model, data):
    return -0.7 * jnp.sin(data.qpos) * model.body_mass[1] - 0.2 * data.qvel**3


def act_dyn(model, data, actuator):
    if model.actuator_actnum[actuator] == 2:
        return jnp.stack(
            [data.act[2] - data.act[1] ** 2, data.ctrl[actuator] * data.actuator_velocity[actuator]]
        )
    return model.actuator_dynprm[actuator, 0] * (data.ctrl[actuator] - data.act[0])


def act_gain(model, data, actuator):
    return model.actuator_gainprm[actuator, 0] * jnp.cos(data.actuator_length[actuator])


def act_bias(model, data, actuator):
    return -model.actuator_biasprm[actuator, 0] * data.actuator_velocity[actuator] * jnp.abs(data.act[0])


def contact_filter(model, data, geom1, geom2):
    return (jnp.maximum(geom1, geom2) == 2) & (data.time > 0.2)


def observe(model, data):
    return data.qvel[0] * data.qpos[1]


HOOKS = jaxsim.Hooks(control, passive, act_dyn, act_gain, act_bias, contact_filter, sensors=((2, observe),))


@contextlib.contextmanager
def callbacks():
    """The same functions in the C engine."""

    def set_control(m, d):
        d.ctrl[:] = np.asarray(control(m, d))

    def add_passive(m, d):
        d.qfrc_passive[:] += np.asarray(passive(m, d))

    def rate(m, d, i):
        rates = act_dyn(m, d, i)
        if m.actuator_actnum[i] == 2:
            d.act_dot[1:3] = rates
            return 0.0
        return float(rates)

    def measure(m, d, stage):
        if stage == mujoco.mjtStage.mjSTAGE_VEL:
            d.sensordata[2] = observe(m, d)

    def skip(m, d, g1, g2):
        masks = m.geom_contype[g1] & m.geom_conaffinity[g2] | m.geom_contype[g2] & m.geom_conaffinity[g1]
        return int(not masks or bool(contact_filter(m, d, g1, g2)))

    functions = {
        "control": set_control,
        "passive": add_passive,
        "act_dyn": rate,
        "act_gain": lambda m, d, i: float(act_gain(m, d, i)),
        "act_bias": lambda m, d, i: float(act_bias(m, d, i)),
        "sensor": measure,
        "contactfilter": skip,
    }
    for name, function in functions.items():
        getattr(mujoco, f"set_mjcb_{name}")(function)
    try:
        yield
    finally:
        for name in functions:
            getattr(mujoco, f"set_mjcb_{name}")(None)


def states(m, n):
    rng = np.random.default_rng(0)
    for k in range(n):
        d = mujoco.MjData(m)
        d.qpos[:], d.qvel[:] = 0.1 * rng.standard_normal(m.nq), rng.standard_normal(m.nv)
        d.act[:], d.ctrl[:], d.time = rng.standard_normal(m.na), rng.standard_normal(m.nu), 0.15 * k
        yield d


@pytest.mark.parametrize(
    "integrator",
    [
        "EULER",
        pytest.param("RK4", marks=pytest.mark.slow),
        pytest.param("IMPLICITFAST", marks=pytest.mark.slow),
    ],
)
def test_as_callbacks_of_the_c_engine(integrator):
    m = mujoco.MjModel.from_xml_string(XML)
    m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    # in stages behind the first of RK4 the C engine shows controls the sensors of the first
    hooks = HOOKS if integrator != "RK4" else jaxsim.Hooks(passive=passive, act_bias=act_bias)
    model = put_model(m).replace(hooks=hooks)
    step, forward = jax.jit(jaxsim.step), jax.jit(jaxsim.forward)
    ncon = set()
    with callbacks():
        if integrator == "RK4":
            for name in ("control", "act_dyn", "act_gain", "sensor", "contactfilter"):
                getattr(mujoco, f"set_mjcb_{name}")(None)
        for d in states(m, 3):
            data = put_state(model, d)
            if integrator == "EULER":
                ours = forward(model, data)
                mujoco.mj_forward(m, d)
                ncon.add(int(d.ncon))
                for name in FIELDS:
                    tolerance = 1e-9 if name in SMOOTH else 1e-6  # the latter through constraints
                    assert error(getattr(ours, name), getattr(d, name)) < tolerance, name
            for _ in range(3):
                mujoco.mj_step(m, d)
                data = step(model, data)
            for name in ("qpos", "qvel", "act", "ctrl"):
                assert error(getattr(data, name), getattr(d, name)) < 1e-6, name
    assert integrator != "EULER" or ncon == {1, 2}  # the filter has worked


def test_without_functions_as_in_c():
    """A user type without a callback: activations stay, the gain is 1, the bias 0."""
    m = mujoco.MjModel.from_xml_string(XML)
    model = put_model(m)
    for d in states(m, 2):
        ours = jax.jit(jaxsim.forward)(model, put_state(model, d))
        mujoco.mj_forward(m, d)
        for name in ("act_dot", "actuator_force", "qacc"):
            assert error(getattr(ours, name), getattr(d, name)) < 1e-6, name


def test_halves_make_a_step():
    model = jaxsim.load_model(XML).replace(hooks=HOOKS)
    data = jaxsim.make_data(model).replace(qvel=jnp.array([0.3, -0.2]), act=jnp.array([0.1, 0.2, 0.3]))
    whole, halves = jaxsim.step(model, data), jaxsim.step2(model, jaxsim.step1(model, data))
    for name in ("qpos", "qvel", "act", "ctrl", "sensordata"):
        np.testing.assert_allclose(getattr(halves, name), getattr(whole, name), rtol=1e-12, err_msg=name)


def test_differentiated_and_batched_with_the_rest():
    model = jaxsim.load_model(XML).replace(hooks=HOOKS)
    data = jaxsim.make_data(model)
    start = jnp.array([0.05, -0.1, 0.4, -0.6, 0.3, 0.2, -0.4, 2.0])

    def end(x):
        gain = model.actuator_gainprm.at[0, 0].set(x[7])
        at = data.replace(qpos=x[:2], qvel=x[2:4], act=x[4:7], time=jnp.asarray(0.3))
        final, _ = jaxsim.rollout(model.replace(actuator_gainprm=gain), at, steps=2)
        return jnp.concatenate([final.qpos, final.qvel, final.act, final.sensordata])

    push = jax.jit(jax.jacfwd(end))
    many = jax.jit(jax.vmap(end))
    h = 1e-6 * jnp.eye(8)
    ahead, behind = jnp.split(many(jnp.concatenate([start + h, start - h])), 2)
    tangents = push(start)
    np.testing.assert_allclose(tangents, ((ahead - behind) / 2e-6).T, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.jacrev(end))(start), tangents, atol=1e-10)
    assert bool(jnp.all(jnp.any(tangents != 0, axis=0)))
    assert bool(jnp.isfinite(push(jnp.zeros(8))).all())


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"control": lambda m, d: d.qpos[:1]}, r"hook control: .*\(1,\), not \(3,\)"),
        ({"passive": lambda m, d: 0.0}, r"hook passive: .*\(\), not \(2,\)"),
        ({"act_dyn": lambda m, d, i: 0.0}, r"hook act_dyn: .*\(\) for actuator 1, not shape \(2,\)"),
        ({"act_gain": lambda m, d, i: d.qpos}, r"hook act_gain: .*\(2,\) for actuator 0, not a number"),
        ({"contact_filter": lambda m, d, a, b: 1.0}, r"hook contact_filter: .*float64 .*not one bool"),
    ],
)
def test_says_what_is_wrong(hooks, message):
    model = jaxsim.load_model(XML).replace(hooks=jaxsim.Hooks(**hooks))
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(jaxsim.forward, model, jaxsim.make_data(model))


def test_functions_of_objects_stay():
    """Those of `user_sensor` and its like, whichever comes first; of two for one object the later counts."""
    xml = """<mujoco><worldbody><body><freejoint/><geom size=".1"/></body></worldbody>
      <sensor><user name="height" dim="1" needstage="pos"/></sensor></mujoco>"""
    model = jaxsim.user_sensor(jaxsim.load_model(xml), "height", lambda m, d: d.qpos[2:3] + 1)
    model = model.replace(hooks=jaxsim.Hooks(passive=lambda m, d: jnp.zeros(6)))
    assert model.hooks.passive is not None
    assert jaxsim.forward(model, jaxsim.make_data(model)).sensordata.tolist() == [1.0]
    model = jaxsim.user_sensor(model, "height", lambda m, d: d.qpos[2:3] + 2)
    assert [number for number, _ in model.hooks.sensors] == [0]
    assert model.replace(hooks=jaxsim.Hooks()).hooks == jaxsim.Hooks()


def test_refuses_what_is_no_record_of_functions():
    with pytest.raises(TypeError, match=r"hooks: expected Hooks"):
        jaxsim.load_model(XML).replace(hooks=control)


def test_names_are_looked_up_before():
    """Programs do not depend on names, so that a hook has none."""
    model = jaxsim.load_model(
        '<mujoco><worldbody><body name="b"><joint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    hooks = jaxsim.Hooks(control=lambda model, data: data.xpos[model.body("b").id, :0])
    with pytest.raises(KeyError, match="'b': names are not known inside of hooks; look ids up before"):
        jaxsim.step(model.replace(hooks=hooks), jaxsim.make_data(model))


# --- what functions may use, and what they are told


def test_functions_read_numbers_of_the_model_and_are_differentiated_by_them():
    text = XML.replace(
        "</mujoco>", '<size nuserdata="1"/><custom><numeric name="k" data="2 3"/></custom></mujoco>'
    )
    model = jaxsim.load_model(text)

    def push(model, data):
        return model.numeric_data[0] * jnp.ones(2) + model.numeric_data[1] * data.userdata[:1]

    model = model.replace(hooks=jaxsim.Hooks(passive=push))
    data = jaxsim.make_data(model).replace(userdata=jnp.ones(1))

    def force(numbers):
        return jaxsim.forward(model.replace(numeric_data=numbers), data).qfrc_passive

    plain = jaxsim.forward(model.replace(hooks=jaxsim.Hooks()), data).qfrc_passive
    np.testing.assert_allclose(force(model.numeric_data) - plain, 5, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.jacrev(force))(model.numeric_data), np.ones((2, 2)), rtol=1e-12)
    many = jax.vmap(force)(jnp.array([[2.0, 3.0], [1.0, 0.0]]))
    np.testing.assert_allclose(many - plain, [[5, 5], [1, 1]], rtol=1e-12)


@pytest.mark.parametrize("change", [lambda f: f, jax.grad, jax.jit, lambda f: jax.jit(jax.grad(f)), jax.vmap])
def test_numbers_traced_outside_of_a_function_are_refused(change):
    model = jaxsim.load_model(XML)
    data = jaxsim.make_data(model)

    def speed(k):
        hooks = jaxsim.Hooks(passive=lambda model, data: k * jnp.ones(2))
        return jaxsim.step(model.replace(hooks=hooks), data).qvel[0]

    k = jnp.ones(2) if change is jax.vmap else 1.0
    if change(speed) is speed:
        assert speed(k) != speed(2 * k)
        return
    with pytest.raises(TypeError, match=r"uses a number from outside that is traced.*data\.userdata"):
        change(speed)(k)


@pytest.mark.parametrize(
    ("hooks", "name"),
    [
        ({"control": lambda model, data: None}, "hook control"),
        ({"passive": lambda model, data: jnp.ones(2) if data.time > 0 else jnp.zeros(2)}, "hook passive"),
        (
            {"act_gain": lambda model, data, actuator: model.no_such_field},
            "hook act_gain, called for actuator 0",
        ),
        ({"contact_filter": lambda model, data, a, b: a.missing}, "hook contact_filter"),
        ({"sensors": ((2, lambda model, data: model.id("geom", "floor")),)}, "user sensor 2"),
    ],
)
def test_errors_say_which_function_they_are_of(hooks, name):
    model = jaxsim.load_model(XML)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # of the function's own kind
        jaxsim.forward(model.replace(hooks=jaxsim.Hooks(**hooks)), jaxsim.make_data(model))
    assert caught.value.__notes__[0] == f"in {name}, a function that the model was given"


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="Hooks: control: expected a function, got 3"):
        jaxsim.Hooks(control=3)
    with pytest.raises(TypeError, match="Hooks: sensors of 2: expected a function, got None"):
        jaxsim.Hooks(sensors=((2, None),))
