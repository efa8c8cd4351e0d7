"""The page of features is what the tables say, and every type on it is named by a test."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def generator():
    spec = importlib.util.spec_from_file_location("features", ROOT / "docs" / "hooks" / "features.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "features.md").read_text() == generator().page(), (
        "PYTHONPATH=. python docs/hooks/features.py"
    )


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


def names(member):
    """What a test may call a type: its name, or its tag in MJCF."""
    from jaxsim.structure.sensors import CATALOGUE

    return {member.name.lower()} | {row.tag for row in CATALOGUE if row.type is member}
