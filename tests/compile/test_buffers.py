"""Buffer sizes that a model asks for."""

import pytest

from jaxsim import MjcfError, Spec, load_model, save_model

MODEL = """<mujoco>{}<worldbody><geom type="plane" size="1 1 1"/><body><freejoint/><geom size=".1"/></body></worldbody>
</mujoco>"""

NUMERIC = '<custom><numeric name="other" data="3"/><numeric name="max_contact_points" data="7"/></custom>'


@pytest.mark.parametrize(
    ("sections", "nconmax"),
    [
        ("", -1),
        ('<size nconmax="9"/>', 9),
        ('<size nconmax="0"/>', 0),
        (NUMERIC, 7),
        (NUMERIC + '<size nconmax="9"/>', 9),
        ('<size nconmax="9" njmax="30"/>', -1),
        (NUMERIC + '<size nconmax="9" njmax="30"/>', 7),
    ],
)
def test_sizes_of_the_file(sections, nconmax):
    """`<size nconmax>` and MJX's custom number are read; memory of old versions, which have `njmax` too, is not."""
    model = load_model(MODEL.format(sections))
    assert (model.nconmax, model.njmax) == (nconmax, -1)


@pytest.mark.parametrize(
    ("element", "pairs"),
    [
        ('<numeric name="max_geom_pairs" data="12"/>', "12"),
        ('<numeric name="max_geom_pairs" data="-1"/>', ""),
        ('<text name="max_geom_pairs" data="box box 4, 9"/>', "box box 4, 9"),
    ],
)
def test_pairs_of_the_file(element, pairs):
    assert load_model(MODEL.format(f"<custom>{element}</custom>")).max_geom_pairs == pairs


def test_pairs_that_make_no_sense():
    element = '<custom><text name="max_geom_pairs" data="box 4"/></custom>'
    with pytest.raises(MjcfError, match="two geom types and a number"):
        load_model(MODEL.format(element))


def test_sizes_by_hand_win(tmp_path):
    spec = Spec.from_string(MODEL.format(NUMERIC))
    assert (spec.compile(nconmax=2).nconmax, spec.compile(njmax=30).njmax) == (2, 30)
    save_model(spec.compile(njmax=30), tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    assert (again.nconmax, again.njmax) == (7, 30)
    assert load_model(tmp_path / "m.npz", nconmax=4).nconmax == 4
    assert load_model(tmp_path / "m.npz", njmax=-1).njmax == -1
    assert load_model(tmp_path / "m.npz", max_geom_pairs=4).max_geom_pairs == "4"
