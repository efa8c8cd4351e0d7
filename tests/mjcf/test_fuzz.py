"""Whatever the text, reading it gives a model or an MjcfError, and a model survives being written and read."""

import os
from importlib.resources import files

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from jaxsim import Spec
from jaxsim.mjcf import MjcfError
from jaxsim.mjcf.schema import Attribute, ElementType, child_type, root_type

CASES = int(os.environ.get("JAXSIM_FUZZ_CASES", "150"))
FUZZ = settings(
    max_examples=CASES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
JUNK = st.one_of(
    st.sampled_from(
        [
            "",
            "nan",
            "inf -inf",
            "-1",
            "0",
            "1e400",
            "99999999999",
            "0x10",
            "1_0",
            "١",
            "..",
            "/etc/passwd",
            "\\",
            "a b",
        ]
    ),
    st.text(max_size=8),
)
NAMES = st.sampled_from(["a", "b", "world", "main", "x", "a0", "class"])


def _number(attribute: Attribute) -> st.SearchStrategy[str]:
    most = attribute.least + 2 if attribute.most is None else attribute.most
    whole = st.integers(-2, 7).map(str)
    number = whole if attribute.kind == "int" else st.one_of(whole, st.floats(-9, 9).map(repr))
    return st.lists(number, min_size=attribute.least, max_size=most).map(" ".join)


def _value(attribute: Attribute) -> st.SearchStrategy[str]:
    if attribute.kind in ("float", "int"):
        sound = _number(attribute)
    elif attribute.kind == "bool":
        sound = st.sampled_from(["true", "false"])
    elif attribute.kind == "enum":
        sound = st.sampled_from(attribute.words)
    elif attribute.kind == "flags":
        sound = st.lists(st.sampled_from(attribute.words + attribute.alone), max_size=3).map(" ".join)
    else:
        sound = NAMES
    return st.integers(0, 11).flatmap(lambda roll: JUNK if roll == 0 else sound)


@st.composite
def _element(draw: st.DrawFn, tag: str, type: ElementType, depth: int) -> str:
    names = list(type.attributes)
    kept = draw(st.lists(st.sampled_from(names), max_size=4, unique=True)) if names else []
    rare = draw(st.integers(0, 19)) == 0
    kept = {*kept, *(name for name in names if type.attributes[name].required and not rare)}
    text = "".join(f" {name}={_quoted(draw(_value(type.attributes[name])))}" for name in sorted(kept))
    children = []
    for _ in range(draw(st.integers(0, 3 if depth < 6 else 0)) if type.children else 0):
        child = draw(st.sampled_from(list(type.children)))
        inner = child_type(type, child)
        assert inner is not None
        children.append(draw(_element(child, inner, depth + 1)))
    if draw(st.integers(0, 60)) == 0:
        children.append(
            draw(st.sampled_from(["<include/>", "<include file='a'/>", "<jiont/>", "text", "&amp;", "<"]))
        )
    return f"<{tag}{text}>{''.join(children)}</{tag}>"


def _quoted(text: str) -> str:
    for raw, escaped in (("&", "&amp;"), ("<", "&lt;"), ('"', "&quot;")):
        text = text.replace(raw, escaped)
    return f'"{text}"'


def _read(xml: str | bytes) -> Spec | None:
    try:
        return Spec.from_string(xml)
    except MjcfError:
        return None


@FUZZ
@given(xml=_element("mujoco", root_type(), 0))
def test_random_models(xml: str) -> None:
    spec = _read(xml)
    if spec is not None:
        written = spec.to_xml()
        assert Spec.from_string(written).to_xml() == written


REAL = [
    path.read_bytes()
    for path in sorted(files("jaxsim").joinpath("models").iterdir(), key=str)
    if path.name.endswith(".xml")
]


@pytest.mark.skipif(not REAL, reason="the package ships no models")
@FUZZ
@given(data=st.data())
def test_mutated_models(data: st.DataObject) -> None:
    xml = bytearray(data.draw(st.sampled_from(REAL)))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(xml)))
        stop = min(len(xml), start + data.draw(st.sampled_from([0, 1, 2, 8, 60])))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=4),
                st.sampled_from(
                    [b"nan", b"-", b'"', b"<", b"/>", b"1 2", b"geom", b"&x;", b"<!--", b"<!DOCTYPE x>"]
                ),
            )
        )
        xml[start:stop] = piece
    _read(bytes(xml))


@FUZZ
@given(xml=st.one_of(st.text(max_size=60), st.binary(max_size=60)))
def test_random_text(xml: str | bytes) -> None:
    _read(xml)
