"""Moving and adhesive surfaces against the C engine."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.structure.slots import slot_layout

SCENE = """
<mujoco>
  <option timestep=".002" {option}/>
  <worldbody>
    <geom type="plane" size="1 1 .1" surfacevel=".5 .2 .1 .3 -.1 2" friction=".6"/>
    <body pos="0 0 .099"><freejoint/>
      <geom type="sphere" size=".1" condim="{condim}" surfacevel="0 0 0 1 2 3" adhesion="2"/></body>
    <body pos="-.5 0 .103"><freejoint/><geom type="capsule" size=".1 .1" euler="0 89 0" margin=".002" gap=".01"
      condim="{condim}" adhesion="5" priority="1"/></body>
    <body pos="0 .5 .3"><joint type="slide" axis="0 0 1"/><geom name="a" type="sphere" size=".1"/>
      <body pos="0 .02 .205"><joint/><geom name="b" type="sphere" size=".1"/></body></body>
  </worldbody>
  <contact><pair geom1="a" geom2="b" condim="3" gap=".02" adhesion="7"/></contact>
</mujoco>
"""
CASES = [("", 3), ('cone="elliptic" impratio="3"', 3), ('cone="elliptic"', 6), ("", 1)]


@functools.cache
def _model(option: str, condim: int, nconmax: int = -1) -> tuple[mujoco.MjModel, jaxsim.Model]:
    mj_model = mujoco.MjModel.from_xml_string(SCENE.format(option=option, condim=condim))
    return mj_model, put_model(mj_model, nconmax=nconmax)


forward = jax.jit(jaxsim.forward)


@pytest.mark.parametrize(("option", "condim"), CASES)
def test_forces_are_the_c_engines(option: str, condim: int) -> None:
    mj_model, model = _model(option, condim)
    mj_model.opt.tolerance = 1e-14
    mj_data = mujoco.MjData(mj_model)
    data = jaxsim.make_data(model)
    rng = np.random.default_rng(0)
    mj_data.qvel[:] = 0.1 * rng.normal(size=mj_model.nv)
    data = data.replace(qvel=jnp.asarray(mj_data.qvel.copy()))
    for _ in range(3):
        mujoco.mj_forward(mj_model, mj_data)
        found = forward(model, data)
        assert int(found.ncon) == mj_data.ncon
        assert int(found.nefc) == mj_data.nefc
        np.testing.assert_allclose(found.qacc, mj_data.qacc, atol=1e-5 * (1 + abs(mj_data.qacc).max()))
        np.testing.assert_allclose(found.qfrc_passive, mj_data.qfrc_passive, atol=1e-10)
        np.testing.assert_allclose(found.qfrc_adhesion, mj_data.qfrc_adhesion, atol=1e-10)
        used = np.asarray(found.contact.geom)[:, 0] >= 0
        for name in ("adhesion", "dim"):
            mine, theirs = getattr(found.contact, name)[used], getattr(mj_data.contact, name)
            np.testing.assert_allclose(np.sort(mine), np.sort(theirs))
        for _ in range(20):
            mujoco.mj_step(mj_model, mj_data)
        data = data.replace(qpos=jnp.asarray(mj_data.qpos.copy()), qvel=jnp.asarray(mj_data.qvel.copy()))


def test_slots_chosen_by_world() -> None:
    """The same accelerations where slots are shared by many pairs."""
    _, model = _model(*CASES[0])
    _, few = _model(*CASES[0], nconmax=6)
    assert any(group.selected for group in slot_layout(few).groups)
    found, wanted = (forward(m, jaxsim.make_data(m)).qacc for m in (few, model))
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize(("option", "condim"), [pytest.param(*CASES[0], marks=pytest.mark.slow), CASES[1]])
def test_derivatives(option: str, condim: int) -> None:
    """Of accelerations by the state, by the velocity of surfaces and by adhesion, in both modes."""
    _, model = _model(option, condim)
    data = jaxsim.make_data(model)
    rng = np.random.default_rng(1)
    x0 = (
        model.geom_surfacevel,
        model.geom_adhesion,
        model.pair_adhesion,
        jnp.asarray(0.1 * rng.normal(size=model.nv)),
    )
    used = [np.asarray(x) != 0 for x in x0]
    tangent = tuple(jnp.asarray(rng.normal(size=x.shape) * u) for x, u in zip(x0, used, strict=True))

    @jax.jit
    def f(x):
        names = ("geom_surfacevel", "geom_adhesion", "pair_adhesion")
        changed = model.replace(**dict(zip(names, x[:3], strict=True)))
        return forward(changed, data.replace(qvel=x[3])).qacc

    value, pushed = jax.jvp(f, (x0,), (tangent,))
    weight = jnp.asarray(rng.normal(size=value.shape))
    (pulled,) = jax.vjp(f, x0)[1](weight)
    step = 1e-5
    ahead, behind = (tuple(x + h * t for x, t in zip(x0, tangent, strict=True)) for h in (step, -step))
    slope = (f(ahead) - f(behind)) / (2 * step)
    np.testing.assert_allclose(pushed, slope, atol=1e-5 * (1 + abs(np.asarray(slope)).max()))
    inner = sum(float(jnp.sum(a * b)) for a, b in zip(pulled, tangent, strict=True))
    np.testing.assert_allclose(inner, float(jnp.sum(pushed * weight)), rtol=1e-8)
