"""`jaxsim info`: what is in a model, and what a world of it takes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tyro

from jaxsim.cli.models import load, locate

__all__ = ["info"]


def info(model: tyro.conf.Positional[str], /) -> None:
    """Says what is in a model, its sizes and the sizes of its buffers.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
    """
    import time

    from rich.columns import Columns
    from rich.console import Console
    from rich.panel import Panel

    start = time.perf_counter()
    compiled = load(model)
    seconds = time.perf_counter() - start
    console = Console(markup=False)
    console.print(compiled.modelname or model, style="bold", end="  ")
    console.print(f"{locate(model)}  loaded in {seconds:.2f} s")
    tables = [_contents(compiled), _sizes(compiled), _options(compiled), _buffers(compiled)]
    console.print(Columns([Panel(table, title=title) for title, table in tables]))


def _rows(rows: list[tuple[str, str]]) -> Any:
    from rich.table import Table

    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _contents(model: Any) -> tuple[str, Any]:
    from jaxsim.enums import GeomType, JointType, ObjType, SensorType

    rows = [("bodies", str(model.nbody - 1)), ("mass", f"{float(model.body_subtreemass[0]):.4g} kg")]
    for title, kinds, enum in (
        ("joints", model.jnt_type, JointType),
        ("geoms", model.geom_type, GeomType),
        ("sensors", model.sensor_type, SensorType),
    ):
        rows += [
            (f"{title}, {enum(kind).name.lower()}", str(n)) for kind, n in Counter(map(int, kinds)).items()
        ]
    for title, count in (
        ("sites", model.nsite),
        ("cameras", model.ncam),
        ("lights", model.nlight),
        ("tendons", model.ntendon),
        ("actuators", model.nactuator),
        ("equality constraints", model.neq),
    ):
        if count:
            rows.append((title, str(count)))
    if model.nkey:
        rows.append(("keyframes", ", ".join(model.name(ObjType.KEY, k) or str(k) for k in range(model.nkey))))
    return "contents", _rows(rows)


def _sizes(model: Any) -> tuple[str, Any]:
    names = (
        "nq",
        "nv",
        "nu",
        "na",
        "nbody",
        "njnt",
        "ngeom",
        "nsite",
        "ntendon",
        "nsensordata",
        "nmocap",
        "ntree",
    )
    return "sizes", _rows([(name, str(getattr(model, name))) for name in names])


def _options(model: Any) -> tuple[str, Any]:
    import numpy as np

    from jaxsim.enums import ConeType, IntegratorType, SolverType

    opt = model.opt
    gravity = " ".join(f"{x:g}" for x in np.asarray(opt.gravity))
    return "options", _rows(
        [
            ("timestep", f"{float(opt.timestep):g} s"),
            ("integrator", IntegratorType(opt.integrator).name.lower()),
            ("solver", SolverType(opt.solver).name.lower()),
            ("iterations", f"{int(opt.iterations)}, line search {int(opt.ls_iterations)}"),
            ("tolerance", f"{float(opt.tolerance):g}"),
            ("cone", ConeType(opt.cone).name.lower()),
            ("gravity", f"{gravity} m/s^2"),
        ]
    )


def _buffers(model: Any) -> tuple[str, Any]:
    import jax

    import jaxsim
    from jaxsim.data import STATE_FIELDS

    try:
        data = jaxsim.make_data(model)
    except jaxsim.UnsupportedError as error:
        return "cannot be simulated", str(error)
    state = sum(getattr(data, name).nbytes for name in STATE_FIELDS)
    total = sum(leaf.nbytes for leaf in jax.tree.leaves(data))
    return "buffers of a world", _rows(
        [
            *_pairs(model),
            ("contact slots", str(data.contact.dist.shape[0])),
            ("constraint rows", str(data.efc_force.shape[0])),
            ("state", f"{state:,} bytes"),
            ("Data", f"{total:,} bytes"),
        ]
    )


def _pairs(model: Any) -> list[tuple[str, str]]:
    """Kinds of geom pairs that may touch: how many there are, how many are near and how many touch at most."""
    from jaxsim.structure.slots import slot_layout

    rows = []
    for kind in slot_layout(model).kinds:
        kept = "" if kind.budget is None else f", {kind.budget} nearest"
        kept += "" if kind.touching is None else f", {kind.touching} touching"
        rows.append((f"pairs, {kind.name}", f"{len(kind.rows)}{kept}"))
    return rows
