"""Scenes that no package carries as a file, put together from robots of packages and bodies of our own.

The robots come with robosuite and robosuite_models, whose models are all that is needed:

    pip install --no-deps robosuite==1.5.2 robosuite_models==1.0.0
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import jaxsim

__all__ = ["SCENES", "installed"]

_FLOOR = '<geom type="plane" size="5 5 .1"/>'
_SHAPES = {
    "box": ".03 .04 .05",
    "sphere": ".04",
    "capsule": ".03 .05",
    "cylinder": ".04 .05",
    "ellipsoid": ".03 .04 .06",
}
"""Geom types of objects in turn, and their sizes, m."""


def installed(package: str, inside: str) -> Path:
    """A file of an installed package.

    Raises:
        FileNotFoundError: The package is not installed, or does not hold the file.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"{inside} comes with {package}, which is not installed")
    file = Path(spec.origin).parent / inside
    if not file.is_file():
        raise FileNotFoundError(f"the installed {package} holds no {inside}")
    return file


def _objects(count: int) -> str:
    """Free bodies of all shapes above a square of 0.6 m, five to a layer."""
    rng = np.random.default_rng(0)
    text = ""
    for k, kind in enumerate(list(_SHAPES) * (count // len(_SHAPES))):
        x, y = 0.5 + rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3)
        text += f'<body pos="{x:.4f} {y:.4f} {0.3 + 0.1 * (k // 5):.4f}"><freejoint/>'
        text += f'<geom type="{kind}" size="{_SHAPES[kind]}"/></body>'
    return text


def _scene(bodies: str = "", robot: Path | None = None) -> jaxsim.Spec:
    """A floor with bodies, and a robot from a file."""
    spec = jaxsim.Spec.from_string(f"<mujoco><worldbody>{_FLOOR}{bodies}</worldbody></mujoco>")
    if robot is not None:
        spec.attach(jaxsim.Spec.from_file(robot), prefix="robot_")
    return spec


def _g1() -> jaxsim.Spec:
    spec = _scene(robot=installed("robosuite_models", "assets/robots/g1/robot.xml"))
    for element in spec.root.walk():
        # at the file's thousand N m its arms would fly apart
        if element.tag == "motor":
            element["ctrlrange"] = (-2.0, 2.0)
    return spec


def _panda() -> jaxsim.Spec:
    return _scene(_objects(10), installed("robosuite", "models/assets/robots/panda/robot.xml"))


def _clutter() -> jaxsim.Spec:
    return _scene(_objects(100))


SCENES: dict[str, Callable[[], jaxsim.Spec]] = {"G1": _g1, "Panda": _panda, "clutter": _clutter}
"""Unitree's G1, whose links are meshes, as its feet are; a Panda of meshes with ten objects; a hundred objects."""
