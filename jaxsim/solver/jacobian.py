"""Constraint Jacobians, kept in the form each kind of rows needs. Native layout.

A Jacobian multiplies accelerations, `product`; forces, `transpose`; and adds `J^T C J` to the entries of the Hessian
that `structure` keeps, `gram`. Jacobians of scalar rows work on one number a row, `(k, W)`; that of contacts on the
axes of each contact's frame, `(n, dim, W)`. Source: Computation chapter, "Constraint model".
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math.axis import add_rows, take
from jaxsim.math.matrix import multiply, multiply_transposed
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver import pyramid
from jaxsim.solver.chain_jacobian import ChainJacobian
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.frames import Frames
from jaxsim.solver.gram import Factors, gram_of
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["DenseJacobian", "DofJacobian", "EdgeJacobian", "Jacobian"]


class DofJacobian(Record):
    """Rows of one dof each."""

    dof: np.ndarray = static("k", "the dof of each row")
    sign: np.ndarray = static("k", "+1 or -1", dtype=float)
    nv: int = static("", "degrees of freedom")

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.dof)

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return take(x, self.dof) * jnp.asarray(self.sign, x.dtype)[:, None]

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return add_rows(f * jnp.asarray(self.sign, f.dtype)[:, None], self.dof, self.nv)

    def factors(self, c: Array) -> None:
        """None: `gram` knows better."""
        del c

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        diagonal = np.flatnonzero(structure.rows == structure.cols)
        return add_rows(c, diagonal[self.dof], structure.size)

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, 1)`."""
        return jnp.asarray(self.sign[:, None] * np.eye(nv)[self.dof])[..., None]


class DenseJacobian(Record):
    """Scalar rows with an entry for every dof."""

    J: Array = leaf("k nv", "the entries")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.J.shape[0]

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return multiply(self.J, x)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return multiply_transposed(self.J, f)

    def factors(self, c: Array) -> Factors:
        """J, each row alone, and c."""
        return Factors(self.J[:, None], [[c]])

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        return gram_of([self.factors(c)], structure)

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, W)`."""
        del nv
        return self.J


class EdgeJacobian(Record):
    """Scalar rows of contacts: the edges of friction pyramids, or the normals of contacts without friction."""

    contacts: ContactJacobian | ChainJacobian | Frames = leaf("", "the contacts'")
    friction: Array = leaf("n dim-1", "friction coefficients; none: contacts without friction")

    @property
    def size(self) -> int:
        """Number of rows."""
        n, k = self.friction.shape[:2]
        return n * max(1, 2 * k)

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return pyramid.edges(self.friction, self.contacts.product(x))

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return self.contacts.transpose(pyramid.forces(self.friction, f))

    def factors(self, c: Array) -> Factors | None:
        """J and C by the axes of contacts, if these are all that is needed."""
        return self.contacts.factors(pyramid.curvature(self.friction, c))

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        return self.contacts.gram(structure, pyramid.curvature(self.friction, c))

    def matrix(self, nv: int) -> Array:
        """J, `(k, nv, W)`."""
        J = self.contacts.matrix()
        if not self.friction.shape[1]:
            return J[:, 0]
        normal, tangent = J[:, :1], self.friction[:, :, None] * J[:, 1:]
        return jnp.stack([normal + tangent, normal - tangent], axis=2).reshape(-1, nv, J.shape[-1])


Jacobian = DofJacobian | DenseJacobian | EdgeJacobian
