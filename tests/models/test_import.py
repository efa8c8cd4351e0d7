"""What importing the package costs and needs."""

import subprocess
import sys

OPTIONAL = ("mujoco", "matplotlib", "flax", "optax", "gymnasium", "dm_control", "glfw", "OpenGL", "IPython")
"""Packages that a user of the library need not have."""

ALONE = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None  # importing it fails
import time
start = time.process_time()
import jaxsim
print(time.process_time() - start)
from jaxsim import models
assert jaxsim.load_model(models.path("humanoid")).nv == 27
"""


def test_import_is_fast_and_needs_no_engine_or_viewer():
    """CPU seconds, so that a busy machine does not matter; the best of three, as files may not be cached."""
    seconds = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seconds.append(float(done.stdout))
    assert min(seconds) < 1.5
