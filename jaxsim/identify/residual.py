"""What a model gets wrong of measured motion, window by window, and the exact Jacobian of that.

Multiple shooting (Bock 1981): a trajectory is cut into windows, each simulated from a start of its own. Short windows
keep the effect of a parameter near to linear where a long simulation is chaotic, as through chattering contacts.
Where the windows' starts are unknowns, *defects*, the end of a window against the start of the next, tie them together.

Windows do not know each other's starts, so p + n directions, p of parameters and n of a state, give the whole Jacobian,
however many windows there are.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from scipy import sparse

from jaxsim.data import Data
from jaxsim.enums import JointType
from jaxsim.hints import check_counts
from jaxsim.identify.parameters import Parameter, apply, coordinates
from jaxsim.model import Model
from jaxsim.pipeline.make_data import make_data
from jaxsim.results import is_lost
from jaxsim.rollout import rollout
from jaxsim.support.position import differentiate_pos, integrate_pos

__all__ = ["FIELDS", "Residual", "Trajectory", "build_residual"]

FIELDS = ("qpos", "qvel", "sensordata")
"""What can be measured, in the order of a residual."""

States = Literal["free", "measured"]


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """Measured motion; `nan` is what was not measured.

    Row k of `qpos` and `qvel` is the state before control k, with one row more for the end. Row k of `sensordata` are
    the sensors of the last step under control k, which, as in the C engine, are those of the state before that step.

    Attributes:
      ctrl: controls, (T, nu).
      qpos: positions, (T + 1, nq).
      qvel: velocities, (T + 1, nv).
      sensordata: sensors, (T, nsensordata).
      initial: the state that the motion begins in, one world, if positions were not measured.
    """

    ctrl: ArrayLike
    qpos: ArrayLike | None = None
    qvel: ArrayLike | None = None
    sensordata: ArrayLike | None = None
    initial: Data | None = None


class _Windows(NamedTuple):
    """Windows of all trajectories, N of them, L controls long.

    Attributes:
      qpos: guesses of their first positions, (N, nq).
      qvel: of their first velocities, (N, nv).
      act: of their first activations, (N, na).
      ctrl: (N, L, nu).
      measured: by field, (N, L, width); what is not measured is 0.
      weight: by field, one over the standard deviation, 0 for what is not measured.
      start: weight of the starts against their guesses, (N, n): of first windows whose start was measured.
      target: the window whose start is the end of this one, itself if there is none, (N,).
    """

    qpos: Array
    qvel: Array
    act: Array
    ctrl: Array
    measured: dict[str, Array]
    weight: dict[str, Array]
    start: np.ndarray
    target: np.ndarray


class Residual:
    """The residual of a fit and its Jacobian; made by `build_residual`.

    Unknowns are the coordinates of the parameters (p,), then, where they are free, displacements of the windows' starts
    from their guesses in the tangent space (N n,), n = 2 nv + na.

    Attributes:
      model: the model with nominal parameters.
      parameters: what is looked for.
      window: controls in a window, L.
      states: `"free"` or `"measured"`.
      names: of every number of the parameters, (p,).
      size: number of unknowns.
      simulations: how often all windows were simulated, counting a direction of the Jacobian by differences as one, and
        the exact Jacobian with its residual as one: what a difference costs, and exactness does not.
    """

    def __init__(
        self,
        model: Model,
        parameters: Sequence[Parameter],
        windows: _Windows,
        states: States,
        substeps: int,
        defect: np.ndarray,
        jacobian: str,
    ) -> None:
        self.model = model
        self.parameters = tuple(parameters)
        self.states: States = states
        self.simulations = 0
        self._windows = windows
        self._substeps = substeps
        self._jacobian = jacobian
        self.names = tuple(name for p in parameters for name in p.names)
        self.window = windows.ctrl.shape[1]
        self._n = 2 * model.nv + model.na
        self._count = windows.ctrl.shape[0] if states == "free" else 0
        self.size = len(self.names) + self._count * self._n
        self._directions = len(self.names) + (self._n if self._count else 0)
        self._data = make_data(model)
        linked = np.flatnonzero(windows.target != np.arange(len(windows.target)))
        self._linked = linked if states == "free" else linked[:0]
        self._defect = 1 / defect
        self._simulate = jax.jit(self._simulated)
        self._linearise = jax.jit(self._linearised)

    def nominal(self) -> np.ndarray:
        """Unknowns at nominal parameters and guessed starts, (size,)."""
        return self._padded(coordinates(self.parameters, "nominal"), 0.0)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the unknowns, (size,) each; starts have none."""
        low, high = (coordinates(self.parameters, x) for x in ("min_value", "max_value"))
        return self._padded(low, -np.inf), self._padded(high, np.inf)

    def _padded(self, z: np.ndarray, fill: float) -> np.ndarray:
        return np.concatenate([z, np.full(self._count * self._n, fill)])

    def __call__(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        """The residual (m,), in standard deviations, and its Jacobian (m, size), sparse, at unknowns x (size,)."""
        p = len(self.names)
        z, s = jnp.asarray(x[:p]), jnp.asarray(x[p:]).reshape(self._count, self._n)
        if self._jacobian == "exact":
            self.simulations += 1
            (r, e), (dr, de) = self._linearise(z, s, self._windows)
        else:
            (r, e), (dr, de) = self._differences(z, s)
        r, e, dr, de = (np.asarray(a, float) for a in (r, e, dr, de))
        blocks = [self._stacked(dr)]
        if self._count:
            blocks += [self._defect_slopes(de), self._start_slopes()]
        return self._joined(r, e, np.asarray(s)), sparse.vstack(blocks).tocsr()

    def value(self, x: np.ndarray) -> np.ndarray:
        """The residual (m,) alone, for solvers that ask for no more."""
        self.simulations += 1
        p = len(self.names)
        z, s = jnp.asarray(x[:p]), jnp.asarray(x[p:]).reshape(self._count, self._n)
        r, e = self._simulate(z, s, self._windows)
        return self._joined(np.asarray(r, float), np.asarray(e, float), np.asarray(s))

    def _joined(self, r: np.ndarray, e: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Measurements, then weighted defects of linked windows, then weighted starts of trajectories."""
        if not self._count:
            return r.ravel()
        goal = self._windows.target[self._linked]
        defects = (e[self._linked] - s[goal]) * self._defect
        return np.concatenate([r.ravel(), defects.ravel(), (self._windows.start * s).ravel()])

    def by_field(self, r: np.ndarray) -> dict[str, np.ndarray]:
        """The part of a residual (m,) that is measurements, by field, (N, L, width)."""
        found = {name: w.shape for name, w in self._windows.weight.items()}
        count = sum(math.prod(shape) for shape in found.values())
        rows = r[:count].reshape(-1, self.window, count // len(self._windows.target) // self.window)
        parts = np.split(rows, np.cumsum([shape[-1] for shape in found.values()])[:-1], axis=-1)
        return dict(zip(found, parts, strict=True))

    def measured(self) -> dict[str, int]:
        """How many numbers of each field were measured."""
        return {name: int(np.count_nonzero(w)) for name, w in self._windows.weight.items()}

    def _simulated(self, z: Array, s: Array, windows: _Windows) -> tuple[Array, Array]:
        """Residuals (N, L R) of measurements, and ends (N, n) as displacements from the guessed starts they lead to."""
        model = apply(self.model, self.parameters, z)
        nv, na = model.nv, model.na
        if not self._count:
            s = jnp.zeros((len(windows.ctrl), self._n), z.dtype)
        fields = tuple(dict.fromkeys((*windows.measured, "qpos", "qvel", "act")))

        def one(s: Array, w: _Windows, goal: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            data = self._data.replace(
                qpos=integrate_pos(model, w.qpos, s[:nv], 1.0),
                qvel=w.qvel + s[nv : 2 * nv],
                act=w.act + s[2 * nv :] if na else w.act,
            )
            after, path = rollout(model, data, w.ctrl, fields=fields, substeps=self._substeps)
            # a world that flew apart was put back to qpos0: finite, and no motion of the model
            lost = jnp.where(is_lost(after.warning), jnp.inf, 0.0)
            end = [
                differentiate_pos(model, 1.0, goal[0], path["qpos"][-1]),
                path["qvel"][-1] - goal[1],
                path["act"][-1] - goal[2],
            ]
            parts = []
            for name in FIELDS:
                if name in w.measured:
                    off = path[name] - w.measured[name]
                    if name == "qpos":
                        off = jax.vmap(lambda a, b: differentiate_pos(model, 1.0, a, b))(
                            w.measured[name], path[name]
                        )
                    parts.append(off * w.weight[name])
            return jnp.concatenate(parts, axis=-1).ravel() + lost, jnp.concatenate(end)

        at = windows.target
        goal = (windows.qpos[at], windows.qvel[at], windows.act[at])
        return jax.vmap(one)(s, windows, goal)

    def _linearised(self, z: Array, s: Array, windows: _Windows) -> Any:
        """`_simulated` and its derivatives by parameters, then by the windows' own starts, on the last axis."""
        p = len(self.names)

        def moved(d: Array) -> tuple[Any, Any]:
            found = self._simulated(z + d[:p], s + d[p:] if self._count else s, windows)
            return found, found

        slopes, found = jax.jacfwd(moved, has_aux=True)(jnp.zeros(self._directions, z.dtype))
        return found, slopes

    def _differences(self, z: Array, s: Array) -> Any:
        """The same by one-sided differences, one simulation of all windows a direction."""
        eps = float(np.sqrt(np.finfo(z.dtype).eps))
        found = self._simulate(z, s, self._windows)
        columns = []
        for k in range(self._directions):
            dz = z.at[k].add(eps) if k < len(self.names) else z
            ds = s if k < len(self.names) else s.at[:, k - len(self.names)].add(eps)
            there = self._simulate(dz, ds, self._windows)
            columns.append([(np.asarray(b) - np.asarray(a)) / eps for a, b in zip(found, there, strict=True)])
        self.simulations += 1 + len(columns)
        return found, [np.stack(c, axis=-1) for c in zip(*columns, strict=True)]

    def _stacked(self, dr: np.ndarray) -> Any:
        """The Jacobian (N LR, size) of measurements from that of each window (N, LR, p + n)."""
        p = len(self.names)
        columns: list[Any] = [sparse.csr_array(dr[..., :p].reshape(-1, p))]
        if self._count:
            columns.append(sparse.block_diag([sparse.coo_array(x) for x in dr[..., p:]]))
        return sparse.hstack(columns)

    def _defect_slopes(self, de: np.ndarray) -> Any:
        """The Jacobian (M n, size) of the weighted defects of linked windows."""
        p, n, linked = len(self.names), self._n, self._linked
        goal = self._windows.target[linked]
        blocks = sparse.block_diag([sparse.coo_array(x) for x in de[..., p:]]).tocsr()
        rows = (linked[:, None] * n + np.arange(n)).ravel()
        into = (goal[:, None] * n + np.arange(n)).ravel()
        minus = sparse.csr_array(
            (np.ones(rows.size), (np.arange(rows.size), into)), (rows.size, self._count * n)
        )
        J = sparse.hstack([sparse.csr_array(de[linked][..., :p].reshape(-1, p)), blocks[rows] - minus])
        return sparse.diags_array(np.tile(self._defect, len(linked))) @ J

    def _start_slopes(self) -> Any:
        """The Jacobian (N n, size) of the weighted starts of trajectories."""
        left = sparse.csr_array((self._count * self._n, len(self.names)))
        return sparse.hstack([left, sparse.diags_array(self._windows.start.ravel())])


def build_residual(
    model: Model,
    parameters: Sequence[Parameter],
    trajectories: Sequence[Trajectory],
    *,
    window: int | None = 10,
    states: States = "free",
    sigma: Mapping[str, ArrayLike] | None = None,
    defect: ArrayLike = 1e-3,
    sensors: Sequence[str] | None = None,
    substeps: int = 1,
    jacobian: Literal["exact", "differences"] = "exact",
) -> Residual:
    """The residual of trajectories that a model should explain, for `optimize`.

    Args:
      model: the model; its sensors, if they were measured.
      parameters: what is looked for.
      trajectories: what was measured, one or more, of any length.
      window: controls in a window; None makes one window of each trajectory, which is single shooting.
      states: whether starts of windows are unknowns (`"free"`, tied by defects) or the measured states themselves
        (`"measured"`, quick, for clean measurements of positions and velocities).
      sigma: standard deviations of the noise of `"qpos"` (m, rad; (nv,) in the tangent space), `"qvel"` and
        `"sensordata"`, a number or one each; 1 by default.
      defect: standard deviation of defects, a number or one for each number of a state (n,): how far the truth may be
        from the model in a window. Small ties tightly, large forgives what the model cannot explain.
      sensors: names of sensors that count; all by default.
      substeps: timesteps of the model for each control.
      jacobian: `"exact"`, or by `"differences"` to compare.

    Raises:
      ValueError: shapes do not agree, `window` or `substeps` is no positive integer, `states` or `jacobian` is another
        word, nothing is measured or looked for, names repeat, a start is not known, or the model has another precision
        than JAX.
      TypeError: `sigma` is no mapping, or parameters or trajectories are of other types.
      KeyError: there is no sensor of this name.
    """
    _check(model, parameters, trajectories, window, states, sigma or {}, substeps, jacobian)
    n = 2 * model.nv + model.na
    off = np.broadcast_to(np.asarray(defect, float), (n,))
    if np.any(off <= 0):
        raise ValueError("build_residual: the standard deviation of defects has to be positive")
    deviations = _deviations(model, sigma or {}, sensors)
    length = max(np.shape(t.ctrl)[0] for t in trajectories) if window is None else window
    parts = [_cut(model, parameters, t, length, deviations, substeps) for t in trajectories]
    windows = _joined(parts)
    if not any(np.any(w) for w in windows.weight.values()):
        raise ValueError("build_residual: nothing is measured: give qpos, qvel or sensordata")
    return Residual(model, parameters, windows, states, substeps, off, jacobian)


def _check(
    model: Model,
    parameters: Sequence[Parameter],
    trajectories: Sequence[Trajectory],
    window: int | None,
    states: str,
    sigma: Mapping[str, ArrayLike],
    substeps: int,
    jacobian: str,
) -> None:
    """Refuses arguments of `build_residual`, which see."""
    for name, given, kind in (
        ("parameters", parameters, Parameter),
        ("trajectories", trajectories, Trajectory),
    ):
        if isinstance(given, kind):
            raise ValueError(f"build_residual: {name} is one {kind.__name__}; expected a sequence, [{name}]")
        others = [type(one).__name__ for one in given if not isinstance(one, kind)]
        if others:
            raise TypeError(
                f"build_residual: {name} holds {others[0]}; expected a sequence of {kind.__name__}"
            )
    check_counts("build_residual", window=1 if window is None else window, substeps=substeps)
    real, wide = jnp.asarray(model.qpos0).dtype, jnp.result_type(float)
    if real != wide:
        raise ValueError(
            f"build_residual: the model is {real}, JAX now {wide}; set jax_enable_x64 before it is loaded"
        )
    if not parameters:
        raise ValueError("build_residual: no parameters to look for")
    names = [name for p in parameters for name in p.names]
    if len(set(names)) < len(names):
        raise ValueError(
            f"build_residual: parameters repeat: {', '.join(sorted(n for n in names if names.count(n) > 1))}"
        )
    if not trajectories:
        raise ValueError("build_residual: no trajectories")
    if states not in ("free", "measured"):
        raise ValueError(f"build_residual: states={states!r}; expected 'free' or 'measured'")
    if jacobian not in ("exact", "differences"):
        raise ValueError(f"build_residual: jacobian={jacobian!r}; expected 'exact' or 'differences'")
    shapes = [np.shape(t.ctrl) for t in trajectories]
    if any(len(s) != 2 or s[1] != model.nu or s[0] < 1 for s in shapes):
        raise ValueError(f"build_residual: ctrl has shapes {shapes}; expected (T, {model.nu})")
    for number, t in enumerate(trajectories):
        bad = np.flatnonzero(~np.isfinite(np.asarray(t.ctrl, float)).all(axis=1))
        if len(bad):
            raise ValueError(
                f"build_residual: ctrl of trajectory {number} is not finite in {len(bad)} rows, the first is {bad[0]}; "
                "the robot acted on something there: give the control that it held, the last one sent"
            )
    if not isinstance(sigma, Mapping):
        raise TypeError(f"build_residual: sigma={sigma!r}; expected numbers by field, {{'qpos': ...}}")
    unknown = set(sigma) - set(FIELDS)
    if unknown:
        raise ValueError(
            f"build_residual: sigma of {', '.join(sorted(unknown))}; expected some of {', '.join(FIELDS)}"
        )


def _deviations(
    model: Model, sigma: Mapping[str, ArrayLike], sensors: Sequence[str] | None
) -> dict[str, np.ndarray]:
    """Standard deviations of each number of each field; infinite for sensors that do not count."""
    widths = {"qpos": model.nv, "qvel": model.nv, "sensordata": model.nsensordata}
    found = {}
    for name, width in widths.items():
        value = np.asarray(sigma.get(name, 1.0), float)
        if value.ndim > 1 or value.size not in (1, width) or np.any(value <= 0):
            raise ValueError(f"build_residual: sigma of {name} has to be positive, a number or ({width},)")
        found[name] = np.broadcast_to(value, (width,))
    if sensors is not None:
        counts = np.zeros(model.nsensordata, bool)
        for sensor in sensors:
            k = model.id("sensor", sensor)
            counts[model.sensor_adr[k] : model.sensor_adr[k] + model.sensor_dim[k]] = True
        found["sensordata"] = np.where(counts, found["sensordata"], np.inf)
    return found


def _cut(
    model: Model,
    parameters: Sequence[Parameter],
    t: Trajectory,
    length: int,
    deviations: dict[str, np.ndarray],
    substeps: int,
) -> _Windows:
    """The windows of one trajectory; the last one is filled up with what does not count."""
    ctrl = np.asarray(t.ctrl, float)
    steps = len(ctrl)
    widths = {"qpos": model.nq, "qvel": model.nv, "sensordata": model.nsensordata}
    rows: dict[str, np.ndarray] = {}
    for name, width in widths.items():
        if getattr(t, name) is not None:
            rows[name] = np.asarray(getattr(t, name), float)
            expected = (steps + (name != "sensordata"), width)
            if rows[name].shape != expected:
                raise ValueError(f"build_residual: {name} has shape {rows[name].shape}; expected {expected}")
    count = -(-steps // length)
    at = np.arange(count) * length
    qpos, qvel, act = _guess(model, parameters, t, rows, substeps)
    measured, weight = {}, {}
    for name in FIELDS:
        wide = model.nv if name == "qpos" else widths[name]
        value = np.zeros((count * length, widths[name]))
        w = np.zeros((count * length, wide))
        if name == "qpos":
            value[:] = np.asarray(model.qpos0)
        if name in rows:
            after = rows[name][-steps:]
            seen = np.isfinite(after)
            seen_rows = _seen_dofs(model, seen) if name == "qpos" else seen
            value[:steps] = np.where(seen, after, value[:steps])
            w[:steps] = seen_rows / deviations[name]
        measured[name] = value.reshape(count, length, -1)
        weight[name] = w.reshape(count, length, -1)
    start = np.zeros((count, 2 * model.nv + model.na))
    for name, place in (("qpos", 0), ("qvel", model.nv)):
        if name in rows:
            seen = np.isfinite(rows[name][:1])
            seen = _seen_dofs(model, seen) if name == "qpos" else seen
            start[0, place : place + model.nv] = seen[0] / deviations[name]
    controls = ctrl[np.minimum(np.arange(count * length), steps - 1)].reshape(count, length, model.nu)
    target = np.minimum(np.arange(count) + 1, count - 1)
    return _Windows(qpos[at], qvel[at], act[at], controls, measured, weight, start, target)  # pyright: ignore


def _seen_dofs(model: Model, seen: np.ndarray) -> np.ndarray:
    """Which degrees of freedom (T, nv) of measured positions (T, nq) count: of a quaternion all or none."""
    found = np.zeros((len(seen), model.nv), bool)
    ends = [*model.jnt_qposadr[1:], model.nq], [*model.jnt_dofadr[1:], model.nv]
    for q, v, q_end, v_end in zip(model.jnt_qposadr, model.jnt_dofadr, *ends, strict=True):
        moves = v_end - v
        found[:, v : v + min(moves, 3)] = (
            seen[:, q : q + 3] if moves == 6 else np.all(seen[:, q:q_end], axis=1)[:, None]
        )
        if moves == 6:
            found[:, v + 3 : v_end] = np.all(seen[:, q + 3 : q_end], axis=1)[:, None]
    return found


def _guess(
    model: Model, parameters: Sequence[Parameter], t: Trajectory, rows: dict[str, np.ndarray], substeps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (T, ...) before every control: as measured, else by differences of positions, else simulated."""
    steps = len(np.asarray(t.ctrl))
    qpos = _without_gaps(model, rows["qpos"]) if "qpos" in rows else None
    if qpos is None:
        if t.initial is None:
            raise ValueError(
                "build_residual: positions are not measured, or fewer than half of the time: give the state `initial` "
                "of the trajectory"
            )
        z = jnp.asarray(coordinates(parameters, "nominal"))
        ctrl = jnp.asarray(t.ctrl)

        @jax.jit
        def run(data: Data) -> dict[str, Any]:
            at = apply(model, parameters, z)
            return rollout(at, data, ctrl, fields=("qpos", "qvel", "act"), substeps=substeps)[1]

        path = run(t.initial)
        first = {name: np.asarray(getattr(t.initial, name))[None] for name in ("qpos", "qvel", "act")}
        whole = {name: np.concatenate([first[name], np.asarray(path[name])])[:-1] for name in first}
        return whole["qpos"], whole["qvel"], whole["act"]
    dt = float(model.opt.timestep) * substeps
    between = np.asarray(
        jax.vmap(lambda a, b: differentiate_pos(model, dt, a, b))(
            jnp.asarray(qpos[:-1]), jnp.asarray(qpos[1:])
        )
    )
    qvel = between.copy()
    qvel[1:] = (between[1:] + between[:-1]) / 2
    if "qvel" in rows:
        qvel = np.where(np.isfinite(rows["qvel"][:-1]), rows["qvel"][:-1], qvel)
    act = np.zeros(model.na) if t.initial is None else np.asarray(t.initial.act)
    return qpos[:-1], qvel, np.broadcast_to(act, (steps, model.na))


def _without_gaps(model: Model, qpos: np.ndarray) -> np.ndarray | None:
    """Positions (T, nq) with lost rows on straight lines; None if one is lost for more than half of the time."""
    seen = np.isfinite(qpos)
    if 2 * seen.sum(axis=0).min(initial=len(qpos)) < len(qpos):
        return None
    row = np.arange(len(qpos))
    filled = np.stack([np.interp(row, row[s], x[s]) for x, s in zip(qpos.T, seen.T, strict=True)], axis=1)
    for joint, first in zip(model.jnt_type, model.jnt_qposadr, strict=True):
        if joint in (JointType.FREE, JointType.BALL):
            start = first + 3 * (joint == JointType.FREE)
            turn = filled[:, start : start + 4]
            turn /= np.maximum(np.linalg.norm(turn, axis=1, keepdims=True), np.finfo(float).tiny)
    return filled


def _joined(parts: Sequence[_Windows]) -> _Windows:
    """The windows of all trajectories, without fields that none of them measures."""
    first = np.cumsum([0, *(len(w.target) for w in parts)])
    target = np.concatenate([w.target + k for w, k in zip(parts, first[:-1], strict=True)])

    def stack(arrays: Sequence[Any]) -> Array:
        return jnp.asarray(np.concatenate(arrays))

    known = [name for name in FIELDS if any(np.any(w.weight[name]) for w in parts)]
    return _Windows(
        qpos=stack([w.qpos for w in parts]),
        qvel=stack([w.qvel for w in parts]),
        act=stack([w.act for w in parts]),
        ctrl=stack([w.ctrl for w in parts]),
        measured={name: stack([w.measured[name] for w in parts]) for name in known},
        weight={name: stack([w.weight[name] for w in parts]) for name in known},
        start=np.concatenate([w.start for w in parts]),
        target=target,
    )
