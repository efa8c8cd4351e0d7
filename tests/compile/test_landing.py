"""Attributes that land in a field as they are, as the MJCF table says."""

import dataclasses

import numpy as np
import pytest

import jaxsim
from jaxsim.mjcf.schema import schema
from jaxsim.model import Model
from jaxsim.options import Option, Statistic
from jaxsim.pytree import Record

BODY = '<body><joint name="j"/><geom name="a" size="1"/></body><body><geom name="b" size="1"/><site name="s"/></body>'
PATH = '<site site="s"/><site site="t"/>'
OBJECT = {
    "body": "<worldbody><body {0}/></worldbody>",
    "joint": '<worldbody><body><joint {0}/><geom size="1"/></body></worldbody>',
    "geom": '<worldbody><geom size="1" {0}/></worldbody>',
    "site": "<worldbody><site {0}/></worldbody>",
    "camera": "<worldbody><camera {0}/></worldbody>",
    "light": "<worldbody><light {0}/></worldbody>",
    "mesh": '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" {0}/></asset>',
    "hfield": '<asset><hfield name="h" nrow="2" ncol="2" {0}/></asset>',
    "material": '<asset><material name="m" {0}/></asset>',
    "option": "<option {0}/>",
    "statistic": "<statistic {0}/>",
    "key": "<keyframe><key {0}/></keyframe>",
    "pair": f'<worldbody>{BODY}</worldbody><contact><pair geom1="a" geom2="b" {{0}}/></contact>',
    "spatial": f"<worldbody>{BODY}</worldbody><tendon><spatial {{0}}>{PATH}</spatial></tendon>",
    "fixed": f'<worldbody>{BODY}</worldbody><tendon><fixed {{0}}><joint joint="j" coef="1"/></fixed></tendon>',
    "weld": f'<worldbody>{BODY}</worldbody><equality><weld site1="s" site2="t" {{0}}/></equality>',
    "general": f"<worldbody>{BODY}</worldbody><actuator><general {{0}}/></actuator>",
    "sensor/touch": f'<worldbody>{BODY}</worldbody><sensor><touch site="s" nsample="2" {{0}}/></sensor>',
    "sensor/user": '<sensor><user dim="1" datatype="real" {0}/></sensor>',
}
"""A model with one object of each kind that has such attributes."""

VALUES = {"actuatorfrcrange": (-0.25, 0.5), "interval": (0.5, -0.25)}
"""Numbers of attributes that cannot have any."""

TOGETHER = {
    ("general", "delay"): 'nsample="2"',
    ("general", "actrange"): 'dyntype="integrator"',
    ("camera", "sensorsize"): 'resolution="2 2"',
}
"""What else must be given."""

ROWS = [
    (key, name, attribute.field)
    for key in OBJECT
    for name, attribute in schema()[key].attributes.items()
    if attribute.field
]


def field_of(path: str) -> dataclasses.Field:
    record: type[Record] = {"opt": Option, "stat": Statistic}.get(path.split(".")[0], Model)
    return {f.name: f for f in dataclasses.fields(record)}[path.split(".")[-1]]


def test_every_such_field_is_here():
    everywhere = {a.field for element in schema().values() for a in element.attributes.values() if a.field}
    assert everywhere == {path for _, _, path in ROWS}


@pytest.mark.parametrize(("key", "name", "path"), ROWS, ids=lambda x: x)
def test_the_field_fits(key, name, path):
    attribute, field = schema()[key].attributes[name], field_of(path)
    dims = field.metadata["shape"].split()
    width = [int(d) for d in (dims if "." in path else dims[1:])]
    assert attribute.most == (width[0] if width else 1)
    assert attribute.vector == bool(width)
    assert np.dtype(attribute.kind).kind == np.dtype(field.metadata["dtype"]).kind


@pytest.mark.parametrize(("key", "name", "path"), ROWS, ids=lambda x: x)
def test_the_attribute_lands(key, name, path):
    attribute = schema()[key].attributes[name]
    value = np.array(VALUES.get(name, np.linspace(0.25, 0.5, attribute.most)))
    text = " ".join(map(str, value))
    if attribute.kind == "bool":
        value = not attribute.default
        text = str(value).lower()
    elif attribute.kind == "int":
        value = np.arange(4, 4 + attribute.most)
        text = " ".join(map(str, value))
    other = TOGETHER.get((key, name), "")
    if key == "general":
        other += ' cranksite="s" slidersite="t"' if name == "cranklength" else ' joint="j"'
    xml = OBJECT[key].format(f'{name}="{text}" {other}')
    model = jaxsim.load_model(f"<mujoco><worldbody><site name='t' pos='1 0 0'/></worldbody>{xml}</mujoco>")
    *record, last = path.split(".")
    found = np.asarray(getattr(getattr(model, record[0]) if record else model, last))
    found = found if record else found[-1]
    np.testing.assert_allclose(found, np.squeeze(value), rtol=1e-7)  # some fields are single precision
