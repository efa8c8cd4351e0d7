"""The bundled models, by the C engine: what they promise."""

import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import models
from jaxsim.cli.models import CommandError, locate

STANDS = {"quadruped": 2, "humanoid": 2, "hopper": 1, "hand": 14}
"""Coordinate that is the height of the root, or of what is held."""


def test_names_and_paths():
    assert models.names() == ("arm", "cartpole", "hand", "hopper", "humanoid", "quadruped", "reacher")
    for name in models.names():
        assert models.path(name).is_file()
        assert locate(name) == models.path(name)
    with pytest.raises(KeyError, match="arm, cartpole, hand, hopper, humanoid, quadruped, reacher"):
        models.path("octopus")


def test_what_is_no_path_to_a_model_gets_a_hint():
    with pytest.raises(
        jaxsim.MjcfError, match=r"no such file; the bundled model is jaxsim\.models\.path\('arm'\)"
    ):
        jaxsim.load_model("arm")
    with pytest.raises(
        TypeError, match=r"expected a path or XML text, got MjModel; jaxsim\.put_model copies"
    ):
        jaxsim.load_model(mujoco.MjModel.from_xml_string("<mujoco/>"))


def test_a_file_is_found_and_a_typo_gets_a_hint(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text("<mujoco/>")
    assert locate(str(file)) == file
    with pytest.raises(CommandError, match="did you mean 'humanoid'"):
        locate("humaniod")


@pytest.mark.parametrize("name", models.names())
def test_home_is_the_first_keyframe_and_rests(name):
    model = mujoco.MjModel.from_xml_path(str(models.path(name)))
    data = mujoco.MjData(model)
    assert model.key(0).name == "home"
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, nstep=int(4 / model.opt.timestep))
    # 3 cm and 0.06 rad: what the position servos give way under the weight
    np.testing.assert_allclose(data.qpos, model.key_qpos[0], atol=0.12 if name == "quadruped" else 0.06)
    assert np.abs(data.qvel).max() < 0.02
    if name in STANDS:
        assert abs(data.qpos[STANDS[name]] - model.key_qpos[0][STANDS[name]]) < 0.03


@pytest.mark.parametrize("name", models.names())
def test_wild_controls_do_not_break_it(name):
    model = mujoco.MjModel.from_xml_path(str(models.path(name)))
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    low, high = model.actuator_ctrlrange.T
    for _ in range(40):
        data.ctrl[:] = rng.uniform(low, high)
        mujoco.mj_step(model, data, nstep=25)
    assert not any(warning.number for warning in data.warning)
    # m/s and rad/s; a finger or a ball knocked away is the fastest
    assert np.abs(data.qvel).max() < 80


@pytest.mark.parametrize(
    ("name", "mass"), [("cartpole", 1.1), ("hopper", 11.0), ("quadruped", 12.8), ("humanoid", 65.3)]
)
def test_mass(name, mass):
    model = mujoco.MjModel.from_xml_path(str(models.path(name)))
    assert model.body_subtreemass[0] == pytest.approx(mass)
