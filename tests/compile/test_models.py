"""Models of installed packages against the C compiler."""

import importlib.util
import pathlib

import pytest

from tests.compile.oracle import check_file

PACKAGES = {
    "gymnasium": (
        "envs/mujoco/assets",
        ["ant", "half_cheetah", "hopper", "humanoid", "pusher_v5", "reacher", "swimmer"],
    ),
    "dm_control": (
        "suite",
        ["cartpole", "cheetah", "fish", "humanoid_CMU", "manipulator", "quadruped", "walker"],
    ),
    "mujoco": (
        "mjx/test_data",
        ["humanoid/humanoid", "constraints", "actuator/general_dyntype", "ray", "pendula"],
    ),
}


def files() -> list[pathlib.Path]:
    found = []
    for package, (folder, names) in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            root = pathlib.Path(spec.submodule_search_locations[0]) / folder
            found += [path for name in names if (path := root / f"{name}.xml").exists()]
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_models_of_packages(path):
    check_file(str(path))
