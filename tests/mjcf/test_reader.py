"""Bad input is refused with file, line, element and a hint; good input gives typed values."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from jaxsim import Spec, load_model
from jaxsim.mjcf import MjcfError, limits

BODY = "<mujoco><worldbody><body name='a'>{}</body></worldbody></mujoco>"


def refused(xml: str) -> MjcfError:
    with pytest.raises(MjcfError) as caught:
        Spec.from_string(xml)
    return caught.value


@pytest.mark.parametrize(
    ("xml", "line", "element", "attribute", "text"),
    [
        ("<mujoco>\n<geom/></mujoco>", 2, "geom", None, "cannot hold"),
        ("<mujoco>\n<worldbody>\n<geom sise='1'/></worldbody></mujoco>", 3, "geom", "sise", "did you mean 'size'"),
        ("<mujoco><worldbody>\n<goem/></worldbody></mujoco>", 2, "goem", None, "did you mean 'geom'"),
        ("<mujoco><worldbody><geom name='g' size='a b'/></worldbody></mujoco>", 1, 'geom name="g"', "size", "numbers"),
        ("<mujoco><worldbody><geom size='1 2 3 4'/></worldbody></mujoco>", 1, "geom", "size", "1 to 3 numbers"),
        ("<mujoco><worldbody><geom pos='1 2'/></worldbody></mujoco>", 1, "geom", "pos", "exactly 3 numbers"),
        ("<mujoco><worldbody><geom type='spere'/></worldbody></mujoco>", 1, "geom", "type", "mean 'sphere'"),
        ("<mujoco><worldbody><geom contype='1.5'/></worldbody></mujoco>", 1, "geom", "contype", "integers"),
        ("<mujoco><worldbody><geom contype='3000000000'/></worldbody></mujoco>", 1, "geom", "contype", "32 bits"),
        ("<mujoco><worldbody><geom quat='0 0 0 0'/></worldbody></mujoco>", 1, "geom", "quat", "not zero"),
        ("<mujoco><worldbody><geom quat='1 0 0 0' euler='0 0 0'/></worldbody></mujoco>", 1, "geom", None, "most one"),
        ("<mujoco><worldbody><geom solref='nan 1'/></worldbody></mujoco>", 1, "geom", "solref", "nan"),
        ("<mujoco><option timestep='1_0'/></mujoco>", 1, "option", "timestep", "numbers"),
        ("<mujoco><size memory='10Q'/></mujoco>", 1, "size", "memory", "suffix"),
        ("<mujoco><size memory='1M' njmax='5'/></mujoco>", 1, "size", None, "at most one"),
        ("<mujoco><option><flag/><flag/></option></mujoco>", 1, "flag", None, "repeated element"),
        ("<mujoco><asset><hfield name='h'/></asset></mujoco>", 1, 'hfield name="h"', "size", "required"),
        ("<mujoco><asset><material name='m' texture='t'><layer texture='t' role='rgb'/></material></asset></mujoco>",
         1, "layer", None, "cannot have layers"),
        ("<mujoco><sensor><jointpos/></sensor></mujoco>", 1, "jointpos", "joint", "required"),
        ("<mujoco><sensor><jointpos joint='j'/></sensor></mujoco>", 1, "jointpos", "joint", "unknown joint"),
        ("<mujoco><default class='x'/></mujoco>", 1, "default", "class", "main"),
        ("<mujoco><default><default/></default></mujoco>", 1, "default", "class", "needs a name"),
        ("<mujoco><default><default class='a'/><default class='a'/></default></mujoco>", 1, "default", "class",
         "repeated"),
        ("<mujoco><worldbody><geom class='a'/></worldbody></mujoco>", 1, "geom", "class", "unknown default class"),
        ("<mujoco><worldbody><body childclass='a'/></worldbody></mujoco>", 1, "body", "childclass", "unknown default"),
        ("<mujoco><worldbody><geom name='a'/><site name='a'/>\n<geom name='a'/></worldbody></mujoco>", 2,
         'geom name="a"', "name", "repeated name"),
        ("<mujoco><worldbody><body name='world'/></worldbody></mujoco>", 1, 'body name="world"', "name", "world body"),
        ("<mujoco><custom><numeric name='n' size='1' data='1 2'/></custom></mujoco>", 1, 'numeric name="n"', "data",
         "at most 1"),
    ],
)  # fmt: skip
def test_refusals(xml: str, line: int, element: str, attribute: str | None, text: str) -> None:
    error = refused(xml)
    assert (error.line, error.element, error.attribute) == (line, element, attribute)
    assert text in str(error)


def test_the_message_reads_like_a_compiler_error(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(BODY.format("\n<geom name='foot' size='a b'/>"))
    with pytest.raises(MjcfError) as caught:
        Spec.from_file(path)
    assert str(caught.value) == (
        f'{path}:2: <geom name="foot"> attribute size="a b": expected numbers separated by spaces'
    )


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<",
        "<mujoco>",
        "<mujoco></worldbody>",
        "<robots/>",
        "<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco model='&a;'/>",
        "<!DOCTYPE x SYSTEM 'file:///etc/passwd'><mujoco/>",
        "<mujoco model='&a;&#0;'/>",
        "<mujoco><worldbody a:b='1'/></mujoco>",
        "<mujoco><worldbody><a:geom/></worldbody></mujoco>",
    ],
)
def test_xml_that_is_not_well_formed_or_not_safe(xml: str) -> None:
    refused(xml)


def test_entity_bomb_is_refused_before_it_expands() -> None:
    levels = "".join(f"<!ENTITY e{i} '{f'&e{i - 1};' * 10 if i else 'x'}'>" for i in range(20))
    assert "document types" in str(refused(f"<!DOCTYPE m [{levels}]><mujoco model='&e19;'/>"))


def test_depth_has_a_limit() -> None:
    depth = limits.MAX_DEPTH + 5
    xml = f"<mujoco><worldbody>{'<body>' * depth}{'</body>' * depth}</worldbody></mujoco>"
    assert "deep" in str(refused(xml)).lower() or "depth" in str(refused(xml)).lower()


def test_size_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxsim.mjcf.xmltext.MAX_XML_BYTES", 100)
    assert "larger" in str(refused(f"<mujoco model='{'x' * 200}'/>"))
    monkeypatch.setattr("jaxsim.mjcf.reader.MAX_ELEMENTS", 3)
    assert "elements" in str(refused("<mujoco><worldbody><geom/><geom/><geom/></worldbody></mujoco>"))


def test_what_the_oracle_forgives_is_forgiven() -> None:
    xml = """

    <?xml version="0.0" encoding="latin-1"?>
    <!-- a comment -- with two hyphens -->
    <mujoco model="a&b"><worldbody><geom name="g"size="1"/></worldbody></mujoco>"""
    spec = Spec.from_string(xml)
    assert spec.modelname == "a&b"
    geom = spec.find("geom", "g")
    assert geom is not None
    assert geom.line == 5


def test_namespaces_are_ignored() -> None:
    names = "xmlns='urn:x' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'"
    xml = f"""<mujoco {names}
      xsi:schemaLocation="mujoco.xsd" a:b="1"><worldbody>
      <geom name="g" size="1"/></worldbody></mujoco>"""
    geom = Spec.from_string(xml).find("geom", "g")
    assert geom is not None
    assert geom.line == 3
    robot = f"""<robot name="r" {names}><link name="a" drake:k="1"><drake:group/><collision><geometry>
      <sphere radius="1" drake:b="2"/></geometry></collision></link></robot>"""
    assert load_model(robot).ngeom == mujoco.MjModel.from_xml_string(robot).ngeom == 1


def test_lines_are_those_on_which_elements_begin() -> None:
    xml = BODY.format(
        "\n<geom\n  size='.1'\n  name='first'\n/>\n\n<geom\n\nname='>'\nsize='1'/>\n<site name='s'/>"
    )
    spec = Spec.from_string(xml)
    lines = [
        found.line for found in (spec.find("geom", "first"), spec.find("geom", ">"), spec.find("site", "s"))
    ]
    assert lines == [2, 7, 11]
    assert refused(BODY.format("\n<geom\n  size='.1'\n  sise='1'\n/>")).line == 2


def test_text_may_begin_with_a_byte_order_mark() -> None:
    assert load_model("\ufeff\n<mujoco model='m'/>").modelname == "m"


def test_values_are_typed() -> None:
    xml = """<mujoco><option timestep="1e-3" gravity=" 0 0   -1 "/><size memory="2K"/><worldbody>
      <geom name="g" type="box" size="1 2" contype="3" rgba="0x1 0 0 1" fluidshape="ellipsoid"/>
      <camera name="c" output="rgb depth"/></worldbody></mujoco>"""
    spec = Spec.from_string(xml)
    geom, camera = spec.find("geom", "g"), spec.find("camera", "c")
    assert geom is not None
    assert camera is not None
    assert spec.option["timestep"] == 1e-3
    assert spec.settings("size")["memory"] == 2048
    assert (geom["type"], geom["contype"]) == ("box", 3)
    assert geom["size"].dtype == np.float64
    np.testing.assert_array_equal(geom["size"], [1, 2])
    np.testing.assert_array_equal(geom["rgba"], [1, 0, 0, 1])
    assert camera["output"] == ("rgb", "depth")


def test_repeated_sections_merge_in_order() -> None:
    spec = Spec.from_string(
        """<mujoco>
        <compiler meshdir="m" angle="radian"/><compiler assetdir="a"/>
        <option timestep="1" actuatorgroupdisable="1 2"><flag contact="disable"/></option>
        <option timestep="2" actuatorgroupdisable="3"><flag gravity="disable"/></option>
        <worldbody><geom name="a"/></worldbody><worldbody><geom name="b"/></worldbody></mujoco>"""
    )
    assert spec.compiler["angle"] == "radian"
    assert (spec.compiler["meshdir"], spec.compiler["assetdir"]) == (None, "a")
    assert spec.option["timestep"] == 2
    np.testing.assert_array_equal(spec.option["actuatorgroupdisable"], [1, 2, 3])
    flags = spec.settings("option/flag")
    assert (flags["contact"], flags["gravity"], flags["limit"]) == ("disable", "disable", "enable")
    assert [geom.name for geom in spec.elements("geom")] == ["a", "b"]


def test_editing_is_checked_by_the_table() -> None:
    spec = Spec()
    body = spec.add(spec.worldbody, "body", name="a", pos=[1, 2, 3])
    geom = spec.add(body, "geom", type="box", size=(1, 1, 1), class_="main")
    assert geom.get("class") == "main"
    geom["size"] = "2 2 2"
    np.testing.assert_array_equal(geom["size"], [2, 2, 2])
    for name, value in (
        ("size", [1, 2, 3, 4]),
        ("type", "bax"),
        ("contype", 1.5),
        ("nothing", 1),
        ("size", "x"),
    ):
        with pytest.raises(MjcfError):
            geom[name] = value
    with pytest.raises(MjcfError, match="cannot stand here"):
        spec.add(geom, "body")
    joint = spec.add(body, "joint", limited=False)
    assert joint["limited"] == "false"  # a word of three
    spec.remove(joint)
    with pytest.raises(MjcfError, match="in no model"):
        spec.remove(joint)
    spec.remove(geom)
    assert spec.find("body", "a") is body
    assert not body.children


def test_numbers_are_finite_except_in_ranges() -> None:
    assert "finite" in str(refused("<mujoco><worldbody><geom pos='inf 0 0'/></worldbody></mujoco>"))
    spec = Spec.from_string(BODY.format("<joint name='j' range='-inf inf'/>"))
    joint = spec.find("joint", "j")
    assert joint is not None
    np.testing.assert_array_equal(joint["range"], [-np.inf, np.inf])


def test_search_is_by_namespace_and_meaning() -> None:
    spec = Spec.from_string(
        """<mujoco><default><joint/></default><worldbody><body name="x"><freejoint name="x"/></body>
        <body><joint name="j"/><geom size="1"/></body></worldbody>
        <equality><joint name="x2" joint1="j"/></equality>
        <tendon><fixed name="x"><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    )
    found = [spec.find(kind, "x") for kind in ("body", "joint", "tendon", "equality", "freejoint")]
    assert [element.tag if element else None for element in found] == [
        "body",
        "freejoint",
        "fixed",
        None,
        "freejoint",
    ]
    assert [element.name for element in spec.elements("joint")] == ["j"]
    assert [element.name for element in spec.elements("equality/joint")] == ["x2"]
