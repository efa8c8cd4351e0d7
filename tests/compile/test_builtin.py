"""Meshes made from parameters, against the C compiler."""

import mujoco
import numpy as np
import pytest

from jaxsim import MjcfError, load_model
from jaxsim.compile.mesh.builtin import SHAPES
from jaxsim.interop.mujoco import put_model
from tests.compile.oracle import differences

GOOD = {
    "sphere": ["0", "2.9", "4"],
    "hemisphere": ["0", "1", "10"],
    "cone": ["3 0", "5 .5", "7 2", "4 -1"],
    "supersphere": ["3 1 1", "8 0 0", "4 .01 2", "12 .3 .5"],
    "supertorus": ["3 .3 1 1", "8 1 .1 2"],
    "wedge": ["2 3 60 40 .3", "4 4 180 90 1", "5 3 30 10 0"],
    "plate": ["2 3", "5 4"],
}

BAD = {
    "sphere": ["5", "-1", "1 2"],
    "hemisphere": ["11", "-1"],
    "cone": ["2 .5", "4"],
    "supersphere": ["2 1 1", "4 -1 1", "4 1 -1", "4 1"],
    "supertorus": ["2 .3 1 1", "4 0 1 1", "4 1.1 1 1", "4 .3 0 1", "4 .3 1 0"],
    "wedge": [
        "0 3 60 40 0",
        "2 0 60 40 0",
        "2 3 0 40 0",
        "2 3 181 40 0",
        "2 3 60 91 0",
        "2 3 60 40 1.1",
        "1 1 9 9 0",
    ],
    "plate": ["0 3", "3 0", "1 1"],
    "none": ["1"],
}


def model(shape: str, params: str, attributes: str = "") -> str:
    return f"""<mujoco><asset><mesh name="m" builtin="{shape}" params="{params}" {attributes}/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="m" contype="0" conaffinity="0"/></body></worldbody>
    </mujoco>"""


@pytest.mark.parametrize(("shape", "params"), [(shape, params) for shape in GOOD for params in GOOD[shape]])
def test_shapes_are_those_of_the_c_compiler(shape, params):
    """Issue 7, bug 18: the same vertices, faces and tangent frames to the bit, in the same order."""
    spec = mujoco.MjSpec.from_string(model(shape, params)).meshes[0]
    ours = SHAPES[shape](np.array(params.split(), float))
    np.testing.assert_array_equal(ours.vert.ravel(), np.array(spec.uservert, np.float32))
    np.testing.assert_array_equal(ours.face.ravel(), np.array(spec.userface))
    np.testing.assert_array_equal(ours.normal.ravel(), np.array(spec.usernormal, np.float32))


@pytest.mark.parametrize("shape", [shape for shape in GOOD if shape != "plate"])
@pytest.mark.parametrize(
    "attributes", ["", 'inertia="convex" scale="1 2 -3"', 'inertia="shell" refpos="1 2 3" refquat="1 2 0 1"']
)
def test_solid_shapes(shape, attributes):
    """Of shapes without faces the triangles are those of the hull, in our own order.

    A mirrored mesh keeps a positive volume where its inertia is that of the hull.
    """
    xml = model(shape, GOOD[shape][1], attributes)
    theirs = put_model(mujoco.MjModel.from_xml_string(xml))
    hull = {"mesh_face", "mesh_facenormal"} if shape in ("cone", "wedge") else set()
    assert set(differences(load_model(xml), theirs)) <= hull


def test_a_plate_is_a_shell():
    xml = model("plate", "2 3", 'inertia="exact"')
    assert not differences(load_model(xml), put_model(mujoco.MjModel.from_xml_string(xml)))


@pytest.mark.parametrize(("shape", "params"), [(shape, params) for shape in BAD for params in BAD[shape]])
def test_parameters_out_of_range_are_refused(shape, params):
    xml = model(shape, params)
    with pytest.raises(ValueError, match="Error"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(MjcfError, match="<mesh name="):
        load_model(xml)


def test_a_shape_of_too_many_vertices_is_refused():
    with pytest.raises(MjcfError, match="more than 1,000,000 vertices"):
        load_model(model("supersphere", "1e5 1 1"))


def test_a_shape_needs_parameters():
    with pytest.raises(MjcfError, match="attribute params: required"):
        load_model(model("sphere", "1").replace('params="1"', ""))
