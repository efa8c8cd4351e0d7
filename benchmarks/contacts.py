"""Compares the contacts of every pair of geom types with the C engine's, in float64, and saves JSON.

    JAX_ENABLE_X64=1 python -m benchmarks.contacts                     # all pairs; about twenty minutes on two cores
    JAX_ENABLE_X64=1 python -m benchmarks.contacts --only box-mesh --each 300
    PYTHONPATH=. python docs/hooks/contacts.py                         # writes docs/contacts.md from the JSON

The C engine searches to 1e-10 m, jaxsim as it does by default. Where the two differ it is computed which is right: no
direction along which convex geoms overlap less than by their depth exists, so of two engines the one that found less
overlap is nearer to the truth.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.progress import track
from scipy.spatial import ConvexHull

import jaxsim
from benchmarks.poses import GROUPS, Pose, Support, overlap, poses, scene, supports
from jaxsim.cli.compare import machine
from jaxsim.collision import COLLIDERS, collision
from jaxsim.enums import GeomType
from jaxsim.interop.mujoco import put_model
from jaxsim.worlds import expand

__all__ = ["compared", "main", "pairs"]

RESULT = Path(__file__).parent / "results" / "contacts.json"
DIST, NORMAL, SAME = 1e-6, 1e-3, 1e-5
"""Errors of distances, m, and normals that count; points as far apart as that are the same, m."""


def pairs() -> list[tuple[str, str]]:
    """All pairs of types that the C engine collides without a function of the user's."""
    known = sorted(p for p in COLLIDERS if GeomType.SDF not in p)
    return [(GeomType(a).name.lower(), GeomType(b).name.lower()) for a, b in known]


def _frames(model: Any, pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    """World poses of the two geoms, (2, 3) and (2, 3, 3)."""
    mat = np.stack([t.as_matrix() for t in pose.turns])
    origin = np.stack([np.zeros(3), pose.offset])
    xpos = origin + np.einsum("gij,gj->gi", mat, model.geom_pos)
    own = np.zeros((2, 9))
    for g in range(2):
        import_module("mujoco").mju_quat2Mat(own[g], model.geom_quat[g])
    return xpos, mat @ own.reshape(2, 3, 3)


def _theirs(model: Any, data: Any, pose: Pose) -> np.ndarray:
    """The C engine's contacts at a pose: distance, position, normal, (n, 7)."""
    xpos, xmat = _frames(model, pose)
    data.geom_xpos[:], data.geom_xmat[:] = xpos, xmat.reshape(2, 9)
    import_module("mujoco").mj_collision(model, data)
    contact = data.contact
    return np.concatenate([contact.dist[:, None], contact.pos, contact.frame[:, :3]], axis=1)


def _ours(mj_model: Any, all_poses: list[Pose]) -> list[np.ndarray]:
    """Our contacts at all poses."""
    frames = [_frames(mj_model, pose) for pose in all_poses]
    xpos, xmat = (jnp.asarray(np.stack(part, axis=-1)) for part in zip(*frames, strict=True))
    one = put_model(mj_model)
    data = expand(jaxsim.make_data(one)).replace(geom_xpos=xpos, geom_xmat=xmat)
    contact = jax.jit(collision)(expand(one), data).contact
    table = np.concatenate([contact.dist[:, None], contact.pos, contact.frame[:, 0]], axis=1)
    used = np.asarray(contact.geom)[:, 0] >= 0
    return [table[used[:, w], :, w] for w in range(len(all_poses))]


def _spread(points: np.ndarray) -> float:
    """Area of the hull of points on a plane, (n, 3), or the length of the segment that they lie on."""
    flat = points - points.mean(axis=0)
    _, size, axes = np.linalg.svd(flat, full_matrices=False)
    if len(points) < 3 or size[1] < 1e-6:
        return float(np.ptp(flat @ axes[0]))
    return float(ConvexHull(flat @ axes[:2].T, qhull_options="QJ").volume)


def compared(
    pose: Pose, found: np.ndarray, wanted: np.ndarray, reach: list[Support] | None
) -> dict[str, Any]:
    """What differs at a pose, in numbers.

    Args:
      pose: the pose.
      found: our contacts, distance, position, normal (n, 7).
      wanted: the C engine's.
      reach: support functions if both geoms are convex.
    """
    row: dict[str, Any] = {"group": pose.group, "points": (len(found), len(wanted))}
    if not len(found) or not len(wanted):
        return row
    f, w = (side[np.argmin(side[:, 0])] for side in (found, wanted))
    row["error"] = float(abs(f[0] - w[0]))
    row["turned"] = float(np.linalg.norm(f[4:] - w[4:]))
    if reach is not None and len(found) == len(wanted) == 1:
        bounds = [-overlap(reach, pose, side[4:] / np.linalg.norm(side[4:])) for side in (f, w)]
        row["away"] = tuple(float(abs(side[0] - max(bounds))) for side in (f, w))
        row["tie"] = bool(abs(bounds[0] - bounds[1]) < DIST)
    if len(found) == len(wanted) > 1:
        gap = np.linalg.norm(found[:, None, 1:4] - wanted[None, :, 1:4], axis=-1)
        row["apart"] = float(max(gap.min(axis=0).max(), gap.min(axis=1).max()))
        row["spread"] = _spread(found[:, 1:4]) / max(_spread(wanted[:, 1:4]), 1e-9)
    return row


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of many poses: how many of a kind, and greatest errors, m."""
    touching = [r for r in rows if max(r["points"])]
    both = [r for r in touching if min(r["points"])]
    same = [r for r in both if r["points"][0] == r["points"][1]]
    other = [r for r in both if r["points"][0] != r["points"][1]]
    off = [r for r in same if r["error"] > DIST]
    turned = [r for r in same if r["turned"] > NORMAL and not r.get("tie", False)]
    judged = [r["away"] for r in same if "away" in r]
    flat = [r for r in same if "spread" in r]
    return {
        "poses": len(rows),
        "touching": len(touching),
        "only_ours": sum(not r["points"][1] for r in touching),
        "only_theirs": sum(not r["points"][0] for r in touching),
        "more_points": sum(r["points"][0] > r["points"][1] for r in other),
        "fewer_points": sum(r["points"][0] < r["points"][1] for r in other),
        "error_other": max((r["error"] for r in other), default=0.0),
        "error": max((r["error"] for r in same), default=0.0),
        "off": len(off),
        "our_error": max((a for a, _ in judged), default=None),
        "their_error": max((b for _, b in judged), default=None),
        "ties": sum(r["turned"] > NORMAL and r.get("tie", False) for r in same),
        "turned": len(turned),
        "flat": len(flat),
        "same_places": sum(r["apart"] < SAME for r in flat),
        "smaller": sum(r["spread"] < 0.99 for r in flat),
        "larger": sum(r["spread"] > 1.01 for r in flat),
        "least_spread": min((r["spread"] for r in flat), default=None),
    }


def measure(first: str, second: str, each: int, seed: int) -> list[dict[str, Any]]:
    """Differences of one pair of types at all poses."""
    mujoco = import_module("mujoco")
    model = mujoco.MjModel.from_xml_string(scene(first, second))
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-10, 400
    data, reach = mujoco.MjData(model), supports(model)
    mujoco.mj_forward(model, data)

    def distance(pose: Pose) -> float:
        return min(_theirs(model, data, pose)[:, 0], default=np.inf)

    drawn = poses(first, reach, distance, each, np.random.default_rng(seed))
    wanted = [_theirs(model, data, pose) for pose in drawn]
    fresh = mujoco.MjModel.from_xml_string(scene(first, second))
    convex = None if first == "hfield" else reach
    return [compared(p, f, w, convex) for p, f, w in zip(drawn, _ours(fresh, drawn), wanted, strict=True)]


def main(only: tuple[str, ...] = (), each: int = 60, seed: int = 0, out: Path = RESULT) -> None:
    """Compares pairs and saves what was found.

    Args:
        only: Pairs such as box-mesh; default: all.
        each: Poses of each kind.
        seed: Draws them.
        out: JSON that is written.
    """
    if not jax.config.jax_enable_x64:  # pyright: ignore
        raise SystemExit("set JAX_ENABLE_X64=1")
    chosen = [p for p in pairs() if not only or "-".join(p) in only]
    table = {}
    for first, second in track(chosen, "pairs"):
        rows = measure(first, second, each, seed)
        table[f"{first}-{second}"] = {
            **_summary(rows),
            "groups": {g: _summary(own) for g in GROUPS if (own := [r for r in rows if r["group"] == g])},
        }
    out.write_text(json.dumps({"machine": machine(), "each": each, "pairs": table}, indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
