"""Derivatives that feel contacts before they are made. Native layout; nothing of it is in a program without `onset`.

A contact at a distance makes no force, and the derivative of none is zero. With `model.onset` the derivative of the
solution, and only that, is taken as if each normal force were the mean over noise in the contact's distance: of
Epanechnikov's density, as wide on both sides as the reach. The row `f = max(0, -D r)`, `r = J x - aref`, of which the
distance is the part `k d dist`, then has the slope `-w D`, where w in (0, 1/2) at rest is the share of the noise under
which the contact would push, 0 from the reach on. Contacts that touch keep their exact derivative, and what is felt
from afar has no friction and no force: rows are linear about what the forward step found.

Sources: Duchi, Bartlett, Wainwright 2012 (smoothing by noise); Pang, Suh, Yang, Tedrake 2023 (of contact, and that
noise and analytic smoothing are the same thing).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.driver import collision
from jaxsim.data import Contact, Data
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.solver.adjoint import Optimum, optimum
from jaxsim.solver.assembly import Problem
from jaxsim.solver.contacts import bodies_of, frames, inverse_masses
from jaxsim.solver.impedance import impedance, regularisation
from jaxsim.solver.jacobian import DenseJacobian
from jaxsim.solver.rows import Rows, join
from jaxsim.solver.surface import in_use
from jaxsim.structure.rows import ContactRows, RowLayout

__all__ = ["optimum_near"]


def optimum_near(
    layout: RowLayout, model: Model, data: Data, problem: Problem, reach: Array, found: Optimum
) -> Optimum:
    """As `solver.adjoint.optimum`, with a derivative that feels contacts nearer than `reach`, m (1 or W,)."""
    detected = collision(
        model.replace(geom_gap=model.geom_gap + reach / 2, pair_gap=model.pair_gap + reach), data
    ).contact
    near = [_rows(model, data, rows, detected, reach, found.x) for rows in layout.contacts]
    own = problem.rows
    rows = join([*near, own, *own.cones])  # contacts' rows are the last
    added = len(rows.D) - len(own.D)
    silent = jnp.zeros((added, found.x.shape[-1]), found.x.dtype)
    f = found.f._replace(scalar=concat([silent, found.f.scalar]))
    final = optimum(layout, problem.replace(rows=rows), found._replace(f=f))
    return final._replace(f=final.f._replace(scalar=final.f.scalar[added:]))


def _rows(model: Model, data: Data, rows: ContactRows, detected: Contact, reach: Array, x: Array) -> Rows:
    """The normals of contacts that are near: rows without force at the acceleration `x`, (nv, W)."""
    contact: Contact = jax.tree.map(lambda y: y[rows.slots], detected)
    bodies = bodies_of(model, rows, contact)
    near = (contact.geom[:, 0] >= 0) & ~in_use(model, contact)[0]
    J = DenseJacobian(J=frames(model, data, contact, bodies, 1).jacobian().J[:, 0])
    gap = contact.dist - contact.includemargin
    constants = impedance(model, contact.solref, contact.solimp, jnp.zeros_like(gap))  # as if at touch
    stiffness = constants.k * constants.d
    aref = -constants.b * J.product(data.qvel) - stiffness * gap
    r = lax.stop_gradient(J.product(x) - aref)
    noise = jnp.clip(-r / lax.stop_gradient(stiffness * reach), -1, 1)
    share = 0.5 + (3 * noise - noise**3) / 4  # of Epanechnikov's density below it
    D = jnp.where(near, share / regularisation(constants.d, inverse_masses(model, bodies)), 0)
    none = jnp.zeros_like(D)
    return Rows(J=(J,), D=D, aref=jnp.where(near, aref + r, 0), low=none - jnp.inf, high=none + jnp.inf)
