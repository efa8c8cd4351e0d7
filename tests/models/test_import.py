"""What importing the package costs and needs."""

import subprocess
import sys

OPTIONAL = ("mujoco", "matplotlib", "flax", "optax", "gymnasium", "dm_control", "glfw", "OpenGL", "IPython")
"""Packages that a user of the library need not have."""

LATER = ("PIL", "trimesh", "scipy.spatial", "scipy.optimize", "tyro", "rich", "multiprocessing.pool")
"""What takes long to import and only some models need."""

ALONE = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # importing it fails
import jaxsim
from jax._src import xla_bridge
print(xla_bridge.backends_are_initialized(), *(name for name in {LATER!r} if name in sys.modules))
from jaxsim import models
assert jaxsim.load_model(models.path("humanoid")).nv == 27
"""


def test_import_needs_no_engine_or_viewer_and_leaves_devices_alone():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False"]


def test_uses_are_there_when_asked_for():
    names = ("envs", "identify", "optimise", "viewer", "train")
    script = f"import jaxsim; [getattr(jaxsim, name).__all__ for name in {names}]"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
