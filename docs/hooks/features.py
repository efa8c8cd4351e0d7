"""The page of features, generated from the enums and the tables that say what is computed."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

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

MJX is the JAX implementation of the wheel mujoco-mjx 3.17.0, MJX-Warp the `mujoco_warp` in that wheel; their columns
say which types they know (a test compares them with the wheel's enums). MuJoCo has all types. MJX may refuse
combinations besides: contact sensors of sites, bodies and subtrees, fluids with `implicitfast`, margins of meshes,
elliptic cones with frictionless contacts. *Named only*: it is in MJX's enum, and no code of MJX reads it.
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

MJX_LACKS = {
    enums.TrnType: "SLIDERCRANK BODY SO3 UNDEFINED",
    enums.DynType: "DCMOTOR PID USER",
    enums.GainType: "DCMOTOR SO3 PID USER",
    enums.BiasType: "DCMOTOR SO3 USER",
    enums.SensorType: """JOINTLIMITPOS JOINTLIMITVEL JOINTLIMITFRC TENDONLIMITPOS TENDONLIMITVEL TENDONLIMITFRC
        INSIDESITE GEOMDIST GEOMNORMAL GEOMFROMTO E_POTENTIAL E_KINETIC PLUGIN USER""",
    enums.IntegratorType: "IMPLICIT",
    enums.SolverType: "PGS",
    enums.EqType: "FLEX FLEXVERT FLEXSTRAIN DISTANCE",
    enums.DisableBit: "MIDPHASE AUTORESET NATIVECCD ISLAND MULTICCD",
    enums.EnableBit: "OVERRIDE ENERGY FWDINV DIAGEXACT",
}
"""What MJX has no name for, by our enum."""

MJX_NAMED_ONLY = {
    enums.SensorType: "TACTILE",
    enums.IntegratorType: "DISCRETE",
    enums.EnableBit: "SLEEP IPC",
}
"""What MJX has a name for and no code."""

WARP_LACKS = {
    enums.TrnType: "SO3 UNDEFINED",
    enums.DynType: "PID",
    enums.GainType: "PID",
    enums.BiasType: "SO3",
    enums.SensorType: "PLUGIN",
    enums.SolverType: "PGS",
    enums.EqType: "FLEXVERT DISTANCE",
    enums.DisableBit: "MIDPHASE AUTORESET",
    enums.EnableBit: "OVERRIDE FWDINV DIAGEXACT IPC",
}
"""What MJX-Warp has no name for."""

MJX_LACKS_PAIRS = {
    ("HFIELD", "ELLIPSOID"),
    ("HFIELD", "CYLINDER"),
    ("ELLIPSOID", "BOX"),
    ("ELLIPSOID", "MESH"),
    ("CYLINDER", "BOX"),
    ("CYLINDER", "MESH"),
}
"""Pairs of geoms that MJX has no function for, besides all with SDFs; MJX-Warp lacks height fields against SDFs."""


def peers(member: Any) -> str:
    """Two cells: whether MJX and MJX-Warp know a type or a flag."""
    kind, name = type(member), member.name
    mjx = "" if name in MJX_LACKS.get(kind, "").split() else "yes"
    mjx = "named only" if name in MJX_NAMED_ONLY.get(kind, "").split() else mjx
    return f"{mjx} | {'' if name in WARP_LACKS.get(kind, '').split() else 'yes'}"


def kinds(members: Iterable, computed: Container) -> str:
    """One table: type by type, computed or refused, and whether the peers know it."""
    rows = [
        f"| `{m.name.lower()}` | {'computed' if m in computed else 'refused'} | {peers(m)} |" for m in members
    ]
    return "\n".join(["| type | jaxsim | MJX | MJX-Warp |", "|---|---|---|---|", *rows])


def flags() -> str:
    """The flags of `<option><flag>`, with the reasons of those that are refused."""
    rows = [f"| `{f.name.lower()}` | computed | {peers(f)} | |" for f in enums.DisableBit]
    for f in enums.EnableBit:
        why = REFUSED_FLAGS.get(f)
        state = "computed" if why is None else "refused"
        rows.append(f"| `{f.name.lower()}` | {state} | {peers(f)} | {why or ''} |")
    return "\n".join(["| flag | jaxsim | MJX | MJX-Warp | why |", "|---|---|---|---|---|", *rows])


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
            rows.append(f"| {a.name.lower()}, {b.name.lower()} | {how} | {points} | {pair_in_peers(a, b)} |")
    head = ["| geoms | collided by | most points | MJX | MJX-Warp |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def pair_in_peers(a: enums.GeomType, b: enums.GeomType) -> str:
    """Two cells: whether MJX and MJX-Warp collide a pair."""
    if (a, b) in NEVER:
        return " | "
    sdf = b is enums.GeomType.SDF
    mjx = "" if sdf or (a.name, b.name) in MJX_LACKS_PAIRS else "yes"
    return f"{mjx} | {'' if sdf and a is enums.GeomType.HFIELD else 'yes'}"


def page() -> str:
    """The whole page."""
    parts = [HEAD, *(f"## {title}\n\n{kinds(members, computed)}\n" for title, members, computed in TABLES)]
    return "\n".join(
        [
            *parts,
            f"## Flags\n\n{flags()}\n",
            f"## Pairs of geoms\n\nHow exact they are: [Contacts](contacts.md).\n\n{pairs()}\n",
        ]
    )


if __name__ == "__main__":
    from pathlib import Path

    (Path(__file__).parents[1] / "features.md").write_text(page())
