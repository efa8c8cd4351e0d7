"""`jaxsim tune`: the contact and pair budgets that a model needs, measured under random motion."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import tyro

from jaxsim.cli.models import CommandError, load
from jaxsim.cli.outputs import check_outputs

__all__ = ["Sizes", "measure", "suggest", "tune"]

_TRIES = 6
"""Most times that sizes which were too small are enlarged."""


def tune(
    model: tyro.conf.Positional[str],
    /,
    worlds: int = 16,
    steps: int = 200,
    seed: int = 0,
    margin: float = 1.5,
    out: Path | None = None,
) -> None:
    """Measures how many contacts and near pairs a model has under random motion, and says what sizes would do.

    Worlds start from random poses about the keyframe `home` (else the first keyframe, else the reference configuration)
    and follow random controls. What is printed goes into the model's file, and leaves no contact out in that motion.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
        worlds: Number of worlds.
        steps: Steps of every world.
        seed: Seed of poses and controls.
        margin: Sizes are this many times the most that was seen.
        out: Write the sizes to this file as well, as an MJCF model to include.
    """
    from rich.console import Console
    from rich.markup import escape

    if worlds < 1 or steps < 1 or not margin >= 1:
        raise CommandError("--worlds and --steps must be at least 1, --margin at least 1.0")
    check_outputs(out)
    console = Console(markup=False)
    compiled = load(model)
    with console.status(f"{escape(model)}: {worlds:,} worlds, {steps:,} steps"):
        now = _now(compiled)
        seen, chosen = suggest(compiled, worlds, steps, seed, margin)
    console.print(_table(compiled, now, seen, chosen))
    text = _snippet(compiled, chosen)
    console.print(text, highlight=False)
    if out is not None:
        out.write_text(f"<mujocoinclude>\n{text}\n</mujocoinclude>\n")
        console.print(f"sizes: {out}", highlight=False)


class Sizes(NamedTuple):
    """Numbers a world has, or has room for.

    Attributes:
        contacts: Contacts.
        pairs: Near pairs of each kind that has a broad phase, by its name; "convex" are those of the general collider.
        overflow: Whether something was left out.
    """

    contacts: int
    pairs: dict[str, int]
    overflow: bool = False


def suggest(model: Any, worlds: int, steps: int, seed: int, margin: float) -> tuple[Sizes, Sizes]:
    """The most that was seen, and sizes with which the same motion leaves nothing out.

    Raises:
        CommandError: The motion is not finite, or no sizes were found.
    """
    seen = measure(model, worlds, steps, seed)
    most = _now(model)
    for _ in range(_TRIES):
        if not seen.overflow:
            break
        most = Sizes(2 * most.contacts, {name: 2 * n for name, n in most.pairs.items()})
        seen = measure(_sized(model, most), worlds, steps, seed)
    chosen = Sizes(
        max(1, math.ceil(margin * seen.contacts)),
        {k: max(1, math.ceil(margin * n)) for k, n in seen.pairs.items()},
    )
    for _ in range(_TRIES):
        if not measure(_sized(model, chosen), worlds, steps, seed).overflow:
            return seen, chosen
        chosen = Sizes(
            math.ceil(1.5 * chosen.contacts), {k: math.ceil(1.25 * n) for k, n in chosen.pairs.items()}
        )
    raise CommandError(
        f"contacts were left out with {chosen.contacts} slots a world too; look at the model's poses"
    )


def measure(model: Any, worlds: int, steps: int, seed: int) -> Sizes:
    """The most contacts and near pairs of any world at any step of a random motion.

    Every fourth world begins in the pose itself, where things rest and touch, the others about it.

    Raises:
        CommandError: All worlds come to a bad state.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    import jaxsim
    from jaxsim import parallel
    from jaxsim.cli.rollout import starting_pose
    from jaxsim.collision.broad import count_in_reach
    from jaxsim.results import WarningBit, is_lost
    from jaxsim.structure.controls import control_range
    from jaxsim.structure.slots import slot_layout
    from jaxsim.worlds import lift

    kinds = [kind for kind in slot_layout(model).kinds if kind.budget is not None]
    near = lift(lambda model, data: jnp.stack([count_in_reach(model, data, kind) for kind in kinds]))
    data = jaxsim.make_data(model)
    qpos, _ = starting_pose(model)
    low, high = map(jnp.asarray, control_range(model, 1.0))

    def one(key: Any, away: Any) -> tuple[Any, Any, Any]:
        poses, controls = jax.random.split(key)
        shift = away * 0.3 * jax.random.normal(poses, (model.nv,), data.qpos.dtype)
        start = jaxsim.integrate_pos(model, jnp.asarray(qpos, data.qpos.dtype), shift, 1.0)

        def step(data: Any, key: Any) -> tuple[Any, Any]:
            ctrl = jax.random.uniform(key, (model.nu,), data.qpos.dtype, low, high)
            data = jaxsim.step(model, data.replace(ctrl=ctrl))
            return data, (data.ncon, near(model, data) if kinds else jnp.zeros(0, int))

        end, (ncon, pairs) = jax.lax.scan(step, data.replace(qpos=start), jax.random.split(controls, steps))
        return jnp.max(ncon), jnp.max(pairs, axis=0), end.warning

    mesh = parallel.worlds_mesh(worlds)
    keys, away = jax.random.split(jax.random.key(seed), worlds), jnp.arange(worlds) % 4 != 0
    ncon, pairs, warning = jax.jit(parallel.vmap(one, mesh=mesh))(*parallel.spread((keys, away), mesh))
    warning = np.asarray(warning)
    good = ~is_lost(warning)
    if not good.any():
        raise CommandError("all worlds came to a state that is not finite or too fast; try fewer --steps")
    full = warning[good] & (WarningBit.CONTACT_OVERFLOW | WarningBit.PAIR_OVERFLOW) != 0
    most = np.asarray(pairs)[good].max(axis=0).tolist()
    names = [kind.name for kind in kinds]
    return Sizes(int(np.asarray(ncon)[good].max()), dict(zip(names, most, strict=True)), bool(full.any()))


def _now(model: Any) -> Sizes:
    """The sizes that a model has."""
    from jaxsim.structure.slots import slot_layout

    layout = slot_layout(model)
    return Sizes(layout.count, {k.name: k.budget for k in layout.kinds if k.budget is not None})


def _sized(model: Any, sizes: Sizes) -> Any:
    """The model with these sizes."""
    return model.replace(nconmax=sizes.contacts, max_geom_pairs=_budgets(model, sizes))


def _budgets(model: Any, sizes: Sizes) -> str:
    """The text of `max_geom_pairs`.

    A number without types is that of the general collider's pairs, but also of all kinds that are not named.
    """
    from jaxsim.structure.slots import slot_layout

    pairs = dict(sizes.pairs)
    if "convex" in pairs:
        rest = (k for k in slot_layout(model).kinds if k.budget is None and not k.collider.general)
        pairs |= {kind.name: len(kind.rows) for kind in rest}
    return ", ".join(str(n) if name == "convex" else f"{name} {n}" for name, n in pairs.items())


def _snippet(model: Any, sizes: Sizes) -> str:
    lines = [f'  <size nconmax="{sizes.contacts}"/>']
    if sizes.pairs:
        lines.append(f'  <custom><text name="max_geom_pairs" data="{_budgets(model, sizes)}"/></custom>')
    return "\n".join(lines)


def _table(model: Any, now: Sizes, seen: Sizes, chosen: Sizes) -> Any:
    from rich.table import Table

    table = Table(title=f"{model.modelname}: sizes of a world")
    for name in ("", "now", "most seen", "enough"):
        table.add_column(name, justify="left" if not name else "right")
    table.add_row("contact slots", *(str(s.contacts) for s in (now, seen, chosen)))
    for name in chosen.pairs:
        table.add_row(f"near pairs, {name}", *(str(s.pairs.get(name, "all")) for s in (now, seen, chosen)))
    return table
