"""Frames that nearly coincide: the C engine puts one on the other, and so do we, but derivatives know both."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim

XML = """<mujoco><compiler autolimits="true"/><worldbody>
  <body pos=".1 .2 .3"><freejoint/>
    <inertial mass="1" diaginertia="1 2 2.5" pos=".1 .2 .3" quat=".5 .5 .5 .5"/>
    <geom size=".1" pos=".1000003 .2 .2999997" quat=".5 .5000004 .4999996 .5"/>
    <geom size=".1" pos=".1 .3 .3" quat="-.5 -.5000004 -.4999996 -.5"/>
    <geom size=".1" pos="0 5e-7 -5e-7" quat="1 0 0 6e-7"/>
    <geom size=".1" pos="0 1 0" quat="1 0 6e-7 0"/>
    <geom size=".1" pos="0 0 3e-6" quat=".5 .5 .500002 .5"/>
    <site pos=".1 .2 .3000007" quat=".5 .5 .5 .5000002"/>
    <site pos="0 0 2e-7"/>
    <body><joint/><inertial mass="1" diaginertia="1 2 2.5" pos="0 8e-7 0" quat="1 0 0 3e-7"/>
      <geom size=".1" pos="0 -1e-7 0" quat="1 0 2e-7 0"/>
      <geom size=".1" pos="0 1.7e-6 0" quat="1 0 2e-7 12e-7"/>
    </body>
  </body>
</worldbody></mujoco>"""
FRAMES = ("xipos", "ximat", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat")


@pytest.mark.parametrize("load", [jaxsim.load_model, lambda xml: jaxsim.put_model(_mj_model())])
def test_frames_that_nearly_coincide(load) -> None:
    """To rounding: without the rule they are up to 1e-6 off."""
    model, mj_model = load(XML), _mj_model()
    data = mujoco.MjData(mj_model)
    mujoco.mj_integratePos(mj_model, data.qpos, np.random.default_rng(0).normal(size=mj_model.nv), 1.0)
    mujoco.mj_forward(mj_model, data)
    found = jax.jit(jaxsim.kinematics)(model, jaxsim.make_data(model).replace(qpos=jnp.asarray(data.qpos)))
    for name in FRAMES:
        # 1e-12: differences that small are not stored
        ours = np.asarray(getattr(found, name)).ravel()
        np.testing.assert_allclose(ours, getattr(data, name).ravel(), atol=2e-12, err_msg=name)


def test_models_without_such_frames_do_not_pay() -> None:
    model = jaxsim.load_model(
        "<mujoco><worldbody><body><geom size='.1' pos='1 0 0'/></body></worldbody></mujoco>"
    )
    assert not any(model.has(f"{kind}_snap") for kind in ("body", "geom", "site"))


def test_derivatives_by_frames_that_nearly_coincide() -> None:
    """Both modes against central differences: a geom on its frame of inertia goes by its own position."""
    model = jaxsim.load_model(XML)
    names = ("geom_pos", "geom_quat", "body_ipos", "body_iquat", "site_pos", "site_quat")
    at = {name: getattr(model, name) for name in names}
    rng = np.random.default_rng(1)
    along = {name: jnp.asarray(rng.normal(size=x.shape)) for name, x in at.items()}
    data = jaxsim.make_data(model)
    weight = [jnp.asarray(rng.normal(size=getattr(data, name).shape)) for name in FRAMES]

    @jax.jit
    def total(values: dict[str, jax.Array]) -> jax.Array:
        found = jaxsim.kinematics(model.replace(**values), data)
        return sum(
            (jnp.sum(w * getattr(found, name)) for w, name in zip(weight, FRAMES, strict=True)),
            start=jnp.zeros(()),
        )

    ahead, behind = (jax.tree.map(lambda x, v, e=e: x + e * v, at, along) for e in (1e-5, -1e-5))
    slope = (total(ahead) - total(behind)) / 2e-5
    forward = jax.jvp(total, (at,), (along,))[1]
    gradient = jax.grad(total)(at)
    reverse = sum((jnp.sum(gradient[name] * along[name]) for name in names), start=jnp.zeros(()))
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-8)


def _mj_model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(XML)
