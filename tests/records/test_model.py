"""Models and data as records: what the physics never reads may change and costs nothing; subclasses are models."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.data import Data
from jaxsim.model import Model

WIDTH = 37
XML = f"""<mujoco model="m">
  <asset><texture name="t" type="2d" builtin="flat" width="{WIDTH}" height="{WIDTH}" rgb1="1 0 0"/>
    <material name="red" texture="t" rgba="1 0 0 1"/></asset>
  <worldbody><light name="sun"/><site name="s"/>
    <body><joint name="j" axis="0 1 0"/><geom name="g" size=".1" pos=".3 0 0" material="red" user="1 2"/></body>
  </worldbody>
  <custom><numeric name="n" data="1 2"/><text name="t" data="hello"/></custom>
  <keyframe><key name="k" qpos=".3"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def model():
    return jaxsim.load_model(XML)


@pytest.fixture(scope="module")
def compiled():
    """A compiled step, and a list that grows with every trace."""
    seen = []

    def step(model, data):
        seen.append(1)
        return jaxsim.step(model, data)

    return jax.jit(step), seen


def test_changes_do_not_retrace(model, compiled):
    step, seen = compiled
    data = jaxsim.make_data(model)
    first = step(model, data)
    for text in (
        XML.replace('rgba="1 0 0 1"', 'rgba="0 1 0 1"'),
        XML.replace('rgb1="1 0 0"', 'rgb1="0 0 1"'),
        XML.replace('qpos=".3"', 'qpos=".4"'),
        XML.replace('name="j"', 'name="hinge"').replace('model="m"', 'model="other"'),
        XML.replace('user="1 2"', 'user="3 4"').replace('data="1 2"', 'data="3 4"').replace("hello", "world"),
        XML.replace('<light name="sun"', '<light name="sun" diffuse="1 0 0" castshadow="false" type="point"'),
        XML.replace('model="m">', 'model="m"><visual><headlight active="0"/><rgba haze="1 0 0 1"/></visual>'),
        XML.replace('<site name="s"', '<site name="s" rgba="1 0 0 1"'),
    ):
        other = jaxsim.load_model(text)
        assert other.static == model.static
        np.testing.assert_array_equal(step(other, data).qpos, first.qpos)
    step(model.replace(names=()), data)
    assert len(seen) == 1
    step(model.replace(jnt_limited=[True]), data)
    assert len(seen) == 2


def test_colours_of_worlds(model, compiled):
    data = jaxsim.make_data(model)
    rgba = jnp.linspace(0, 1, 12, dtype=jnp.float32).reshape(3, 1, 4)
    axes = jax.tree.map(lambda _: None, model).replace(geom_rgba=0)
    painted = jax.vmap(lambda c: model.replace(geom_rgba=c))(rgba)
    np.testing.assert_array_equal(painted.geom("g").rgba, rgba[:, 0])
    after, seen = jax.vmap(lambda m, d: (jaxsim.step(m, d), m.geom_rgba), in_axes=(axes, None), out_axes=0)(
        model.replace(geom_rgba=rgba), data
    )
    np.testing.assert_array_equal(seen, rgba)
    np.testing.assert_allclose(after.qpos, jnp.stack([compiled[0](model, data).qpos] * 3), rtol=1e-14)
    many = jax.tree.map(lambda x: jnp.stack([x, x]), model)
    assert many.tex_data.dtype == jnp.uint8


def test_a_program_does_not_hold_what_it_does_not_read(model):
    """Neither a step nor what reverse mode keeps of a rollout."""
    data = jaxsim.make_data(model)
    pixels = model.tex_data.size
    assert pixels == WIDTH * WIDTH * 3
    assert f"tensor<{pixels}x" not in jax.jit(jaxsim.step).lower(model, data).as_text()

    def residuals(model):
        return jax.vjp(lambda m: jnp.sum(jaxsim.rollout(m, data, steps=3)[0].qpos), model)[1]

    kept = [x.shape for x in jax.tree.leaves(jax.eval_shape(residuals, model))]
    assert (3, *model.qpos0.shape) in kept
    assert (pixels,) not in kept


def test_subclasses_in_the_manner_of_brax(model):
    class System(Model):
        """A model, and more."""

        dt: jax.Array
        links: list = dataclasses.field(metadata={"pytree_node": False}, default_factory=list)

    class State(Data):
        """A state, and more."""

        q: jax.Array

    data = jaxsim.make_data(model)
    system = System(dt=jnp.asarray(0.1), links=["torso"], **model.__dict__)
    state = State(q=data.qpos, **data.__dict__)
    assert Model(**model.__dict__).static == model.static
    assert Data(**data.__dict__).qpos is data.qpos
    assert system.static != model.static
    assert system.joint("j").id == 0

    def step(system, state):
        after = jaxsim.step(system, state.replace(qvel=state.qvel + system.dt))
        return State(q=after.qpos, **after.__dict__), system

    after, same = jax.eval_shape(
        jax.vmap(step, in_axes=(None, 0), out_axes=(0, None)), system, jax.tree.map(lambda x: x[None], state)
    )
    assert after.q.shape == (1, 1)
    assert (same.links, same.names) == (("torso",), model.names)


def test_derivatives_of_a_whole_model(model):
    data = jaxsim.make_data(model)
    slope = jax.grad(lambda m: jnp.sum(jaxsim.step(m, data).qvel), allow_int=True)(model)
    assert isinstance(slope, Model)
    assert slope.tex_data.dtype == jax.dtypes.float0
    assert slope.light_active.dtype == jax.dtypes.float0
    assert not np.any(slope.geom_rgba)
    assert not np.any(slope.key_qpos)
    assert abs(slope.dof_armature[0]) > 0


def test_structure_cannot_be_replaced(model):
    """Other fields follow from it."""
    for name, value in (("nq", 3), ("body_parentid", model.body_parentid * 0), ("actuator_actadr", ())):
        with pytest.raises(TypeError, match=rf"Model.replace: {name}: sizes and how objects hang together"):
            model.replace(**{name: value})
    assert model.replace(nconmax=5, geom_group=model.geom_group + 1).nconmax == 5


@pytest.fixture(scope="module")
def rich():
    """One of each of what may not be negative."""
    return jaxsim.load_model("""
    <mujoco><asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/></asset>
      <worldbody><geom name="hills" type="hfield" hfield="hills" pos="0 0 -9"/>
        <body name="ball"><joint/><geom name="g" size="0.1"/><site name="s"/><site name="r" pos="1 0 0"/></body>
      </worldbody>
      <contact><pair name="p" geom1="hills" geom2="g"/></contact>
      <tendon><spatial name="t"><site site="s"/><site site="r"/></spatial></tendon>
      <sensor><touch name="felt" site="s"/></sensor></mujoco>""")


@pytest.mark.parametrize(
    ("field", "whose"),
    [
        ("body_mass", " of 'ball'"),
        ("body_inertia", " of 'ball'"),
        ("dof_frictionloss", "[0]"),
        ("geom_friction", " of 'g'"),
        ("hfield_size", " of 'hills'"),
        ("pair_friction", " of 'p'"),
        ("sensor_cutoff", " of 'felt'"),
        ("sensor_noise", " of 'felt'"),
        ("tendon_armature", " of 't'"),
        ("tendon_frictionloss", " of 't'"),
    ],
)
def test_negative_numbers_that_make_no_sense(rich, field, whose):
    """They are refused by name, also of many worlds, as are those that are not numbers; traced ones are not seen."""
    value = np.array(getattr(rich, field))
    value[-1:] = -0.5
    message = re.escape(f"Model.replace: {field}{whose} is -0.5, and must be at least 0")
    for wrong in (value, jnp.asarray(value), value.tolist(), np.stack([np.abs(value), value])):
        with pytest.raises(ValueError, match=message):
            rich.replace(**{field: wrong})
    with pytest.raises(ValueError, match=f"{field}.* is nan"):
        rich.replace(**{field: np.full_like(value, np.nan)})
    assert jax.jit(lambda x: getattr(rich.replace(**{field: x}), field))(value).min() == -0.5
    axes = jax.tree.map(lambda x: None, rich)
    assert getattr(axes.replace(**{field: -1}), field) == -1  # worlds on the last axis
    assert getattr(rich.replace(**{field: 0 * np.abs(value)}), field).max() == 0


@pytest.mark.parametrize("field", ["timestep", "density", "viscosity", "o_friction"])
def test_negative_options(rich, field):
    with pytest.raises(ValueError, match=rf"Option.replace: {field}(\[0\])? is -1, and must be at least 0"):
        rich.opt.replace(**{field: np.full(np.shape(getattr(rich.opt, field)), -1.0)})
    assert rich.opt.replace(timestep=0.01).timestep == 0.01


def test_files_are_taken_as_c_takes_them():
    """C's compiler minds neither; a negative mass of a moving body it does."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option timestep="-1"/><worldbody>
      <body><joint/><inertial pos="0 0 0" mass="{}" diaginertia="1 1 1"/><geom size="1" friction="-1"/></body>
      </worldbody></mujoco>"""
    found, c = jaxsim.load_model(text.format(1)), mujoco.MjModel.from_xml_string(text.format(1))
    assert found.opt.timestep == c.opt.timestep == -1
    assert found.geom_friction[0, 0] == c.geom_friction[0, 0] == -1
    assert jaxsim.put_model(c).geom_friction[0, 0] == -1
    with pytest.raises(ValueError, match="mass and inertia of moving bodies"):
        mujoco.MjModel.from_xml_string(text.format(-1))
    with pytest.raises(jaxsim.MjcfError, match="mass and inertia of a moving body"):
        jaxsim.load_model(text.format(-1))


@pytest.mark.parametrize("size", ["nconmax", "njmax"])
def test_buffers_are_not_less_than_what_is_chosen(model, size, tmp_path):
    """C refuses such a file; -1 says that jaxsim chooses."""
    mujoco = pytest.importorskip("mujoco")
    saved = tmp_path / "saved.npz"
    jaxsim.save_model(model, saved)
    mj_model = mujoco.MjModel.from_xml_string(XML)
    message = rf"Model\.{size}: expected at least -1 \(.* slots|rows .*\), got -2"
    for make in (
        lambda: jaxsim.load_model(XML, **{size: -2}),
        lambda: jaxsim.load_model(saved, **{size: -2}),
        lambda: jaxsim.Spec.from_string(XML).compile(**{size: -2}),
        lambda: jaxsim.put_model(mj_model, **{size: -2}),
        lambda: model.replace(**{size: -2}),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    assert getattr(jaxsim.load_model(XML, **{size: -1}), size) == -1
    wrong = XML.replace("<custom>", f'<size {size}="-2"/><custom>')
    with pytest.raises(ValueError, match=f"{size} must be >= -1"):
        mujoco.MjModel.from_xml_string(wrong)
    with pytest.raises(jaxsim.MjcfError, match=f'attribute {size}="-2"'):
        jaxsim.load_model(wrong)


def test_nothing_in_place_of_an_array(model):
    with pytest.raises(
        TypeError, match=r"body_mass cannot be None, it is an array; axes for vmap begin with jax"
    ):
        model.replace(body_mass=None)
    with pytest.raises(TypeError, match=r"Model\.replace: opt: expected Option, got None"):
        model.replace(opt=None)
    assert model.replace(onset=None).onset is None
    axes = jax.tree.map(lambda x: None, model)
    assert axes.replace(body_mass=0).replace(body_mass=None, opt=None).body_mass is None


@pytest.mark.parametrize(("field", "kind"), [("geom_condim", "geom 'g'"), ("pair_dim", "pair 'p'")])
def test_contacts_of_a_dimension_that_there_is_not(rich, field, kind):
    wrong = rich.replace(**{field: np.full_like(getattr(rich, field), 2)})
    with pytest.raises(jaxsim.UnsupportedError, match=f"{kind}: condim 2"):
        jaxsim.make_data(wrong)
