"""The stages of a step as functions of a model and its data, by MJX's names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import data as engine_data
from jaxsim import model as engine_model
from jaxsim import worlds
from jaxsim.math.dense_inverse import product
from jaxsim.mjx.constraints import constraint_fields
from jaxsim.mjx.records import ENGINE_CONTACT, ENGINE_DATA, ON_REQUEST, Contact, Data, Model
from jaxsim.pipeline import forward as whole
from jaxsim.pipeline import inverse as backward
from jaxsim.pipeline import per_world, velocity
from jaxsim.pipeline import tendon as tendons
from jaxsim.pipeline import transmission as transmissions
from jaxsim.pipeline.stages import run
from jaxsim.pipeline.work import Work
from jaxsim.results import is_lost
from jaxsim.structure.rows import row_layout
from jaxsim.structure.tendons import tendon_entries
from jaxsim.structure.transmissions import moment_entries
from jaxsim.structure.trees import tree
from jaxsim.support import inertia

__all__ = [
    "camlight",
    "collision",
    "com_pos",
    "com_vel",
    "crb",
    "engine_records",
    "euler",
    "factor_m",
    "forward",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_position",
    "fwd_velocity",
    "implicit",
    "inverse",
    "kinematics",
    "make_constraint",
    "passive",
    "rne",
    "rne_postconstraint",
    "rungekutta4",
    "sensor_acc",
    "sensor_pos",
    "sensor_vel",
    "solve",
    "step",
    "subtree_vel",
    "tendon",
    "tendon_armature",
    "tendon_bias",
    "transmission",
]

_MODEL = tuple(engine_model.Model.__dataclass_fields__)  # pyright: ignore

Stage = Callable[[Any, Any], Any]


def engine_records(m: Any, d: Any) -> tuple[engine_model.Model, engine_data.Data]:
    """A model and its data as the engine has them, without what subclasses add.

    Raises:
      TypeError: they are no such records.
    """
    for x, kind, made in (
        (m, engine_model.Model, "put_model"),
        (d, engine_data.Data, "make_data or put_data"),
    ):
        if not isinstance(x, kind):
            name = kind.__name__
            raise TypeError(
                f"expected mjx.{name}, as mjx.{made} makes it, not {type(x).__module__}.{type(x).__name__}"
            )
    if type(m) not in (Model, engine_model.Model):
        m = engine_model.Model(**{name: m.__dict__[name] for name in _MODEL})
    return m, engine_data.plain(d)


def _renewed(d: Any, found: engine_data.Data, **more: Any) -> Any:
    """The data with the engine's results, of the class it had."""
    fields = {name: found.__dict__[name] for name in ENGINE_DATA}
    contact = {name: found.contact.__dict__[name] for name in ENGINE_CONTACT}
    kept = d.__dict__["contact"]  # brax has a class of its own here, and a scan wants the same class again
    fields["contact"] = kept.replace(**contact) if isinstance(kept, Contact) else Contact(**contact)
    return d.replace(**fields, **more)


def _stage(native: Stage, *, last: bool = False) -> Callable[[Model, Data], Data]:
    """A function of the engine, for records of this module and of its subclasses.

    Args:
      native: the function.
      last: whether the state changes, so that what stages filled on request is dropped.
    """

    @functools.wraps(native)
    def stage(m: Model, d: Data) -> Data:
        records = engine_records(m, d)
        dropped = {name: None for name in ON_REQUEST if last and name in d.__dict__}
        return _renewed(d, native(*records), **dropped)

    return stage


@functools.wraps(whole.step)
def _step(model: engine_model.Model, data: engine_data.Data) -> engine_data.Data:
    """Worlds that are no longer finite become nan, as in MJX: that is how scripts find out."""
    after = whole.step(model, data.replace(warning=jnp.zeros_like(data.warning)))
    lost = is_lost(after.warning)
    gone = {name: jnp.where(lost, jnp.nan, getattr(after, name)) for name in ("qpos", "qvel", "qacc")}
    return after.replace(warning=data.warning | after.warning, **gone)


kinematics = _stage(per_world.kinematics)
com_pos = _stage(per_world.com_pos)
camlight = _stage(per_world.camlight)
collision = _stage(per_world.collision)
fwd_position = _stage(per_world.fwd_position)
com_vel = _stage(per_world.com_vel)
passive = _stage(per_world.passive)
tendon_bias = _stage(per_world.tendon_bias)
fwd_velocity = _stage(per_world.fwd_velocity)
fwd_actuation = _stage(per_world.fwd_actuation)
fwd_acceleration = _stage(per_world.fwd_acceleration)
sensor_pos = _stage(per_world.sensor_pos)
sensor_vel = _stage(per_world.sensor_vel)
sensor_acc = _stage(per_world.sensor_acc)
subtree_vel = _stage(per_world.subtree_vel)
rne_postconstraint = _stage(per_world.rne_postconstraint)
euler = _stage(per_world.euler, last=True)
implicit = _stage(per_world.implicit, last=True)
rungekutta4 = _stage(per_world.runge_kutta, last=True)
forward = _stage(whole.forward, last=True)
step = _stage(_step, last=True)
inverse = _stage(backward.inverse, last=True)
_crb = _stage(per_world.crb)
_rne = _stage(per_world.rne)
_rne_acc = _stage(worlds.lift(functools.partial(velocity.rne, flg_acc=True)))
_tendon = _stage(per_world.tendon)
_transmission = _stage(per_world.transmission)
_make_constraint = _stage(per_world.make_constraint)
_solve = _stage(per_world.fwd_constraint)


def _arms(model: Any, data: Any) -> tuple[Array | None, Array | None]:
    """Native: entries of the Jacobian of tendons and of the moment arms of actuators."""
    data = run((tendons.tendon, transmissions.transmission), model, data.replace(work=Work()))
    return data.work.ten_J, data.work.actuator_moment


_lifted_arms = worlds.lift(_arms)


def _matrix(entries: Array | None, places: Any, shape: tuple[int, int], like: Array) -> Array:
    zero = jnp.zeros(shape, like.dtype)
    return zero if entries is None else zero.at[places[0], places[1]].set(entries)


def tendon(m: Model, d: Data) -> Data:
    """Computes ten_length and ten_J (mj_tendon); needs `com_pos`."""
    entries, _ = _lifted_arms(*engine_records(m, d))
    J = _matrix(entries, tendon_entries(m.static), (m.ntendon, m.nv), d.qpos)
    return _tendon(m, d).replace(ten_J=J)


def transmission(m: Model, d: Data) -> Data:
    """Computes actuator_length and actuator_moment (mj_transmission); needs `tendon`."""
    _, entries = _lifted_arms(*engine_records(m, d))
    moment = _matrix(entries, moment_entries(m.static), (m.nout, m.nv), d.qpos)
    return _transmission(m, d).replace(actuator_moment=moment)


def crb(m: Model, d: Data) -> Data:
    """Computes M and the composite inertias `crb` (mj_crb); needs `com_pos`. Armature of tendons is part of M."""
    below = tree(m.static).descendants.copy()
    below[0] = 0
    return _crb(m, d).replace(crb=product(jnp.asarray(below, d.cinert.dtype), d.cinert))


def tendon_armature(m: Model, d: Data) -> Data:
    """The data as it is: `crb` adds the armature of tendons to M."""
    return d


def factor_m(m: Model, d: Data) -> Data:
    """Computes qLD, the upper Cholesky factor of M, dense; needs `crb`. No other stage reads it."""
    M = inertia.full_m(*engine_records(m, d))
    return d.replace(qLD=jnp.linalg.cholesky(M, upper=True) if m.nv else M)


def make_constraint(m: Model, d: Data) -> Data:
    """Counts constraint rows, gives contacts their addresses and fills `efc_J`, `efc_D`, ... (mj_makeConstraint).

    Needs `fwd_position` and, for `efc_aref`, `fwd_velocity`. Rows have fixed places; those out of use are zero. Slots
    of contacts out of use get the dimension that their rows are for.
    """
    return _with_rows(m, _make_constraint(m, d))


def solve(m: Model, d: Data) -> Data:
    """Solves for qacc and efc_force (mj_fwdConstraint); fills the fields of rows as `make_constraint` does."""
    return _with_rows(m, _solve(m, d))


def _with_rows(m: Model, d: Data) -> Data:
    contacts = row_layout(m).contacts
    dim = np.concatenate([np.zeros(0, int), *(np.full(rows.count, rows.dim) for rows in contacts)])
    contact = d.contact.replace(dim=jnp.asarray(dim, d.contact.dim.dtype))
    return d.replace(contact=contact, **constraint_fields(*engine_records(m, d)))


def rne(m: Model, d: Data, flg_acc: bool = False) -> Data:
    """Computes qfrc_bias (mj_rne), with `flg_acc` that of `qacc` too, without armature; needs `com_vel`."""
    return (_rne_acc if flg_acc else _rne)(m, d)
