"""Views by name against MuJoCo's Python bindings."""

import dataclasses

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import PREFIXES
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.blank import blank
from jaxsim.views import table
from tests.pipeline import scenes
from tests.pipeline.oracle import put_state, states

EXTRA = """
  <asset><mesh name="mesh" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/><material name="red" rgba="1 0 0 1"/>
    <hfield name="hills" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 2 3"/>
    <texture name="sky" type="skybox" builtin="flat" width="8" height="8"/></asset>
  <custom><numeric name="n" data="1 2 3"/><numeric name="m" data="4"/></custom>
  <contact><pair name="p" geom1="ga" geom2="gb"/><exclude name="x" body1="a" body2="b"/></contact>
  <keyframe><key name="home" time="2"/></keyframe>
  <actuator><orientation name="so3" joint="turn" kp="3" kv="1"/></actuator>"""

BODIES = """<body name="a" pos="1 2 3"><joint name="turn" type="ball"/><geom name="ga" size=".1"/></body>
  <body name="b"><freejoint name="fly"/><geom name="gb" type="mesh" mesh="mesh" material="red"/></body>"""

PLAIN = f"<mujoco><worldbody>{BODIES}</worldbody>{EXTRA}</mujoco>"

KINDS = {
    "body": "nbody",
    "joint": "njnt",
    "geom": "ngeom",
    "site": "nsite",
    "camera": "ncam",
    "light": "nlight",
    "tendon": "ntendon",
    "actuator": "nactuator",
    "sensor": "nsensor",
    "equality": "neq",
    "mesh": "nmesh",
    "hfield": "nhfield",
    "texture": "ntex",
    "material": "nmat",
    "pair": "npair",
    "exclude": "nexclude",
    "numeric": "nnumeric",
    "key": "nkey",
}


def load(xml):
    m = mujoco.MjModel.from_xml_string(xml)
    return m, put_model(m)


def attributes(view):
    return [a for a in dir(view) if not a.startswith("_")]


def same(ours, theirs):
    ours = np.asarray(ours)
    theirs = np.asarray(theirs)
    assert ours.size == theirs.size
    assert ours.shape == theirs.shape or ours.shape[-2:] == (3, 3)
    np.testing.assert_allclose(
        ours.ravel(), theirs.ravel(), rtol=1e-6
    )  # some fields are single precision there


@pytest.mark.parametrize("xml", [scenes.MIXED, scenes.SENSORS], ids=["mixed", "sensors"])
def test_model_views_are_those_of_the_bindings(xml):
    m, model = load(xml)
    compared = 0
    for kind, size in KINDS.items():
        for i in range(getattr(model, size)):
            theirs, ours = getattr(m, kind)(i), getattr(model, kind)(i)
            assert (ours.id, ours.name) == (theirs.id, theirs.name)
            once = {"id", "name", "bodyid"} if kind == "joint" else {"id", "name"}  # theirs repeats it a dof
            for attribute in set(attributes(theirs)) & set(attributes(ours)) - once:
                same(getattr(ours, attribute), getattr(theirs, attribute))
                compared += 1
    assert compared > 500


def test_data_views_are_those_of_the_bindings():
    m, model = load(scenes.SENSORS)
    d = list(states(m, 2))[1]
    mujoco.mj_forward(m, d)
    views = jaxsim.named(model, jax.jit(jaxsim.forward)(model, put_state(model, d)))
    for kind, size in list(KINDS.items())[:9]:
        for i in range(getattr(model, size)):
            theirs, ours = getattr(d, kind)(i), getattr(views, kind)(i)
            shared = set(attributes(theirs)) & set(attributes(ours)) - {"id", "name", "qacc_warmstart"}
            assert shared
            for attribute in shared:
                a, b = np.asarray(getattr(ours, attribute)), np.asarray(getattr(theirs, attribute))
                assert a.shape == b.shape or a.shape[-2:] == (3, 3), (kind, attribute)
                scale = 1 + np.abs(b).max(initial=0)
                np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=0, atol=1e-6 * scale, err_msg=attribute)


def test_every_attribute_can_be_read():
    _, model = load(PLAIN)
    data = blank(model)
    views = jaxsim.named(model, data)
    for kind, size in KINDS.items():
        assert getattr(model, size) > 0 or kind in ("site", "camera", "light", "tendon", "sensor", "equality")
        for i in range(getattr(model, size)):
            for record in (model, views):
                if hasattr(record, kind):
                    view = getattr(record, kind)(i)
                    for attribute in attributes(view):
                        getattr(view, attribute)


def test_rows_of_different_lengths():
    _, model = load(PLAIN)
    assert model.joint("turn").qpos0.shape == (4,)
    assert model.joint("fly").qpos0.shape == (7,)
    assert model.joint("fly").armature.shape == (6,)
    np.testing.assert_array_equal(model.numeric("n").data, [1, 2, 3])
    np.testing.assert_array_equal(model.numeric("m").data, [4])
    np.testing.assert_array_equal(model.material("red").rgba, [1, 0, 0, 1])
    assert model.mesh("mesh").vert.shape == (4, 3)
    assert model.key("home").time == 2
    assert model.key("home").qpos.shape == (11,)
    assert model.actuator("so3").ctrl_count if False else model.actuator("so3").gear.shape == (3, 6)


def test_batches_tracing_and_derivatives():
    _, model = load(scenes.SENSORS)
    data = blank(model)
    batch = jax.tree.map(lambda x: jnp.stack([x, x + 1]), data)
    sensor = jaxsim.named(model, batch).sensor(2)
    assert sensor.data.shape == (2, int(model.sensor_dim[2]))
    body = jaxsim.named(model, batch).body(1)
    assert body.xmat.shape == (2, 3, 3)
    assert body.xpos.shape == (2, 3)
    each = jax.jit(jax.vmap(lambda d: jaxsim.named(model, d).body(1).xpos))(batch)
    np.testing.assert_array_equal(each, body.xpos)
    heavier = jax.tree.map(lambda x: jnp.stack([x, 2 * x]), model)
    assert heavier.body(1).mass.shape == (2, 1)
    slope = jax.grad(lambda x: jnp.sum(model.replace(body_mass=x).body(2).mass))(model.body_mass)
    np.testing.assert_array_equal(slope, np.eye(model.nbody)[2])


def test_errors():
    _, model = load(PLAIN)
    with pytest.raises(KeyError, match=r"no joint named 'trn' \(did you mean 'turn'\?\)"):
        model.joint("trn")
    with pytest.raises(IndexError, match="no body number 7; there are 3"):
        model.body(7)
    with pytest.raises(IndexError, match="no body number -1"):
        model.name("body", -1)
    with pytest.raises(KeyError, match="no kind 'jnt' of elements; there are body, joint"):
        model.id("jnt", "turn")
    with pytest.raises(AttributeError, match=r"a body has no 'mas' in Model; there are .*mass"):
        _ = model.body("a").mas
    with pytest.raises(AttributeError, match="replace"):
        model.body("a").mass = 3
    assert repr(model.body("a")) == "<body 1 'a' of Model>"


def test_views_cover_the_fields():
    """Every field of an object of a listed kind is in some view."""
    listed = {entry.field for kind in PREFIXES for entry in table(jaxsim.Model, kind).values()}
    prefixes = (
        "body_",
        "jnt_",
        "dof_",
        "geom_",
        "site_",
        "cam_",
        "light_",
        "tendon_",
        "actuator_",
        "eq_",
        "key_",
    )
    fields = {f.name for f in dataclasses.fields(jaxsim.Model) if f.name.startswith(prefixes)}
    assert fields - listed == {"dof_bodyid", "dof_solref", "dof_solimp"}  # the joint's own have these names
