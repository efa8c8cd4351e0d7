"""Wrappers: many worlds, lengths of episodes, starting again, other models."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import WarningBit, envs

WORLDS = 3


class Line:
    """A point on a line; an action moves it, the reward is where it is, beyond 10 it is over."""

    config = envs.Config(episode_length=7)
    action_size = 1

    @property
    def unwrapped(self):
        return self

    def reset(self, rng):
        x = jax.random.uniform(rng)
        return envs.State(x, x[None], jnp.zeros(()), jnp.zeros(()), {}, {"rng": rng})

    def step(self, state, action):
        x = state.data + action[0]
        return state.replace(data=x, obs=x[None], reward=x, done=jnp.where(x > 10, 1.0, 0.0))


def rollout(env, steps, action=1.0):
    """States before and after each of some steps."""
    states = [env.reset(jax.random.split(jax.random.key(0), WORLDS))]
    for _ in range(steps):
        states.append(env.step(states[-1], jnp.full((WORLDS, 1), action)))
    return states


def test_episodes_end_and_start_again():
    env = Line()
    wrapped = envs.wrap_for_training(env, episode_length=3)
    states = rollout(wrapped, 7)
    first = states[0].data
    for k, state in enumerate(states[1:], 1):
        late = k % 3 == 0
        assert (state.done == late).all()
        assert (state.info["truncation"] == late).all()
        assert (state.info["steps"] == (k - 1) % 3 + 1).all()
        assert (state.info["episode_done"] == late).all()
        sums = state.info["episode_metrics"]
        so_far = [s.reward for s in states[k - (k - 1) % 3 : k + 1]]
        np.testing.assert_allclose(sums["sum_reward"], sum(so_far), rtol=1e-12)
        assert (sums["length"] == len(so_far)).all()
        np.testing.assert_allclose(state.reward, first + (k - 1) % 3 + 1, rtol=1e-12)
        np.testing.assert_allclose(state.data, first if late else first + k % 3, rtol=1e-12)
        np.testing.assert_array_equal(state.obs[:, 0], state.data)
    assert wrapped.unwrapped is env
    assert wrapped.action_size == 1
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = wrapped.colour


def test_the_usual_length_is_the_configs():
    assert envs.wrap_for_training(Line()).length == 7


def test_a_repeated_action_earns_the_sum():
    states = rollout(envs.Episode(envs.Vmap(Line()), 4, repeat=2), 2)
    first = states[0].data
    np.testing.assert_allclose(states[1].reward, (first + 1) + (first + 2), rtol=1e-12)
    np.testing.assert_allclose(states[2].data, first + 4, rtol=1e-12)
    assert (states[1].done == 0).all()
    assert (states[2].done == 1).all()


def test_an_episode_that_is_over_is_not_cut_off():
    states = rollout(envs.Episode(envs.Vmap(Line()), 1), 1, action=20.0)
    assert (states[1].done == 1).all()
    assert (states[1].info["truncation"] == 0).all()


@pytest.fixture(scope="module")
def env():
    return envs.load("cartpole_balance")


@pytest.fixture(scope="module")
def counting(env):
    """Programs of a task that sees how many steps it has counted, and draws a number at each; two steps an action."""

    class Counting(type(env)):
        lasting = ("level",)

        def start(self, rng):
            zero = jnp.zeros((), jnp.int32)
            return *super().start(rng)[:2], {"count": zero, "level": zero, "drawn": jnp.zeros(())}

        def observe(self, data, info):
            return info["count"][None]

        def over(self, data, info):
            return super().over(data, info).astype(float)  # as brax's tasks say it

        def proceed(self, data, action, info):
            rng, key = jax.random.split(info["rng"])
            more = {name: info[name] + 1 for name in ("count", "level")}
            return more | {"rng": rng, "drawn": jax.random.uniform(key)}

    many = envs.wrap_for_training(Counting(env.config), episode_length=4, action_repeat=2)
    return jax.jit(many.reset)(jax.random.split(jax.random.key(1), WORLDS)), jax.jit(many.step)


def test_what_a_task_remembers_starts_again_with_its_episode(counting):
    state, step = counting
    drawn = []
    for k, count in enumerate((2, 0, 2, 0), 1):
        state = step(state, jnp.full((WORLDS, 1), 0.3))
        np.testing.assert_array_equal(state.obs[:, 0], count)
        np.testing.assert_array_equal(state.info["count"], count)
        np.testing.assert_array_equal(state.info["last_action"], 0.3 if count else 0.0)
        np.testing.assert_array_equal(state.info["level"], 2 * k)  # this one is to last
        np.testing.assert_array_equal(state.info["steps"], 4 if k % 2 == 0 else 2)
        drawn.append(state.info["drawn"])
    np.testing.assert_array_equal(drawn[1], 0.0)
    assert (drawn[0] != drawn[2]).all()  # another episode, other numbers


def test_raw_keys_go_on_too():
    class Draws(Line):
        def reset(self, rng):
            state = super().reset(rng)
            return state.replace(info={"key": jax.random.key_data(rng), "pair": jnp.zeros(2)})

        def step(self, state, action):
            info = {"key": jax.random.split(state.info["key"])[0], "pair": state.info["pair"] + 1}
            return super().step(state, action).replace(info=state.info | info)

    states = rollout(envs.wrap_for_training(Draws(), episode_length=1), 2)
    keys = [np.asarray(s.info["key"]) for s in states]
    assert keys[0].shape == (WORLDS, 2)
    assert (keys[0] != keys[1]).any(1).all()
    assert (keys[1] != keys[2]).any(1).all()
    np.testing.assert_array_equal(states[2].info["pair"], 0.0)


def test_warnings_outlast_episodes(counting):
    state, step = counting
    still = jnp.zeros((WORLDS, 1))
    state = step(state, still.at[1].set(jnp.nan))
    qvel = state.data.qvel.at[2, 0].set(jnp.nan)
    state = step(state.replace(data=state.data.replace(qvel=qvel)), still)
    assert state.done.all()
    np.testing.assert_array_equal(state.info["truncation"], [1, 1, 0])
    assert state.reward[2] == 0
    for _ in range(2):
        bits = [0, int(WarningBit.BAD_CTRL), int(WarningBit.BAD_QVEL)]
        np.testing.assert_array_equal(state.data.warning, bits)
        state = step(state, still)
        assert (state.reward > 0.9).all()  # what broke in another episode does not break this one
    np.testing.assert_array_equal(state.info["truncation"], 1)


def test_an_episode_may_be_over_by_a_number(counting):
    state, step = counting
    qpos = state.data.qpos.at[1, 1].set(1.5)
    after = step(state.replace(data=state.data.replace(qpos=qpos)), jnp.zeros((WORLDS, 1)))
    np.testing.assert_array_equal(after.done, [0, 1, 0])
    assert after.done.dtype == state.done.dtype


def test_each_world_has_a_model_of_its_own(env):
    keys = jax.random.split(jax.random.key(5), WORLDS)

    def heavier(model):
        return envs.randomise(model, keys, mass=(0.5, 2.0))

    model, axes = heavier(env.model)
    scale = model.body_mass[:, 1] / env.model.body_mass[1]
    assert len(np.unique(scale)) == WORLDS
    assert ((scale >= 0.5) & (scale <= 2)).all()
    np.testing.assert_allclose(
        model.body_inertia[:, 1], scale[:, None] * env.model.body_inertia[1], rtol=1e-12
    )
    assert axes.body_mass == 0
    assert axes.qpos0 is None
    assert model.geom_friction.shape == (WORLDS, env.model.ngeom, 3)
    many = envs.wrap_for_training(env, 10, randomization_fn=heavier)
    state = jax.jit(many.reset)(keys)
    after = jax.jit(many.step)(state, jnp.zeros((WORLDS, 1)))
    # each world is what its model gives alone
    alone = jax.jit(lambda model, state: env.with_model(model).step(state, jnp.zeros(1)))
    for w in range(WORLDS):
        own = env.model.replace(
            **{name: getattr(model, name)[w] for name in ("body_mass", "body_inertia", "geom_friction")},
            **{
                name: getattr(model, name)[w]
                for name in ("dof_damping", "actuator_gainprm", "actuator_biasprm")
            },
        )
        info = {"rng": keys[w], "last_action": jnp.zeros(1)}
        one = jax.tree.map(lambda x, w=w: x[w], state.replace(info={})).replace(info=info)
        np.testing.assert_allclose(after.obs[w], alone(own, one).obs, rtol=0, atol=1e-12)
    # a device steps its part of them
    some = jax.jit(lambda state, first: many.env.env.part(first, 2).step(state, jnp.zeros((2, 1))))
    two = some(jax.tree.map(lambda x: x[1:], state), 1)
    np.testing.assert_allclose(two.obs, after.obs[1:], rtol=0, atol=1e-12)


def test_what_is_scaled():
    """Friction of pairs with that of geoms; of a muscle the force alone, of a DC motor the motor constant."""
    model = jaxsim.load_model("""
    <mujoco><worldbody>
      <geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 1"><joint name="hinge"/><geom name="ball" size="0.1"/></body></worldbody>
      <contact><pair geom1="floor" geom2="ball" friction="0.5 0.5 0.1 0.1 0.1"/></contact>
      <actuator>
        <muscle joint="hinge" lengthrange="0 1" force="30"/>
        <position joint="hinge" kp="5" dampratio="0"/>
        <dcmotor joint="hinge" motorconst="0.1" resistance="2"/>
      </actuator></mujoco>""")
    many, axes = envs.randomise(
        model, jax.random.split(jax.random.key(0), 1), friction=(2.0, 2.0), gain=(3.0, 3.0)
    )
    assert axes.pair_friction == 0
    np.testing.assert_allclose(many.pair_friction[0], 2 * model.pair_friction, rtol=1e-12)
    np.testing.assert_allclose(many.geom_friction[0], 2 * model.geom_friction, rtol=1e-12)
    gain, bias = np.array(model.actuator_gainprm), np.array(model.actuator_biasprm)
    gain[0, [2, 3]] *= 3
    bias[0, [2, 3]] *= 3
    gain[1] *= 3
    bias[1] *= 3
    gain[2, 1] *= 3
    np.testing.assert_allclose(many.actuator_gainprm[0], gain, rtol=1e-12)
    np.testing.assert_allclose(many.actuator_biasprm[0], bias, rtol=1e-12)


def test_what_randomises_gives_models_and_axes(env):
    with pytest.raises(TypeError, match=r"gave Model, not \(models, axes\)"):
        envs.Randomised(env, lambda model: model)
    two = envs.Randomised(env, lambda model: envs.randomise(model, jax.random.split(jax.random.key(0), 2)))
    with pytest.raises(ValueError, match="keys of 3 worlds, but models of 2"):
        two.reset(jax.random.split(jax.random.key(0), 3))


@pytest.mark.parametrize("wrong", [{"episode_length": 0}, {"episode_length": 2.5}, {"action_repeat": 0}])
def test_episodes_have_whole_lengths(env, wrong):
    with pytest.raises(ValueError, match=r"wrap_for_training: .*; expected an integer of at least 1"):
        envs.wrap_for_training(env, **wrong)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"mass": (0.0, 1.0)}, "mass: no range of positive scales: 0.0, 1.0"),
        ({"gain": (1.2, 0.8)}, "gain: no range"),
        ({"gain": (1.0, np.inf)}, "gain: no range"),
        ({"damping": 0.8}, "damping is two numbers, the least and the largest scale, not 0.8"),
        ({"damping": (0.8, 1.0, 1.2)}, "damping is two numbers"),
        ({"friction": "12"}, "friction is two numbers"),
    ],
)
def test_ranges_of_scales_are_positive(env, ranges, message):
    with pytest.raises(ValueError, match=message):
        envs.randomise(env.model, jax.random.split(jax.random.key(0), 2), **ranges)


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_one_key_is_not_enough_for_many_worlds(env, make):
    for start in (
        lambda key: envs.randomise(env.model, key),
        envs.wrap_for_training(env).reset,
        envs.Randomised(env, lambda model: envs.randomise(model, jax.random.split(make(0), 2))).reset,
    ):
        with pytest.raises(ValueError, match=r"one random key, .* jax.random.split\(rng, worlds\)"):
            start(make(0))
