"""Absurd numbers give an MjcfError or a model, never another exception."""

import itertools
import re

import pytest

from jaxsim.compile import load_model
from jaxsim.mjcf import MjcfError
from jaxsim.model import Model

NUMBERS = ("1e308", "-1e308", "1e-320", "nan", "inf", "0")
PLACES = (
    '<geom size="{}"/>',
    '<geom size="1" pos="{} 0 0"/>',
    '<geom size="1" mass="{}"/>',
    '<geom size="1" euler="{} 0 0"/>',
    '<geom type="capsule" size="1" fromto="0 0 0 {} 0 0"/>',
    '<geom type="box" size="1 {} 1" fluidshape="ellipsoid"/>',
    '<inertial pos="0 0 0" mass="1" fullinertia="1 1 1 {} 0 0"/>',
    '<geom size="1"/><joint axis="{} 0 1"/>',
    '<geom size="1"/><joint ref="{}" range="-1 {}" limited="true"/>',
    '<geom size="1"/><joint springdamper="{} 1"/>',
)


@pytest.mark.parametrize(("place", "number"), [*itertools.product(PLACES, NUMBERS)])
def test_absurd_numbers(place, number):
    joint = "" if "joint" in place else '<joint name="j"/>'
    try:
        found = load_model(
            f"<mujoco><worldbody><body>{joint}{place.replace('{}', number)}</body></worldbody></mujoco>"
        )
    except MjcfError:
        return
    assert isinstance(found, Model)


BODY = (
    "<worldbody><body name='a'><joint/><inertial pos='{}' mass='1' diaginertia='1 1 1'/></body></worldbody>"
)
ZERO = "0 0 0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BODY.format("nan 0 0"), '<inertial> attribute pos="nan 0 0": expected numbers, got nan'),
        (BODY.format("0 0 nan"), '<inertial> attribute pos="0 0 nan": expected numbers, got nan'),
        (
            BODY.format(ZERO) + "<equality><connect body1='a' anchor='nan 0 0'/></equality>",
            "give body1 and an anchor, or site1 and site2",
        ),
        ("<worldbody><geom size='1' euler='0 nan 0'/></worldbody>", 'euler="0 nan 0": expected numbers'),
        (
            "<worldbody><body><joint/><geom size='1'/><site name='s'/><site name='r' pos='1 0 0'/></body></worldbody>"
            "<tendon><spatial><site site='s'/><site site='r'/><pulley divisor='0'/><site site='s'/><site site='r'/>"
            "</spatial></tendon>",
            '<pulley> attribute divisor="0": the divisor must be positive',
        ),
        (
            "<asset><texture name='t' type='2d' builtin='flat' width='4' height='4' nchannel='4'/></asset>",
            'attribute nchannel="4": a builtin pattern has 3 channels',  # as in C
        ),
    ],
)
def test_numbers_that_are_none(text, message):
    """Each is refused where it stands; C takes nan, and a divisor of zero, and has a model of nan."""
    with pytest.raises(MjcfError, match=re.escape(message)):
        load_model(f"<mujoco>{text}</mujoco>")


def test_a_number_that_is_not_given():
    """Where nothing is needed a first nan says so, as in C; keyframes have it anywhere."""
    text = """<mujoco><worldbody><body><joint name='j'/><joint name='k'/>
      <geom size='1' euler='nan 0 0'/></body></worldbody><keyframe><key qpos='1 nan'/></keyframe></mujoco>"""
    model = load_model(text)
    assert model.geom_quat.tolist() == [[1, 0, 0, 0]]
    assert model.key_qpos.tolist() == [[1, 0]]
