"""The page that compares contacts with the C engine's, generated from what `python -m benchmarks.contacts` found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "contacts.json"

HEAD = """# Contacts beside the C engine

Every pair of types of geoms at {poses} random poses or more, in float64: apart within the margin, touching, shallow,
deep, axes parallel and faces flush, edges crossing at right angles, and origins coinciding; {each} of each kind. C
searches to 1e-10 m in at most 400 rounds, jaxsim as it does by default. `python -m benchmarks.contacts` measures,
`PYTHONPATH=. python docs/hooks/contacts.py` writes this page. Pairs with SDFs are compared in
`tests/collision/test_sdf.py`: C's points are where its descents happen to end.

- **error**: greatest difference of the deepest points' distances, m, where both engines have the same number of
  points; in brackets at how many poses it is above 1e-6.
- **of ours, of C's**: greatest error of single points against the truth by support functions, m: along no direction do
  convex geoms overlap less than by their depth. Of a sphere in the middle of a capsule, and of a capsule in the middle
  of a box, neither closed form looks for the least.
- **normals**: poses at which they differ by more than 1e-3 and the depth along both is not the same.
- **points**: poses at which both engines have as many; ours more, ours fewer; found by one only.
- **same places**: of several points all at the same places to 1e-5 m; in brackets of how many poses; the smallest area
  (or length) that they span, as a share of C's.
"""

SEARCH = (
    "which face or edge counts as lying on the other: of a mesh or box those at the corners where the search ends, "
    "which need not be the same in C; cylinders have facets in C"
)
CAPS = "a cylinder's cap is a regular polygon: of its quadrilaterals of one area rounding chooses which stays"
CENTRES = "C finds no contact where the origins coincide: its search has no direction to begin with"
CURVED = "C's depths of round geoms are inexact at some poses: its search ends early"
PRISMS = (
    "every prism within reach counts; of a prism's contact C keeps one point, which on a flat face is where its "
    "search ends"
)
SPREAD = (
    "normals are the face's where a patch replaces the nearest points, in jaxsim up to 5 degrees from it; then "
    "distances are along it"
)

ROUND_ENDS = (
    "of capsules that lie on a face C clips a line from a point of the round end, found at a direction up to half a "
    "degree from the face's normal, jaxsim the axis"
)
TIES = "where origins coincide features tie, and rounding decides which of them is taken"

WHY: dict[str, tuple[str, ...]] = {
    **{f"hfield-{kind}": (PRISMS,) for kind in ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")},
    "sphere-ellipsoid": (CENTRES, CURVED),
    "capsule-ellipsoid": (CENTRES, CURVED),
    "capsule-cylinder": (CENTRES, CURVED, SEARCH),
    "capsule-box": (TIES,),
    "capsule-mesh": (CURVED, SEARCH, ROUND_ENDS),
    "ellipsoid-ellipsoid": (CENTRES,),
    "ellipsoid-cylinder": (CENTRES,),
    "ellipsoid-box": (CENTRES,),
    "cylinder-cylinder": (CENTRES, SEARCH, CAPS, SPREAD),
    "cylinder-box": (CENTRES, SEARCH, CAPS, SPREAD),
    "cylinder-mesh": (SEARCH, CAPS, SPREAD),
    "box-box": (TIES,),
    "box-mesh": (SEARCH, SPREAD),
    "mesh-mesh": (SEARCH, SPREAD),
}
"""Of each pair that differs: the reasons."""


def differs(found: dict[str, Any]) -> bool:
    """Whether a reason is due: another number of points or other places, distances or normals."""
    counts = ("only_ours", "only_theirs", "more_points", "fewer_points", "off", "turned")
    return any(found[name] for name in counts) or found["same_places"] < found["flat"]


def row(name: str, found: dict[str, Any], numbers: dict[str, int]) -> str:
    """A line of the table."""
    same = found["touching"] - sum(
        found[n] for n in ("only_ours", "only_theirs", "more_points", "fewer_points")
    )
    points = f"{same} of {found['touching']}; +{found['more_points']}, -{found['fewer_points']}"
    alone = found["only_ours"] + found["only_theirs"]
    points += f"; {'ours' if found['only_ours'] else 'C'} alone {alone}" if alone else ""
    truth = [("" if found[k] is None else f"{found[k]:.0e}") for k in ("our_error", "their_error")]
    places = f"{found['same_places']} ({found['flat']})" if found["flat"] else ""
    if found["same_places"] < found["flat"] and not name.startswith("hfield"):
        places += f", {found['least_spread']:.2f}"
    error = f"{found['error']:.0e}" + (f" ({found['off']})" if found["off"] else "")
    why = ", ".join(str(numbers[reason]) for reason in WHY.get(name, ()))
    cells = (name.replace("-", ", "), error, *truth, str(found["turned"] or ""), points, places, why)
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The whole page."""
    stored = json.loads(RESULT.read_text())
    table = stored["pairs"]
    reasons = list(dict.fromkeys(reason for own in WHY.values() for reason in own))
    numbers = {reason: k + 1 for k, reason in enumerate(reasons)}
    fewest = min(found["poses"] for found in table.values())
    heads = ("geoms", "error", "of ours", "of C's", "normals", "points", "same places", "why")
    lines = [
        HEAD.format(poses=fewest, each=stored["each"]),
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    lines += [row(name, found, numbers) for name, found in table.items()]
    lines += ["", "Why they differ:", "", *(f"{k}. {reason}." for reason, k in numbers.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "contacts.md").write_text(page())
