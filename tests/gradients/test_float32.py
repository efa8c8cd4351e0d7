"""In single precision, the derivatives along a fall to rest are those of double precision."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim

BOX = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 0.25" euler="10 5 0"><freejoint/><geom type="box" size="0.15 0.12 0.1"/></body>
  </worldbody>
</mujoco>
"""
STEPS = 400


def test_a_box_dropped_to_rest():
    model = jaxsim.load_model(BOX)
    start = jaxsim.make_data(model)
    names = ("qpos", "qvel", "qacc_warmstart")
    end, path = jax.jit(lambda d: jaxsim.rollout(model, d, steps=STEPS, fields=names))(start)
    assert np.abs(end.qvel).max() < 1e-3
    before = {k: jnp.concatenate([getattr(start, k)[None], path[k][:-1]]) for k in names}

    @jax.jit
    def jacobian(model: jaxsim.Model, data: jaxsim.Data, states: dict[str, jax.Array]) -> jax.Array:
        def one(state: dict[str, jax.Array]) -> jax.Array:
            d = data.replace(**state)

            def after(qpos: jax.Array, qvel: jax.Array) -> jax.Array:
                d2 = jaxsim.step(model, d.replace(qpos=qpos, qvel=qvel))
                return jnp.concatenate([d2.qpos, d2.qvel])

            return jnp.concatenate(jax.jacfwd(after, (0, 1))(d.qpos, d.qvel), axis=1)

        return jax.vmap(one)(states)

    exact = np.asarray(jacobian(model, start, before))
    single = jax.tree.map(
        lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, (model, start, before)
    )
    rounded = np.asarray(jacobian(*single))
    assert rounded.dtype == np.float32
    error = np.linalg.norm(rounded - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    assert error.max() < 1e-3
