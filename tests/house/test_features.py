"""The page of features is what the tables say, and every type on it is named by a test."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.house.hooks import ROOT, generator


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "features.md").read_text() == generator().page(), (
        "PYTHONPATH=. python docs/hooks/features.py"
    )


def test_every_pair_is_compared_and_every_difference_has_a_reason():
    from jaxsim.collision import COLLIDERS
    from jaxsim.enums import GeomType

    contacts = generator("contacts")
    assert (ROOT / "docs" / "contacts.md").read_text() == contacts.page(), (
        "PYTHONPATH=. python docs/hooks/contacts.py"
    )
    table = json.loads(contacts.RESULT.read_text())["pairs"]
    pairs = {"-".join(GeomType(t).name.lower() for t in p) for p in COLLIDERS if GeomType.SDF not in p}
    assert set(table) == pairs
    for name, found in table.items():
        assert contacts.differs(found) == (name in contacts.WHY), name


def test_every_type_is_named_by_a_test():
    tests = [p for p in (ROOT / "tests").rglob("*") if p.suffix in (".py", ".xml") and "house" not in p.parts]
    words = set(re.findall(r"[a-z_0-9]+", " ".join(p.read_text() for p in tests).lower()))
    features = generator()
    missing = [
        f"{title}: {m.name.lower()}"
        for title, members, computed in features.TABLES
        for m in members
        if m in computed and not words & names(m)
    ]
    assert not missing, missing


def test_what_the_peers_lack_is_what_their_enums_lack():
    features, folder = generator(), wheel()
    own = {"MJX": "_src/types.py", "WARP": "third_party/mujoco_warp/_src/types.py"}
    for peer, path in own.items():
        theirs = enums_of(folder / path)
        kinds = {kind for _, kind, _ in features.TABLES} | set(features.MJX_LACKS)
        for kind in kinds:
            lacking = {m.name for m in kind} - theirs[kind.__name__]
            assert lacking == set(getattr(features, f"{peer}_LACKS").get(kind, "").split()), (peer, kind)
    for kind, name in features.MJX_NAMED_ONLY.items():
        assert set(name.split()) <= enums_of(folder / own["MJX"])[kind.__name__]


def test_what_pairs_mjx_lacks():
    features = generator()
    text = (wheel() / "_src" / "collision_driver.py").read_text()
    found = set(re.findall(r"\(GeomType\.(\w+), GeomType\.(\w+)\): ", text))
    types = [t for t in features.enums.GeomType if t < features.enums.GeomType.SDF]
    pairs = {(a.name, b.name) for i, a in enumerate(types) for b in types[i:] if (a, b) not in features.NEVER}
    assert pairs - found == features.MJX_LACKS_PAIRS


def wheel():
    """The folder of the wheel mujoco-mjx 3.17.0, read as text."""
    mujoco = pytest.importorskip("mujoco")
    folder = Path(mujoco.__file__).parent / "mjx"
    if not (folder / "_src").exists():
        pytest.skip("mujoco-mjx is not installed")
    return folder


def enums_of(path):
    """Names of the members of all classes of a file."""
    return {
        node.name: {
            target.id
            for line in node.body
            if isinstance(line, ast.Assign)
            for target in line.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }


def names(member):
    """What a test may call a type: its name, or its tag in MJCF."""
    from jaxsim.structure.sensors import CATALOGUE

    return {member.name.lower()} | {row.tag for row in CATALOGUE if row.type is member}
