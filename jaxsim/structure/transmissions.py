"""On which degrees of freedom actuators act, derived once from the model's static part.

An actuator on a tendon, or between two bodies, acts on the dofs that lengthen it: those that move one of its ends but
not the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from jaxsim.enums import TrnType
from jaxsim.pytree import Static, index_array
from jaxsim.structure.tendons import tendon_entries
from jaxsim.structure.trees import Entries, joint_dofs, tree

__all__ = ["end_entries", "entries_of", "moment_entries"]


def _on_joint(static: Static, i: int) -> list[list[int]]:
    return [list(joint_dofs(static, int(static.actuator_trnid[i, 0])))]


def _on_tendon(static: Static, i: int) -> list[list[int]]:
    rows, cols = tendon_entries(static)
    return [cols[rows == static.actuator_trnid[i, 0]].tolist()]


def _between_sites(static: Static, i: int) -> list[list[int]]:
    moved = _moved(static, i)
    return [np.flatnonzero(moved[0] != moved[1]).tolist()]


def _orientation(static: Static, i: int) -> list[list[int]]:
    target, reference = static.actuator_trnid[i].tolist()
    if reference < 0:
        return [[d] for d in joint_dofs(static, target)]
    return _between_sites(static, i) * 3


def _on_body(static: Static, i: int) -> list[list[int]]:
    """All: what a body will touch is not known."""
    return [list(range(static.nv))]


def _moved(static: Static, i: int) -> np.ndarray:
    """Whether each dof moves the first and the second site of an actuator (2, nv); no site: no dof."""
    path = tree(static).path.astype(bool)
    none = np.zeros(static.nv, bool)
    return np.array(
        [path[static.site_bodyid[s]] if s >= 0 else none for s in static.actuator_trnid[i].tolist()]
    )


_DOFS: dict[TrnType, Callable[[Static, int], list[list[int]]]] = {
    TrnType.JOINT: _on_joint,
    TrnType.JOINTINPARENT: _on_joint,
    TrnType.SLIDERCRANK: _between_sites,
    TrnType.TENDON: _on_tendon,
    TrnType.SITE: _between_sites,
    TrnType.BODY: _on_body,
    TrnType.SO3: _orientation,
}
"""Type -> the dofs, ascending, on which each force output of an actuator acts."""


@functools.lru_cache(maxsize=64)
def _outputs(static: Static) -> tuple[list[list[int]], ...]:
    """The dofs of each force output of each actuator."""
    kinds = [TrnType(k) for k in static.actuator_trntype.tolist()]
    return tuple(_DOFS[kind](static, i) if kind in _DOFS else [[]] for i, kind in enumerate(kinds))


@functools.lru_cache(maxsize=64)
def moment_entries(static: Static) -> Entries:
    """(force output, dof) of the entries of `Work.actuator_moment`, by output, then by dof."""
    rows: list[int] = []
    cols: list[int] = []
    for i, outputs in enumerate(_outputs(static)):
        for k, dofs in enumerate(outputs):
            rows += [int(static.actuator_outadr[i]) + k] * len(dofs)
            cols += dofs
    return Entries(index_array(rows), index_array(cols))


def entries_of(static: Static, ids: np.ndarray) -> np.ndarray:
    """Moment entries of some actuators, in their order."""
    rows, _ = moment_entries(static)
    outs = [
        range(static.actuator_outadr[i], static.actuator_outadr[i] + static.actuator_outnum[i]) for i in ids
    ]
    return np.concatenate([np.zeros(0, int), *(np.flatnonzero(rows == o) for block in outs for o in block)])


def end_entries(static: Static, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For the moment entries of actuators on sites, in order: which end the dof moves, and the dof.

    Ends are numbered by force output: first sites of all outputs, then second sites.
    """
    ends: list[int] = []
    dofs: list[int] = []
    outputs = [(i, k) for i in ids.tolist() for k in range(int(static.actuator_outnum[i]))]
    for number, (i, k) in enumerate(outputs):
        own = _outputs(static)[i][k]
        first = _moved(static, i)[0]
        ends += [number if first[d] else len(outputs) + number for d in own]
        dofs += own
    return index_array(ends), index_array(dofs)
