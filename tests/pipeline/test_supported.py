import jax
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline import supported
from jaxsim.pipeline.supported import check_supported
from jaxsim.results import UnsupportedError, WarningBit
from tests.pipeline import scenes
from tests.pipeline.oracle import load

BODY = """<worldbody><site name="s0"/>
  <body name="b" pos="0 0 1"><freejoint/><geom name="g" type="{geom}" size="0.1 0.1 0.1"/><site name="s1"/></body>
  <body name="c" pos="1 0 1"><joint name="j"/><geom name="h" type="{geom}" size="0.1 0.1 0.1"/></body></worldbody>"""


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<option><flag diagexact='enable'/></option>", "flag diagexact"),
        (
            "<sensor><insidesite site='s0' objtype='geom' objname='g' enclosed='true'/></sensor>",
            "insidesite with enclosed",
        ),
    ],
)
def test_names_what_it_refuses(xml, message):
    _, model = load(f"<mujoco>{xml}{BODY.format(geom='sphere')}</mujoco>")
    with pytest.raises(UnsupportedError, match=message):
        check_supported(model)


def test_options_that_do_not_exist():
    model = jaxsim.load_model("<mujoco/>")
    for option in ("integrator", "cone", "solver"):
        with pytest.raises(ValueError, match="7 is not a valid"):
            check_supported(model.replace(opt=model.opt.replace(**{option: 7})))


def test_accepts_what_it_computes():
    check_supported(load(scenes.SENSORS)[1])
    check_supported(load(f"<mujoco>{BODY.format(geom='box')}</mujoco>")[1])


def test_an_optional_leaf_changed_behind_our_back():
    """What was left out because it was zero is not left out without a word when `jax.tree.map` changes it."""
    _, model = load(scenes.hopper())
    data = jaxsim.make_data(model)
    assert not model.opt.has("density")

    def dense(model, add):
        leaves, tree = jax.tree.flatten(model.opt)
        leaves = [x + add if x is model.opt.density else x for x in leaves]
        return model.replace(opt=jax.tree.unflatten(tree, leaves))

    with pytest.raises(UnsupportedError, match=r"density .*replace\(density"):
        jaxsim.step(dense(model, 1.0), data)
    step = jax.jit(lambda model, add: jaxsim.step(dense(model, add), data))
    assert int(step(model, 1.0).warning) == WarningBit.UNSUPPORTED
    assert int(step(model, 0.0).warning) == 0


def test_reads_the_device_once(monkeypatch):
    _, model = load(scenes.hopper())
    reads = []
    monkeypatch.setattr(supported, "_read_any", lambda x: reads.append(x) or bool(np.any(x)))
    check_supported(model)
    assert reads
    reads.clear()
    check_supported(model)
    check_supported(model.replace(body_mass=model.body_mass * 2))
    for _ in range(300):  # other models do not push it out
        check_supported(model.replace(geom_surfacevel=model.geom_surfacevel + 0))
    reads.clear()
    check_supported(model)
    assert not reads
    check_supported(model.replace(geom_surfacevel=model.geom_surfacevel + 0))
    assert len(reads) == 1


class Later:
    """A model as a later C engine would give it."""

    def __init__(self, m, **fields):
        self.m, self.fields = m, fields

    def __getattr__(self, name):
        return self.fields[name] if name in self.fields else getattr(self.m, name)


def test_what_came_to_the_c_engine_later_is_refused():
    m, _ = load(f"<mujoco>{BODY.format(geom='sphere')}</mujoco>")
    for function in (jaxsim.put_model, jaxsim.make_data):
        with pytest.raises(UnsupportedError, match=r"springs that yield \(springyield\).*newer than 3\.17"):
            function(Later(m, nplastic=1))
    later = jaxsim.put_model(Later(m, nplastic=0))
    assert jaxsim.make_data(later).qpos.shape == later.qpos0.shape
    with pytest.raises(UnsupportedError, match=r"flags 0x80, of a MuJoCo newer than 3\.17"):
        jaxsim.make_data(later.replace(opt=later.opt.replace(enableflags=1 << 7)))
