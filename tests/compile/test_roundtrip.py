"""A model that is written and read again compiles to the same numbers."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from jaxsim import Spec, models
from tests.compile.oracle import differences
from tests.pipeline import scenes

REAL = (
    ("mujoco", "mjx/test_data/humanoid/humanoid.xml"),
    ("gymnasium", "envs/mujoco/assets/ant.xml"),
    ("dm_control", "suite/dog.xml"),
    ("dm_control", "suite/quadruped.xml"),
    ("dm_control", "suite/stacker.xml"),
    ("dm_control", "locomotion/soccer/assets/boxhead/boxhead.xml"),
    ("dm_control", "third_party/kinova/jaco_arm.xml"),
)
"""(installed package, model) with meshes, tendons, skins, sensors, defaults, keyframes."""


def file(package: str, inside: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    found = Path(spec.origin).parent / inside
    if not found.is_file():
        pytest.skip(f"{package} holds no {inside}")
    return found


def round_trip(spec: Spec, folder: Path | None = None) -> None:
    xml = spec.to_xml()
    again = Spec.from_string(xml, base_dir=folder)
    assert again.to_xml() == xml
    one, two = spec.compile(), again.compile()
    assert not differences(two, one)
    np.testing.assert_array_equal(one.tex_data, two.tex_data)
    np.testing.assert_array_equal(one.mesh_normal, two.mesh_normal)


@pytest.mark.parametrize("name", ["arm", "cartpole", "hand", "humanoid", "quadruped"])
def test_bundled_models(name):
    round_trip(Spec.from_file(models.path(name)))


@pytest.mark.parametrize("xml", [scenes.MIXED, scenes.SENSORS], ids=["mixed", "sensors"])
def test_scenes(xml):
    round_trip(Spec.from_string(xml))


@pytest.mark.slow
@pytest.mark.parametrize(("package", "inside"), REAL)
def test_real_models(package, inside):
    path = file(package, inside)
    round_trip(Spec.from_file(path), path.parent)
