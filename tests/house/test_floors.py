"""The house's floors: an import only goes down, or stays on its floor, and none hides in a function to dodge that."""

import ast
import re
from pathlib import Path

import pytest

import jaxsim

ROOT = Path(jaxsim.__file__).parent

FLOORS = (
    ("enums", "results", "keys", "hints", "parallel", "programs"),
    ("pytree",),
    ("math", "views", "options", "visual", "hooks", "hulls"),
    ("catalogue", "sdf"),
    ("model", "data"),
    ("worlds",),
    ("structure",),
    ("collision",),
    ("solver",),
    ("pipeline",),
    ("rollout", "recording", "support"),
    ("mjcf", "models"),
    ("compile",),
    ("interop", "viewer"),
    ("optimise", "identify", "mjx", "envs"),
    ("train",),
    ("cli",),
    ("__main__",),
)
"""Files and folders of the package, lowest first; those of one floor do not know each other."""

HEIGHT = {name: height for height, floor in enumerate(FLOORS) for name in floor}

LAZY = {"cli", "viewer", "interop"}
"""Where an import may wait for its use: optional packages, and commands that start fast."""


def _place(module: str) -> str:
    """The file or folder of the package that a module belongs to; empty: the package itself."""
    return module.split(".")[1] if module.count(".") else ""


def _modules() -> list[Path]:
    return sorted(p for p in ROOT.rglob("*.py") if p.parent != ROOT or p.stem != "__init__")


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path: Path):
    here = path.relative_to(ROOT).with_suffix("").parts[0]
    assert here in HEIGHT, f"{here} has no floor: give it one in FLOORS"
    tree = ast.parse(path.read_text())
    types = (n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    top = {id(node) for body in (tree.body, *(n.body for n in types)) for node in body}
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("jaxsim"):
            names = [
                f"{node.module}.{a.name}" if node.module == "jaxsim" else node.module for a in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("jaxsim")]
        for name in names:
            there = _place(name)
            if not there:  # the whole package
                assert here in LAZY, f"line {node.lineno} imports the whole package"
                continue
            assert there == here or HEIGHT[there] < HEIGHT[here], f"line {node.lineno} imports {name}, above"
            assert id(node) in top or here in LAZY, (
                f"line {node.lineno}: import {name} at the top of the file"
            )


def test_every_floor_exists():
    there = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert set(HEIGHT) == there - {"__init__"}


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_what_files_import_of_each_other_is_public(path: Path):
    """It stands in `__all__`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("jaxsim."):
            continue
        place = ROOT.joinpath(*node.module.split(".")[1:])
        source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        public = re.search(r"__all__ = \[(.*?)\]", source.read_text(), re.S)
        for name in (alias.name for alias in node.names):
            module = place.is_dir() and ((place / name).is_dir() or (place / f"{name}.py").is_file())
            listed = public and f'"{name}"' in public[1]
            assert module or listed, f"line {node.lineno}: {node.module}.{name}"


@pytest.mark.parametrize(
    "folder", ["math", "structure", "collision", "solver", "pipeline", "support", "optimise", "sdf", "envs"]
)
def test_matrix_products_say_their_precision(folder: str):
    """The operator `@` runs at a device's default precision, 10 bits on some GPUs; host arrays are small enough."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            matmul = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            assert not matmul, f"{path.relative_to(ROOT)}, line {node.lineno}: use math.dense_inverse.product"


def test_contributors_read_of_these_floors():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    text = text.split("## The floors", 1)[1].split("##", 1)[0]
    lines = [line.strip().split("   ")[0] for line in text.splitlines() if line.startswith("    ")]
    assert [line.replace("/", "").split() for line in lines] == [list(floor) for floor in FLOORS]
