"""Constants of the kinematic tree, derived once per model: who moves whom, as index lists and 0/1 masks.

With all spatial quantities of a tree expressed at one point, its recursions become sums over ancestors or over
descendants, which are products with constant masks (design, section 5).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.enums import JointType
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.sparsity import tree_structure

__all__ = [
    "Entries",
    "Tree",
    "joint_dofs",
    "m_entries",
    "m_entry_count",
    "tree",
    "up_to_joint",
]


class Tree(NamedTuple):
    """Masks over bodies and degrees of freedom; rows are outputs, columns are summed."""

    depth: np.ndarray
    """Joints' bodies above each body (nbody): 0 for the world."""
    descendants: np.ndarray
    """1 if body b is a or below a (nbody, nbody)."""
    path: np.ndarray
    """1 if dof d moves body b (nbody, nv)."""
    before: np.ndarray
    """1 if dof e moves the frame in which the axis of dof d is fixed (nv, nv); zero rows: axis fixed in the world."""
    carried: np.ndarray
    """1 if body b is moved by dof d (nv, nbody)."""


class Entries(NamedTuple):
    """Positions of the structural nonzeros of a matrix."""

    rows: np.ndarray
    cols: np.ndarray


def joint_dofs(static: Static, joint: int) -> range:
    """The degrees of freedom of a joint."""
    first = int(static.jnt_dofadr[joint])
    return range(first, first + JointType(static.jnt_type[joint]).nv)


@functools.lru_cache(maxsize=64)
def tree(static: Static) -> Tree:
    """The masks of a model."""
    nbody, nv = static.nbody, static.nv
    parent = static.body_parentid
    depth = np.zeros(nbody, int)
    descendants = np.eye(nbody)
    path = np.zeros((nbody, nv))
    path[static.dof_bodyid, np.arange(nv)] = 1
    for b in range(1, nbody):
        depth[b] = depth[parent[b]] + 1
        path[b] += path[parent[b]]
    for b in range(nbody - 1, 0, -1):
        descendants[parent[b]] += descendants[b]
    before = np.zeros((nv, nv))
    for j in range(static.njnt):
        kind, first, body = JointType(static.jnt_type[j]), static.jnt_dofadr[j], static.jnt_bodyid[j]
        above = path[parent[body]].copy()
        above[static.body_dofadr[body] : first] = 1
        if kind == JointType.FREE:
            first = first + 3
            above[first - 3 : first] = 1
        width = 1 if kind in (JointType.SLIDE, JointType.HINGE) else 3
        before[first : first + width] = above
    return Tree(depth, descendants, path, before, path.T.copy())


@functools.lru_cache(maxsize=64)
def up_to_joint(static: Static) -> np.ndarray:
    """1 if dof e moves the frame at the end of the joint of dof d (nv, nv); translations of a free joint stop at it."""
    mask = tree(static).before.copy()
    for j in range(static.njnt):
        first, kind = static.jnt_dofadr[j], static.jnt_type[j]
        if kind == JointType.FREE:
            mask[first : first + 3, first : first + 3] = 1
            first = first + 3
        width = 3 if kind <= JointType.BALL else 1
        mask[first : first + width, first : first + width] = 1
    return mask


def m_entries(static: Static) -> tuple[np.ndarray, np.ndarray]:
    """(rows, cols) of the entries of M: row by row, ancestors ascending, the diagonal last."""
    structure = tree_structure(static.dof_parentid)
    return structure.rows, structure.cols


def m_entry_count(model: Model) -> int:
    """Number of entries of M."""
    return tree_structure(model.dof_parentid).size
