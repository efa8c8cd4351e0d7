"""Which entries of a symmetric matrix are stored, where the matrix has the sparsity of a tree."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Alike",
    "Patch",
    "TreeStructure",
    "alike_trees",
    "chains_of",
    "patches_of",
    "places_of",
    "tree_structure",
    "trees_of",
]

Patch = tuple[int, int, int, int]
"""A rectangle of a matrix: first row and end, first column and end."""

_WORTHWHILE = 0.75
"""Share of the matrix that patches may cover: more are not worth a kernel each."""

_PATCHES = 8
"""Most patches: each has as many products in a kernel as rows are summed there, all of which are compiled."""

_WASTE = 1.5
"""How many times their area they may have at most by that."""

_NEAR = 4
"""Places in their list that two patches may be apart to become one: all pairs of hundreds of trees take seconds."""

_BANDS, _LEAST = 4, 7
"""Most bands of rows that cover it instead, and fewest rows of one."""


class TreeStructure:
    """Which entries of a symmetric matrix are stored: those between a degree of freedom and its ancestors.

    Attributes:
      parent: degree of freedom above each, -1: none.
      paths: for each, its ancestors from the root down, itself last.
      offset: where each one's row starts in the list of entries.
      descendants: for each, those strictly below it.
    """

    __slots__ = ("_hash", "cols", "descendants", "n", "offset", "parent", "paths", "rows")

    def __init__(self, parent: Sequence[int]):
        """Derives all that is known of the matrix from the parent of each degree of freedom."""
        self.parent = tuple(int(p) for p in parent)
        self._hash = hash(self.parent)
        self.n = len(self.parent)
        paths: list[tuple[int, ...]] = []
        for i, p in enumerate(self.parent):
            if not -1 <= p < i:
                raise ValueError(f"parent of degree of freedom {i} is {p}; it must be -1 or a smaller index")
            paths.append(((*paths[p], i)) if p >= 0 else (i,))
        self.paths = tuple(paths)
        self.offset = tuple(int(x) for x in np.cumsum([0, *(len(p) for p in paths)]))
        below: list[list[int]] = [[] for _ in paths]
        for i, path in enumerate(paths):
            for j in path[:-1]:
                below[j].append(i)
        self.descendants = tuple(tuple(b) for b in below)
        self.rows = np.array([i for i, path in enumerate(paths) for _ in path], dtype=np.int32)
        self.cols = np.array([j for path in paths for j in path], dtype=np.int32)

    @property
    def size(self) -> int:
        """Number of stored entries, nM."""
        return self.offset[-1]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TreeStructure) and self.parent == other.parent)


@functools.lru_cache(maxsize=256)
def _structure(parent: tuple[int, ...]) -> TreeStructure:
    return TreeStructure(parent)


def tree_structure(dof_parentid: Any) -> TreeStructure:
    """Structure of the joint-space inertia of a model, from `model.dof_parentid`; cached."""
    return _structure(tuple(int(p) for p in dof_parentid))


def places_of(structure: TreeStructure) -> np.ndarray:
    """Where each element of the matrix is among the stored entries, (n, n); one past their end: nowhere."""
    places = np.full((structure.n, structure.n), structure.size)
    places[structure.rows, structure.cols] = np.arange(structure.size)
    return np.minimum(places, places.T)


def chains_of(structure: TreeStructure) -> list[tuple[int, int]]:
    """First and end of the longest runs of degrees of freedom that do not branch, each the only child of the last."""
    parent = structure.parent
    children = np.bincount([p for p in parent if p >= 0], minlength=structure.n)
    starts = [i for i, p in enumerate(parent) if p < 0 or p != i - 1 or children[p] > 1]
    return list(itertools.pairwise([*starts, structure.n]))


@functools.lru_cache(maxsize=256)
def trees_of(structure: TreeStructure) -> np.ndarray:
    """Degrees of freedom of each kinematic tree, (most of any, number of trees); n: none."""
    starts, ends = np.array(_spans(structure), int).reshape(-1, 2).T
    sizes = ends - starts
    places = np.arange(max(sizes, default=0))[:, None]
    return np.where(places < sizes, places + starts, structure.n)


def _spans(structure: TreeStructure) -> list[tuple[int, int]]:
    """First degree of freedom and end of each kinematic tree.

    What couples two trees makes one of them, in which those between, if there are any, lie too.
    """
    roots = [path[0] for path in structure.paths]
    first = np.minimum.accumulate(roots[::-1])[::-1]  # root of any from here on
    starts = [i for i, root in enumerate(first) if root == i]
    return list(itertools.pairwise([*starts, structure.n]))


class Alike(NamedTuple):
    """Kinematic trees of one shape.

    Attributes:
      structure: of each of them.
      dofs: the degrees of freedom of each, (n, number of trees).
      entries: its stored entries, (nnz, number of trees).
    """

    structure: TreeStructure
    dofs: np.ndarray
    entries: np.ndarray


@functools.lru_cache(maxsize=256)
def alike_trees(structure: TreeStructure) -> tuple[Alike, ...]:
    """All trees, those of one shape together; none if no two are alike."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    spans = _spans(structure)
    for start, stop in spans:
        shape = tuple(max(p - start, -1) for p in structure.parent[start:stop])
        by_shape.setdefault(shape, []).append(start)
    if len(by_shape) == len(spans):
        return ()
    found = []
    for shape, at in by_shape.items():
        own = tree_structure(shape)
        first = np.array([structure.offset[start] for start in at])
        found.append(Alike(own, np.arange(own.n)[:, None] + at, np.arange(own.size)[:, None] + first))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def patches_of(structure: TreeStructure) -> tuple[Patch, ...]:
    """Few rectangles that hold all stored entries: each branch against itself and against what is above it.

    Where they are many, those that lie well together become one. Where all that saves little, bands of rows up to the
    diagonal.
    """
    n = structure.n
    patches: list[Patch] = []
    for start, stop in chains_of(structure):
        columns = np.array(structure.paths[stop - 1])
        runs = np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)
        patches += [(start, stop, int(run[0]), int(run[-1]) + 1) for run in runs]
    most = _WASTE * _area(patches).sum()
    while len(patches) > _PATCHES and _area(fewer := _with_two_as_one(patches)).sum() <= most:
        patches = fewer
    area = _area(patches).sum()
    bands = max(1, min(_BANDS, n // _LEAST))
    ends = [n * k // bands for k in range(bands + 1)]
    return (
        tuple(patches)
        if area < _WORTHWHILE * n * n
        else tuple((a, b, 0, b) for a, b in itertools.pairwise(ends))
    )


def _with_two_as_one(patches: list[Patch]) -> list[Patch]:
    """The patches, but of those near each other in the list the two that waste least by it are one that holds both."""
    bounds = np.array(patches)
    near = [(k, k + gap) for gap in range(1, _NEAR + 1) for k in range(len(patches) - gap)]
    one, other = (bounds[list(side)] for side in zip(*near, strict=True))
    around = np.where([True, False, True, False], np.minimum(one, other), np.maximum(one, other))
    best = int(np.argmin(_area(around) - _area(one) - _area(other)))
    (first, second), (top, bottom, left, right) = near[best], around[best].tolist()
    rest = [patch for k, patch in enumerate(patches) if k not in (first, second)]
    return [*rest[:first], (top, bottom, left, right), *rest[first:]]


def _area(patches: Sequence[Patch] | np.ndarray) -> np.ndarray:
    """Entries of each patch, (n,)."""
    top, bottom, left, right = np.reshape(patches, (-1, 4)).T
    return (bottom - top) * (right - left)
