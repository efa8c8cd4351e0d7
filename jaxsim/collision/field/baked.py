"""Geoms of type `sdf` whose shape is their mesh: its distances on a grid, unless a function of the user's says more."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.hooks import Hooks
from jaxsim.math import rotations
from jaxsim.model import Model
from jaxsim.sdf import Voxels, voxels

__all__ = ["with_voxels", "without_voxels"]


def with_voxels(model: Model) -> Model:
    """The model with distance functions of the meshes of its SDF geoms that have none.

    Args:
      model: compiled, per-world layout; its meshes are the same in all worlds.
    """
    known = {mesh for mesh, _ in model.hooks.sdfs}
    used = np.unique(np.asarray(model.geom_dataid)[model.geom_type == GeomType.SDF]).tolist()
    baked = []
    for mesh in used:
        if mesh < 0 or mesh in known or not model.mesh_facenum[mesh]:
            continue
        rows = slice(model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh])
        faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
        vertices = np.asarray(model.mesh_vert, float)[rows]
        # in the frame of the mesh's file, as all distance functions
        pos, quat = (np.asarray(x, float)[mesh] for x in (model.mesh_pos, model.mesh_quat))
        baked.append(
            (mesh, voxels(rotations.apply(rotations.matrix(quat), vertices) + pos, model.mesh_face[faces]))
        )
    if not baked:
        return model
    return model.replace(hooks=dataclasses.replace(model.hooks, sdfs=tuple(baked)))


def without_voxels(model: Model) -> Model:
    """The model without the functions that `with_voxels` makes."""
    own = tuple(row for row in model.hooks.sdfs if not isinstance(row[1], Voxels))
    none = model.replace(hooks=Hooks())
    return none.replace(hooks=dataclasses.replace(model.hooks, sdfs=own))
