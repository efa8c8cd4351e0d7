"""Second derivatives at the reference pose, where errors of equalities and stretches of springs are zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim

HANGING = """<mujoco><option tolerance="1e-15"/><worldbody>
<body name="welded"><freejoint/><geom size=".1" pos=".05 0 0"/></body>
<body name="hung" pos="1 0 0"><freejoint/><geom size=".1" pos="0 .05 0"/></body>
<body pos="2 0 0"><joint name="slide" type="slide" axis="0 0 1"/><geom size=".1"/></body>
<body pos="3 0 0"><joint name="lift" type="slide" axis="0 0 1"/><geom size=".1"/></body>
</worldbody>
<tendon><fixed name="tendon"><joint joint="lift" coef="2"/></fixed></tendon>
<equality><weld body1="welded"/><connect body1="hung" anchor=".1 0 .2"/><joint joint1="slide"/>
<tendon tendon1="tendon"/></equality></mujoco>"""

SPRUNG = """<mujoco><option gravity="0 0 0"><flag energy="enable"/></option><worldbody>
<body><joint type="ball" stiffness="5 2 3"/><geom size=".1" pos=".1 0 0"/></body>
<body pos="1 0 0"><joint type="free" stiffness="3 0 4"/><geom size=".1"/></body>
</worldbody></mujoco>"""


def _summed_accelerations(data):
    return jnp.sum(jnp.arange(1, data.qacc.size + 1) * data.qacc)


def _potential_energy(data):
    return data.energy[0]


@pytest.mark.parametrize(("xml", "of"), [(HANGING, _summed_accelerations), (SPRUNG, _potential_energy)])
def test_curvature_at_the_reference(xml, of):
    model = jaxsim.load_model(xml)
    data = jaxsim.make_data(model)

    def at(v):
        return of(jaxsim.forward(model, data.replace(qpos=jaxsim.integrate_pos(model, data.qpos, v, 1.0))))

    gradient = jax.grad(at)
    directions, zero = jnp.eye(model.nv), jnp.zeros(model.nv)
    curvature = jax.jit(jax.vmap(lambda u: jax.jvp(gradient, (zero,), (u,))[1]))(directions)
    slopes = jax.jit(jax.vmap(gradient))
    h = 1e-6
    differences = (slopes(h * directions) - slopes(-h * directions)) / (2 * h)
    assert np.abs(differences).max() > 1
    np.testing.assert_allclose(curvature, differences, rtol=1e-5, atol=1e-5 * np.abs(differences).max())


PENDULUM = """<mujoco><option integrator="RK4" timestep="0.05"/><worldbody><body>
<joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".04" fromto="0 0 0 .1 0 .3"/></body></worldbody>
</mujoco>"""


@pytest.mark.parametrize("outer", [jax.jacfwd, jax.jacrev])
def test_curvature_of_runge_kutta(outer):
    """Its stages are a loop, in which the solver's rule has to stay when it is differentiated in reverse."""
    model = jaxsim.load_model(PENDULUM)
    data = jaxsim.make_data(model)

    def at(p):
        after = jaxsim.step(model, data.replace(qpos=p[:1], qvel=p[1:]))
        return 3 * after.qpos[0] + after.qvel[0] ** 2

    p = jnp.array([0.4, 1.3])
    slopes = jax.jit(jax.vmap(jax.grad(at)))
    h = 1e-5
    differences = (slopes(p + h * jnp.eye(2)) - slopes(p - h * jnp.eye(2))) / (2 * h)
    np.testing.assert_allclose(jax.jit(outer(jax.grad(at)))(p), differences, rtol=1e-7)
