"""Stages as functions of one world: together they are a step, and they compose under transformations."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline import per_world
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, put_state, states

STAGES = (
    jaxsim.kinematics, jaxsim.com_pos, jaxsim.camlight, jaxsim.tendon, jaxsim.crb, jaxsim.collision,
    jaxsim.transmission, jaxsim.fwd_velocity, jaxsim.sensor_pos, jaxsim.sensor_vel, jaxsim.fwd_actuation,
    jaxsim.fwd_acceleration, jaxsim.fwd_constraint, jaxsim.sensor_acc, jaxsim.implicit,
)  # fmt: skip


@functools.cache
def problem():
    m, model = load(scenes.INVERSE)
    d = list(states(m, n=2, spread=0.005))[1]
    return m, model, put_state(model, d)


def by_stages(model, data):
    return functools.reduce(lambda data, stage: stage(model, data), STAGES, data)


def test_stages_make_a_step():
    _, model = load(scenes.hopper("implicitfast"))
    data = jaxsim.make_data(model).replace(qvel=jnp.array([0.5, 0.0, -1.0]), ctrl=jnp.array([0.3, -0.4]))
    ours, whole = jax.jit(by_stages)(model, data), jax.jit(jaxsim.step)(model, data)
    for field in type(whole).leaf_fields():
        if field.name not in ("contact", "work"):
            found = [np.asarray(getattr(x, field.name), float) for x in (ours, whole)]
            assert error(*found) < 1e-12, field.name
    assert whole.energy[0] != 0


def test_each_stage_runs_alone_and_keeps_shapes():
    """Eagerly, from a fresh data, in any order: none needs more than fields of Data."""
    _, model = load(scenes.hopper())
    data = jaxsim.make_data(model)
    shapes = [x.shape for x in jax.tree.leaves(data)]
    for name in reversed(per_world.__all__):
        stage = getattr(jaxsim, name)
        after = stage(model, data)
        assert [x.shape for x in jax.tree.leaves(after)] == shapes, name
        assert all(np.isfinite(x).all() for x in jax.tree.leaves(after) if x.dtype == float), name
        assert inspect.getdoc(stage), name


def test_wrong_shapes_are_refused_by_name():
    _, model, data = problem()
    with pytest.raises(ValueError, match="kinematics"):
        jaxsim.kinematics(model, data.replace(qpos=data.qpos[:-1]))


def test_a_pipeline_of_ones_own_under_vmap_of_grad():
    """Distance of the tip from a target: gradients of many worlds are those of each."""
    m, model, data = problem()
    tip, target = m.site("tip").id, jnp.array([0.1, 0.2, 0.5])

    def loss(qpos):
        moved = jaxsim.com_pos(model, jaxsim.kinematics(model, data.replace(qpos=qpos)))
        return jnp.sum((moved.site_xpos[tip] - target) ** 2)

    def by_jacobian(v):
        """The same slope along a velocity, from the site's Jacobian."""
        moved = jaxsim.com_pos(model, jaxsim.kinematics(model, data))
        return 2 * (moved.site_xpos[tip] - target) @ (jaxsim.jac_site(model, moved, tip)[0] @ v)

    v = jnp.asarray(np.random.default_rng(0).standard_normal(m.nv))
    along = jax.jvp(lambda t: loss(jaxsim.integrate_pos(model, data.qpos, v, t)), (0.0,), (1.0,))[1]
    assert abs(along - by_jacobian(v)) < 1e-12
    grad = jax.jit(jax.grad(loss))
    many = data.qpos + 0.01 * np.random.default_rng(1).standard_normal((3, m.nq))
    together = jax.jit(jax.vmap(jax.grad(loss)))(many)
    for one, found in zip(many, together, strict=True):
        assert error(found, grad(one)) < 1e-13


@pytest.mark.slow
def test_derivatives_pass_from_stage_to_stage():
    """Forward and reverse mode of a step made of stages are those of `step`."""
    _, model = load(scenes.hopper("implicitfast"))
    data = jaxsim.make_data(model)

    def after(function, x):
        moved = data.replace(qpos=data.qpos + x[0], qvel=data.qvel + x[1])
        done = function(model, moved)
        return jnp.concatenate([done.qpos, done.qvel])

    x = (jnp.array([0.1, 0.0, 0.2]), jnp.array([0.5, 0.1, -1.0]))
    dx = (jnp.array([0.3, -0.2, 0.1]), jnp.array([0.2, 0.7, -0.4]))
    found = []
    for function in (by_stages, jaxsim.step):
        y, dy = jax.jit(lambda f=function: jax.jvp(functools.partial(after, f), (x,), (dx,)))()
        back = jax.jit(lambda f=function, y=y: jax.vjp(functools.partial(after, f), x)[1](y))()[0]
        found.append((dy, *back))
    for ours, whole in zip(*found, strict=True):
        assert error(ours, whole) < 1e-10
