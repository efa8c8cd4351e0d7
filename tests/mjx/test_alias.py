"""Libraries that import MJX themselves, and the names of MJX that are here."""

import subprocess
import sys

import pytest

import jaxsim
from jaxsim import mjx

SCRIPT = """
from jaxsim import mjx
mjx.stand_in()
mjx.stand_in()
import mujoco
from mujoco import mjx as theirs
import mujoco.mjx as also
from mujoco.mjx import Model, step
from mujoco.mjx._src import math
from mujoco.mjx._src.types import Contact, GeomType, Impl
assert theirs is also is mujoco.mjx is mjx
assert (Model, step, Contact) == (mjx.Model, mjx.step, mjx.Contact)
assert mjx._src.math.quat_mul is math.quat_mul is mjx.math.quat_mul
assert theirs._src.io.put_model is mjx.put_model
assert GeomType.MESH == mujoco.mjtGeom.mjGEOM_MESH and Impl is mjx.Impl
model = theirs.put_model(mujoco.MjModel.from_xml_string("<mujoco/>"), impl="warp")
assert theirs.make_data(model).qpos.shape == (0,)
"""

LATE = """
import mujoco.mjx
from jaxsim import mjx
mjx.stand_in()
"""


INNER = {"Callable", "ConvexMesh", "GraphMode", "Tuple", "Union", "tree_path_to_attr_str"}
"""What MJX's star import lets through."""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_standing_in():
    done = python(SCRIPT)
    assert done.returncode == 0, done.stderr


def test_standing_in_too_late():
    pytest.importorskip("mujoco.mjx")
    done = python(LATE)
    assert "RuntimeError: mujoco.mjx was imported already" in done.stderr


def test_the_core_does_not_import_it():
    assert python("import jaxsim, sys; assert 'jaxsim.mjx' not in sys.modules").returncode == 0
    assert jaxsim.mjx is mjx


def test_public_names_of_mjx():
    real = pytest.importorskip("mujoco.mjx")
    theirs = {name for name in dir(real) if not name.startswith("_") and callable(getattr(real, name))}
    theirs -= {name for name in theirs if name.endswith(("CPP", "JAX")) or name in INNER}
    missing = {name for name in theirs if not hasattr(mjx, name)}
    assert missing <= set(mjx._ABSENT), missing
    with pytest.raises(AttributeError, match=r"no attribute 'render': .*mujoco\.Renderer"):
        _ = mjx.render
