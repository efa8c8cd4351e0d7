"""`model.vis`: every number of mjVisual."""

import dataclasses
import operator

import numpy as np
import pytest

import jaxsim
from jaxsim.mjcf.schema import schema
from jaxsim.pytree import held_record
from jaxsim.visual import Visual
from tests.compile.oracle import check

GROUPS = tuple(field.name for field in dataclasses.fields(Visual))

UNSEEN = {("rgba", "bv"), ("rgba", "bvactive")}
"""mujoco 3.17.0 has empty arrays for these in Python."""


def attributes(group):
    return schema()["visual/rgba" if group == "rgba" else group.rstrip("_")].attributes


def another(attribute, number):
    """A value that is not the default; `number` tells attributes apart."""
    if attribute.kind == "bool":
        return str(not attribute.default).lower()
    if attribute.kind == "int":
        return str(attribute.default + number + 1)
    return " ".join(str(round(0.01 * (number + 1) + 0.2 * k, 3)) for k in range(attribute.most))


def model(values):
    """A model whose sections of `visual` hold the values, text by attribute by group."""
    words = {
        group: " ".join(f'{name}="{value}"' for name, value in values[group].items()) for group in values
    }
    sections = "".join(f"<{group.rstrip('_')} {text}/>" for group, text in words.items())
    return f"<mujoco><visual>{sections}</visual></mujoco>"


@pytest.mark.parametrize("group", GROUPS)
def test_fields_are_the_attributes(group):
    (field,) = (f for f in dataclasses.fields(Visual) if f.name == group)
    assert {f.name for f in dataclasses.fields(held_record(field))} == attributes(group).keys()


def test_without_a_section_all_numbers_are_the_c_compilers():
    vis = check("<mujoco/>").vis
    assert vis.rgba.bv.tolist() == [0, 1, 0, 0.5]
    assert not vis.rgba.haze.flags.writeable


def test_with_all_attributes_all_numbers_are_the_c_compilers():
    values = {
        group: {
            name: another(attribute, number)
            for number, (name, attribute) in enumerate(attributes(group).items())
            if (group, name) not in UNSEEN
        }
        for group in GROUPS
    }
    found, plain = check(model(values)).vis, jaxsim.load_model("<mujoco/>").vis
    for group, pairs in values.items():
        for name in pairs:
            get = operator.attrgetter(f"{group}.{name}")
            assert np.any(get(found) != get(plain)), (group, name)


def test_what_the_c_engines_binding_hides_is_kept_too():
    colours = jaxsim.load_model(model({"rgba": {"bv": "1 0 0 1", "bvactive": "0 0 1 1"}})).vis.rgba
    assert colours.bv.tolist() == [1, 0, 0, 1]
    assert colours.bvactive.tolist() == [0, 0, 1, 1]


def test_a_saved_model_keeps_them_and_equal_models_are_equal(tmp_path):
    xml = model({"global_": {"azimuth": "12", "orthographic": "true"}, "rgba": {"haze": "0 0 1 0.5"}})
    saved, path = jaxsim.load_model(xml), tmp_path / "m.npz"
    jaxsim.save_model(saved, path)
    for again in (jaxsim.load_model(path), jaxsim.load_model(xml)):
        assert again.vis.static == saved.vis.static
    assert again.vis.static != jaxsim.load_model("<mujoco/>").vis.static
