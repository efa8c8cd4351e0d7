"""Environments: what their names promise, what a step is, how an episode starts and ends."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import envs
from jaxsim.envs.shaping import nearness, to_local

OBSERVED = {
    "cartpole_balance": 5,
    "cartpole_swingup": 5,
    "cube_turn": 51,
    "hopper_hop": 11,
    "humanoid_stand": 73,
    "humanoid_walk": 73,
    "pick": 36,
    "push": 36,
    "quadruped": 48,
    "quadruped_rough": 48,
    "reacher": 8,
}
STILL = {
    "cube_turn": 0.19,
    "hopper_hop": 0.3,
    "humanoid_stand": 0.95,
    "quadruped": 0.35,
    "quadruped_rough": 0.3,
}
"""What doing nothing earns at least, a step, where the robot stands by itself."""


def test_names():
    assert set(envs.names()) == set(OBSERVED)
    with pytest.raises(KeyError, match="did you mean 'quadruped'"):
        envs.load("quadroped")
    with pytest.raises(KeyError, match="there are cartpole_balance"):
        envs.default_config("xyz")


def test_settings():
    usual = envs.default_config("quadruped")
    config = envs.override(usual, {"weights.track": 2, "speed": 0.5})
    assert (config.weights.track, config.speed, usual.weights.track) == (2.0, 0.5, 1.0)
    with pytest.raises(KeyError, match=r"no setting 'weights.trak' \(did you mean 'track'\?\)"):
        envs.override(usual, {"weights.trak": 2.0})
    with pytest.raises(KeyError, match=r"no setting 'speed.high'"):
        envs.override(usual, {"speed.high": 2.0})
    with pytest.raises(TypeError, match="speed is of type float, not '1'"):
        envs.override(usual, {"speed": "1"})
    assert type(envs.override(usual, {"episode_length": 1e3}).episode_length) is int
    for wrong in (10.5, float("inf"), float("nan"), True):
        with pytest.raises(TypeError, match=f"episode_length is of type int, not {wrong}"):
            envs.override(usual, {"episode_length": wrong})


def test_time_between_actions_is_whole_steps():
    with pytest.raises(ValueError, match=r"ctrl_dt 0.025 is not a multiple of the timestep 0.01"):
        envs.load("cartpole_balance", overrides={"ctrl_dt": 0.025})


def test_nearness():
    x = jnp.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    found = nearness(x, -1.0, 1.0, 2.0)
    np.testing.assert_allclose(found, [0.1, 0.1**0.25, 1, 1, 1, 0.1**0.25, 0.1], rtol=1e-12)
    np.testing.assert_array_equal(nearness(x, 0.0, jnp.inf, 0.0), [0, 0, 0, 1, 1, 1, 1])
    for wrong in ((1.0, -1.0, 1.0), (0.0, 1.0, -1.0), (0.0, 1.0, 1.0, 1.0)):
        with pytest.raises(ValueError, match="no interval"):
            nearness(x, *wrong)


def test_to_local():
    axes = jnp.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x is the world's y
    np.testing.assert_array_equal(to_local(axes, jnp.array([0.0, 2.0, 3.0])), [2, 0, 3])


@pytest.fixture(scope="module")
def cartpole():
    env = envs.load("cartpole_balance")
    return env, jax.jit(env.reset), jax.jit(env.step)


def test_a_step_is_the_simulations(cartpole):
    env, reset, step = cartpole
    state = reset(jax.random.key(3))
    assert state.obs.shape == (env.observation_size,) == (5,)
    assert env.action_size == 1
    assert env.dt == 0.02
    data = jaxsim.make_data(env.model).replace(
        qpos=state.data.qpos, qvel=state.data.qvel, ctrl=jnp.array([0.3])
    )
    data = jax.jit(jaxsim.step, static_argnums=2)(env.model, data, 2)
    assert env.model.opt.timestep == 0.01
    after = step(state, jnp.array([0.3]))
    np.testing.assert_allclose(after.data.qpos, data.qpos, rtol=0, atol=1e-14)
    x, angle = data.qpos
    np.testing.assert_allclose(after.obs, [x, np.cos(angle), np.sin(angle), *data.qvel], rtol=0, atol=1e-14)
    assert after.reward == after.metrics["upright"]
    assert 0.9 < after.reward < 1
    assert after.done == 0
    # beyond the range of actions is its end
    far = [step(state, jnp.array([u])).data.qpos for u in (1.0, 7.0)]
    np.testing.assert_array_equal(*far)


def test_the_same_key_starts_the_same_episode(cartpole):
    _, reset, _ = cartpole
    one, same, other = (reset(jax.random.key(k)).data.qpos for k in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_swinging_up_starts_hanging():
    state = jax.jit(envs.load("cartpole_swingup").reset)(jax.random.key(0))
    assert state.obs[1] < -0.9


def test_a_world_that_breaks_is_over_and_earns_nothing(cartpole):
    _, reset, step = cartpole
    state = reset(jax.random.key(0))
    broken = step(state.replace(data=state.data.replace(qvel=jnp.array([np.nan, 0.0]))), jnp.zeros(1))
    assert broken.done == 1
    assert broken.reward == 0
    assert np.isfinite(broken.obs).all()


def _changed(env, **functions):
    """The same task, but for some of its functions."""
    return type("Changed", (type(env),), functions)(env.config)


def _rewarded(**parts):
    return {"rewards": lambda self, data, action, info: parts}


def _ended(over):
    return {"over": lambda self, data, info: over}


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        (
            _rewarded(upright=1.0, uprigth=1.0),
            KeyError,
            r"'uprigth', which has no weight \(did you mean 'upright'",
        ),
        (
            _rewarded(),
            KeyError,
            r"did not give 'upright', which config.weights holds; it gave none: return it",
        ),
        (
            _rewarded(upright=np.ones(1)),
            ValueError,
            r"rewards gave 'upright' of shape \(1,\), not \(\).* a sum",
        ),
        (_ended(None), TypeError, "over gave None, not one bool"),
        (
            {"proceed": lambda self, data, action, info: {"last_action": jnp.zeros(3)}},
            TypeError,
            r"proceed gave 'last_action' as float\d+\[3\], which was float\d+\[1\]: .* keeps its shape and type",
        ),
        (_ended(np.zeros(2)), ValueError, r"over gave shape \(2,\), not \(\).*any\(\)"),
        ({"rewards": lambda *_: jnp.ones(())}, TypeError, r"rewards gave array \(\), not a dict of parts"),
        (
            {"observe": lambda *_: [1.0, 2.0]},
            TypeError,
            r"observe gave list of .*, not an array .* jnp.stack",
        ),
        ({"observe": lambda *_: jnp.ones(())}, TypeError, r"observe gave array \(\), not an array"),
        ({"proceed": lambda *_: {"cout": 1}}, KeyError, r"'cout', which is not remembered so far.* `start`"),
        ({"proceed": lambda *_: None}, TypeError, "proceed gave NoneType, not a dict"),
    ],
)
def test_what_is_wrong_with_a_task(cartpole, functions, error, message):
    env, reset, _ = cartpole
    with pytest.raises(error, match=message):
        jax.eval_shape(_changed(env, **functions).step, reset(jax.random.key(0)), jnp.zeros(1))


def test_names_that_wrappers_use(cartpole):
    env, _, _ = cartpole
    changed = _changed(env, start=lambda *_: (jnp.zeros(2), jnp.zeros(2), {"steps": 0, "speed": 1.0}))
    with pytest.raises(ValueError, match="start remembers 'steps', where wrappers keep what they count"):
        jax.eval_shape(changed.reset, jax.random.key(0))


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (
            {"start": lambda *_: (jnp.zeros(2), jnp.zeros(2))},
            r"start gave tuple of \(array \(2,\), .*not \(qpos, qvel, info\)",
        ),
        ({"start": lambda *_: jnp.zeros((3, 2))}, r"start gave array \(3, 2\)"),
        ({"observe": lambda *_: [1.0, 2.0]}, "observe gave list"),
    ],
)
def test_what_is_wrong_with_a_start(cartpole, functions, message):
    env = _changed(cartpole[0], **functions)
    with pytest.raises(TypeError, match=message):
        jax.eval_shape(env.reset, jax.random.key(0))


@pytest.mark.parametrize(
    ("weights", "message"), [({}, "no weights"), ({"weights": {"a": 1.0}}, "other weights")]
)
def test_a_config_needs_weights(cartpole, weights, message):
    config = dataclasses.make_dataclass("Bare", weights, bases=(envs.Config,), frozen=True, kw_only=True)
    bare = _changed(cartpole[0])
    bare.config = config(**weights)
    with pytest.raises(TypeError, match=f"Bare has {message}"):
        jax.eval_shape(bare.reset, jax.random.key(0))


def test_the_rest_of_a_state(cartpole):
    """Activations are the first keyframe's, unless the task says what an episode starts with."""
    model = jaxsim.load_model("""
    <mujoco><worldbody>
      <body name="aim" mocap="true"/>
      <body><joint name="hinge"/><geom size="0.1"/></body></worldbody>
      <actuator><general joint="hinge" dyntype="filter" dynprm="0.1"/></actuator>
      <keyframe><key act="0.3" ctrl="0.3"/></keyframe></mujoco>""")

    class Lags(envs.Env):
        def start(self, rng):
            return jnp.zeros(1), jnp.zeros(1), {"aim": jnp.ones((1, 3))}

        def observe(self, data, info):
            return jnp.concatenate([data.act, data.actuator_force, data.xpos[1]])

        def rewards(self, data, action, info):
            return {}

    class Aims(Lags):
        def prepare(self, data, info):
            return data.replace(act=2 * data.ctrl, mocap_pos=info["aim"])

    config = _changed(cartpole[0]).config
    for kind, expected in ((Lags, [0.3, 0.3, 0, 0, 0]), (Aims, [0.6, 0.6, 1, 1, 1])):
        kind._weights = {}
        obs = jax.jit(kind(model, config).reset)(jax.random.key(0)).obs
        np.testing.assert_allclose(obs, expected, rtol=1e-12)


@pytest.mark.parametrize("over", [True, np.float32(1.0), 1])
def test_over_is_a_bool_or_a_number(cartpole, over):
    env, reset, _ = cartpole
    state = reset(jax.random.key(0))
    after = jax.eval_shape(_changed(env, **_ended(over)).step, state, jnp.zeros(1))
    assert (after.done.shape, after.done.dtype) == ((), state.done.dtype)


@pytest.mark.parametrize("shape", [(), (2,), (3, 1)])
def test_an_action_of_another_size(cartpole, shape):
    env, reset, _ = cartpole
    state = reset(jax.random.key(0))
    with pytest.raises(ValueError, match=r"action: shape .*, not \(1,\): .* 1; for many worlds use jax.vmap"):
        env.step(state, jnp.zeros(shape))


def test_an_observation_may_be_a_mapping(cartpole):
    env, reset, _ = cartpole
    seen = {"pole": lambda data: data.qpos[1:], "rates": lambda data: data.qvel}
    env = _changed(env, observe=lambda self, data, info: {name: see(data) for name, see in seen.items()})
    assert env.observation_size == {"pole": (1,), "rates": (2,)}
    assert envs.wrap_for_training(env).observation_size == env.observation_size
    after = jax.eval_shape(env.step, reset(jax.random.key(0)), jnp.zeros(1))
    assert after.obs["rates"].shape == (2,)


def test_your_own_environment(cartpole):
    env = cartpole[0]

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Lazy(envs.Config):
        weights: object = dataclasses.field(default_factory=lambda: envs.default_config("reacher").weights)

    class Still(type(env)):
        def rewards(self, data, action, info):
            return {"reach": -jnp.abs(data.qvel[0]), "effort": jnp.abs(action[0])}

    still = Still(env.config)
    still.config = Lazy()
    envs.register("still", lambda config: still, Lazy())
    try:
        assert envs.load("still") is still
        assert set(jax.eval_shape(still.reset, jax.random.key(0)).metrics) == {"reach", "effort"}
    finally:
        envs.registry._known.pop("still")


def test_a_task_may_push(cartpole):
    env, reset, step = cartpole[:3]
    pushed = _changed(env, disturb=lambda self, data, info: data.replace(qvel=data.qvel + 1.0))
    state = reset(jax.random.key(0))
    moved = jax.jit(pushed.step)(state, jnp.zeros(1)).data
    by_hand = state.replace(data=state.data.replace(qvel=state.data.qvel + 1.0))
    np.testing.assert_allclose(moved.qvel, step(by_hand, jnp.zeros(1)).data.qvel, rtol=1e-6)


def test_a_number_is_no_key(cartpole):
    with pytest.raises(TypeError, match=r"jax.random.key\(3\)"):
        cartpole[0].reset(3)
    with pytest.raises(TypeError, match="every world needs its own"):
        envs.wrap_for_training(cartpole[0]).reset(3)


def test_with_model_changes_the_physics_alone(cartpole):
    env = cartpole[0]
    heavy = env.with_model(env.model.replace(body_mass=env.model.body_mass * 10))
    assert heavy.config is env.config
    assert float(heavy.model.body_mass[1]) == 10 * float(env.model.body_mass[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", OBSERVED)
def test_every_environment_runs(name):
    env = envs.load(name)
    assert env.observation_size == OBSERVED[name]
    many = envs.wrap_for_training(env)
    state = jax.jit(many.reset)(jax.random.split(jax.random.key(0), 4))

    @jax.jit
    def run(state, actions):
        def one(state, action):
            after = many.step(state, action)
            return after, (after.reward, after.done, after.obs)

        return jax.lax.scan(one, state, actions)

    rng = np.random.default_rng(0)
    shape = (60, 4, env.action_size)
    _, (reward, done, obs) = run(state, jnp.zeros(shape))
    assert np.isfinite(obs).all()
    if name in STILL:
        assert not done.any()
        assert reward[10:].mean() > STILL[name]
    _, (reward, done, obs) = run(state, jnp.asarray(rng.uniform(-1, 1, shape)))
    assert np.isfinite(obs).all()
    assert np.isfinite(reward).all()


@pytest.mark.parametrize("name", ["reacher", "humanoid_stand", "pick"])
def test_controls_at_a_limit_have_the_derivative_inside(name):
    """Of actions at an end of theirs, and of homes at an end of an actuator's range: not a half or a quarter of it."""
    env = envs.load(name)
    data = env._data.replace(ctrl=jnp.asarray(env._low))
    inside = np.asarray(env._half)
    for action in (-1.0, 0.0, 1.0):
        at = jnp.full(env.action_size, action)
        slopes = jnp.diagonal(jax.jacfwd(lambda a: env.control(a, data, {}))(at))
        assert np.all(np.isclose(slopes, 0) | np.isclose(slopes, inside)), action


@pytest.mark.parametrize(
    ("name", "make", "config", "message"),
    [
        (3, envs.Env, envs.Config(), "expected a name, not 3"),
        (
            "own",
            envs.load("cartpole_balance"),
            envs.Config(),
            "cannot be called; give what makes the environment",
        ),
        ("own", envs.Env, envs.Config, "the class Config is not settings"),
        ("own", envs.Env, {}, "a dict is not settings"),
    ],
)
def test_what_cannot_be_registered(name, make, config, message):
    with pytest.raises(TypeError, match=message):
        envs.register(name, make, config)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [("episode_length", 0, "expected 1 or more"), ("ctrl_dt", float("nan"), "ctrl_dt is nan")],
)
def test_settings_that_no_episode_can_have(setting, value, message):
    with pytest.raises(ValueError, match=message):
        envs.load("cartpole_balance", overrides={setting: value})


def test_weights_that_are_not_finite():
    config = envs.default_config("cartpole_balance")
    first = dataclasses.fields(config.weights)[0].name
    env = envs.load("cartpole_balance", overrides={f"weights.{first}": float("nan")})
    with pytest.raises(ValueError, match=f"weights: {first} nan"):
        jax.eval_shape(env.reset, jax.random.key(0))
