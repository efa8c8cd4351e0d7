"""What a function of the physics reads and gives is written at its head."""

import ast
from pathlib import Path

import pytest

import jaxsim

ROOT = Path(jaxsim.__file__).parent
LONG = 10
"""Lines from which a function needs a docstring, however private it is."""


@pytest.mark.parametrize("folder", ["structure", "collision", "solver", "pipeline"])
def test_long_functions_have_docstrings(folder: str):
    without = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or node.end_lineno - node.lineno < LONG:
                continue
            if not ast.get_docstring(node):
                without.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not without, "\n".join(without)
