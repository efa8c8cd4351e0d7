"""Kinematic trees whose only joint is free, and what is left of the inertia without them.

The implicit integrators treat such a tree apart: its own 6 by 6 system, gyroscopic terms included.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.enums import JointType
from jaxsim.pytree import Static, index_array
from jaxsim.structure.sparsity import TreeStructure, places_of, tree_structure
from jaxsim.structure.trees import tree

__all__ = ["FreeTrees", "free_trees"]


class FreeTrees(NamedTuple):
    """Trees of one free joint, and the rest.

    Attributes:
      bodies: the body of each free joint, (n,).
      members: the bodies of all these trees.
      carried: 1 where a member belongs to the tree of a free joint, (n, members).
      dofs: degrees of freedom of each, (n, 6).
      places: among the entries of M, (n, 6, 6).
      rest: the other degrees of freedom.
      rest_entries: the entries of M between these, in the order of `structure`.
      has_slope: of these, 0 off the diagonal for bodies that count as simple: their M is diagonal in the C engine.
      structure: of the rest of M.
    """

    bodies: np.ndarray
    members: np.ndarray
    carried: np.ndarray
    dofs: np.ndarray
    places: np.ndarray
    rest: np.ndarray
    rest_entries: np.ndarray
    has_slope: np.ndarray
    structure: TreeStructure


@functools.lru_cache(maxsize=64)
def free_trees(static: Static) -> FreeTrees:
    """The trees of a model that are one free joint."""
    whole = tree_structure(static.dof_parentid)
    places = places_of(whole)
    joints = [
        j
        for j in range(static.njnt)
        if static.jnt_type[j] == JointType.FREE
        and static.tree_dofnum[static.body_treeid[static.jnt_bodyid[j]]] == 6
    ]
    bodies = static.jnt_bodyid[np.array(joints, int)]
    dofs = static.jnt_dofadr[np.array(joints, int)][:, None] + np.arange(6)
    below = tree(static).descendants[bodies] > 0
    members = np.flatnonzero(below.any(axis=0))
    is_rest = ~np.isin(np.arange(static.nv), dofs)
    rest = np.flatnonzero(is_rest)
    number = np.cumsum(is_rest) - 1
    rest_entries = np.flatnonzero(is_rest[whole.rows])
    simple = (static.body_simple[static.dof_bodyid] > 0)[whole.rows] & (whole.rows != whole.cols)
    parents = [number[p] if p >= 0 else -1 for p in np.asarray(static.dof_parentid)[rest]]
    return FreeTrees(
        bodies=index_array(bodies),
        members=index_array(members),
        carried=below[:, members].astype(float),
        dofs=index_array(dofs),
        places=index_array(places[dofs[:, :, None], dofs[:, None, :]]),
        rest=index_array(rest),
        rest_entries=index_array(rest_entries),
        has_slope=~simple[rest_entries],
        structure=tree_structure(parents),
    )
