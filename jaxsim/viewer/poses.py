"""Where everything is: frames of geoms, sites, cameras, lights and tendons in many configurations, in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxsim import worlds
from jaxsim.data import Contact, Data
from jaxsim.model import Model
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.inertia import com_pos
from jaxsim.pipeline.kinematics import camlight, kinematics
from jaxsim.pipeline.reaction import contact_force
from jaxsim.pipeline.stages import run
from jaxsim.pipeline.work import Work
from jaxsim.pytree import bare
from jaxsim.viewer.tendons import pieces, routes

__all__ = ["POSE", "Contacts", "Moment", "configurations", "contacts_of", "frame_of", "frames", "place"]

POSE = ("qpos", "mocap_pos", "mocap_quat")
"""Fields of Data from which frames follow."""

_CHUNK = 64
"""Most configurations of one compiled call."""


@dataclasses.dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts of one moment.

    Attributes:
        pos: m, world frame, `(n, 3)`.
        frame: Rows: the normal, two tangents, `(n, 3, 3)`.
        force: On the second geom, N, world frame, `(n, 3)`.
    """

    pos: np.ndarray
    frame: np.ndarray
    force: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Moment:
    """One moment of one world; fields carry the names, shapes and frames of `Data`.

    Attributes:
        tendons: Points of the path of each spatial tendon, m, world frame, `(k, 3)`, by pieces between pulleys.
        contacts: None where the state does not know them.
    """

    xpos: np.ndarray
    xmat: np.ndarray
    xipos: np.ndarray
    ximat: np.ndarray
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray
    site_xpos: np.ndarray
    site_xmat: np.ndarray
    cam_xpos: np.ndarray
    cam_xmat: np.ndarray
    light_xpos: np.ndarray
    light_xdir: np.ndarray
    subtree_com: np.ndarray
    tendons: tuple[tuple[int, np.ndarray], ...] = ()
    contacts: Contacts | None = None


_FIELDS = tuple(f.name for f in dataclasses.fields(Moment) if f.default is dataclasses.MISSING)
"""Those that `place` computes."""


def frames(model: Model, state: Any) -> list[Moment]:
    """Where everything is in one or many states.

    Args:
        model: The model.
        state: Data of one moment, or of many stacked in front; or a trajectory: a mapping with `qpos` `(T, nq)`, and
            `mocap_pos`, `mocap_quat` where they move; or `qpos` alone, `(nq,)` or `(T, nq)`.

    Returns:
        One frame a moment.

    Raises:
        ValueError: The shapes do not fit the model.
    """
    arrays, count = _states(model, state)
    width = 1 if count == 1 else _CHUNK
    found: list[Moment] = []
    for start in range(0, count, width):
        part = {k: v[start : start + width] for k, v in arrays.items()}
        short = width - len(part["qpos"])
        part = {
            k: np.moveaxis(np.concatenate([v, np.repeat(v[-1:], short, 0)]), 0, -1) for k, v in part.items()
        }
        placed, paths = place(model, part)
        placed, paths = jax.device_get((placed, paths))
        found.extend(frame_of(model, placed, paths, k) for k in range(width - short))
    if not isinstance(state, Data):
        return found
    contacts = contacts_of(model, state, count)
    return [dataclasses.replace(f, contacts=c) for f, c in zip(found, contacts, strict=True)]


def _states(model: Model, state: Any) -> tuple[dict[str, np.ndarray], int]:
    """`qpos`, `mocap_pos` and `mocap_quat` of every moment, moments first, and how many these are."""
    if isinstance(state, Data):
        given: dict[str, Any] = {k: getattr(state, k) for k in POSE}
    elif isinstance(state, Mapping):
        given = {k: state[k] for k in POSE if k in state} | {"qpos": configurations(state)}
    else:
        given = {"qpos": state}
    qpos = np.asarray(given["qpos"], float)
    if qpos.ndim not in (1, 2) or qpos.shape[-1] != model.nq or (qpos.ndim == 2 and not len(qpos)):
        raise ValueError(f"qpos has shape {qpos.shape}; expected ({model.nq},) or (T, {model.nq})")
    many = qpos.ndim == 2
    count = len(qpos) if many else 1
    start = {k: np.asarray(v) for k, v in initial_state(model).items()}
    arrays = {"qpos": qpos.reshape(count, model.nq)}
    for name in POSE[1:]:
        value = np.asarray(given.get(name, start[name]), float)
        arrays[name] = np.broadcast_to(value, (count, *start[name].shape))
    return arrays, count


def configurations(trajectory: Mapping[str, Any]) -> np.ndarray:
    """`qpos` of a trajectory.

    Raises:
        ValueError: It has none.
    """
    if "qpos" not in trajectory:
        names = ", ".join(map(str, trajectory)) or "nothing"
        raise ValueError(f"a trajectory needs qpos; this one has {names}")
    return np.asarray(trajectory["qpos"], float)


@jax.jit
def place(model: Model, state: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], Any]:
    """Frames and tendon paths of states with worlds last: `qpos`, `mocap_pos`, `mocap_quat`; one compiled call.

    What is not finite counts as zero, so that a state that has blown up can be looked at.
    """
    native = worlds.expand(bare(model))
    real = native.qpos0.dtype
    data = worlds.expand(blank(bare(model), buffers=False)).replace(
        work=Work(),
        **{k: jnp.nan_to_num(v.astype(real), nan=0.0, posinf=0.0, neginf=0.0) for k, v in state.items()},
    )
    data = run((kinematics, com_pos, camlight), native, data)
    return {name: getattr(data, name) for name in _FIELDS}, routes(native, data)


def frame_of(model: Model, placed: dict[str, np.ndarray], paths: Any, k: int) -> Moment:
    """The frame of one of many worlds, from the results of `place` on the host."""
    one: dict[str, Any] = {n: np.asarray(x[..., min(k, x.shape[-1] - 1)], float) for n, x in placed.items()}
    return Moment(**one, tendons=pieces(model, paths, k))


def _native_forces(model: Model, contact: Contact, efc_force: jax.Array) -> jax.Array:
    return contact_force(model, blank(model, buffers=False).replace(contact=contact, efc_force=efc_force))


_forces = jax.jit(jax.vmap(worlds.lift(_native_forces), (None, 0, 0)))


def contacts_of(model: Model, data: Data, count: int) -> list[Contacts | None]:
    """The contacts that data of one or many moments hold."""
    stacked = (data.contact, data.efc_force)
    if data.qpos.ndim == 1:
        stacked = jax.tree.map(lambda x: jnp.asarray(x)[None], stacked)
    if stacked[0].dist.ndim != 2 or not stacked[0].dist.shape[1]:
        return [None] * count
    force = np.asarray(_forces(model, *stacked), float)
    contact = jax.device_get(stacked[0])
    found: list[Contacts | None] = []
    for k in range(count):
        used = (contact.geom[k, :, 0] >= 0) & (contact.dist[k] < contact.includemargin[k])
        frame = np.asarray(contact.frame[k][used], float)
        world = np.einsum("nk,nkj->nj", force[k, used, :3], frame)
        found.append(Contacts(np.asarray(contact.pos[k][used], float), frame, world))
    return found
