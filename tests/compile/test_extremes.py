"""Absurd numbers give an MjcfError or a model, never another exception."""

import itertools

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
