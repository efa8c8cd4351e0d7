"""The no-slip solver: friction forces that hold what the main solver lets creep. Native layout.

Regularisation makes constraints soft, so a box on a slope creeps. After the main solver, Gauss-Seidel sweeps set the
friction forces to what they would be without regularisation; all other forces stay (computation chapter, "Constraint
solver"; MJCF reference, option `noslip_iterations`). Visits are in the C engine's order, since few sweeps are usual.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.math.axis import concat, split, sum_rows
from jaxsim.math.gather import Index, joined, widen
from jaxsim.model import Model
from jaxsim.solver import linalg
from jaxsim.solver.adjoint import Optimum
from jaxsim.solver.assembly import Problem
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.rows import Rows, RowValues, transpose
from jaxsim.solver.slip import Friction, friction_rows, with_friction
from jaxsim.solver.slip_adjoint import held, sticking
from jaxsim.solver.sweep import Arranged, Blocks, arrange, in_slots, sweep
from jaxsim.structure.contact_order import contact_rank, pair_table
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.slots import ContactGroup

__all__ = ["Held", "hold", "without_slip"]


_ROUND_OFF = 100
"""Gains this many times the rounding error of the cost count as none."""


class Held(NamedTuple):
    """Where the sweeps ended.

    Attributes:
      y: scaled forces of the friction rows, as `friction_rows` orders them.
      iterations: sweeps, `(W,)`.
      settled: whether the last sweep gained nothing that counts, `(W,)`.
    """

    y: list[Array]
    iterations: Array
    settled: Array


def without_slip(
    layout: RowLayout, model: Model, data: Data, problem: Problem, main: Optimum, known: Array | None
) -> tuple[Optimum, list[Array], Held | None]:
    """Replaces the friction forces of the main solver.

    Args:
      layout: the model's rows.
      model: gives the options.
      data: gives the geoms of contacts.
      problem: M, smooth force and rows.
      main: what the main solver found.
      known: a solution from an earlier pass, which ends with the no-slip forces and which of them stick; None: they
        are computed.

    Returns:
      The accelerations and forces, differentiable; the no-slip forces and which of them stick, `(k, W)` each; and how
      the sweeps ended, if there were any.
    """
    parts, start = friction_rows(layout, problem.rows, main.f)
    if not parts:
        return main, [], None
    sweeps, y = None, start
    if known is None:
        fixed = lax.stop_gradient((problem, main.f))
        sweeps = hold(layout, *lax.stop_gradient((model, data)), *fixed)
        y, sticks = sweeps.y, sticking(layout, *fixed, lax.stop_gradient(parts), sweeps.y)
    else:
        rest = split(known[model.nv :], 2 * [x.shape[0] * x.shape[1] for x in start])
        kept = [flat.reshape(*x.shape[:2], -1) for flat, x in zip(rest, 2 * start, strict=True)]
        y, sticks = kept[: len(start)], [own > 0 for own in kept[len(start) :]]
    y = held(layout, problem, main.f, y, sticks)
    f = with_friction(problem.rows, main.f, parts, y)
    push = transpose(problem.rows, f, problem.force)
    x = linalg.solve_tree(layout.inertia, problem.M, problem.force + push)
    final = jax.tree.map(
        lambda a, b: jnp.where(model.opt.noslip_iterations > 0, a, b), Optimum(x, push, f), main
    )
    kept = [*lax.stop_gradient(y), *(own.astype(x.dtype) for own in sticks)]
    return final, [own.reshape(-1, own.shape[-1]) for own in kept], sweeps


def hold(layout: RowLayout, model: Model, data: Data, problem: Problem, f: RowValues) -> Held:
    """Sweeps over the friction rows of all worlds until each world's sweep gains little, or iterations run out.

    Args:
      layout: the model's rows.
      model: gives iterations, tolerance and their scaling.
      data: gives the geoms of contacts, which have an order.
      problem: M, smooth force and rows.
      f: the main solver's forces.
    """
    parts, y = friction_rows(layout, problem.rows, f)
    force = problem.force + transpose(problem.rows, f, problem.force)
    x = linalg.solve_tree(layout.inertia, problem.M, force)
    width = x.shape[-1]
    blocks = _blocks(layout, model, data, parts, y)
    arranged = [arrange(layout.inertia, problem.M, block, width) for block in blocks]
    scale = 1 / (model.stat.meaninertia * max(1, model.nv))
    option = model.opt

    def once(state: _State) -> _State:
        live, x, gain, found = ~state.done, state.x, jnp.where(state.iterations == 0, state.soft, 0), []
        for block, own in zip(arranged, state.y, strict=True):
            x, own, more = sweep(block, x, own, live)
            found.append(own)
            gain = gain + more
        iterations = state.iterations + live
        gain = jnp.where(live, scale * gain, state.gain)
        done = state.done | (gain < option.noslip_tolerance) | (iterations >= option.noslip_iterations)
        return _State(x, found, iterations, gain, state.soft, done)

    state = _State(
        x=x,
        y=[block.y for block in arranged],
        iterations=jnp.zeros((width,), int),
        gain=jnp.zeros((width,), x.dtype),
        soft=widen(_softness(problem.rows, f), width),
        done=jnp.broadcast_to(option.noslip_iterations <= 0, (width,)),
    )
    state = lax.while_loop(lambda s: ~jnp.all(s.done), once, state)
    round_off = _ROUND_OFF * float(jnp.finfo(x.dtype).eps) * scale * sum_rows(jnp.abs(force * state.x))
    settled = (state.gain <= jnp.maximum(option.noslip_tolerance, round_off)) | (state.iterations == 0)
    return Held(_unpacked(parts, blocks, arranged, state.y), state.iterations, settled)


class _State(NamedTuple):
    """Of the loop over sweeps; `soft` is the part of the cost that regularisation had."""

    x: Array
    y: list[Array]
    iterations: Array
    gain: Array
    soft: Array
    done: Array


def _softness(rows: Rows, f: RowValues) -> Array:
    """`f^T R f / 2`, `(W,)`: it leaves the cost at the first sweep, and C counts it as gained."""
    total = sum_rows(_compliance(f.scalar, rows.D))
    for group, force in zip(rows.cones, f.cones, strict=True):
        each = _compliance(force, group.D)
        total = total + sum_rows(each.reshape(-1, each.shape[-1]))
    return total


def _compliance(f: Array, D: Array) -> Array:
    return jnp.where(D > 0, 0.5 * f * f / jnp.where(D > 0, D, 1), 0)


def _blocks(
    layout: RowLayout, model: Model, data: Data, parts: list[Friction], y: list[Array]
) -> list[Blocks]:
    """Friction loss, one row a block, then contacts: those of fewer dimensions are padded with rows of zeros."""
    pairs = list(zip(parts, y, strict=True))
    found = []
    losses = [(part, force) for part, force in pairs if not part.dim]
    if losses:
        count = sum(part.scale.shape[0] for part, _ in losses)
        found.append(_joined(model.nv, losses, 1, np.arange(count)))
    contacts = [(part, force) for part, force in pairs if part.dim]
    if contacts:
        ranks = [_ranks(model, data, g) for rows in layout.contacts if rows.dim > 1 for g in rows.groups]
        size = max(part.dim for part, _ in contacts) - 1
        found.append(_joined(model.nv, contacts, size, joined(ranks)))
    return found


def _ranks(model: Model, data: Data, group: ContactGroup) -> Index:
    """Places of the slots of a group in the C engine's list of contacts: `(n,)`, or `(n, W)` if worlds differ."""
    rank = contact_rank(model.static, model.opt.disableflags)
    if group.pair is not None:
        return rank[group.pair]
    table = pair_table(model.static, model.opt.disableflags)
    geoms = jnp.maximum(data.contact.geom[group.start : group.stop], 0)
    row1, row2 = (jnp.asarray(table.row)[geoms[:, side]] for side in (0, 1))
    return jnp.asarray(rank)[jnp.asarray(table.pair)[row1, row2]]


def _joined(nv: int, pairs: list[tuple[Friction, Array]], size: int, rank: Index) -> Blocks:
    """Parts and their forces as blocks of `size` rows."""
    first, _ = pairs[0]

    def padded(x: Array, axis: int = 1) -> Array:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (0, size - x.shape[axis])
        return jnp.pad(x, widths)

    def joined(parts: list[Array]) -> Array:
        return concat([padded(x) for x in parts])

    bound = concat([padded(p.bound) if not p.round else _repeated(p.bound, size) for p, _ in pairs])
    aref = joined([p.aref for p, _ in pairs])
    return Blocks(
        J=joined([_matrix(p, nv) for p, _ in pairs]),
        R=jnp.zeros((*aref.shape[:-1], 1), aref.dtype),
        aref=aref,
        low=-bound,
        high=bound,
        y=joined([force for _, force in pairs]),
        used=jnp.any(bound > 0, axis=1),
        rank=rank,
        shape="ball" if first.round else "box",
    )


def _repeated(bound: Array, size: int) -> Array:
    return jnp.broadcast_to(bound[:, :1], (bound.shape[0], size, bound.shape[-1]))


def _matrix(part: Friction, nv: int) -> Array:
    """The scaled Jacobian, `(n, d, nv, 1 or W)`."""
    J = part.J
    if isinstance(J, ContactJacobian):
        return part.scale[:, :, None] * J.J
    return J.matrix(nv).astype(part.aref.dtype)[:, None]


def _unpacked(
    parts: list[Friction], blocks: list[Blocks], arranged: list[Arranged], y: list[Array]
) -> list[Array]:
    """Forces by part, from those of blocks in the order of visits."""
    found: list[Array] = []
    left = list(parts)
    for block, own, values in zip(blocks, arranged, y, strict=True):
        values = in_slots(block, own, values)
        group = [p for p in left if bool(p.dim) == bool(left[0].dim)]
        left = left[len(group) :]
        pieces = split(values, [p.scale.shape[0] for p in group])
        found += [piece[:, : p.scale.shape[1]] for p, piece in zip(group, pieces, strict=True)]
    return found
