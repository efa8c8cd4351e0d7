"""Projected Gauss-Seidel on the dual problem, all worlds at once. Native layout.

Sweeps set the forces of one row, or of one contact with an elliptic cone, to their best for those of all others
(computation chapter, "PGS"). Between sweeps the forces move on along the last change with Nesterov's momentum, which
starts anew where a sweep turns against it, or where the two together raise the cost, which then does not count
(O'Donoghue and Candes, Adaptive restart for accelerated gradient schemes, 2015).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import concat, split, sum_rows
from jaxsim.math.gather import widen
from jaxsim.model import Model
from jaxsim.solver import linalg
from jaxsim.solver.adjoint import Optimum
from jaxsim.solver.assembly import Problem, forces, push
from jaxsim.solver.jacobian import EdgeJacobian
from jaxsim.solver.newton import Solution
from jaxsim.solver.rows import Cones, Rows, RowValues, pieces, residuals, transpose, with_jacobians
from jaxsim.solver.sweep import Arranged, Blocks, accelerated, arrange, in_slots, projected, slopes, sweep
from jaxsim.structure.rows import RowLayout

__all__ = ["gauss_seidel"]


class _State(NamedTuple):
    """Of the loop over sweeps: forces by group of blocks, their cost, those before, and the age of the momentum."""

    y: list[Array]
    cost: Array
    before: list[Array]
    age: Array
    iterations: Array
    done: Array
    converged: Array


def gauss_seidel(
    layout: RowLayout, model: Model, problem: Problem, smooth: Array, guess: Array | None
) -> tuple[Solution, Optimum]:
    """Minimises the dual cost; arguments as those of `newton.minimise`.

    Starts from the forces that belong to the guess, if they are better than none. A world is done when a sweep lowers
    its scaled cost by less than the tolerance, or when iterations run out.

    Returns:
      The acceleration with the residuals and forces that belong to it, and the forces of the sweeps.
    """
    problem = problem.replace(rows=with_jacobians(problem.rows))
    rows, option = problem.rows, model.opt
    scale = 1 / (model.stat.meaninertia * max(1, model.nv))
    width = max(a.shape[-1] for a in jax.tree.leaves((problem, smooth)))
    blocks = _blocks(rows, _guessed(problem, smooth, guess), model.nv)
    arranged = [arrange(layout.inertia, problem.M, block, width) for block in blocks]
    smooth = widen(smooth, width)
    pulls = [slopes(block, smooth) for block in arranged]

    def acceleration(y: list[Array]) -> Array:
        """That which forces make."""
        x = smooth
        for block, own in zip(arranged, y, strict=True):
            x = accelerated(block, x, own)
        return x

    def cost_of(x: Array, y: list[Array]) -> Array:
        """The dual cost of forces that make the acceleration x; of none it is zero."""
        moved = x - smooth
        total = 0.5 * sum_rows(moved * linalg.mul_tree(layout.inertia, problem.M, moved))
        for block, pull, own in zip(arranged, pulls, y, strict=True):
            used = jnp.arange(own.shape[0])[:, None, None] < block.number
            total = total + _inner(own, jnp.where(used, pull + 0.5 * block.R * own, 0))
        return total

    def once(state: _State) -> _State:
        """One sweep."""
        live = ~state.done
        momentum = jnp.maximum((state.age - 1) / (state.age + 2), 0).astype(smooth.dtype)
        ahead = [
            projected(block, y + momentum * (y - old))
            for block, y, old in zip(arranged, state.y, state.before, strict=True)
        ]
        x, gain, found = acceleration(ahead), jnp.zeros_like(smooth[0]), []
        for block, y in zip(arranged, ahead, strict=True):
            x, new, more = sweep(block, x, y, live)
            found.append(new)
            gain = gain + more
        along = [_inner(a - b, b - c) for a, b, c in zip(found, ahead, state.y, strict=True)]
        against = sum(along, jnp.zeros_like(gain)) < 0
        cost = cost_of(x, found)
        worse = (cost > state.cost) & (momentum > 0)
        taken = live & ~worse
        iterations = state.iterations + live
        converged = jnp.where(taken, scale * gain < option.tolerance, state.converged)
        return _State(
            y=[jnp.where(taken, a, b) for a, b in zip(found, state.y, strict=True)],
            cost=jnp.where(taken, cost, state.cost),
            before=state.y,
            age=jnp.where(against | worse, 0, state.age + 1),
            iterations=iterations,
            done=state.done | converged | (iterations >= option.iterations),
            converged=converged,
        )

    y = [block.y for block in arranged]
    cost = cost_of(acceleration(y), y)
    y = [jnp.where(cost > 0, 0, own) for own in y]
    zero, nobody = jnp.zeros((width,), int), jnp.zeros((width,), bool)
    state = _State(y, jnp.minimum(cost, 0), y, zero, zero, nobody | (option.iterations <= 0), nobody)
    state = lax.while_loop(lambda s: ~jnp.all(s.done), once, state)
    f = _unpacked(rows, blocks, arranged, state.y)
    pushed = transpose(rows, f, smooth)
    x = linalg.solve_tree(layout.inertia, problem.M, problem.force + pushed)
    r = residuals(rows, x)
    inertial = linalg.mul_tree(layout.inertia, problem.M, x)
    ended = (state.iterations, state.done, state.converged, state.converged, 0 * x[0])
    at = Solution(x, inertial, r, push(rows, r, x), *ended)
    return at, Optimum(x, pushed, f)


def _inner(a: Array, b: Array) -> Array:
    product = a * b
    return sum_rows(product.reshape(-1, product.shape[-1]))


def _guessed(problem: Problem, smooth: Array, guess: Array | None) -> RowValues:
    """Forces of the guess, or none."""
    if guess is None:
        return jax.tree.map(jnp.zeros_like, residuals(problem.rows, smooth))
    return forces(problem.rows, residuals(problem.rows, guess))


def _inverse(D: Array) -> Array:
    """R of D, and 0 of rows out of use."""
    return safe.divide(jnp.ones_like(D), D)


def _blocks(rows: Rows, f: RowValues, nv: int) -> list[Blocks]:
    """Scalar rows, then contacts: those with pyramids by their edges, or with elliptic cones in scaled axes."""
    singles: list[Blocks] = []
    contacts: list[Blocks] = []
    names = (rows.D, rows.aref, rows.low, rows.high, f.scalar)
    for (J, D), *others in zip(*(pieces(rows, x) for x in names), strict=True):
        aref, low, high, y = (x for _, x in others)
        size = max(1, 2 * J.friction.shape[1]) if isinstance(J, EdgeJacobian) else 1
        n = J.size // size
        block = Blocks(
            J=J.matrix(nv).astype(aref.dtype).reshape(n, size, nv, -1),
            **_in_blocks(n, R=_inverse(D), aref=aref, low=low, high=high, y=y),
            used=jnp.any(((D > 0) & (low < high)).reshape(n, size, -1), axis=1),
            rank=np.arange(n),
            shape="box",
        )
        (contacts if size > 1 else singles).append(block)
    contacts += [_cone(group, force) for group, force in zip(rows.cones, f.cones, strict=True)]
    return [_joined(group) for group in (singles, contacts) if group]


def _in_blocks(n: int, **numbers: Array) -> dict[str, Array]:
    return {name: x.reshape(n, -1, x.shape[-1]) for name, x in numbers.items()}


def _cone(group: Cones, force: Array) -> Blocks:
    """Contacts with elliptic cones; tangential axes are scaled by friction, so that all cones are round."""
    scale = jnp.concatenate([jnp.ones_like(group.friction[:, :1]), group.friction], axis=1)
    zero = jnp.zeros_like(group.aref)
    return Blocks(
        J=scale[:, :, None] * group.J.matrix(),
        R=scale**2 * _inverse(group.D),
        aref=scale * group.aref,
        low=zero,
        high=zero,
        y=safe.divide(force, jnp.broadcast_to(scale, force.shape)),
        used=group.D[:, 0] > 0,
        rank=np.arange(group.mu.shape[0]),
        shape="cone",
    )


def _joined(groups: list[Blocks]) -> Blocks:
    """Several groups as one, padded with rows of zeros that make no force."""
    size = max(group.R.shape[1] for group in groups)

    def padded(x: Array) -> Array:
        return jnp.pad(x, [(0, 0), (0, size - x.shape[1])] + [(0, 0)] * (x.ndim - 2))

    names = ("J", "R", "aref", "low", "high", "y")
    numbers = {name: concat([padded(getattr(group, name)) for group in groups]) for name in names}
    used = concat([group.used for group in groups])
    return Blocks(**numbers, used=used, rank=np.arange(used.shape[0]), shape=groups[0].shape)


def _unpacked(rows: Rows, blocks: list[Blocks], arranged: list[Arranged], y: list[Array]) -> RowValues:
    """Forces of all rows, from those of blocks in the order of visits."""
    found = [in_slots(*group) for group in zip(blocks, arranged, y, strict=True)]
    edges = [J.size // _edges(J) for J in rows.J if _edges(J) > 1]
    rest = [J.size for J in rows.J if _edges(J) == 1]
    of_edges = split(found[-1], edges) if edges else []
    singles = split(found[0], rest) if rest else []
    scalar: list[Array] = []
    for J in rows.J:
        own = of_edges.pop(0)[:, : _edges(J)] if _edges(J) > 1 else singles.pop(0)
        scalar.append(own.reshape(J.size, -1))
    cones: list[Array] = []
    if rows.cones:
        scaled = split(found[-1], [group.mu.shape[0] for group in rows.cones])
        for group, own in zip(rows.cones, scaled, strict=True):
            own = own[:, : group.aref.shape[1]]
            cones.append(concat([own[:, :1], group.friction * own[:, 1:]], axis=1))
    width = found[0].shape[-1]
    return RowValues(concat(scalar) if scalar else jnp.zeros((0, width), found[0].dtype), tuple(cones))


def _edges(J: object) -> int:
    """Rows of one block."""
    return max(1, 2 * J.friction.shape[1]) if isinstance(J, EdgeJacobian) else 1
