"""The schema table is sound in itself and agrees with the oracle's."""

import re

import mujoco
import numpy as np
import pytest

from jaxsim.mjcf import values
from jaxsim.mjcf.reference import render
from jaxsim.mjcf.schema import ElementType, child_type, root_type, schema


def oracle_rows() -> dict[str, tuple[str, set[str]]]:
    """Returns cardinality and attributes of each element by path, as the oracle prints them."""
    rows: list[tuple[int, str, str, set[str]]] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        match = re.match(r"^( *)([\w()]+) \((.)\)\s*(.*)$", line)
        if match and len(match[1]) % 3 == 0:
            rows.append(
                (len(match[1]) // 3, match[2].replace("(world)", ""), match[3], set(match[4].split()))
            )
        else:
            rows[-1][3].update(line.split())
    path: list[str] = []
    table = {}
    for depth, tag, cardinality, attributes in rows:
        path = [*path[:depth], tag]
        table["/".join(path)] = (cardinality, attributes)
    return table


ORACLE = oracle_rows()


def find(path: str) -> ElementType:
    type = root_type()
    for tag in path.split("/")[1:]:
        if type.tag == "mujoco" and tag == "body":
            tag = "worldbody"
        child = child_type(schema()["body"] if type.tag == "worldbody" else type, tag)
        assert child is not None, f"{type.key} has no {tag}"
        type = child
    return schema()["body"] if type.tag == "worldbody" else type


@pytest.mark.parametrize("path", [path for path in ORACLE if "/" in path])
def test_same_attributes_as_the_oracle(path: str) -> None:
    attributes = set(find(path).attributes)
    extra = {
        "mujoco/body": {"offset", "count", "sep"},
        "mujoco/asset/model": set(),
    }.get(path, set())
    assert attributes == ORACLE[path][1] - extra


def test_same_children_as_the_oracle() -> None:
    for path, (cardinality, _) in ORACLE.items():
        if "/" not in path or path.startswith("mujoco/body") or cardinality == "R":
            continue
        parent, tag = path.rsplit("/", 1)
        assert (
            find(parent).children[tag] == cardinality if parent != "mujoco" else tag in root_type().children
        )


def test_defaults_fit_their_own_attribute() -> None:
    for element in schema().values():
        for attribute in element.attributes.values():
            if attribute.default is None:
                continue
            if attribute.vector:
                assert np.size(attribute.default) == attribute.most
            text = values.write(attribute, attribute.default)
            if attribute.kind in ("float", "int", "bool", "enum", "chars"):
                np.testing.assert_array_equal(values.parse(attribute, text), attribute.default)


def test_every_child_and_constraint_is_defined() -> None:
    for element in schema().values():
        for tag in element.children:
            assert child_type(element, tag) is not None
        for rule in element.constraints:
            assert {name for bundle in rule.bundles for name in bundle} <= element.attributes.keys()


@pytest.mark.parametrize(
    ("path", "attribute", "wrapping"),
    [
        ("option", "integrator", "<mujoco><option integrator='{}'/></mujoco>"),
        ("option", "solver", "<mujoco><option solver='{}'/></mujoco>"),
        ("geom", "type", "<mujoco><default><geom type='{}'/></default></mujoco>"),
        ("general", "dyntype", "<mujoco><default><general dyntype='{}'/></default></mujoco>"),
        ("general", "gaintype", "<mujoco><default><general gaintype='{}'/></default></mujoco>"),
        ("general", "biastype", "<mujoco><default><general biastype='{}'/></default></mujoco>"),
        ("body", "sleep", "<mujoco><worldbody><body sleep='{}'/></worldbody></mujoco>"),
        ("mesh", "inertia", "<mujoco><default><mesh inertia='{}'/></default></mujoco>"),
        ("texture", "colorspace", "<mujoco><default><texture colorspace='{}'/></default></mujoco>"),
    ],
)
def test_the_oracle_knows_every_keyword(path: str, attribute: str, wrapping: str) -> None:
    for word in schema()[path].attributes[attribute].words:
        mujoco.MjSpec.from_string(wrapping.format(word))
    with pytest.raises(ValueError, match="keyword"):
        mujoco.MjSpec.from_string(wrapping.format("nonsense"))


def test_the_reference_page_holds_every_attribute() -> None:
    page = render()
    assert "| `solimp` | 1 to 5 numbers | 0.9 0.95 0.001 0.5 2 |" in page
    for element in schema().values():
        assert all(f"| `{name}` |" in page for name in element.attributes)
