"""Included files, asset folders, packages, and the folder that confines a model."""

from pathlib import Path

import pytest

from jaxsim import Spec
from jaxsim.compile import load_model
from jaxsim.mjcf import MjcfError

MAIN = """<mujoco><compiler meshdir="meshes"/>
  <include file="parts/arm.xml"/>
  <worldbody><include file="world.xml"/></worldbody>
</mujoco>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model" / "parts").mkdir(parents=True)
    (tmp_path / "model" / "meshes").mkdir()
    (tmp_path / "secret.obj").write_bytes(b"secret")
    model = tmp_path / "model"
    (model / "main.xml").write_text(MAIN)
    (model / "parts" / "arm.xml").write_text(
        '<mujocoinclude><asset><mesh file="a.obj"/><mesh file="b.obj"/></asset>\n'
        '<include file="leaf.xml"/></mujocoinclude>'
    )
    (model / "parts" / "leaf.xml").write_text('<mujoco><option timestep="0.5"/></mujoco>')
    (model / "world.xml").write_text('<any><geom name="g"/><body name="b"/></any>')
    (model / "meshes" / "a.obj").write_bytes(b"a")
    (model / "parts" / "b.obj").write_bytes(b"b")
    return model


def test_includes_are_spliced_where_they_stand(folder: Path) -> None:
    spec = Spec.from_file(folder / "main.xml")
    assert [child.tag for child in spec.worldbody.children] == ["geom", "body"]
    assert spec.option["timestep"] == 0.5
    geom = spec.find("geom", "g")
    assert geom is not None
    assert geom.file == str(folder / "world.xml")


def test_assets_are_found_in_their_folder_or_beside_the_file_that_names_them(folder: Path) -> None:
    spec = Spec.from_file(folder / "main.xml")
    content = {mesh.name: spec.open_asset(mesh, "file")[1] for mesh in spec.elements("mesh")}
    assert content == {"a": b"a", "b": b"b"}
    again = Spec.from_string(spec.to_xml(), base_dir=folder)
    assert {mesh.name: again.open_asset(mesh, "file")[1] for mesh in again.elements("mesh")} == content


def test_files_from_memory() -> None:
    files = {
        "parts/arm.xml": b"<mujoco><asset><mesh file='sub/m.obj'/></asset></mujoco>",
        "world.xml": b"<x><geom/></x>",
        "meshes/sub/m.obj": b"mesh",
    }
    spec = Spec.from_string(MAIN, assets=files)
    assert spec.open_asset(next(spec.elements("mesh")), "file")[1] == b"mesh"
    by_last_part = Spec.from_string(MAIN, assets={**files, "m.obj": b"other"})
    assert by_last_part.open_asset(next(by_last_part.elements("mesh")), "file")[1] == b"mesh"


@pytest.mark.parametrize(
    ("compiler", "file", "found"),
    [
        ("", "a/m.obj", "a/m.obj"),
        ("meshdir='d'", "m.obj", "d/m.obj"),
        ("assetdir='d'", "m.obj", "d/m.obj"),
        ("assetdir='x' meshdir='d'", "m.obj", "d/m.obj"),
        ("texturedir='d'", "m.obj", "m.obj"),
        ("strippath='true' meshdir='d'", "a/b/m.obj", "d/m.obj"),
        ("meshdir='d\\'", "a\\m.obj", "d/a/m.obj"),
    ],
)
def test_folders(compiler: str, file: str, found: str) -> None:
    xml = f"<mujoco><compiler {compiler}/><asset><mesh file='{file}'/></asset></mujoco>"
    spec = Spec.from_string(xml, assets={found: b"yes"})
    assert spec.open_asset(next(spec.elements("mesh")), "file") == (found, b"yes")


@pytest.mark.parametrize("key", ["meshes/M.obj", "./m.obj", "C:\\parts\\m.obj"])
def test_the_folders_of_names_of_assets_count_only_between_equal_names(key: str) -> None:
    xml = "<mujoco><asset><mesh name='m' file='m.obj'/></asset></mujoco>"
    spec = Spec.from_string(xml, assets={key: b"yes"})
    assert spec.open_asset(next(spec.elements("mesh")), "file")[1] == b"yes"
    spec = Spec.from_string(xml, assets={"a/m.obj": b"this", "b/m.obj": b"or that?"})
    with pytest.raises(MjcfError, match="no such file"):
        spec.open_asset(next(spec.elements("mesh")), "file")


def test_assets_are_bytes() -> None:
    with pytest.raises(TypeError, match=r"'i\.xml' is of type str; give the bytes"):
        Spec.from_string("<mujoco><include file='i.xml'/></mujoco>", assets={"i.xml": "<mujoco/>"})  # pyright: ignore


@pytest.mark.parametrize("name", ["../secret.obj", "{up}/secret.obj", "link.obj", "linked/secret.obj"])
def test_root_confines_assets(folder: Path, name: str) -> None:
    (folder / "link.obj").symlink_to(folder.parent / "secret.obj")
    (folder / "linked").symlink_to(folder.parent)
    name = name.format(up=folder.parent)
    (folder / "m.xml").write_text(f"<mujoco><asset><mesh name='m' file='{name}'/></asset></mujoco>")
    free = Spec.from_file(folder / "m.xml")
    assert free.open_asset(next(free.elements("mesh")), "file")[1] == b"secret"
    confined = Spec.from_file(folder / "m.xml", root=folder)
    with pytest.raises(MjcfError, match="confines") as caught:
        confined.open_asset(next(confined.elements("mesh")), "file")
    assert caught.value.attribute == "file"


def test_root_confines_includes_and_the_model_itself(folder: Path) -> None:
    (folder.parent / "outside.xml").write_text("<mujoco><option/></mujoco>")
    (folder / "m.xml").write_text("<mujoco><include file='../outside.xml'/></mujoco>")
    Spec.from_file(folder / "m.xml")
    with pytest.raises(MjcfError, match="confines"):
        Spec.from_file(folder / "m.xml", root=folder)
    with pytest.raises(MjcfError, match="confines"):
        Spec.from_file(folder.parent / "outside.xml", root=folder)


@pytest.mark.parametrize(
    ("include", "text"),
    [
        ("<include/>", "required attribute"),
        ("<include file='nothing.xml'/>", "no such file"),
        ("<include file='empty.xml'/>", "empty"),
        ("<include file='childless.xml'/>", "empty"),
        ("<include file='self.xml'/>", "already included"),
        ("<include file='m.xml'/>", "already included"),
        ("<include file='world.xml'><geom/></include>", "children"),
        ("<include file='world.xml' prefix='a'/>", "no such attribute"),
        ("<include file='parts'/>", "no such file"),
        ("<include file='a&#9;&#10;.xml'/>", "no such file"),
    ],
)
def test_bad_includes(folder: Path, include: str, text: str) -> None:
    (folder / "empty.xml").write_text("")
    (folder / "childless.xml").write_text("<mujoco/>")
    (folder / "self.xml").write_text("<mujoco><include file='self.xml'/></mujoco>")
    (folder / "m.xml").write_text(f"<mujoco>\n{include}</mujoco>")
    with pytest.raises(MjcfError, match=text):
        Spec.from_file(folder / "m.xml")


def test_an_unreadable_model(tmp_path: Path) -> None:
    for path in (tmp_path / "none.xml", tmp_path, "a\0b"):
        with pytest.raises(MjcfError, match="cannot read"):
            Spec.from_file(path)
    with pytest.raises(MjcfError, match="path or text is empty"):
        load_model("")


def test_packages(tmp_path: Path) -> None:
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    (tmp_path / "robot" / "urdf").mkdir()
    (tmp_path / "robot" / "meshes" / "m.obj").write_bytes(b"here")
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "m.obj").write_bytes(b"there")
    urdf = """<robot name="r"><link name="l"><collision><geometry><mesh filename="package://{}/m.obj"/></geometry>
      </collision></link></robot>"""
    path = tmp_path / "robot" / "urdf" / "r.urdf"
    path.write_text(urdf.format("robot/meshes"))
    found = Spec.from_file(path)
    assert found.open_asset(next(found.elements("mesh")), "file")[1] == b"here"
    path.write_text(urdf.format("/meshes"))  # as onshape-to-robot writes it
    nameless = Spec.from_file(path)
    assert nameless.open_asset(next(nameless.elements("mesh")), "file")[1] == b"here"
    path.write_text(urdf.format("robot"))
    given = Spec.from_file(path, packages={"robot": tmp_path / "else"})
    assert given.open_asset(next(given.elements("mesh")), "file")[1] == b"there"


def test_models_load_with_packages(tmp_path: Path) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "m.obj").write_text(corners)
    urdf = """<robot name="r"><link name="l"><collision><geometry><mesh filename="package://robot/m.obj"/></geometry>
      </collision></link></robot>"""
    assert load_model(urdf, packages={"robot": tmp_path / "parts"}).nmesh == 1
    (tmp_path / "r.urdf").write_text(urdf)
    assert load_model(tmp_path / "r.urdf", packages={"robot": tmp_path / "parts"}).nmesh == 1
    with pytest.raises(MjcfError, match="no such file"):
        load_model(tmp_path / "r.urdf")
