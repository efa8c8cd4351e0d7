"""Poses of two geoms in which colliders are compared: apart, touching, shallow, deep, and exactly aligned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from jaxsim.enums import GeomType

__all__ = ["GROUPS", "SHAPES", "Pose", "Support", "overlap", "poses", "scene", "supports"]

MARGIN = 1 / 64
"""Distance of detection, m."""
_OUTLINE = ((0.25, 0.0), (0.125, 0.1875), (-0.1875, 0.125), (-0.25, -0.125), (0.0625, -0.1875))
_PRISM = " ".join(f"{x} {y} {z}" for z in (-0.1875, 0.25) for x, y in _OUTLINE)
_HEIGHTS = [
    [
        0.5 if column > 4 else round(0.5 + 0.5 * np.sin(2.3 * column) * np.cos(1.7 * row), 3)
        for column in range(9)
    ]
    for row in range(9)
]
_ELEVATION = " ".join(str(h) for row in _HEIGHTS for h in row)
_ASSETS = f"""<asset><mesh name="prism" vertex="{_PRISM}"/>
  <hfield name="bumps" nrow="9" ncol="9" size="2 2 .5 .25" elevation="{_ELEVATION}"/></asset>"""
SHAPES = {
    "plane": 'type="plane" size="2 2 1"',
    "hfield": 'type="hfield" hfield="bumps"',
    "sphere": 'type="sphere" size=".25"',
    "capsule": 'type="capsule" size=".125 .25"',
    "ellipsoid": 'type="ellipsoid" size=".25 .125 .5"',
    "cylinder": 'type="cylinder" size=".25 .125"',
    "box": 'type="box" size=".25 .125 .5"',
    "mesh": 'type="mesh" mesh="prism"',
}
"""Geoms; sums of their sizes are exact, so that ties of features are."""
GROUPS = ("apart", "touching", "shallow", "deep", "parallel", "crossing", "coinciding")
"""Kinds of poses."""
_FIXED = ("plane", "hfield")
_UP = np.array([0.0, 0.0, 1.0])
_QUARTERS = Rotation.create_group("O")

Support = Callable[[np.ndarray], float]
"""How far a geom reaches along a unit vector of its body's frame, from the body's origin, m."""


class Pose(NamedTuple):
    """Of the bodies of two geoms.

    Attributes:
      group: kind of pose.
      turns: orientations of the two.
      offset: from the first to the second, m, world frame.
    """

    group: str
    turns: tuple[Rotation, Rotation]
    offset: np.ndarray


def scene(first: str, second: str) -> str:
    """MJCF of two geoms; planes and height fields are fixed."""
    lead = f'<geom {SHAPES[first]} margin="{MARGIN}"/>'
    lead = lead if first in _FIXED else f"<body><freejoint/>{lead}</body>"
    other = f"<body><freejoint/><geom {SHAPES[second]}/></body>"
    return f"<mujoco>{_ASSETS}<worldbody>{lead}{other}</worldbody></mujoco>"


def supports(model: Any) -> list[Support]:
    """Support functions of a scene's geoms; infinite for planes but upwards, none (0) for height fields."""
    found: list[Support] = []
    for geom, kind in enumerate(model.geom_type):
        corners = model.mesh_vert.astype(float) if kind == GeomType.MESH else np.zeros((1, 3))
        frame = Rotation.from_quat(model.geom_quat[geom], scalar_first=True).as_matrix()
        found.append(
            _support(int(kind), model.geom_size[geom].copy(), corners, frame, model.geom_pos[geom].copy())
        )
    return found


def _support(kind: int, size: np.ndarray, corners: np.ndarray, frame: np.ndarray, pos: np.ndarray) -> Support:
    table: dict[int, Support] = {
        GeomType.PLANE: lambda n: 0.0 if n[2] > 1 - 1e-9 else np.inf,
        GeomType.SPHERE: lambda n: size[0] * np.linalg.norm(n),
        GeomType.CAPSULE: lambda n: size[0] * np.linalg.norm(n) + size[1] * abs(n[2]),
        GeomType.ELLIPSOID: lambda n: float(np.linalg.norm(size * n)),
        GeomType.CYLINDER: lambda n: size[0] * np.hypot(n[0], n[1]) + size[1] * abs(n[2]),
        GeomType.BOX: lambda n: float(np.abs(n) @ size),
        GeomType.MESH: lambda n: float(np.max(corners @ n)),
    }
    local = table.get(kind, lambda n: 0.0)
    return lambda n: float(local(n @ frame) + pos @ n)


def overlap(reach: list[Support], pose: Pose, n: np.ndarray) -> float:
    """How far the geoms overlap along a unit vector from the first to the second, m; the least of all is the depth."""
    ends = [s(t.inv().apply(sign * n)) for s, t, sign in zip(reach, pose.turns, (1, -1), strict=True)]
    return sum(ends) - float(pose.offset @ n)


def poses(
    first: str,
    reach: list[Support],
    distance: Callable[[Pose], float],
    each: int,
    rng: np.random.Generator,
) -> list[Pose]:
    """Poses of every kind, `each` of them.

    Args:
      first: type of the first geom.
      reach: support functions of both.
      distance: signed distance of a pose, m, infinite where it is beyond that of detection.
      each: how many of a kind.
      rng: draws them.
    """
    found = []
    for group in GROUPS:
        if group == "coinciding" and first in _FIXED:
            continue
        for k in range(each):
            if group in ("parallel", "crossing", "coinciding"):
                found.append(_aligned(group, first, reach, distance, k, rng))
            else:
                found.append(_random(group, first, distance, rng))
    return found


def _random(group: str, first: str, distance: Callable[[Pose], float], rng: np.random.Generator) -> Pose:
    """Both turned anyhow, the second moved away in any direction until the distance is that of its kind."""
    one, two = Rotation.random(rng=rng), Rotation.random(rng=rng)
    away, aside = rng.normal(size=3), np.zeros(3)
    away /= np.linalg.norm(away)
    if first in _FIXED:
        one, away = Rotation.identity(), _UP
        aside = np.array([*rng.uniform(-1.25, 1.25, 2), 0.0])
    wanted = {"apart": MARGIN * rng.uniform(0.05, 0.95), "touching": 0.0, "deep": 0.0}
    wanted = wanted.get(group, -MARGIN * rng.uniform(0.01, 0.5))
    pose = _moved(Pose(group, (one, two), aside), away, wanted, distance)
    depth = rng.uniform(0.02, 0.1) if first in _FIXED else rng.uniform(0.2, 0.8) * np.linalg.norm(pose.offset)
    return pose._replace(offset=pose.offset - away * depth) if group == "deep" else pose


def _moved(pose: Pose, away: np.ndarray, wanted: float, distance: Callable[[Pose], float]) -> Pose:
    """The second geom moved to a distance: by bisection, as signed distances are convex along lines."""
    low, high = 0.0, 2.0
    for _ in range(45):
        middle = 0.5 * (low + high)
        near = distance(pose._replace(offset=pose.offset + middle * away)) < wanted
        low, high = (middle, high) if near else (low, middle)
    return pose._replace(offset=pose.offset + 0.5 * (low + high) * away)


def _aligned(
    group: str,
    first: str,
    reach: list[Support],
    distance: Callable[[Pose], float],
    number: int,
    rng: np.random.Generator,
) -> Pose:
    """Axes parallel and faces flush, or edges that cross at right angles, or one origin."""
    whole = Rotation.random(rng=rng) if number % 2 and first not in _FIXED else Rotation.identity()
    one, two = (_QUARTERS[int(rng.integers(24))] for _ in range(2))
    if group == "crossing":
        one, two = (
            Rotation.from_euler("x", 45, degrees=True) * one,
            Rotation.from_euler("y", 45, degrees=True) * two,
        )
    else:
        two = Rotation.from_euler("z", rng.choice([0.0, 45.0, rng.uniform(0, 360)]), degrees=True) * two
    one = Rotation.identity() if first in _FIXED else one
    aside = rng.integers(-2, 3, 3) / 16 * (1, 1, 0)
    if group == "coinciding":
        return Pose(group, (whole * one, whole * two), np.zeros(3))
    gap = rng.choice([0.0, -1 / 128, 1 / 128])
    if first == "hfield":
        aside += (1.0, 0.0, 0.0) if number % 2 else (-0.5, 0.0, 0.0)
        return _moved(Pose(group, (one, two), aside), _UP, gap, distance)
    height = reach[0](one.inv().apply(_UP)) + reach[1](two.inv().apply(-_UP)) + gap
    return Pose(group, (whole * one, whole * two), whole.apply(aside + height * _UP))
