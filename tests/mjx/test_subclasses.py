"""Records that libraries derive from MJX's, as brax does: with fields and a `replace` of their own, in a scan."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim import mjx

from .scene import close, engine


@dataclasses.dataclass(frozen=True)
class Base:
    """A base that brings its own replace, as flax's dataclasses do."""

    def replace(self, **fields):
        return dataclasses.replace(self, **fields)


class Contact(mjx.Contact, Base):
    """Contacts with the bodies that touch."""

    link: jax.Array


class State(Base, mjx.Data):
    """Data with coordinates under other names."""

    q: jax.Array


class System(mjx.Model):
    """A model with a traced field and a static one."""

    elasticity: jax.Array
    names_of_links: Any = dataclasses.field(metadata={"pytree_node": False})


class Planner(mjx.PyTreeNode):
    """A record of a script's own, as MuJoCo MPC has it."""

    model: mjx.Model
    gains: jax.Array
    more: dict[str, jax.Array]
    cost: Any
    table: np.ndarray
    horizon: int = 3


@pytest.fixture(scope="module")
def scene():
    m, d = engine()
    model = mjx.put_model(m)
    system = System(elasticity=jnp.ones(2), names_of_links=["a", "b"], **model.__dict__)
    return m, model, jax.tree.map(jnp.array, system), mjx.put_data(m, d)


def test_a_system_is_a_model(scene):
    m, model, system, data = scene
    assert isinstance(system, mjx.Model)
    assert (system.nq, system.nM, system.impl) == (m.nq, m.nM, mjx.Impl.JAX)
    assert len(jax.tree.leaves(system)) == len(jax.tree.leaves(model)) + 1
    close(mjx.make_data(system).qpos, m.qpos0)
    heavier = system.tree_replace({"opt.timestep": 0.01, "elasticity": jnp.zeros(2)})
    assert type(heavier) is System
    close(jax.jit(mjx.kinematics)(heavier, data).xpos, mjx.kinematics(model, data).xpos)


def test_records_of_ones_own(scene):
    _, model, _, data = scene
    planner = Planner(model, jnp.ones(2), {"a": jnp.zeros(1)}, jnp.sum, np.arange(3.0))
    assert len(jax.tree.leaves(planner)) == len(jax.tree.leaves(model)) + 2

    @jax.jit
    def run(planner, data):
        assert (planner.horizon, planner.table[2]) == (3, 2)
        return planner.cost(mjx.kinematics(planner.model, data).xpos) + planner.gains.sum()

    again = planner.replace(table=np.arange(3.0), gains=jnp.ones(2))
    assert run(planner, data) == run(again, data)
    assert run._cache_size() == 1
    halved = planner.tree_replace({"model.opt.timestep": 0.5 * model.opt.timestep, "horizon": 4})
    close(halved.model.opt.timestep, 0.5 * model.opt.timestep)
    with pytest.raises(dataclasses.FrozenInstanceError):
        planner.horizon = 2
    assert [field.name for field in Planner.fields()][:2] == ["model", "gains"]


def test_models_that_are_arguments_of_a_program():
    """Of a traced System nobody knows what is zero; without tendons it has no springs of theirs all the same."""
    m = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>"
    )
    model = mjx.put_model(m)

    def passive(leaves):
        system = System(elasticity=jnp.ones(2), names_of_links=[], **(model.__dict__ | leaves))
        return mjx.passive(system, mjx.fwd_position(system, mjx.make_data(m))).qfrc_passive

    close(
        jax.jit(passive)(
            {name: getattr(model, name) for name in model._leaf_names if name.startswith("tendon")}
        ),
        [0],
    )


def test_a_state_goes_through_steps(scene):
    _, model, system, data = scene
    link = model.geom_bodyid[data.contact.geom1]
    contact = Contact(link=link, **data.contact.__dict__)
    state = State(q=data.qpos, **(data.__dict__ | {"contact": contact}))

    @jax.jit
    def run(state):
        def one(state, _):
            after = mjx.step(system, state)
            assert type(after._impl.contact) is mjx.Contact
            return after.replace(q=after.qpos), None

        return jax.lax.scan(one, state, None, length=2)[0]

    after = run(state)
    assert type(after) is State
    assert type(after.contact) is Contact
    assert jax.tree.structure(after) == jax.tree.structure(state)
    expected = jax.jit(lambda d: mjx.step(model, mjx.step(model, d)))(data)
    close(after.q, expected.qpos)
    close(after.contact.dist, expected.contact.dist)
