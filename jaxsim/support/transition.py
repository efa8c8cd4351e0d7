"""Exact derivatives of steps and of inverse dynamics, in the tangent space of positions.

They are what C's finite-difference routines approximate (mjd_transitionFD, mjd_inverseFD). Row i, column j is the
derivative of output i with respect to input j.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.forward import step
from jaxsim.pipeline.inverse import inverse
from jaxsim.support.position import differentiate_pos, integrate_pos

__all__ = ["InverseDerivatives", "Transition", "inverse_derivatives", "transition"]


class Transition(NamedTuple):
    """A step linearised, `x' = A x + B u`, `y = C x + D u`, with n = 2 nv + na.

    States are displacements of positions in the tangent space, then qvel, then act.

    Attributes:
      A: next state by state, (n, n).
      B: next state by controls, (n, nu).
      C: sensordata by state, (nsensordata, n).
      D: sensordata by controls, (nsensordata, nu).
    """

    A: Array
    B: Array
    C: Array
    D: Array


def transition(model: Model, data: Data, substeps: int = 1) -> Transition:
    """Derivatives of a `step` (mjd_transitionFD), exact, on the manifold of positions.

    Sensors are those of the step: they belong to the state before it, of several steps to that before the last.

    Args:
      model: the model; its integrator, whichever it is, is what is differentiated.
      data: one world; its integration state is where.
      substeps: number of steps, over which `ctrl` is held.

    Raises:
      TypeError: the number of substeps is traced, or no integer.
      ValueError: there are no substeps.
    """
    sizes = (model.nv, model.nv, model.na, model.nu)

    def moved(x: Array) -> tuple[tuple[Array, ...], Array]:
        dq, dv, da, du = jnp.split(x, [sum(sizes[:k]) for k in range(1, 4)])
        at = data.replace(
            qpos=integrate_pos(model, data.qpos, dq, 1.0),
            qvel=data.qvel + dv,
            act=data.act + da,
            ctrl=data.ctrl + du,
        )
        after = step(model, at, substeps)
        return (after.qpos, after.qvel, after.act, after.sensordata), after.qpos

    slopes, end = jax.jacfwd(moved, has_aux=True)(jnp.zeros(sum(sizes), data.qpos.dtype))
    # displacements are from where the step leads; that place has derivatives too, which those of A need
    _, displaced = jax.linearize(lambda qpos: differentiate_pos(model, 1.0, end, qpos), end)
    change = jax.vmap(displaced, in_axes=1, out_axes=1)(slopes[0])
    state, output = jnp.concatenate([change, *slopes[1:3]]), slopes[3]
    n = sum(sizes[:3])
    return Transition(A=state[:, :n], B=state[:, n:], C=output[:, :n], D=output[:, n:])


class InverseDerivatives(NamedTuple):
    """Inverse dynamics linearised.

    Attributes:
      df_dq: qfrc_inverse by positions, in the tangent space, (nv, nv).
      df_dv: by qvel, (nv, nv).
      df_da: by qacc, (nv, nv); without constraints the inertia.
      ds_dq: sensordata by positions, (nsensordata, nv).
      ds_dv: by qvel, (nsensordata, nv).
      ds_da: by qacc, (nsensordata, nv).
      dm_dq: entries of M by positions, (nM, nv).
    """

    df_dq: Array
    df_dv: Array
    df_da: Array
    ds_dq: Array
    ds_dv: Array
    ds_da: Array
    dm_dq: Array


def inverse_derivatives(model: Model, data: Data, actuation: bool = False) -> InverseDerivatives:
    """Derivatives of `inverse` (mjd_inverseFD), exact, on the manifold of positions.

    Args:
      model: the model.
      data: one world; its integration state and `qacc` are where.
      actuation: whether the force is what is needed beside that of the actuators, else all of it.
    """
    nv = model.nv

    def force(x: Array) -> tuple[Array, Array, Array]:
        dq, dv, da = jnp.split(x, 3)
        at = data.replace(
            qpos=integrate_pos(model, data.qpos, dq, 1.0), qvel=data.qvel + dv, qacc=data.qacc + da
        )
        found = inverse(model, at)
        return (
            found.qfrc_inverse - (found.qfrc_actuator if actuation else 0),
            found.sensordata,
            found.M,
        )

    f, s, m = jax.jacfwd(force)(jnp.zeros(3 * nv, data.qpos.dtype))
    (df_dq, df_dv, df_da), (ds_dq, ds_dv, ds_da) = (jnp.split(x, 3, axis=1) for x in (f, s))
    return InverseDerivatives(df_dq, df_dv, df_da, ds_dq, ds_dv, ds_da, m[:, :nv])
