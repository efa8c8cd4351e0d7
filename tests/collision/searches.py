"""Random pairs of convex geoms of all types, each a lane, and what the general collider's searches find of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.spatial.transform import Rotation

from jaxsim.collision.convex import gjk
from jaxsim.collision.convex.difference import farthest, pairs_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.convex.solid import KINDS
from jaxsim.collision.convex.witness import hold
from jaxsim.collision.points import Portion, Search, Shape
from jaxsim.collision.vec import Pose
from jaxsim.enums import GeomType

__all__ = ["TYPES", "found", "same", "scene"]

TYPES = tuple(t for t in KINDS if t != GeomType.HFIELD)


def scene(lanes: int, meshes: int, dtype: Any = np.float64) -> tuple[Any, ...]:
    """Poses, sizes, meshes and types of two geoms for each lane: apart, touching, overlapping; some aligned."""
    rng = np.random.default_rng(0)

    def geom(center: np.ndarray, turned: np.ndarray) -> tuple[np.ndarray, ...]:
        axes = np.where(turned, Rotation.random(lanes, rng).as_matrix().T, np.eye(3)[..., None])
        return (
            np.concatenate([center, axes.reshape(9, lanes)])[None].astype(dtype),
            rng.uniform(0.05, 0.2, (1, 3, lanes)).astype(dtype),
            rng.integers(0, meshes, (1, lanes)).astype(np.int32),
            rng.choice([int(t) for t in TYPES], (1, lanes)).astype(np.int32),
        )

    turned = rng.random(lanes) < 0.8
    center = rng.uniform(-0.35, 0.35, (3, lanes)) * (rng.random(lanes) < 0.95)
    return geom(np.zeros((3, lanes)), turned), geom(center, turned)


def found(
    tables: Tables, one: tuple[Any, ...], other: tuple[Any, ...]
) -> tuple[gjk.Nearest, Array, Array, Array]:
    """Distances, normals of overlaps, depths along these, and exact normals, as on the platform that is chosen."""
    shapes = [Shape(Pose(pose), *rest, assets=tables) for pose, *rest in (one, other)]
    pairs = pairs_of([Portion((TYPES, TYPES), 1, 1)], *shapes)
    dtype, width = one[0].dtype, one[0].shape[-1]
    asked = jnp.arange(width)[None] % 16 != 0
    search = Search(asked, jnp.full(1, 50), jnp.full(1, 1e-6, dtype))
    nearest = gjk.nearest(pairs, jnp.full((1, width), 0.1, dtype), search)
    features = find_features(pairs, nearest, search, (TYPES, TYPES), tuple(shapes))
    held = hold(pairs, (TYPES, TYPES), tuple(shapes), features)
    normal = features.normal
    return nearest, jnp.stack(normal), farthest(pairs, normal).point.dot(normal), jnp.stack(held.normal)


def same(one: Any, other: Any, tolerance: float) -> None:
    """Checks that two searches found the same, up to a tolerance (m); of equal corners they may find others."""
    (nearest, normal, depth, exact), (nearest_of, normal_of, depth_of, exact_of) = jax.tree.map(
        np.asarray, (one, other)
    )
    for name in ("far", "meet"):
        np.testing.assert_array_equal(getattr(nearest, name), getattr(nearest_of, name))
    meet = nearest.meet[0]
    apart = ~meet & ~nearest.far[0]  # of others the search ends anywhere
    assert meet.sum() > 20
    assert apart.sum() > 20
    distances = [np.sqrt(n.square)[0, apart] for n in (nearest, nearest_of)]
    np.testing.assert_allclose(*distances, rtol=0, atol=tolerance)
    points = [np.stack(n.point)[:, 0, apart] for n in (nearest, nearest_of)]
    moved = np.linalg.norm(points[0] - points[1], axis=0)
    # along curved surfaces a distance hardly changes: within its tolerance of 1e-6 m lie points sqrt(2e-6 d) around
    assert (moved > tolerance).mean() < 0.05
    assert moved.max() < 1e-3
    off = np.abs(depth - depth_of)[0, meet]
    # of curved cores with one centre the search may end before it is done, and elsewhere
    assert (off > tolerance).mean() < 0.02
    assert off.max() < 1e-2
    # of several faces equally near any may be found
    assert (np.abs(normal - normal_of).max(axis=0)[0, meet] > 1e-2).mean() < 0.05
    # Newton's method leads to one normal from nearly all of the two searches' ends
    near = apart | meet
    turned = np.abs(exact - exact_of).max(axis=0)[0, near]
    assert np.median(turned) < 0.01 * tolerance
    assert (turned > 1e-2).mean() < 0.05
