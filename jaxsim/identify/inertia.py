"""The inertia of a body in coordinates in which every value is that of a real body.

Mass, centre of mass and rotational inertia are those of some distribution of mass if and only if the pseudo-inertia

    J = [[Sigma, h], [h^T, m]],   h = m c,   Sigma = tr(I)/2 1 - I   (I about the origin of the body frame)

is positive definite (Wensing, Kim, Slotine 2018). Its factor J = U U^T, U upper triangular with

    U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

has ten free numbers, the log-Cholesky parameters (Rucker, Wensing 2022, "Smooth parameterization of rigid-body
inertia", RA-L 7(2)).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.identify.parameters import Parameter
from jaxsim.math import rotations, safe
from jaxsim.math.dense_inverse import product
from jaxsim.model import Model

__all__ = ["LABELS", "body_inertia", "from_pseudo", "inertial", "log_cholesky", "pseudo_inertia"]

LABELS = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")

_APART = 1e-4
"""Relative distance to which equal principal moments are moved where a fit starts.

The physics is a smooth function of the inertia, but the model keeps principal axes, which turn infinitely fast where
two moments are equal. Apart, the two infinities cancel, to 1e-12 in float64.
"""

_LEAST_GAP = 1e-8
"""Relative distance of moments below which the derivative of their axes is cut off instead of infinite."""


def log_cholesky(theta: Array) -> Array:
    """The pseudo-inertia (4, 4), kg, kg m, kg m^2, of log-Cholesky parameters (10,)."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    e1, e2, e3, zero, one = jnp.exp(d1), jnp.exp(d2), jnp.exp(d3), jnp.zeros_like(a), jnp.ones_like(a)
    rows = [[e1, s12, s13, t1], [zero, e2, s23, t2], [zero, zero, e3, t3], [zero, zero, zero, one]]
    U = jnp.exp(a) * jnp.stack([jnp.stack(row) for row in rows])
    return product(U, U.T)


def from_pseudo(J: np.ndarray) -> np.ndarray:
    """Log-Cholesky parameters (10,) of a pseudo-inertia (4, 4).

    Raises:
      ValueError: no real body has it.
    """
    try:
        U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise ValueError(
            "the pseudo-inertia is not positive definite: no body of positive density has it"
        ) from None
    a = np.log(U[3, 3])
    U = U / U[3, 3]
    d = np.log(np.diag(U)[:3])
    return np.array([a, *d, U[0, 1], U[1, 2], U[0, 2], *U[:3, 3]])


def pseudo_inertia(model: Model, name: str | int) -> np.ndarray:
    """The pseudo-inertia (4, 4) of a body, in its frame."""
    body = model.body(name)
    m, c = float(np.ravel(body.mass)[0]), np.asarray(body.ipos, float)
    R = rotations.matrix(np.asarray(body.iquat, float))
    moments = np.asarray(body.inertia, float)
    second = (R * (moments.sum() / 2 - moments)) @ R.T + m * np.outer(c, c)
    return np.block([[second, m * c[:, None]], [m * c[None], np.array([[m]])]])


def body_inertia(model: Model, name: str | int) -> Parameter:
    """Mass, centre of mass and rotational inertia of a body: ten numbers, every value physically consistent.

    Without bounds: there is no value that a body could not have. `Fit.model` has the result in `body_mass`,
    `body_ipos`, `body_inertia` and `body_iquat`; of a body on a joint only some directions can be identified, and a
    fit says which.

    Args:
      model: the model.
      name: the body, by name or id.

    Raises:
      ValueError: the body's inertia is not that of a body of positive density (it has none, or is flat).
      KeyError: there is no body of this name.
    """
    body = model.body(name)
    row = body.id
    nominal = from_pseudo(pseudo_inertia(model, name))
    nominal[1:4] += np.array([-_APART, 0, _APART])

    def modifier(model: Model, theta: Array) -> Model:
        mass, center, moments, axes = inertial(log_cholesky(theta))
        return model.replace(
            body_mass=model.body_mass.at[row].set(mass),
            body_ipos=model.body_ipos.at[row].set(center),
            body_inertia=model.body_inertia.at[row].set(moments),
            body_iquat=model.body_iquat.at[row].set(axes),
        )

    return Parameter(
        name=f"{body.name or name}.inertia",
        nominal=nominal,
        min_value=np.asarray(-np.inf),
        max_value=np.asarray(np.inf),
        modifier=modifier,
        labels=LABELS,
    )


def inertial(J: Array) -> tuple[Array, Array, Array, Array]:
    """Mass, centre of mass (3,), principal moments (3,) and axes as a quaternion (4,) of a pseudo-inertia (4, 4)."""
    mass = J[3, 3]
    center = J[:3, 3] / mass
    second = J[:3, :3] - mass * center[:, None] * center[None]
    spread, R = _eigen(second)
    return mass, center, jnp.sum(spread) - spread, _quaternion(R)


@jax.custom_jvp
def _eigen(S: Array) -> tuple[Array, Array]:
    """Eigenvalues (3,) and right-handed eigenvectors (3, 3), in columns, of a symmetric matrix."""
    values, R = jnp.linalg.eigh(S)
    return values, R * jnp.where(jnp.linalg.det(R) < 0, -1.0, 1.0).astype(R.dtype)


@_eigen.defjvp
def _eigen_jvp(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """First-order perturbation; the axes of equal moments do not turn (see `_LEAST_GAP`)."""
    (S,), (dS,) = primals, tangents
    values, R = _eigen(S)
    rotated = jnp.einsum("ki,kl,lj->ij", R, dS, R, precision=lax.Precision.HIGHEST)
    gap = values[None] - values[:, None]
    apart = jnp.abs(gap) > _LEAST_GAP * jnp.max(jnp.abs(values))
    turn = jnp.where(apart, rotated / jnp.where(apart, gap, 1.0), 0.0)
    return (values, R), (jnp.diagonal(rotated), product(R, turn))


def _quaternion(R: Array) -> Array:
    """The unit quaternion (4,) of a rotation matrix (3, 3).

    4 q q^T has linear entries in R; its column with the largest diagonal, normalised, is q, without any cancellation.
    """
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    wx, wy, wz = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    outer = jnp.stack(
        [
            jnp.stack([1 + xx + yy + zz, wx, wy, wz]),
            jnp.stack([wx, 1 + xx - yy - zz, xy, xz]),
            jnp.stack([wy, xy, 1 - xx + yy - zz, yz]),
            jnp.stack([wz, xz, yz, 1 - xx - yy + zz]),
        ]
    )
    column = outer[jnp.argmax(jnp.diagonal(outer))]
    return column / safe.sqrt(jnp.sum(column * column))
