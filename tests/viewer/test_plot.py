"""Pictures of rollouts can be read."""

import numpy as np
import pytest

from jaxsim.viewer.trajectory_plot import _image

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
