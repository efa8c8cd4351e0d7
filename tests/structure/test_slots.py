"""How many contact slots there are: for what may touch at once."""

import mujoco
import pytest

from jaxsim.interop.mujoco import put_model
from jaxsim.structure import slots


def boxes(count: int) -> str:
    return "".join(f'<geom type="box" size=".04 .04 .04" pos="{0.1 * k} 0 0"/>' for k in range(count))


PEGS = boxes(40)
PIECES = f'<body pos="0 0 .079"><freejoint/>{PEGS}</body>'
OBJECTS = "".join(f'<body pos="0 0 {k}"><freejoint/>{boxes(1)}</body>' for k in range(40))
LINKS = "".join(f'<body pos="0 0 .1"><joint axis="0 1 0"/>{boxes(1)}' for _ in range(40)) + "</body>" * 40


@pytest.fixture
def uncached():
    yield
    slots._layout.cache_clear()


def test_many_geoms_have_slots_for_what_may_touch_at_once(monkeypatch, uncached):
    """Pieces of a body share its points, most links of a robot touch; an object by itself keeps its own."""

    def counts() -> list[int]:
        slots._layout.cache_clear()
        return [slots.slot_layout(put_model(m)).count for m in models]

    scenes = (PEGS + PIECES, PEGS + LINKS, OBJECTS)
    models = [mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{x}</worldbody></mujoco>") for x in scenes]
    d = mujoco.MjData(models[0])
    mujoco.mj_forward(models[0], d)
    pieces, links, objects = counts()
    monkeypatch.setattr(slots, "_MANY_SLOTS", 10**6)
    all_pieces, all_links, all_objects = counts()
    assert 0 < d.ncon <= pieces < all_pieces / 2
    assert 2 / 3 * all_links < links < all_links
    assert objects == all_objects
