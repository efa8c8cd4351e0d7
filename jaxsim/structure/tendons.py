"""Tendon paths, derived once from the model's static part: their segments, and who may lengthen them.

A spatial path is a chain of straight segments and of segments that may wrap around a geom. Each pulls on the bodies
at its ends, a wrapped one on the body of its geom too. The length changes with a degree of freedom that moves one end
of a segment but not the other, so the Jacobian has entries for these alone (computation chapter, "Tendons").
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.enums import WrapType
from jaxsim.pytree import Static, index_array
from jaxsim.structure.trees import Entries, tree

__all__ = [
    "Coefficients",
    "Paths",
    "Pulls",
    "Segments",
    "joint_coefficients",
    "pulls",
    "tendon_entries",
    "tendon_paths",
]


class Segments(NamedTuple):
    """Segments of spatial tendons, by columns.

    Attributes:
      tendon: whose.
      start: site.
      end: site.
      pulley: object of the path that divides the length, -1: none.
      geom: that may be in the way, -1: none.
      side: site on the side where the path must pass, -1: none.
    """

    tendon: np.ndarray
    start: np.ndarray
    end: np.ndarray
    pulley: np.ndarray
    geom: np.ndarray
    side: np.ndarray

    def of(self, chosen: np.ndarray) -> Segments:
        """Some of the segments."""
        return Segments(*(column[chosen] for column in self))


class Paths(NamedTuple):
    """All segments, by what may be in the way.

    Attributes:
      straight: nothing.
      free: a geom that is passed on any side; spheres, then cylinders.
      free_spheres: how many of these are spheres.
      sided: a geom that is passed on the side of a site; spheres, then cylinders.
      sided_spheres: how many of these are spheres.
    """

    straight: Segments
    free: Segments
    free_spheres: int
    sided: Segments
    sided_spheres: int

    @property
    def wrapping(self) -> Segments:
        """Those with a geom: the free, then the sided."""
        return Segments(*(np.concatenate(columns) for columns in zip(self.free, self.sided, strict=True)))


class Coefficients(NamedTuple):
    """Terms of fixed tendons, whose lengths are linear in joint positions.

    Attributes:
      wrap: the object of the path; its `wrap_prm` is the coefficient.
      joint: the joint.
      tendon: whose.
      entry: in `tendon_entries`.
    """

    wrap: np.ndarray
    joint: np.ndarray
    tendon: np.ndarray
    entry: np.ndarray


class Pulls(NamedTuple):
    """How pulls on bodies add up to the Jacobian of spatial tendons.

    A *pull* is what a segment does at a point: starts and ends of the straight ones are listed first, then starts, ends
    and geoms of the wrapping ones.
    Those of a tendon on one body are a *pair*; those of a tendon on all that a body carries are a *load*.

    Attributes:
      tendon: whose each pull is.
      at: the body that it is on.
      kept: pulls on bodies that can move.
      body: the body of each pair.
      pair: the pair of each kept pull.
      source: pairs, one for each load that has it.
      load: the load that has it.
      loads: how many loads there are.
      entry: in `tendon_entries`.
      dof: the degree of freedom of each of these entries.
      of_load: the load whose work along the dof the entry is.
    """

    tendon: np.ndarray
    at: np.ndarray
    kept: np.ndarray
    body: np.ndarray
    pair: np.ndarray
    source: np.ndarray
    load: np.ndarray
    loads: int
    entry: np.ndarray
    dof: np.ndarray
    of_load: np.ndarray


@functools.lru_cache(maxsize=64)
def tendon_paths(static: Static) -> Paths:
    """The segments of all spatial tendons."""
    rows: list[tuple[int, ...]] = []
    kinds: list[int] = []
    for t in range(static.ntendon):
        w, pulley = int(static.tendon_adr[t]), -1
        last = w + int(static.tendon_num[t]) - 1
        if static.wrap_type[w] == WrapType.JOINT:
            continue
        while w < last:
            here, after = static.wrap_type[w], static.wrap_type[w + 1]
            if here == WrapType.PULLEY:
                pulley = w
            elif after == WrapType.SITE:
                rows.append((t, static.wrap_objid[w], static.wrap_objid[w + 1], pulley, -1, -1))
                kinds.append(WrapType.SITE)
            elif after != WrapType.PULLEY:
                geom, side = static.wrap_objid[w + 1], static.wrap_sideid[w + 1]
                rows.append((t, static.wrap_objid[w], static.wrap_objid[w + 2], pulley, geom, side))
                kinds.append(after)
                w += 1
            w += 1
    segments = Segments(*index_array(rows).reshape(-1, 6).T)
    kind, sided = np.array(kinds, int), segments.side >= 0
    groups = []
    for chosen in (~sided, sided):
        parts = [np.flatnonzero((kind == k) & chosen) for k in (WrapType.SPHERE, WrapType.CYLINDER)]
        groups += [segments.of(np.concatenate(parts)), len(parts[0])]
    return Paths(segments.of(kind == WrapType.SITE), *groups)


def _joint_terms(static: Static) -> np.ndarray:
    """(wrap, joint, tendon, dof) of every term of fixed tendons."""
    rows = []
    for t in range(static.ntendon):
        first, count = int(static.tendon_adr[t]), int(static.tendon_num[t])
        for w in range(first, first + count):
            if static.wrap_type[w] == WrapType.JOINT:
                joint = static.wrap_objid[w]
                rows.append((w, joint, t, static.jnt_dofadr[joint]))
    return index_array(rows).reshape(-1, 4)


def _ends(static: Static) -> np.ndarray:
    """(tendon, body, body) of every pair of points whose distance is part of a length."""
    paths = tendon_paths(static)
    body = static.site_bodyid
    straight, wrapping = paths.straight, paths.wrapping
    geom = static.geom_bodyid[wrapping.geom]
    return np.concatenate(
        [
            np.stack([straight.tendon, body[straight.start], body[straight.end]], 1),
            np.stack([wrapping.tendon, body[wrapping.start], geom], 1),
            np.stack([wrapping.tendon, geom, body[wrapping.end]], 1),
        ]
    )


@functools.lru_cache(maxsize=64)
def tendon_entries(static: Static) -> Entries:
    """(tendon, dof) of the entries of `Work.ten_J`, by tendon, then by dof."""
    found = {(int(t), int(d)) for _, _, t, d in _joint_terms(static)}
    path = tree(static).path.astype(bool)
    for t, a, b in _ends(static).tolist():
        found.update((t, d) for d in np.flatnonzero(path[a] != path[b]).tolist())
    table = index_array(sorted(found)).reshape(-1, 2)
    return Entries(table[:, 0], table[:, 1])


def _places(static: Static) -> dict[tuple[int, int], int]:
    rows, cols = tendon_entries(static)
    return {pair: i for i, pair in enumerate(zip(rows.tolist(), cols.tolist(), strict=True))}


@functools.lru_cache(maxsize=64)
def joint_coefficients(static: Static) -> Coefficients:
    """The terms of all fixed tendons."""
    places = _places(static)
    wrap, joint, tendon, dof = _joint_terms(static).T
    entry = [places[pair] for pair in zip(tendon.tolist(), dof.tolist(), strict=True)]
    return Coefficients(wrap, joint, tendon, index_array(entry))


@functools.lru_cache(maxsize=64)
def pulls(static: Static) -> Pulls:
    """How pulls add up."""
    paths = tendon_paths(static)
    straight, wrapping = paths.straight, paths.wrapping
    site, geom = static.site_bodyid, static.geom_bodyid
    tendon = np.concatenate([straight.tendon] * 2 + [wrapping.tendon] * 3)
    ends = [
        site[straight.start],
        site[straight.end],
        site[wrapping.start],
        site[wrapping.end],
        geom[wrapping.geom],
    ]
    body = np.concatenate(ends)
    moved = tree(static).path.astype(bool)
    kept = np.flatnonzero(moved[body].any(axis=1))
    pairs, pair = np.unique(np.stack([tendon[kept], body[kept]], 1), axis=0, return_inverse=True)
    loads: dict[tuple[int, int], int] = {}
    sources: list[tuple[int, int]] = []
    entries = []
    fixed = set(joint_coefficients(static).entry.tolist())
    rows, cols = tendon_entries(static)
    for e, (t, d) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
        if e in fixed:
            continue
        carrier = int(static.dof_bodyid[d])
        if (t, carrier) not in loads:
            loads[t, carrier] = len(loads)
            sources += [
                (p, loads[t, carrier])
                for p in np.flatnonzero((pairs[:, 0] == t) & moved[pairs[:, 1], d]).tolist()
            ]
        entries.append((e, d, loads[t, carrier]))
    source, load = index_array(sources).reshape(-1, 2).T
    entry, dof, of_load = index_array(entries).reshape(-1, 3).T
    return Pulls(
        tendon=index_array(tendon),
        at=index_array(body),
        kept=index_array(kept),
        body=index_array(pairs[:, 1]),
        pair=index_array(pair.reshape(-1)),
        source=source,
        load=load,
        loads=len(loads),
        entry=entry,
        dof=dof,
        of_load=of_load,
    )
