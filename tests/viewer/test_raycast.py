"""The ray caster against what a picture must show."""

import numpy as np
import pytest

from jaxsim.enums import GeomType
from jaxsim.viewer.raycast import Camera, Scene, render

RED, FLOOR = [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]


def scene(*geoms):
    """Geoms as `(type, size, pos, rgba)`."""
    kinds, sizes, places, colours = zip(*geoms, strict=True)
    eye = np.broadcast_to(np.eye(3), (len(geoms), 3, 3))
    return Scene(np.array(kinds), np.array(sizes, float), np.array(places, float), eye, np.array(colours))


def reddish(image):
    pixels = image.astype(int)
    return pixels[..., 0] > pixels[..., 1] + 40


LEVEL = Camera(np.zeros(3), distance=50.0, azimuth=90, elevation=0, fovy=3)
HALF = 50 * np.tan(np.radians(1.5))
"""Half the height (m) of what LEVEL sees at its target."""


@pytest.mark.parametrize(
    ("kind", "size", "height", "width"),
    [
        (GeomType.SPHERE, (0.5, 0, 0), 1.0, 1.0),
        (GeomType.CAPSULE, (0.3, 0.4, 0), 1.4, 0.6),
        (GeomType.CYLINDER, (0.3, 0.4, 0), 0.8, 0.6),
        (GeomType.ELLIPSOID, (0.6, 0.2, 0.3), 0.6, 1.2),
        (GeomType.BOX, (0.6, 0.01, 0.3), 0.6, 1.2),
        (GeomType.MESH, (0.6, 0.01, 0.3), 0.6, 1.2),
    ],
)
def test_a_geom_covers_its_outline(kind, size, height, width):
    image = reddish(render(scene((kind, size, (0, 0, 0), RED)), LEVEL, 200, 200, samples=1))
    rows, columns = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
    scale = 200 / (2 * HALF)
    # one pixel at each end, and at most 2% because the near side looks larger
    assert rows[-1] - rows[0] + 1 == pytest.approx(height * scale, abs=2, rel=0.02)
    assert columns[-1] - columns[0] + 1 == pytest.approx(width * scale, abs=2, rel=0.02)
    assert abs(rows[0] + rows[-1] - 199) <= 2
    assert abs(columns[0] + columns[-1] - 199) <= 2


def test_the_nearer_geom_hides_the_farther():
    blue = [0.0, 0.0, 1.0, 1.0]
    near = (GeomType.SPHERE, (0.3, 0, 0), (0, -1, 0), blue)
    far = (GeomType.BOX, (1, 0.1, 1), (0, 1, 0), RED)
    for order in ((near, far), (far, near)):
        image = render(scene(*order), LEVEL, 64, 64).astype(int)
        assert image[32, 32, 2] > image[32, 32, 0]
        assert image[12, 32, 0] > image[12, 32, 2]


def test_what_is_behind_or_invisible_is_not_drawn():
    behind = (GeomType.SPHERE, (0.5, 0, 0), (0, -60, 0), RED)
    invisible = (GeomType.SPHERE, (0.5, 0, 0), (0, 0, 0), [1.0, 0.0, 0.0, 0.0])
    assert not reddish(render(scene(behind, invisible), LEVEL, 40, 40)).any()


def test_a_body_throws_a_shadow_on_the_floor():
    floor = (GeomType.PLANE, (0, 0, 0.1), (0, 0, 0), FLOOR)
    ball = (GeomType.SPHERE, (0.3, 0, 0), (0, 0, 1), RED)
    above = Camera(np.zeros(3), distance=6.0, azimuth=90, elevation=-89)
    plain = render(scene(floor), above, 80, 80).astype(int).sum(-1)
    shaded = render(scene(floor, ball), above, 80, 80).astype(int)
    darker = (shaded.sum(-1) < plain - 100) & ~reddish(shaded)
    assert darker.any()
    # the sun stands at -x, -y: the shadow falls to +x (right) and +y (up)
    rows, columns = np.nonzero(darker)
    assert rows.mean() < 40 < columns.mean()


def test_the_same_scene_gives_the_same_picture():
    geoms = scene(
        (GeomType.CAPSULE, (0.2, 0.5, 0), (0, 0, 0), RED), (GeomType.PLANE, (2, 2, 1), (0, 0, -1), FLOOR)
    )
    first, again = (render(geoms, LEVEL, 32, 32) for _ in range(2))
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, again)
