"""Pictures of rollouts can be read."""

import numpy as np
import pytest

import jaxsim
from jaxsim.viewer import trajectory_plot
from jaxsim.viewer.trajectory_plot import _image, plot_rollout

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("grey", [0, 60, 128, 255])
def test_captions_are_read_on_any_background(grey):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1), dpi=110)
    canvas = FigureCanvasAgg(figure)
    _image(figure.add_axes((0, 0, 1, 1)), np.full((4, 8, 3), grey, np.uint8), "0.25 s")
    canvas.draw()
    corner = np.asarray(canvas.buffer_rgba())[12:32, 12:60, :3].astype(float).mean(-1) / 255
    dark, light = np.quantile(corner, [0.02, 0.75])
    # the contrast that WCAG 2.1, 1.4.3, asks of text, of luminances
    assert (light**2.2 + 0.05) / (dark**2.2 + 0.05) >= 4.5


def test_moments_of_a_policy(monkeypatch, tmp_path):
    """Times are those of its actions, and what is moved by hand, a goal say, is where it was."""
    model = jaxsim.load_model("""<mujoco><worldbody><body name="goal" mocap="true"><geom size=".1"/></body>
      <body><joint type="slide"/><geom size=".1"/></body></worldbody></mujoco>""")
    moments, captions, blank = [], [], np.zeros((4, 4, 3), np.uint8)
    monkeypatch.setattr(
        trajectory_plot, "_moment_images", lambda m, s, x: [moments.append(k) or blank for k in x]
    )
    monkeypatch.setattr(trajectory_plot, "_crowd_image", lambda *_: blank)
    monkeypatch.setattr(trajectory_plot, "_image", lambda axes, image, caption: captions.append(caption))
    path = {"qpos": np.zeros((2, 5, 1)), "ncon": np.zeros((2, 5), int), "mocap_pos": np.zeros((2, 5, 1, 3))}
    path["mocap_pos"][0, :, 0, 0] = range(5)
    plot_rollout(model, path, tmp_path / "plot.png", title="policy", every=0.04)
    assert captions[0] == "0.04 s"
    assert captions[-1] == "2 of 2 worlds at 0.20 s"
    np.testing.assert_allclose([m.xpos[model.id("body", "goal"), 0] for m in moments], range(5))
