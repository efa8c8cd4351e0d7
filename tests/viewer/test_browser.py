"""The viewer in a real headless browser, where there is one."""

import shutil
import time

import numpy as np
import pytest
from PIL import Image

import jaxsim

viser = pytest.importorskip("viser")

SCENE = """<mujoco><option timestep="0.005"/><worldbody><light pos="0 0 4"/>
<geom type="plane" size="0 0 1" rgba="0.8 0.8 0.8 1"/>
<body name="box" pos="0 0 1"><freejoint/><geom type="box" size="0.3 0.3 0.3" rgba="1 0 0 1"/></body>
</worldbody><keyframe><key name="up" qpos="0 0 2 1 0 0 0"/></keyframe></mujoco>"""


@pytest.fixture
def viewer():
    from jaxsim.viewer import view

    shown = view(jaxsim.load_model(SCENE), worlds=2, port=8931)
    yield shown
    shown.stop()


def until(condition, seconds=20.0):
    """Waits for what happens on other threads."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_a_viewer_runs_beside_the_program(viewer):
    assert viewer.url in viewer._repr_html_()
    viewer.session.playing = True
    until(lambda: viewer.session.moment > 0.05)
    until(lambda: float(viewer.session.data.qpos[0, 2]) < 1)
    viewer.session.playing = False
    viewer.session.reset("up")
    assert float(viewer.session.data.qpos[0, 2]) == 2
    assert viewer.failure is None


@pytest.mark.slow
def test_in_chromium(viewer, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium")
    flags = [
        "--no-sandbox",
        "--use-gl=angle",
        "--use-angle=swiftshader",
        "--enable-webgl",
        "--ignore-gpu-blocklist",
    ]
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": 700, "height": 480})
        page.goto(viewer.url)
        page.get_by_role("button", name="Play").wait_for(timeout=60_000)

        def redness() -> int:
            page.screenshot(path=tmp_path / "shot.png", timeout=60_000)
            pixels = np.asarray(Image.open(tmp_path / "shot.png").convert("RGB")).astype(int)
            return int(((pixels[..., 0] - pixels[..., 1:].max(-1)) > 60).sum())

        until(lambda: redness() > 500, 60)  # two red boxes
        page.get_by_role("button", name="Play").click()
        until(lambda: viewer.session.playing)
        until(lambda: viewer.session.moment > 0.1)
        page.get_by_role("button", name="Pause").click()
        until(lambda: not viewer.session.playing)
        page.get_by_role("button", name="Reset").click()
        until(lambda: viewer.session.moment == 0)
        browser.close()
    assert viewer.failure is None
