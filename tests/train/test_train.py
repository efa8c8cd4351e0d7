"""Training: settings, statistics, what SHAC climbs, tables, and exact resume."""

import copy
import dataclasses
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import envs

pytest.importorskip("flax")
pytest.importorskip("optax")
pytest.importorskip("orbax.checkpoint")
pytest.importorskip("tensorboardX")
pytest.importorskip("yaml")

from jaxsim.cli import main
from jaxsim.cli.train import settings
from jaxsim.train import (
    Config,
    ConfigError,
    Shac,
    checkpoints,
    evaluate,
    ppo,
    read,
    restore,
    rows,
    summary,
    train,
)
from jaxsim.train.normalise import Statistics
from jaxsim.train.shac import Trainer, Window, _returns

TINY = """
env: line
steps: 600
worlds: 10
evals: 5
eval_worlds: 2
shac: {horizon: 6, policy: [8], critic: [8], critic_epochs: 2, critic_batches: 2, policy_rate: 0.05}
ppo: {unroll_length: 6, batch_size: 5, num_minibatches: 2, policy: [8], critic: [8]}
"""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Point:
    qpos: jax.Array
    qvel: jax.Array
    ctrl: jax.Array
    ncon: jax.Array
    mocap_pos: jax.Array
    mocap_quat: jax.Array


class Line:
    """A point on a line that earns most at 1; beyond 3 it is over."""

    action_size = 1
    observation_size = 1
    dt = 0.1

    def __init__(self, config):
        self.config = config
        self.unwrapped = self

    def reset(self, rng):
        x = jax.random.uniform(rng, dtype=jnp.float32)[None]
        zero = jnp.zeros((), jnp.float32)
        return envs.State(Point(x, x, x, zero, x, x), x, zero, zero, {"near": zero}, {"rng": rng})

    def step(self, state, action):
        x = state.data.qpos + 0.3 * action
        near = -jnp.square(x[0] - 1)
        data = dataclasses.replace(state.data, qpos=x, ctrl=action)
        done = jnp.where(jnp.abs(x[0]) > 3, 1.0, 0.0).astype(x.dtype)
        return state.replace(data=data, obs=x, reward=near, done=done, metrics=state.metrics | {"near": near})


class WeighedLine(Line):
    """The same point, which moves by as much less as it is heavy."""

    def __init__(self, config):
        super().__init__(config)
        self.model = jaxsim.load_model("""
        <mujoco><worldbody><body><freejoint/>
          <geom size="0.1" mass="1"/></body></worldbody></mujoco>""")

    def with_model(self, model):
        other = copy.copy(self)
        other.model = model
        return other

    def step(self, state, action):
        return super().step(state, action / self.model.body_mass[1])


@pytest.fixture(autouse=True, scope="module")
def _line():
    envs.register("line", Line, envs.Config(episode_length=8))
    envs.register("weighed_line", WeighedLine, envs.Config(episode_length=8))
    yield
    envs.registry._known.pop("line")
    envs.registry._known.pop("weighed_line")


@pytest.fixture(autouse=True)
def _single_precision():
    with jax.enable_x64(False):
        yield


@pytest.fixture
def tiny(tmp_path):
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    return file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sed": 1}, r"command line: no setting 'sed' \(did you mean 'seed'\?\)"),
        ({"shac.horzon": 1}, r"no setting 'shac.horzon' \(did you mean 'horizon'\?\)"),
        ({"seed": "one"}, "seed is of type int, not 'one'"),
        ({"seed": 1.5}, "seed is of type int, not 1.5"),
        (
            {"env": "lin"},
            r"no environment 'lin' \(did you mean 'line'\?\).*; `module` imports those of your own",
        ),
        ({"module": "no_such_tasks"}, "module 'no_such_tasks': No module named"),
        ({"task.ctrl_d": 0.1}, r"no setting 'ctrl_d' \(did you mean 'ctrl_dt'\?\)"),
        ({"algorithm": "shak"}, r"no algorithm 'shak' \(did you mean 'shac'\?\)"),
        ({"worlds": 0}, "worlds is 0, and must be at least 1"),
        (
            {"randomise.mas": [0.8, 1.2]},
            r"randomise: no range 'mas' \(did you mean 'mass'\?\); there are fric",
        ),
        ({"randomise": {"mass": [1.2, 0.8]}}, "line: randomise: mass: no range of positive scales: 1.2, 0.8"),
        ({"randomise.mass": 0.8}, "randomise: mass is two numbers, the least and the largest scale, not 0.8"),
        ({"randomise": "mass"}, r"randomise: true, false, or ranges as in {mass: \[0.8, 1.2\]}, not 'mass'"),
        ({"keep": -1}, "keep is -1, and must be at least 1, or 0 for all"),
        ({"seed": -1}, "seed is -1, and must be at least 0"),
        ({"reward_scale": float("nan")}, "reward_scale is nan, and must be positive"),
        ({"shac.policy_rate": -1e-3}, "shac.policy_rate is -0.001, and must be at least 0"),
        ({"shac.discount": 2.0}, r"shac.discount is 2.0, and must be in \[0, 1\]"),
        ({"shac.policy": [8, 0]}, r"shac.policy is \(8, 0\), and must be widths of at least 1"),
        ({"shac.betas": [0.7, 1.0]}, r"shac.betas is \(0.7, 1.0\), and must be in \[0, 1\), each"),
        ({"ppo.unroll_length": 0}, "ppo.unroll_length is 0, and must be at least 1"),
        ({"algorithm": "ppo", "worlds": 3}, "must be a multiple of worlds, 3"),
    ],
)
def test_what_is_wrong_with_settings(tiny, changes, message):
    with pytest.raises(ConfigError, match=message):
        read(tiny, changes)


def test_files_of_settings(tiny, tmp_path):
    config = read(str(tiny), {"task.episode_length": 9, "shac.betas": [0.5, 0.6]})
    assert config.shac.policy == (8,)
    assert config.shac.betas == (0.5, 0.6)
    assert config.task == {"episode_length": 9}
    assert config.out == "runs/tiny"
    (tmp_path / "small.yaml").write_text("{goal: -2E+1, shac: {policy_rate: 1e-3}}")
    small = read(tmp_path / "small.yaml", settings(["--ppo.learning_rate", "5e-4"]))
    assert (small.shac.policy_rate, small.goal, small.ppo.learning_rate) == (0.001, -20.0, 0.0005)
    assert read(tiny, settings(["--steps", "2e6"])).steps == 2_000_000
    (tmp_path / "varied.yaml").write_text("randomise:\n  mass: [0.5, 2]\n  gain: [0.8, 1.2]")
    varied = read(tmp_path / "varied.yaml")
    assert varied.randomise == varied.ranges == {"mass": (0.5, 2.0), "gain": (0.8, 1.2)}
    other = read(tmp_path / "varied.yaml", settings(["--randomise.mass", "[0.9, 1.1]"]))
    assert other.ranges == {"mass": (0.9, 1.1), "gain": (0.8, 1.2)}
    for given in ("true", "false"):  # the usual ranges, none
        plain = read(tmp_path / "varied.yaml", settings(["--randomise", given]))
        assert (plain.randomise, plain.ranges) == (given == "true", {})
    with pytest.raises(ConfigError, match="cannot read"):
        read(tmp_path / "none.yaml")
    (tmp_path / "wrong.yaml").write_text("shac: {horzon: 3}")
    with pytest.raises(ConfigError, match=r"wrong.yaml: no setting 'shac.horzon' \(did you mean"):
        read(tmp_path / "wrong.yaml")
    (tmp_path / "wrong.yaml").write_text("- 1")
    with pytest.raises(ConfigError, match="no settings"):
        read(tmp_path / "wrong.yaml")


def test_every_config_of_the_repository_is_valid():
    from pathlib import Path

    files = sorted((Path(__file__).parents[2] / "configs").glob("*.yaml"))
    assert len(files) >= 3
    for file in files:
        assert read(file).env in envs.names()


def test_statistics():
    x = np.random.default_rng(0).normal(3.0, 2.0, (50, 4)).astype(np.float32)
    found = Statistics.start(4).update(jnp.asarray(x[:20])).update(jnp.asarray(x[20:]).reshape(5, 6, 4))
    np.testing.assert_allclose(found.mean, x.mean(0), rtol=1e-4)
    np.testing.assert_allclose(found.variance, x.var(0), rtol=1e-3)
    np.testing.assert_allclose(found(jnp.asarray(x)).std(0), 1.0, rtol=1e-3)
    np.testing.assert_array_equal(found(jnp.full(4, 1e6)), 10.0)


def test_targets_of_the_critic():
    """Equation 7 of the paper by its definition: a mean of n-step returns."""
    rng = np.random.default_rng(1)
    reward, value = rng.normal(size=(2, 5, 1))
    end = np.array([0, 0, 1, 0, 1.0])[:, None]
    over = np.array([0, 0, 1, 0, 0.0])[:, None]
    found = _returns(Window(jnp.zeros(5), *map(jnp.asarray, (reward, end, over, value))), 0.9, 0.8)
    expected = np.zeros((5, 1))
    for t in range(5):
        last = 2 if t <= 2 else 4
        returns = []
        for n in range(1, last - t + 2):
            k = t + n - 1
            earned = sum(0.9**i * reward[t + i] for i in range(n))
            returns.append(earned + 0.9**n * (1 - over[k]) * value[k])
        weights = [0.2 * 0.8**i for i in range(len(returns) - 1)]
        expected[t] = sum(w * r for w, r in zip(weights, returns, strict=False))
        expected[t] += (1 - sum(weights)) * returns[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.fixture(scope="module")
def trainer():
    with jax.enable_x64(False):
        own = Shac(horizon=6, policy=(8,), critic=(8,), critic_epochs=1, critic_batches=1)
        yield Trainer(envs.load("line"), Config(env="line", worlds=8, steps=480, shac=own))


def test_the_gradient_of_the_policy(trainer):
    """Against central differences, with episodes that are cut off and episodes that are over in the horizon."""
    learner = trainer.start()
    learner = dataclasses.replace(
        learner,
        worlds=learner.worlds.replace(
            data=dataclasses.replace(learner.worlds.data, qpos=jnp.linspace(-1.0, 2.9, 8)[:, None])
        ),
    )
    fresh = trainer.restart(jax.random.key(5))
    key = jax.random.key(6)

    with jax.enable_x64(True):
        wide = jax.tree.map(
            lambda x: x.astype(jnp.float64) if x.dtype == jnp.float32 else x, (learner, fresh)
        )

        def loss(policy):
            return trainer._loss(policy, *wide, key)[0]

        flat, back = jax.flatten_util.ravel_pytree(wide[0].policy)
        window = trainer._loss(wide[0].policy, *wide, key)[1][1]
        assert window.over.sum() > 0
        assert (window.end[:-1] - window.over[:-1]).sum() > 0
        slope = jax.flatten_util.ravel_pytree(jax.grad(loss)(wide[0].policy))[0]
        toward = jax.random.normal(jax.random.key(7), flat.shape)
        both = jax.jit(lambda h: loss(back(flat + h * toward)))
        difference = (both(1e-6) - both(-1e-6)) / 2e-6
        np.testing.assert_allclose(slope @ toward, difference, rtol=1e-5)


def test_gradients_of_a_world_are_bounded(trainer):
    """One world is in a place where the reward is steep; the others' gradients are what they were."""
    from jaxsim.train.shac import _bounded

    state = trainer.start().worlds
    steep = jnp.array([1e6, 1.0, jnp.nan, 0.3] + [0.1] * 4)

    def loss(x, most):
        data = dataclasses.replace(state.data, qpos=x)
        return jnp.sum(steep * _bounded(state.replace(data=data), most).data.qpos[:, 0])

    found = jax.grad(loss)(state.data.qpos, 0.5)
    np.testing.assert_allclose(found[:, 0], [0.5, 0.5, 0.0, 0.3] + [0.1] * 4, rtol=1e-6)


def test_several_devices_learn_one_policy(trainer):
    """Eight devices hold a world each; after an update all hold the same policy."""
    learner, numbers = trainer.update(trainer.start(), trainer.restart(jax.random.key(0)))
    assert len(learner.worlds.obs.sharding.device_set) == 8
    for leaf in jax.tree.leaves(learner.policy):
        parts = [np.asarray(shard.data) for shard in leaf.addressable_shards]
        assert len(parts) == 8
        for part in parts:
            np.testing.assert_array_equal(part, parts[0])
    assert np.isfinite(list(numbers.values())).all()


def _table(out):
    return [{k: x for k, x in row.items() if k != "seconds"} for row in rows(out / "metrics.csv")]


def _interrupt(row):
    if row["steps"] >= 240:
        raise KeyboardInterrupt


def test_interrupted_and_resumed_is_the_same_curve(tiny, tmp_path):
    whole = train(read(tiny, {"out": str(tmp_path / "whole")}))

    config = read(tiny, {"out": str(tmp_path / "parts")})
    with pytest.raises(KeyboardInterrupt):
        train(config, _interrupt)
    assert _table(tmp_path / "parts")[-1]["steps"] == 240
    with pytest.raises(ConfigError, match=r"there is a run in .*\(--resume true\).* or delete this one"):
        train(config)
    with pytest.raises(ConfigError, match="other settings: seed"):
        train(dataclasses.replace(config, resume=True, seed=3))
    parts = train(dataclasses.replace(config, resume=True))
    assert _table(parts) == _table(whole)
    assert len(_table(whole)) == 6
    assert _table(whole)[-1]["return"] > _table(whole)[0]["return"] + 1.0  # it learns
    assert (parts / "curve.png").stat().st_size > 10_000
    assert list(parts.glob("events*"))
    one, other = (restore(out)[-1] for out in (whole, str(parts)))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_a_run_begins_with_what_another_one_learned(tiny, tmp_path):
    first = train(read(tiny, {"out": str(tmp_path / "first")}))
    harder = {"out": str(tmp_path / "second"), "initial": str(first), "worlds": 20, "steps": 240}
    second = train(read(tiny, harder))
    assert _table(second)[0]["return"] == _table(first)[-1]["return"]
    one, other = restore(first)[-1], restore(second, 0)[-1]
    jax.tree.map(np.testing.assert_array_equal, one, other)
    more = dataclasses.replace(read(tiny, {"out": str(first), "steps": 1200}), resume=True)
    with pytest.raises(ConfigError, match=r"other settings: steps; to learn on .* \(--initial .*first --out"):
        train(more)
    for changes, message in (
        ({"shac.policy": [9]}, "initial: the networks of .*first have other sizes"),
        ({"initial": str(tmp_path)}, "cannot read .*config.yaml"),
        ({"algorithm": "ppo", "worlds": 10}, "initial: .*first is a run of shac, not of ppo"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(read(tiny, harder | {"out": str(tmp_path / next(iter(changes)))} | changes))


@pytest.fixture
def unlearned(tiny, tmp_path):
    """A run that learns nothing but noise, for a rate that is far too large: its best policy is not its last."""
    steep = {"out": str(tmp_path / "run"), "keep": 1, "shac.policy_rate": 30.0, "evals": 10}
    return train(read(tiny, steep))


def test_a_checkpoint_is_chosen(unlearned, capsys):
    """The newest stays, and the best; each acts as it did when it was tried."""
    table = {int(row["steps"]): row["return"] for row in rows(unlearned / "metrics.csv")}
    best, latest = max(table, key=table.__getitem__), max(table)
    assert best < latest
    there = checkpoints(str(unlearned))
    assert there == {step: table[step] for step in (best, latest)}

    config, env, act, newest = restore(unlearned)
    trials = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), 1))[1]
    for step, same in ((best, "best"), (latest, "latest")):
        policy = restore(unlearned, step)[-1]
        jax.tree.map(np.testing.assert_array_equal, policy, restore(unlearned, same)[-1])
        earned = summary(evaluate(env, act, policy, trials, config.eval_worlds))["return"]
        np.testing.assert_allclose(earned, there[step], rtol=1e-5)  # float32, and 8 digits in the table
    jax.tree.map(np.testing.assert_array_equal, newest, restore(unlearned, latest)[-1])

    for step in (best, "best"):
        main(["play", str(unlearned), "--checkpoint", str(step), "--seed", "3"])
        assert "line: return" in capsys.readouterr().out
    with np.load(unlearned / "play.npz") as saved:
        key = jax.random.key(3)
        expected = evaluate(env, act, restore(unlearned, best)[-1], key, 1, ("qpos",))["qpos"]
        np.testing.assert_allclose(saved["qpos"], expected, rtol=1e-5)


def test_a_checkpoint_that_is_not_there(unlearned, tmp_path, capsys):
    steps = ", ".join(map(str, checkpoints(unlearned)))
    for wrong in (7, "bset", -60):
        with pytest.raises(ConfigError, match=rf"no checkpoint {wrong!r}; there are {steps}, `best` and `l"):
            restore(unlearned, wrong)
    with pytest.raises(SystemExit):
        main(["play", str(unlearned), "--checkpoint", "7"])
    assert f"no checkpoint 7; there are {steps}, `best`" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"cannot read .*config\.yaml"):
        checkpoints(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"cannot read .*config\.yaml"):
        restore(tmp_path / "none", "best")


def test_the_command_to_play_is_said_in_one_line(tiny, tmp_path, capsys):
    out = tmp_path / ("a-folder-of-a-long-name" * 5)
    main(["train", str(tiny), "--out", str(out), "--steps", "60", "--evals", "1"])
    assert f"play: jaxsim play {out}\n" in capsys.readouterr().out


def test_all_checkpoints_stay_where_asked(tiny, tmp_path):
    config = read(tiny, {"out": str(tmp_path / "all"), "keep": 0})

    with pytest.raises(KeyboardInterrupt):
        train(config, _interrupt)
    out = train(dataclasses.replace(config, resume=True, keep=0))
    assert list(checkpoints(out)) == [0, 120, 240, 360, 480, 600]


def test_worlds_differ_by_the_ranges_of_a_file(tmp_path, monkeypatch):
    """They are drawn from there, on all devices; the run keeps them, and goes on with them."""
    drawn = []

    def randomise(model, keys, **ranges):
        models, axes = envs.randomise(model, keys, **ranges)
        drawn.append(np.asarray(models.body_mass)[:, 1])
        return models, axes

    monkeypatch.setattr("jaxsim.train.run.randomise", randomise)
    file = tmp_path / "varied.yaml"
    file.write_text(f"{TINY}randomise: {{mass: [2.0, 3.0], friction: [1.0, 1.0]}}\n")
    config = read(file, {"env": "weighed_line", "out": str(tmp_path / "varied"), "evals": 1})
    out = train(config)
    (masses,) = drawn
    assert masses.shape == (10,)
    assert ((masses > 2) & (masses < 3)).all()
    assert np.unique(masses).size == 10
    assert read(out / "config.yaml").ranges == config.ranges
    with pytest.raises(ConfigError, match="other settings: randomise"):
        train(dataclasses.replace(config, resume=True, randomise={"mass": (2, 4)}))
    train(dataclasses.replace(config, resume=True))
    np.testing.assert_array_equal(drawn[1], masses)


def test_what_is_wrong_with_settings_from_python(tmp_path):
    for wrong, message in (
        ({"algorithm": "sac"}, r"config: no algorithm 'sac' \(did you mean 'shac'\?\)"),
        ({"env": "lin"}, "config: no environment 'lin'"),
        ({"task": {"ctrl_d": 0.1}}, "config: no setting 'ctrl_d'"),
        ({"randomise": {"mas": (0.8, 1.2)}}, "config: randomise: no range 'mas'"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(dataclasses.replace(Config(env="line", out=str(tmp_path / "out")), **wrong))
    assert not (tmp_path / "out").exists()


def test_a_run_that_broke_before_its_first_checkpoint(tiny, tmp_path, monkeypatch):
    """Its folder, named after algorithm and environment, can be used again, with other settings too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    own = jax.config.jax_compilation_cache_dir
    config = dataclasses.replace(read(tiny, {"evals": 1}), out="")

    def broken(self, state, action):
        raise RuntimeError("broken")

    try:
        jax.config.update("jax_compilation_cache_dir", None)
        with monkeypatch.context() as patch:
            patch.setattr(Line, "step", broken)
            with pytest.raises(RuntimeError, match="broken"):
                train(config)
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "cache" / "jaxsim")
        train(
            dataclasses.replace(config, seed=3, resume=True)
        )  # other settings: there is nothing to disagree with
        shutil.rmtree("runs/shac_line/checkpoints")
        out = train(config)
        assert [row["steps"] for row in rows(out / "metrics.csv")] == [0, 600]
        assert read(out / "config.yaml").out == "runs/shac_line"
    finally:
        jax.config.update("jax_compilation_cache_dir", own)


def test_a_module_of_ones_own(tmp_path, monkeypatch):
    """It is found in the folder of work, and by all that reads the run's settings."""
    task = "from jaxsim import envs\nenvs.register('own_line', *envs.registry._known['line'])\n"
    (tmp_path / "own_tasks.py").write_text(task)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "own.yaml"
    config.write_text("env: own_line\nmodule: own_tasks\n")
    try:
        assert read(config).env == "own_line"
        assert str(tmp_path) in sys.path
        (tmp_path / "own_tasks.py").write_text("import no_such_package")
        sys.modules.pop("own_tasks")
        with pytest.raises(ConfigError, match=r"own\.yaml: module 'own_tasks': No module named 'no_such"):
            read(config)
    finally:
        envs.registry._known.pop("own_line")
        sys.modules.pop("own_tasks", None)


@pytest.mark.slow
def test_ppo_and_play(tiny, tmp_path, capsys):
    pytest.importorskip("brax")
    out = tmp_path / "ppo"
    main(["train", str(tiny), "--algorithm", "ppo", "--out", str(out), "--evals=2"])
    assert [row["steps"] for row in rows(out / "metrics.csv")] == [0.0, 300.0, 600.0]
    capsys.readouterr()
    for option, file, message in (
        ("--video", "film.mov", "the suffix is one of"),
        ("--plot", "none/plot.png", "no folder"),
        ("--out", "none/play.npz", "no folder"),
    ):
        with pytest.raises(SystemExit):
            main(["play", str(out), option, str(tmp_path / file)])
        said = capsys.readouterr()
        assert message in said.err
        assert "return" not in said.out  # it is said before anything is simulated
    main(["play", str(out), "--worlds", "2"])
    assert "line: return" in capsys.readouterr().out
    with np.load(out / "play.npz") as saved:
        assert saved["qpos"].shape == (2, 8, 1)
        assert saved["reward"].shape == (2, 8)


def test_a_file_is_no_config(tiny):
    with pytest.raises(TypeError, match=r"expected a Config, not .*; `read\(file\)` makes one"):
        train(tiny)


def test_ppo_without_brax(tiny, tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == "brax"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "brax", None)  # as if it were not installed
    ppo._brax.cache_clear()
    with pytest.raises(SystemExit):
        main(["train", str(tiny), "--algorithm", "ppo", "--out", str(tmp_path / "ppo")])
    assert "ppo needs brax" in capsys.readouterr().err


def test_the_command_line_says_what_is_wrong(tiny, capsys):
    for words, message in (
        (["--sed", "1"], "did you mean 'seed'"),
        (["--seed"], "--seed has no value"),
        (["seed"], "settings are changed by --name value"),
    ):
        with pytest.raises(SystemExit):
            main(["train", str(tiny), *words])
        assert message in capsys.readouterr().err


def test_training_needs_its_packages():
    code = """
import importlib.util as u
find = u.find_spec
u.find_spec = lambda name, *a: None if name == "flax" else find(name, *a)
from jaxsim.cli import main
main(["train", "x.yaml"])
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "training needs flax: pip install 'jaxsim-engine[train]'" in said.stderr
