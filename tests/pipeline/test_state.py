import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.state import State, get_state, set_state, state_size
from tests.pipeline import scenes
from tests.pipeline.oracle import load, put_state, states


@pytest.mark.parametrize(
    "spec", [State.PHYSICS, State.USER, State.INTEGRATION, State.TIME | State.MOCAP_QUAT, 0]
)
def test_equals_mj_get_state_and_back(spec):
    m, model = load(scenes.MIXED)
    d = next(states(m))
    size = mujoco.mj_stateSize(m, int(spec))
    expected = np.zeros(size)
    mujoco.mj_getState(m, d, expected, int(spec))
    assert state_size(model, spec) == size
    vector = get_state(model, put_state(model, d), spec)
    np.testing.assert_array_equal(vector, expected)
    fresh = set_state(model, blank(model).replace(**initial_state(model)), vector, spec)
    np.testing.assert_array_equal(get_state(model, fresh, spec), expected)


def test_bits_are_mjt_state():
    for bit in State.__members__:
        assert int(State[bit]) == int(mujoco.mjtState.__members__[f"mjSTATE_{bit}"])


def test_of_many_worlds():
    _, model = load(scenes.hopper())
    two = jax.vmap(lambda q: jaxsim.make_data(model).replace(qpos=q))(
        jnp.stack([model.qpos0, model.qpos0 + 1])
    )
    with pytest.raises(ValueError, match=r"vmap\(get_state"):
        get_state(model, two, State.QPOS)
    both = jax.vmap(lambda d: get_state(model, d, State.QPOS))(two)
    np.testing.assert_array_equal(both, two.qpos)


@pytest.mark.parametrize("name", ["mjSTATE_PHYSICS", "mjSTATE_QVEL", "mjSTATE_INTEGRATION"])
def test_takes_the_c_engines_enum(name):
    m, model = load(scenes.hopper())
    spec = getattr(mujoco.mjtState, name)
    data = jaxsim.make_data(model)
    assert jaxsim.state_size(model, spec) == mujoco.mj_stateSize(m, spec)
    vector = jaxsim.get_state(model, data, spec)
    np.testing.assert_array_equal(vector, jaxsim.get_state(model, data, int(spec)))
    back = jaxsim.set_state(model, data, vector + 1, spec)
    np.testing.assert_array_equal(back.qvel, data.qvel + 1)


def test_refuses_wrong_arguments():
    _, model = load(scenes.MIXED)
    data = blank(model)
    with pytest.raises(ValueError, match="needs"):
        set_state(model, data, jnp.zeros(3), State.PHYSICS)
    with pytest.raises(ValueError, match="not a combination"):
        get_state(model, data, 1 << 20)


def test_specs_of_later_c_engines():
    """MuJoCo 4 has a component more, of which models here have nothing."""
    _, model = load(scenes.hopper())
    data = jaxsim.make_data(model)
    vector = get_state(model, data, State.INTEGRATION)
    np.testing.assert_array_equal(get_state(model, data, State.INTEGRATION | 1 << 14), vector)
