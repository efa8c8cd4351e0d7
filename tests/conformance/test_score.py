"""The conformance tool on two real models, where the shared folder and the models' packages are present.

The folder is `$JAXSIM_SHARED`, or `shared` beside the checkout. All models of the list:
`python ../shared/conformance/score.py ../shared/conformance/public.jsonl --root DIR --level grad`.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("JAXSIM_SHARED", Path(__file__).parents[3] / "shared"))
SCORE = SHARED / "conformance" / "score.py"
MODELS = {
    "hopper": ("gymnasium", "envs/mujoco/assets/hopper.xml"),
    "cheetah": ("dm_control", "suite/cheetah.xml"),
}


@pytest.mark.slow
@pytest.mark.skipif(not SCORE.is_file(), reason="the shared folder is not here")
@pytest.mark.parametrize("name", MODELS)
def test_a_real_model_passes_every_level(name, tmp_path):
    package, inside = MODELS[name]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    root = Path(spec.origin).parent
    models = tmp_path / "models.jsonl"
    models.write_text(json.dumps({"file": inside}) + "\n")
    command = [sys.executable, str(SCORE), str(models), "--root", str(root), "--level", "grad"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
