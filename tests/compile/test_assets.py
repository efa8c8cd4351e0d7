"""Meshes, height fields, textures and materials against the C compiler."""

import re
import struct
from io import BytesIO

import mujoco
import numpy as np
import pytest
from PIL import Image

from jaxsim import make_data
from jaxsim.compile import load_model
from jaxsim.enums import GeomType
from jaxsim.mjcf import MjcfError
from jaxsim.results import UnsupportedError
from tests.compile.oracle import check

VERT = np.array(
    [
        [0, 0, 0],
        [1, 0, 0],
        [1.2, 0.8, 0],
        [0, 1, 0.1],
        [0.1, 0, 0.6],
        [1, 0.1, 0.5],
        [1, 1, 0.7],
        [0, 0.9, 0.5],
    ],
    np.float32,
)
QUADS = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
FACES = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


def stl() -> bytes:
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *VERT[face].ravel().tolist(), 0) for face in FACES)
    return b"\0" * 80 + struct.pack("<I", len(FACES)) + body


def msh() -> bytes:
    head = struct.pack("<4i", len(VERT), 0, 0, len(FACES))
    return head + VERT.tobytes() + FACES.astype(np.int32).tobytes()


def obj(lines: str = "", faces: str | None = None) -> bytes:
    vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in VERT.tolist())
    if faces is None:
        faces = "".join("f " + " ".join(str(i + 1) for i in quad) + "\n" for quad in QUADS)
    return (vertices + lines + faces).encode()


def model(mesh: str, geom: str = 'type="mesh" mesh="m"', compiler: str = "") -> str:
    return f"""<mujoco><compiler {compiler}/><asset>{mesh}</asset><worldbody><body><freejoint/>
      <geom {geom} euler="10 20 30" pos=".1 .2 .3"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("name", "content"), [("m.stl", stl()), ("m.msh", msh()), ("m.obj", obj())])
def test_formats(name, content):
    check(model(f'<mesh name="m" file="{name}"/>'), {name: content})


@pytest.mark.parametrize("inertia", ["legacy", "exact", "shell", "convex"])
@pytest.mark.parametrize("scale", ["1 1 1", "2 3 .5", "-1 1 2", ".001 .001 .001"])
def test_inertia_modes(inertia, scale):
    file = f"{inertia}{scale}.stl"  # the C compiler would take a mesh of the same name from its cache
    mesh = f'<mesh name="m" file="{file}" inertia="{inertia}" scale="{scale}" refpos=".1 .2 .3" refquat="1 2 3 4"/>'
    check(model(mesh), {file: stl()})


@pytest.mark.parametrize("fitaabb", ["false", "true"])
@pytest.mark.parametrize("type", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_fitted_primitives(type, fitaabb):
    geom = f'type="{type}" mesh="m" fitscale="1.2" surfacevel="1 2 3 4 5 6"'
    check(
        model('<mesh name="m" file="m.stl" scale="1 1.5 3"/>', geom, f'fitaabb="{fitaabb}"'), {"m.stl": stl()}
    )


def test_inline_mesh_and_hull_of_bare_vertices():
    vertex = " ".join(str(x) for x in VERT.ravel().tolist())
    face = " ".join(str(i) for i in FACES.ravel().tolist())
    check(model(f'<mesh name="m" vertex="{vertex}" face="{face}"/>'))
    bare = check(model(f'<mesh name="m" vertex="{vertex}"/>'))
    assert bare.mesh_graph[:2].tolist() == [8, 12]


@pytest.mark.parametrize("scale", ["1 1 1", "-1 1 2"])
def test_hulls_of_many_polygons_in_the_order_of_c(scale: str) -> None:
    """Directions of several thousand faces fill the compiler's table of them again and again."""
    vert = np.random.default_rng(0).normal(size=(900, 3))
    vert /= np.linalg.norm(vert, axis=1, keepdims=True)
    text = " ".join(map(str, np.round(vert, 4).ravel().tolist()))
    ours = check(model(f'<mesh name="m" vertex="{text}" scale="{scale}"/>'))
    assert ours.mesh_polynum[0] > 1000


def test_hull_graph_is_symmetric_and_faces_look_outward():
    ours = load_model(model('<mesh name="m" file="m.stl"/>'), assets={"m.stl": stl()})
    graph = ours.mesh_graph
    nvert, nface = graph[:2]
    starts, vertices = graph[2 : 2 + nvert], graph[2 + nvert : 2 + 2 * nvert]
    edges = graph[2 + 2 * nvert : 2 + 3 * nvert + 3 * nface]
    pairs = set()
    for i in range(nvert):
        for j in edges[starts[i] :]:
            if j < 0:
                break
            pairs.add((i, int(j)))
    assert pairs == {(j, i) for i, j in pairs}
    faces = graph[2 + 3 * nvert + 3 * nface :].reshape(-1, 3)
    assert set(faces.ravel()) == set(vertices)
    vert = np.asarray(ours.mesh_vert)
    a, b, c = (vert[faces[:, k]] for k in range(3))
    assert (np.einsum("ij,ij->i", np.cross(b - a, c - a), a - vert.mean(0)) > 0).all()


def test_obj_uses_the_first_shape_and_cuts_polygons():
    corners = [(np.cos(t), np.sin(t)) for t in np.arange(5) * 2 * np.pi / 5]
    lines = [f"v {x} {y} {z}" for z in (0.0, 1.0) for x, y in corners]
    lines += ["o first", "f 5 4 3 2 1", "f 6/1/1 7/1/1 8/1/1 9/1/1 10/1/1".replace("/1/1", "")]
    lines += ["g", "o"]  # without a blank behind them C does not take these for a new shape
    lines += [f"f {i + 1} {(i + 1) % 5 + 1} {(i + 1) % 5 + 6} {i + 6}" for i in range(5)]
    lines += ["g second", "f 1 2 8"]
    check(model('<mesh name="m" file="m.obj"/>'), {"m.obj": "\n".join(lines).encode()})


FORMS = {
    "v": "{0}",
    "v/vt": "{0}/{1}",
    "v//vn": "{0}//{1}",
    "v/vt/vn": "{0}/{1}/{1}",
    "-v": "{2}",
    "-v/vt": "{2}/{1}",
    "v/-vt": "{0}/-1",
    "-v//-vn": "{2}//-2",
    "-v/-vt/-vn": "{2}/-3/-3",
    "+v": "+{0}",
    "v/": "{0}/",
    "v//": "{0}//",
    "v/vt/": "{0}/{1}/",
    "vt of 0": "{0}/0",
    "vt that is not there": "{0}/9",
}
TEXCOORDS, NORMALS = "vt 0 0\nvt 1\nvt 1 .25 1\n", "vn 0 0 1\nvn 1 0 0\nvn 0 1 0\n"


@pytest.mark.parametrize("texcoords", ["", TEXCOORDS])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_obj_indices(form, texcoords):
    """Quads and triangles; what names texture coordinates that are not there has none, as in C."""
    if "-vt" in form:
        texcoords = TEXCOORDS
    named = texcoords + NORMALS * ("vn" in form)  # C refuses normals that no face names
    polygons = [*QUADS[:-1], QUADS[-1][:3], [QUADS[-1][k] for k in (0, 2, 3)]]
    faces = "".join(
        "f " + " ".join(FORMS[form].format(i + 1, k % 3 + 1, i - 8) for k, i in enumerate(polygon)) + "\n"
        for polygon in polygons
    )
    check(model('<mesh name="m" file="m.obj"/>'), {"m.obj": obj(named, faces)})


@pytest.mark.parametrize(
    ("corner", "message"),
    [
        ("0", "'0' is no corner as in vertex/texcoord/normal"),
        ("1/1/1/1", "'1/1/1/1' is no corner"),
        ("-9", "index -9 counts back to before the first"),
        ("1/-4", "index -4 counts back to before the first"),
        ("1//-4", "index -4 counts back to before the first"),
        ("9", "vertex 9 does not exist"),
        ("1//4", "normal 4 does not exist"),
        ("a", "'a' is not a whole number"),
    ],
)
def test_obj_indices_that_are_refused(corner, message):
    rest = corner[1:].replace(corner[1:], "//1" if corner.startswith("1//") else "")
    faces = f"f {corner} 2{rest} 3{rest}\n" + "".join(
        "f " + " ".join(f"{i + 1}{rest}" for i in quad) + "\n" for quad in QUADS
    )
    assets = {"m.obj": obj(TEXCOORDS + NORMALS, faces)}
    with pytest.raises(ValueError, match=r"obj_decoder|index out of bounds|does not exist"):
        mujoco.MjModel.from_xml_string(model('<mesh name="m" file="m.obj"/>'), assets)
    with pytest.raises(MjcfError, match=re.escape(f'<mesh name="m"> attribute file="m.obj": {message}')):
        load_model(model('<mesh name="m" file="m.obj"/>'), assets=assets)


@pytest.mark.parametrize("line", ["v 1 2", "v 1 2 x"])
def test_obj_vertices_that_are_refused(line):
    """C takes what is missing for 0."""
    with pytest.raises(MjcfError, match=r"fewer than 3 numbers|'x' is not a number"):
        load_model(model('<mesh name="m" file="m.obj"/>'), assets={"m.obj": obj(f"{line}\n")})


@pytest.mark.parametrize("kind", ["", "model/stl", "model/obj", "application/octet-stream"])
@pytest.mark.parametrize(("name", "content"), [("m.STL", stl()), ("m.OBJ", obj()), ("m.Msh", msh())])
def test_the_extension_says_what_a_mesh_is(name, content, kind):
    """Whatever the type of content says, as in C."""
    if name == "m.Msh" and kind.startswith("model"):
        pytest.skip("C believes these two")
    check(model(f'<mesh name="m" file="{name}" content_type="{kind}"/>'), {name: content})


def test_files_without_an_extension_that_says_it():
    """C reads them by type of content if that is its own; here the other two say it too."""
    for kind, content in (("stl", stl()), ("obj", obj()), ("vnd.mujoco.msh", msh())):
        text = model(f'<mesh name="m" file="m.txt" content_type="model/{kind}"/>')
        assert load_model(text, assets={"m.txt": content}).nmesh == 1
    for name in ("m.StL", "m.Obj", "m.txt", "stl"):
        text = model(f'<mesh name="m" file="{name}"/>')
        with pytest.raises(ValueError, match="no decoder found"):
            mujoco.MjModel.from_xml_string(text, {name: stl()})
        with pytest.raises(
            MjcfError, match=r"expected an STL, OBJ or MSH file: .stl, .obj, .msh, in lower or"
        ):
            load_model(text, assets={name: stl()})


@pytest.mark.parametrize("corners", [5, 12, 100, 101])
def test_obj_polygons_that_are_not_convex(corners):
    """The C compiler's reader leaves parts of some polygons out, and all of those with more than 100 corners."""
    angle = np.arange(corners) * 2 * np.pi / corners
    radius = np.where(np.arange(corners) % 3 == 1, 0.4, 1.0)
    ring = np.stack([3 + radius * np.cos(angle), 2 + radius * np.sin(angle), 0.1 * angle], axis=1)
    lines = [f"v {x} {y} {z}" for x, y, z in [*ring.tolist(), (3, 3, 1), (3, 4, 2), (5, 3, 1)]]
    lines += ["f " + " ".join(str(i + 1) for i in range(corners))]
    lines += [f"f {corners + 1} {corners + 2} {corners + 3}", "f 1 2 3 4"]
    name = f"polygon{corners}.obj"
    xml = model(
        f'<mesh name="m" file="{name}" inertia="shell"/>', 'type="mesh" mesh="m" contype="0" conaffinity="0"'
    )
    check(xml, {name: "\n".join(lines).encode()})


def test_obj_normals_and_texture_coordinates():
    lines = "vt 0 0\nvt 1 0\nvt 1 .25\nvn 0 0 1\nvn 1 0 0\n"
    faces = "".join(
        "f " + " ".join(f"{i - 8}/{k % 3 + 1}/{k % 2 + 1}" for i in quad) + "\n"
        for k, quad in enumerate(QUADS)
    )
    check(model('<mesh name="m" file="m.obj" scale="1 1 -1"/>'), {"m.obj": obj(lines, faces)})


def test_small_symmetric_meshes():
    """Their principal axes depend on how the iteration stops."""
    cube = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32) * np.float32(
        0.0123
    )
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    for nudge in (0.0, 1e-9, 1e-7, 1e-5):
        vert = cube.copy()
        vert[0] *= np.float32(1 + nudge)
        vertex = " ".join(repr(float(x)) for x in vert.ravel())
        face = " ".join(f"{a} {b} {c} {a} {c} {d}" for a, b, c, d in quads)
        check(model(f'<mesh name="m" vertex="{vertex}" face="{face}"/>'))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"solid text", "no header"),
        (b"\0" * 80 + struct.pack("<I", 10**6), "expected a binary STL"),
        (stl()[:-1], "does not fit"),
        (stl().replace(struct.pack("<f", 1.2), struct.pack("<f", float("nan"))), "not finite"),
    ],
)
def test_damaged_meshes(content, message):
    with pytest.raises(MjcfError, match=message):
        load_model(model('<mesh name="m" file="m.stl"/>'), assets={"m.stl": content})


def test_flat_mesh_has_no_hull():
    flat = "0 0 0 1 0 0 1 1 0 0 1 0"
    with pytest.raises(MjcfError, match="plane"):
        load_model(model(f'<mesh name="m" vertex="{flat}" inertia="shell" face="0 1 2 0 2 3"/>'))


def png(pixels: np.ndarray) -> bytes:
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return buffer.getvalue()


def hfield(attributes: str) -> str:
    return f"""<mujoco><asset><hfield name="h" size="1 2 .5 .1" {attributes}/></asset>
      <worldbody><geom type="hfield" hfield="h" pos="0 0 1"/></worldbody></mujoco>"""


SITE_MESHES = """<asset><material name="q"/><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" material="q"/>
  <mesh name="n" builtin="sphere" params="2"/></asset>"""


@pytest.mark.parametrize("discard", ["true", "false"])
@pytest.mark.parametrize("size", ["", 'size="0 0 0"'])
def test_mesh_sites(discard, size):
    ours = check(
        f"""<mujoco><compiler discardvisual="{discard}"/>{SITE_MESHES}<worldbody><frame pos="1 0 0" euler="0 0 90">
        <site type="mesh" mesh="m" pos="1 2 3" {size}/><body><geom size=".1"/><site type="mesh" mesh="n"/></body>
        </frame><geom type="mesh" mesh="n" contype="0" conaffinity="0"/><site/></worldbody></mujoco>"""
    )
    assert ours.site_dataid.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    "site", ['type="mesh"', 'mesh="m"', 'type="box" mesh="m"', 'type="mesh" mesh="none"']
)
def test_mesh_sites_and_no_others_have_a_mesh(site):
    with pytest.raises(MjcfError) as caught:
        load_model(f"<mujoco>{SITE_MESHES}<worldbody><site {site}/></worldbody></mujoco>")
    assert caught.value.attribute == "mesh"


@pytest.mark.parametrize(
    "sensor",
    [
        '<touch site="s"/>',
        '<contact site="s"/>',
        '<insidesite site="s" objtype="geom" objname="g"/>',
    ],
)
def test_volumes_of_mesh_sites_are_refused_by_name(sensor):
    model = """<mujoco>{}<worldbody><body><freejoint/><geom name="g" size=".1"/><site name="s" type="mesh" mesh="m"/>
      <site name="t"/></body></worldbody><sensor><framepos objtype="site" objname="s"/>
      <insidesite site="t" objtype="site" objname="s"/>{}</sensor></mujoco>"""
    make_data(load_model(model.format(SITE_MESHES, "")))
    with pytest.raises(UnsupportedError, match="the volume of a site of type mesh"):
        make_data(load_model(model.format(SITE_MESHES, sensor)))


def test_height_fields():
    grey = np.random.default_rng(0).integers(0, 256, (4, 5), np.uint8)
    binary = struct.pack("<2i", 2, 3) + np.arange(6, dtype=np.float32).tobytes()
    check(hfield('nrow="2" ncol="3" elevation="1 2 3 4 5 7"'))
    check(hfield('nrow="2" ncol="3"'))
    check(hfield('file="h.png"'), {"h.png": png(grey)})
    check(hfield('file="h.bin"'), {"h.bin": binary})
    check(hfield('file="h.bin" nrow="2" ncol="2" elevation="1 2 3"'), {"h.bin": binary})  # the file counts
    with pytest.raises(MjcfError, match="does not fit"):
        load_model(hfield('file="h.bin"'), assets={"h.bin": binary[:-1]})
    with pytest.raises(MjcfError, match="at least 2 rows and 2 columns"):
        load_model(hfield('nrow="1" ncol="3"'))
    with pytest.raises(MjcfError, match="not finite"):
        load_model(hfield('file="h.bin"'), assets={"h.bin": binary[:-4] + np.float32(np.nan).tobytes()})


def test_textures_and_materials():
    image = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    square = np.random.default_rng(1).integers(0, 256, (4, 4, 3), np.uint8)
    grid = np.random.default_rng(2).integers(0, 256, (6, 8, 3), np.uint8)
    xml = """<mujoco><default><material specular=".1"/></default><asset>
      <texture name="image" type="2d" file="i.png" vflip="true"/>
      <texture name="grey" type="2d" file="i.png" nchannel="1"/>
      <texture name="one" type="cube" file="s.png"/>
      <texture name="grid" type="cube" file="g.png" gridsize="3 4" gridlayout=".U..LFRB.D.."/>
      <texture name="six" type="cube" fileleft="s.png" fileup="s.png"/>
      <texture type="skybox" builtin="gradient" width="8" rgb1="1 .5 0" rgb2="0 0 1"/>
      <texture name="check" type="2d" builtin="checker" width="6" height="4" mark="edge" markrgb="1 0 0"/>
      <texture name="flat" type="cube" builtin="flat" width="4" mark="cross"/>
      <texture name="g2" type="2d" builtin="gradient" width="5" height="5"/>
      <material name="a" texture="image" texrepeat="2 3" rgba="1 0 0 1"/>
      <material name="b" emission=".3"><layer texture="image" role="rgb"/>
      <layer texture="grey" role="roughness"/></material>
      </asset><worldbody><geom size="1" material="a"/><site material="b"/></worldbody></mujoco>"""
    assets = {"i.png": png(image), "s.png": png(square), "g.png": png(grid)}
    ours = check(xml, assets)
    import mujoco

    theirs = mujoco.MjModel.from_xml_string(xml, assets).tex_data
    assert np.abs(ours.tex_data.astype(int) - theirs).max() <= 1  # rounding of painted gradients


@pytest.mark.parametrize("channels", [1, 3])
def test_textures_of_16_bits(channels):
    deep = np.random.default_rng(0).integers(0, 1 << 16, (6, 8), np.uint16)
    xml = f"""<mujoco><asset><texture name="t" type="2d" file="deep{channels}.png" nchannel="{channels}"/></asset>
      </mujoco>"""
    assets = {f"deep{channels}.png": png(deep)}
    import mujoco

    np.testing.assert_array_equal(
        check(xml, assets).tex_data, mujoco.MjModel.from_xml_string(xml, assets).tex_data
    )


def test_signed_distance_fields():
    """Issue 7, bug 18: a geom of type sdf compiles as a mesh; how it collides is in tests/collision/test_sdf."""
    content = msh()
    xml = model('<mesh name="m" file="m.msh" scale="1 2 3"/>', 'type="sdf" mesh="m"')
    ours = check(xml, {"m.msh": content})
    assert ours.geom_type[0] == GeomType.SDF
    make_data(ours)
    two = load_model(xml.replace("<worldbody>", '<worldbody><geom size="1"/>'), assets={"m.msh": content})
    assert make_data(two).contact.dist.shape[0] > 0


def image(*shape: int) -> bytes:
    file = BytesIO()
    Image.fromarray((np.arange(np.prod(shape)).reshape(shape) * 5).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()


CELLS = struct.pack("<2i", 3, 3) + struct.pack("<9f", *range(9))


@pytest.mark.parametrize(
    ("asset", "content", "kind"),
    [
        ('<hfield name="h" size="1 1 1 1" {}/>', image(4, 4), "image/png"),
        ('<hfield name="h" size="1 1 1 1" {}/>', CELLS, "image/vnd.mujoco.hfield"),
        ('<texture name="t" type="2d" {}/>', image(4, 4, 3), "image/png"),
        ('<texture name="t" type="2d" {}/>', b"anything", "image/ktx"),
    ],
)
@pytest.mark.parametrize("name", ["a.png", "a.ktx", "a"])
def test_types_of_content(asset, content, kind, name):
    """They win over what the name says; others than these are refused, as in C."""
    xml = f"<mujoco><asset>{asset}</asset></mujoco>"
    check(xml.format(f'file="{name}" content_type="{kind}"'), {name: content})
    for wrong in ("text/plain", kind.upper()):
        text = xml.format(f'file="{name}" content_type="{wrong}"')
        with pytest.raises(ValueError, match=f"unsupported content type: '{wrong}'"):
            mujoco.MjModel.from_xml_string(text, {name: content})
        with pytest.raises(
            MjcfError, match=f'attribute content_type="{wrong}": expected image/png or image/'
        ):
            load_model(text, assets={name: content})
