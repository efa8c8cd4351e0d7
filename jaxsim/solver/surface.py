"""What geoms' surfaces add to contacts: motion of their own, as of a conveyor belt, and adhesion. Native layout.

Source: MJCF reference, geom attributes `surfacevel` and `adhesion`. An adhesive contact pulls with a constant force
along its normal, in `qfrc_passive`; its rows are biased by as much, so that what presses the surfaces apart at a given
penetration stays as it is without adhesion. Between margin and gap the surfaces do not touch: there an adhesive
contact, a *tether*, has a normal row alone, no friction.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Contact, Data
from jaxsim.math.gather import joined, rows_of
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, dot, matvec
from jaxsim.model import Model
from jaxsim.structure.rows import ContactRows
from jaxsim.structure.slots import slot_layout

__all__ = ["adhesive", "in_use", "surface_velocity"]


def adhesive(model: Model) -> bool:
    """Whether contacts of the model may be adhesive."""
    return model.has("geom_adhesion") or model.has("pair_adhesion")


def in_use(model: Model, contact: Contact) -> tuple[Array, Array | None]:
    """Which contacts have rows, and which of these are tethers (None: there are no adhesive contacts), (n, W)."""
    touching, moves = contact.dist < contact.includemargin, _moves(model, contact)
    if moves is not None:
        touching = touching & moves
    if not adhesive(model):
        return touching, None
    tether = (contact.adhesion != 0) & (contact.geom[:, 0] >= 0) & ~touching
    tether = tether if moves is None else tether & moves
    return touching | tether, tether


def _moves(model: Model, contact: Contact) -> Array | None:
    """Which contacts (n, W) are between geoms that can move against each other; None: all.

    Explicit pairs alone may be of geoms that cannot.
    """
    pairs, link = slot_layout(model).pairs, np.where(model.body_treeid >= 0, model.body_weldid, 0)
    link = link[model.geom_bodyid]
    if not (link[pairs.geom1] == link[pairs.geom2]).any():
        return None
    first, second = (jnp.asarray(link)[jnp.maximum(contact.geom[:, side], 0)] for side in (0, 1))
    return first != second


def surface_velocity(model: Model, data: Data, rows: ContactRows, contact: Contact) -> Array:
    """Velocity (n, dim, W) of surface 2 against surface 1, relative to their bodies, along the contact's axes.

    It counts in the tangent plane and about the normal: a surface pushes nothing along the normal and rolls nothing.
    """
    sides, pairs = [], slot_layout(model).pairs
    for side, known in enumerate((pairs.geom1, pairs.geom2)):
        geoms = joined(
            [
                jnp.maximum(geom[:, side], 0) if group.pair is None else known[group.pair]
                for group, geom in rows.by_group(contact.geom)
            ]
        )
        surface, xpos, xmat = (
            rows_of(table, geoms) for table in (model.geom_surfacevel, data.geom_xpos, data.geom_xmat)
        )
        sides.append(_moving(surface, xpos, xmat, contact.pos))
    return _against(sides[0], sides[1], contact.frame, dim=rows.dim)


def _moving(surface: Array, xpos: Array, xmat: Array, pos: Array) -> tuple[Array, Array]:
    """Linear and angular velocity (n, 3, W) of geoms' surfaces at points, in the world frame."""
    angular = matvec(xmat, surface[:, 3:])
    return matvec(xmat, surface[:, :3]) + cross(angular, pos - xpos), angular


@stage
def _against(first: tuple[Array, Array], second: tuple[Array, Array], frame: Array, *, dim: int) -> Array:
    """The second velocity less the first, along the axes of contacts; see `surface_velocity`."""
    along = matvec(frame, second[0] - first[0])
    about = dot(frame[:, 0], second[1] - first[1])[:, None]
    none = jnp.zeros_like(about)
    return jnp.concatenate([none, along[:, 1:], about, none, none], axis=1)[:, :dim]
