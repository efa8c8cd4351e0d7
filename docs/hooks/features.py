"""The page of features, generated from the enums and the tables that say what is computed."""

from __future__ import annotations

from collections.abc import Container, Iterable

from jaxsim import enums
from jaxsim.collision import COLLIDERS
from jaxsim.pipeline.actuation import BIASES, DYNAMICS, GAINS
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.sensors.table import SENSORS
from jaxsim.pipeline.supported import EQUALITIES, REFUSED_FLAGS
from jaxsim.pipeline.transmission import TRANSMISSIONS
from jaxsim.solver.solve import SOLVERS
from jaxsim.structure.pairs import NEVER

HEAD = """# Features, one by one

Generated from the enums of MuJoCo 3.17 and the tables of jaxsim: `PYTHONPATH=. python docs/hooks/features.py`
writes it, a test compares it. What is refused is refused by name, when `make_data` is called.
"""

TABLES = (
    ("Transmissions", enums.TrnType, TRANSMISSIONS),
    ("Actuator dynamics", enums.DynType, DYNAMICS),
    ("Actuator gains", enums.GainType, GAINS),
    ("Actuator biases", enums.BiasType, BIASES),
    ("Sensors", enums.SensorType, SENSORS),
    ("Integrators", enums.IntegratorType, INTEGRATORS),
    ("Solvers", enums.SolverType, SOLVERS),
    ("Equalities", enums.EqType, EQUALITIES),
)


def kinds(members: Iterable, computed: Container) -> str:
    """One table: type by type, computed or refused."""
    rows = [f"| `{m.name.lower()}` | {'computed' if m in computed else 'refused'} |" for m in members]
    return "\n".join(["| type | jaxsim |", "|---|---|", *rows])


def flags() -> str:
    """The flags of `<option><flag>`, with the reasons of those that are refused."""
    rows = [f"| `{f.name.lower()}` | computed | |" for f in enums.DisableBit]
    for f in enums.EnableBit:
        why = REFUSED_FLAGS.get(f)
        rows.append(f"| `{f.name.lower()}` | {'computed' if why is None else 'refused'} | {why or ''} |")
    return "\n".join(["| flag | jaxsim | why |", "|---|---|---|", *rows])


def pairs() -> str:
    """The pairs of geom types: how they are collided, and with how many points."""
    types = [t for t in enums.GeomType if t <= enums.GeomType.SDF]
    rows = []
    for i, a in enumerate(types):
        for b in types[i:]:
            made = COLLIDERS.get((a, b))
            if made is None:
                how, points = (
                    ("never collide, as in C" if (a, b) in NEVER else "refused; C warns and finds none"),
                    "",
                )
            else:
                how = "general convex collider" if made.general else "its own collider"
                how = (
                    "distance functions, of SDFs their meshes' or yours (`user_sdf`)" if made.refuses else how
                )
                points = str(made.points)
            rows.append(f"| {a.name.lower()}, {b.name.lower()} | {how} | {points} |")
    return "\n".join(["| geoms | collided by | most points |", "|---|---|---|", *rows])


def page() -> str:
    """The whole page."""
    parts = [HEAD, *(f"## {title}\n\n{kinds(members, computed)}\n" for title, members, computed in TABLES)]
    return "\n".join([*parts, f"## Flags\n\n{flags()}\n", f"## Pairs of geoms\n\n{pairs()}\n"])


if __name__ == "__main__":
    from pathlib import Path

    (Path(__file__).parents[1] / "features.md").write_text(page())
