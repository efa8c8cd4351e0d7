import pytest

from jaxsim.pipeline.supported import check_supported
from jaxsim.results import UnsupportedError
from tests.pipeline import scenes
from tests.pipeline.oracle import load

BODY = """<worldbody><site name="s0"/>
  <body name="b" pos="0 0 1"><freejoint/><geom name="g" type="{geom}" size="0.1 0.1 0.1"/><site name="s1"/></body>
  <body name="c" pos="1 0 1"><joint name="j"/><geom name="h" type="{geom}" size="0.1 0.1 0.1"/></body></worldbody>"""


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<option noslip_iterations='3'/>", "noslip"),
        ("<option solver='CG'/>", "solver CG"),
        (
            "<tendon><spatial name='t'><site site='s0'/><site site='s1'/></spatial></tendon>",
            "tendon 't': spatial",
        ),
        ("<actuator><general name='a' site='s1'/></actuator>", "actuator 'a': transmission site"),
        (
            "<actuator><muscle name='a' joint='j' lengthrange='0 1'/></actuator>",
            "actuator 'a': gaintype muscle",
        ),
        ("<sensor><rangefinder name='r' site='s1'/></sensor>", "sensor 'r': type rangefinder"),
    ],
)
def test_names_what_it_refuses(xml, message):
    _, model = load(f"<mujoco>{xml}{BODY.format(geom='sphere')}</mujoco>")
    with pytest.raises(UnsupportedError, match=message):
        check_supported(model)


def test_accepts_what_it_computes():
    check_supported(load(scenes.SENSORS)[1])
    check_supported(load(f"<mujoco>{BODY.format(geom='box')}</mujoco>")[1])
