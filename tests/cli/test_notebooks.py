"""Every notebook runs from top to bottom."""

import json
from pathlib import Path

import jax
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file):
    if file.stem in ("05_reinforcement_learning", "07_your_own_robot"):
        pytest.importorskip("orbax.checkpoint", reason="training needs the extra `train`")
    if file.stem in ("02_gradients_through_contact", "06_domain_randomisation_and_scaling"):
        pytest.importorskip("optax")
    if file.stem == "01_first_steps":
        pytest.importorskip("embreex", reason="pictures need the extra `view`")
    names = {}
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(file), "exec"), names)
    if file.stem == "01_first_steps":
        # the last step is below the rounding of float32
        assert float(names["mass"]) == pytest.approx(1.0, abs=1e-5)
        assert float(names["value"]) < 0.5 * float(names["cost"](jax.numpy.zeros_like(names["u"])))
    if file.stem == "02_gradients_through_contact":
        assert max(map(names["error"], names["found"].values())) < 1e-6
        exact, felt = (float(names["missed"][name][0].mean()) for name in ("exact", "smooth onset"))
        assert felt < 0.3 * exact
    if file.stem == "03_trajectory_optimisation":
        assert float(names["plan"].cost) < 0.3 * float(names["plan"].history[0])
        assert abs(float(names["led"].qpos[-1, 1]) - 0.2) < 0.02
    if file.stem == "04_system_identification":
        assert max(names["errors"]) < 0.02
        assert len(names["unknown"].blind) == 1
    if file.stem == "05_reinforcement_learning":
        # hanging earns nothing, standing from the first moment would earn 125
        assert names["earned"] > 30.0
        assert names["seen"].shape == (4, 3)
    if file.stem == "06_domain_randomisation_and_scaling":
        assert names["fallen"]["randomised"] < names["fallen"]["nominal"]
        assert names["rates"][-1] > 2 * names["rates"][0]
    if file.stem == "07_your_own_robot":
        # before training it is some -7
        assert names["curve"][-1]["return"] > 15.0
