"""Light bodies beside heavy ones."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim

XML = """<mujoco><worldbody><geom type="plane" size="5 5 .1" contype="0"/>
  <body pos="0 0 .00051"><freejoint/><geom type="box" size=".0005 .0005 .0005" conaffinity="0"/></body>
  <body pos=".01 0 .0003"><freejoint/><geom type="box" size=".00025 .00025 .00025" conaffinity="0"/></body>
  <body pos=".02 0 .0006"><freejoint/><geom type="sphere" size=".0005" conaffinity="0"/></body>
  <body pos="1 0 .251"><freejoint/><geom type="box" size=".25 .25 .25" mass="1000" conaffinity="0"/></body>
  </worldbody></mujoco>"""


def test_a_grain_beside_a_block():
    """All it costs is below the tolerance, which the block sets: its steps must not make things worse all the same."""
    with jax.enable_x64(False):
        model = jaxsim.load_model(XML)
        data = jaxsim.make_data(model)
        qvel = 1e-3 * np.random.default_rng(0).standard_normal((16, model.nv))

        def fastest(v):
            _, path = jaxsim.rollout(model, data.replace(qvel=v), steps=500, fields=("qvel",))
            return jnp.max(jnp.abs(path["qvel"]))

        assert jnp.max(jax.jit(jax.vmap(fastest))(jnp.asarray(qvel, jnp.float32))) < 10
