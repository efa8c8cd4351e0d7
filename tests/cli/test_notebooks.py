"""Every notebook runs from top to bottom."""

import json
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

MANY_STEPS = ("05_reinforcement_learning", "06_domain_randomisation_and_scaling", "07_your_own_robot")
"""Those that simulate for longer than the suite's XLA, which optimises little, gains by compiling in less time."""

PACKAGES = {
    "01_first_steps": ["embreex"],
    "02_gradients_through_contact": ["embreex", "optax"],
    "03_trajectory_optimisation": ["embreex"],
    "05_reinforcement_learning": ["embreex", "orbax.checkpoint"],
    "06_domain_randomisation_and_scaling": ["optax"],
    "07_your_own_robot": ["embreex", "orbax.checkpoint"],
}


@pytest.fixture(autouse=True)
def _settings_of_a_user(request, monkeypatch):
    """float32 and one device as outside the suite, little of what takes long; what a notebook changes is undone."""
    names = ("jax_enable_x64", "jax_disable_most_optimizations")
    before = {name: jax.config.read(name) for name in names}
    monkeypatch.setenv("NOTEBOOK_SMALL", "1")
    device = jax.devices()[0]
    monkeypatch.setattr(jax, "local_devices", lambda: [device])
    jax.config.update("jax_enable_x64", False)
    if request.getfixturevalue("file").stem in MANY_STEPS:
        jax.config.update("jax_disable_most_optimizations", False)
    yield
    plt.close("all")
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file):
    for package in PACKAGES.get(file.stem, []):
        pytest.importorskip(package)
    names = {}
    for cell in json.loads(file.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(file), "exec"), names)
    if file.stem == "01_first_steps":
        # the last step is below the rounding of float32
        assert float(names["mass"]) == pytest.approx(1.0, abs=1e-5)
        assert float(names["value"]) < 0.5 * float(names["cost"](jax.numpy.zeros_like(names["u"]))[0])
    if file.stem == "02_gradients_through_contact":
        assert max(map(names["error"], names["found"].values())) < 1e-6
        exact, felt = (float(names["missed"][name][0].mean()) for name in ("exact", "smooth onset"))
        assert felt < 0.3 * exact
    if file.stem == "03_trajectory_optimisation":
        assert names["standing"] < 5  # the pole stands; CEM alone is at 8
        assert float(names["plan"].cost) < 0.2 * names["history"][0]
        # mm, of 158; a plan through contact depends on rounding: see the spread in the notebook
        assert names["missed"] < 60
    if file.stem == "04_system_identification":
        assert max(names["errors"]) < 0.02
        assert len(names["unknown"].blind) == 1
    if file.stem == "05_reinforcement_learning":
        # hanging earns nothing, going round and round less than this, standing from the first moment would earn 125;
        # on any machine it is 80 to 90 after half of these steps, or there soon
        assert names["earned"] > 60.0
        assert names["seen"].shape == (4, 3)
    if file.stem == "06_domain_randomisation_and_scaling":
        assert names["fallen"]["randomised"] < names["fallen"]["nominal"]
        assert names["rates"][-1] > 2 * names["rates"][0]
    if file.stem == "07_your_own_robot":
        # before training it is some -7
        assert names["curve"][-1]["return"] > 30.0
        assert np.median(np.linalg.norm(names["tips"][:, -1, :2] - names["goals"], axis=-1)) < 0.05
