"""Environments for gymnasium: its own checker, seeds, and what happens when episodes end."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from jaxsim import envs
from jaxsim.envs.gymnasium import GymEnv, GymVectorEnv

WORLDS = 3


def _short():
    return envs.load("cartpole_balance", overrides={"episode_length": 4})


@pytest.fixture(scope="module")
def vector():
    with jax.enable_x64(False):
        made = {mode: GymVectorEnv(_short(), WORLDS, mode) for mode in AutoresetMode}
        first = made[AutoresetMode.NEXT_STEP]._worlds
        for env in made.values():  # one program for all three
            env._worlds._step, env._worlds._restart = first._step, first._restart
        yield made


def test_gymnasium_checks_one_world():
    with jax.enable_x64(False):
        gymnasium.register("jaxsim-test-v0", lambda **given: GymEnv("cartpole_balance", **given))
        # an observation has no bounds
        with pytest.warns(UserWarning, match="infinit") as said:
            check_env(gymnasium.make("jaxsim-test-v0").unwrapped, skip_close_check=True)
        assert all("infinit" in str(w.message) or "render modes" in str(w.message) for w in said)


def test_pictures():
    pytest.importorskip("embreex")
    with jax.enable_x64(False):
        env = GymEnv(_short(), render_mode="rgb_array", size=(64, 48))
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.render()
        env.reset(seed=1)
        before = env.render()
        assert (before.shape, before.dtype) == ((48, 64, 3), np.uint8)
        env.step(np.ones(env.action_space.shape, np.float32))
        assert (env.render() != before).any()
        assert env.metadata["render_fps"] == round(1 / _short().dt)
        many = GymVectorEnv(_short(), 2, render_mode="rgb_array", size=(64, 48), camera=0)
        many.reset(seed=1)
        one, other = many.render()
        assert one.shape == other.shape == (48, 64, 3)
        assert (one != other).any()


def test_what_cannot_be_drawn():
    env = GymEnv("cartpole_balance")
    with pytest.raises(
        gymnasium.error.Error, match=r"nothing is drawn: make .* with render_mode='rgb_array'"
    ):
        env.render()
    with pytest.raises(ValueError, match="render_mode is 'human'; there is 'rgb_array', or None"):
        GymEnv("cartpole_balance", render_mode="human")
    with pytest.raises(ValueError, match="num_envs is 0"):
        GymVectorEnv("cartpole_balance", 0)
    with pytest.raises(ValueError, match="autoreset_mode is 'soon'; there are NextStep, SameStep, Disabled"):
        GymVectorEnv("cartpole_balance", 1, autoreset_mode="soon")
    with pytest.raises(TypeError, match=r"num_envs is 2\.5; expected an integer"):
        GymVectorEnv("cartpole_balance", 2.5)
    with pytest.raises(TypeError, match="expected an environment that is not wrapped"):
        GymVectorEnv(envs.Vmap(_short()), 2)


def test_seeds(vector):
    env = vector[AutoresetMode.NEXT_STEP]
    one = GymEnv("cartpole_balance")
    obs, info = env.reset(seed=7)
    assert obs.shape == (WORLDS, 5)
    assert obs in env.observation_space
    assert info == {}
    np.testing.assert_allclose(obs[1], one.reset(seed=8)[0], atol=1e-6)
    again, _ = env.reset()
    assert np.abs(again - obs).max(1).min() > 1e-3
    np.testing.assert_array_equal(env.reset(seed=[9, 8, 7])[0][::-1], obs)
    np.testing.assert_array_equal(env.reset()[0][::-1], again)
    env.reset(seed=2**40 + 7)
    with pytest.raises(ValueError, match="2 seeds for 3 worlds"):
        env.reset(seed=[1, 2])
    with pytest.raises(gymnasium.error.ResetNeeded):
        one._worlds.__class__("cartpole_balance", 1, None).step(np.zeros((1, 1)))


def _run(env, steps, seed=0):
    """All that comes back of a number of steps with constant controls."""
    first, _ = env.reset(seed=seed)
    return first, [env.step(np.full(env.action_space.shape, 0.2, np.float32)) for _ in range(steps)]


def test_next_step(vector):
    first, steps = _run(vector[AutoresetMode.NEXT_STEP], 6)
    assert [bool(s[3].all()) for s in steps] == [False, False, False, True, False, False]
    assert not any(s[2].any() for s in steps)
    obs, reward, _, _, info = steps[4]  # the action was not used
    assert np.abs(obs - first).max() > 1e-3
    assert np.abs(obs[:, 0]).max() < 0.3
    np.testing.assert_array_equal(reward, 0.0)
    assert not info["_upright"].any()
    assert steps[5][4]["_upright"].all()
    np.testing.assert_allclose(steps[5][4]["upright"], steps[5][1])


def test_same_step(vector):
    _, apart = _run(vector[AutoresetMode.NEXT_STEP], 6)
    _, steps = _run(vector[AutoresetMode.SAME_STEP], 5)
    obs, reward, _, late, info = steps[3]
    assert late.all()
    np.testing.assert_array_equal(np.stack(info["final_obs"]), apart[3][0])
    np.testing.assert_array_equal(info["final_info"]["upright"], apart[3][1])
    np.testing.assert_array_equal(obs, apart[4][0])
    np.testing.assert_array_equal(reward, apart[3][1])
    np.testing.assert_array_equal(steps[4][0], apart[5][0])
    assert "final_obs" not in steps[4][4]


class Line:
    """A point on a line; place and speed are seen by name."""

    config = envs.Config(episode_length=2)
    dt = 0.1
    action_size = 1

    def reset(self, rng):
        zero = jax.numpy.zeros(())
        return envs.State(zero, self._seen(zero, zero[None]), zero, zero, {}, {})

    def step(self, state, action):
        x = state.data + action[0]
        return state.replace(data=x, obs=self._seen(x, action), reward=x)

    def _seen(self, x, action):
        return {"place": x[None], "speed": {"x": action}}


def test_observations_by_name():
    env = GymVectorEnv(Line(), WORLDS, AutoresetMode.SAME_STEP)
    obs, _ = env.reset(seed=0)
    assert obs in env.observation_space
    _, (first, second) = _run(env, 2)
    np.testing.assert_allclose(first[0]["place"][:, 0], 0.2, rtol=1e-6)
    np.testing.assert_array_equal(second[0]["place"], 0.0)
    for final in second[4]["final_obs"]:
        np.testing.assert_allclose(final["place"], [0.4], rtol=1e-6)
    one = GymEnv(Line())
    assert one.reset(seed=0)[0] in one.observation_space
    assert one.step(np.zeros(1))[0] in one.observation_space


def test_resets_by_hand(vector):
    env = vector[AutoresetMode.DISABLED]
    _run(env, 4)
    with pytest.raises(gymnasium.error.ResetNeeded, match="worlds"):
        env.step(np.zeros((WORLDS, 1)))
    mask = np.array([True, False, True])
    before = np.asarray(env._worlds.state.obs)
    obs, _ = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal((obs == before).all(1), ~mask)
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(options={"reset_mask": np.zeros(WORLDS, bool)})
    env.close()
    assert env.closed
