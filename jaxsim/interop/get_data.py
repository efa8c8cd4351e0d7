"""From Data to the C engine's MjData."""

from __future__ import annotations

from typing import Any

import jax
import mujoco as engine
import numpy as np

from jaxsim.data import Contact, Data
from jaxsim.interop.layout import WARNINGS, copied_fields, efc_rows, m_places
from jaxsim.interop.mujoco import as_model
from jaxsim.interop.recover import recover_state
from jaxsim.model import Model
from jaxsim.pipeline.admit import check_state
from jaxsim.structure.contact_order import contact_rank, pair_table

__all__ = ["get_data", "get_data_into"]

mujoco: Any = engine  # a compiled module without type stubs


def get_data(mj_model: Any, data: Data) -> Any:
    """Converts to a `mujoco.MjData`, or to a list of them where `data` holds several worlds.

    See `get_data_into` for what is in it.

    Raises:
      TypeError: the model is no MjModel, or the data no Data.
      ValueError: shapes do not fit.
    """
    _check_types("get_data", mj_model, data)
    if np.ndim(data.qpos) == 1:
        result: Any = mujoco.MjData(mj_model)
    else:
        result = [mujoco.MjData(mj_model) for _ in range(np.shape(data.qpos)[0])]
    get_data_into(result, mj_model, data)
    return result


def get_data_into(result: Any, mj_model: Any, data: Data) -> None:
    """Writes into a `mujoco.MjData`, or into a list of them: all worlds, or none if something does not fit.

    State, results, contacts (in C's order) and their numbers, constraint forces and M are ours. What Data does not keep
    of them the C engine computes: wrapped tendons, moment arms, factors of M, and the rows of the constraints with
    Jacobian, position, impedance, reference (`efc_*`), from our poses, velocities and contacts. After a step results
    describe the state before it; so do the rows.

    Args:
      result: MjData, or a list with one for each world.
      mj_model: the MjModel.
      data: one world; or several, with one batch axis in front, if `result` is a list.

    Raises:
      TypeError: the model is no MjModel, or the data no Data.
      ValueError: shapes or the number of worlds do not fit; nothing was written.
    """
    _check_types("get_data_into", mj_model, data)
    model = as_model(mj_model)
    host = jax.device_get(data.replace(work=None))
    if not isinstance(result, list):
        if np.ndim(host.qpos) > 1:
            raise ValueError(
                f"get_data_into: data holds {len(host.qpos)} worlds; give a list of as many MjData, or use get_data"
            )
        results, worlds = [result], [host]
    else:
        count = len(result)
        if any(np.shape(x)[:1] != (count,) for x in jax.tree.leaves(host)):
            raise ValueError(f"get_data_into: {count} MjData given, but qpos has shape {np.shape(host.qpos)}")
        results, worlds = result, [jax.tree.map(lambda x, k=k: x[k], host) for k in range(count)]
    for world in worlds:
        _check(model, world)
    filled = [_fill(model, mj_model, world) for world in worlds]
    for target, source in zip(results, filled, strict=True):
        _check_target(target, source)
    for target, source in zip(results, filled, strict=True):
        mujoco.mj_copyData(target, mj_model, source)


def _check_types(function: str, mj_model: Any, data: Any) -> None:
    if not isinstance(mj_model, mujoco.MjModel):
        raise TypeError(
            f"{function}: expected the mujoco.MjModel that the model was made of, not {type(mj_model).__name__}"
        )
    if not isinstance(data, Data):
        raise TypeError(f"{function}: data is of type {type(data).__name__}, not Data")


def _check(model: Model, data: Any) -> None:
    """Refuses data whose fields would not fit into an MjData of the model."""
    check_state(model, data, "get_data")
    for name, shape in {"xpos": (model.nbody, 3), "geom_xpos": (model.ngeom, 3)}.items():
        if np.shape(getattr(data, name)) != shape:
            raise ValueError(f"get_data: data.{name} has shape {np.shape(getattr(data, name))}, not {shape}")


def _check_target(target: Any, source: Any) -> None:
    """Refuses an MjData of another model."""
    for name in ("qpos", "qvel", "act", "ctrl", "xpos", "geom_xpos", "sensordata"):
        ours, theirs = getattr(source, name).shape, getattr(target, name).shape
        if ours != theirs:
            raise ValueError(
                f"get_data_into: Input field {name} has shape {ours}, that of the MjData {theirs}: "
                "it was made of another model"
            )


def _fill(model: Model, m: Any, data: Any) -> Any:
    """A new MjData with everything of one world."""
    d = mujoco.MjData(m)
    _copy(d, data)
    if np.any(data.xquat):  # else nothing was computed yet
        xpos, xquat, cvel = (np.asarray(x, float) for x in (data.xpos, data.xquat, data.cvel))
        recover_state(m, d, xpos, xquat, cvel, float(np.finfo(data.qpos.dtype).eps))
        before = d.qpos.copy(), d.qvel.copy()
        mujoco.mj_camlight(m, d)
        _copy(d, data)
        d.qpos[:], d.qvel[:] = before
        mujoco.mj_tendon(m, d)
        mujoco.mj_crb(m, d)
        d.M[:] = np.asarray(data.M)[m_places(model, m)]
        mujoco.mj_factorM(m, d)
        address = _contacts(model, d, data)
        d.tendon_efcadr[:] = -1
        if data.nefc:
            _rows(model, m, d, data, address)
        mujoco.mj_transmission(m, d)  # whose adhesive bodies read contacts and their rows
        _copy(d, data)
    d.solver_niter[0] = data.solver_niter
    for kind, bit in WARNINGS.items():
        d.warning[kind].number = int(bool(data.warning & bit))
    return d


def _copy(d: Any, data: Any) -> None:
    """Writes all fields that are the same."""
    for name in copied_fields():
        theirs, ours = getattr(d, name), np.asarray(getattr(data, name))
        if isinstance(theirs, np.ndarray):
            theirs[...] = ours.reshape(theirs.shape)
        else:
            setattr(d, name, ours.item())


def _contacts(model: Model, d: Any, data: Any) -> np.ndarray:
    """Writes the contacts in C's order; returns their first rows in Data.efc_force, -1: none."""
    ours = data.contact
    slots = np.flatnonzero(ours.geom[:, 0] >= 0)
    if len(slots):
        table = pair_table(model.static, model.opt.disableflags)
        row = table.row[ours.geom[slots]]
        rank = contact_rank(model.static, model.opt.disableflags)[table.pair[row[:, 0], row[:, 1]]]
        slots = slots[np.argsort(rank, kind="stable")]
    mujoco._functions._realloc_con_efc(d, len(slots), 0, 0)  # pyright: ignore
    theirs = d.contact
    for name in (leaf.name for leaf in Contact.leaf_fields()):
        target = getattr(theirs, name)
        target[...] = np.asarray(getattr(ours, name))[slots].reshape(target.shape)
    theirs.geom1[...], theirs.geom2[...] = ours.geom[slots].T
    # in the gap: detected, no force but adhesion's
    theirs.exclude[...] = (theirs.dist >= theirs.includemargin) & (theirs.adhesion == 0)
    for name in ("flex", "elem", "vert"):
        getattr(theirs, name)[...] = -1
    theirs.mu[...] = 0  # the memory is as it was, and C writes it only where there are cones
    theirs.H[...] = 0
    theirs.efc_address[...] = -1  # ours are of other rows
    return np.asarray(ours.efc_address)[slots]


def _rows(model: Model, m: Any, d: Any, data: Any, address: np.ndarray) -> None:
    """Makes the rows of the constraints and gives them our forces."""
    mujoco.mj_makeConstraint(m, d)
    mujoco.mj_projectConstraint(m, d)
    mujoco.mj_referenceConstraint(m, d)
    residual = np.zeros(d.nefc)
    mujoco.mj_mulJacVec(m, d, residual, np.asarray(data.qacc, float))
    mujoco.mj_constraintUpdate(m, d, residual - d.efc_aref, None, True)
    rows = efc_rows(model, d, address)
    force = np.append(np.asarray(data.efc_force, float), 0.0)
    d.efc_force[:] = force[rows]
