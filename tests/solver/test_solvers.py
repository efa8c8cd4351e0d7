"""PGS and CG: the optimum is Newton's, and so are its derivatives."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import SolverType
from jaxsim.interop.mujoco import put_model
from jaxsim.results import WarningBit

from .scenes import SCENES, assert_close, given, states

SOLVERS = (SolverType.PGS, SolverType.CG)
SMALL = ("small pyramids", "small elliptic cones")

forward = jax.jit(jaxsim.forward)


@functools.cache
def compiled(name, solver):
    """The C engine's model, with Newton, and ours with another solver."""
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    m.opt.solver = solver
    model = put_model(m)
    m.opt.solver = SolverType.NEWTON
    return m, at_most(model, 3000)


def at_most(model, iterations, tolerance=0.0):
    option = model.opt
    return model.replace(
        opt=option.replace(
            iterations=jnp.full_like(option.iterations, iterations),
            tolerance=jnp.full_like(option.tolerance, tolerance),
        )
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "name",
    [
        *SMALL,
        "equalities",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("pyramids", "elliptic cones")),
    ],
)
def test_the_optimum_is_the_c_engines(name, solver):
    m, model = compiled(name, solver)
    for d in states(m):
        for warm in (0, 1):
            data = given(model, d).replace(qacc_warmstart=warm * jnp.asarray(d.qacc))
            data = forward(model, data)
            assert_close(data.qacc, d.qacc, 1e-6)
            assert_close(data.qfrc_constraint, d.qfrc_constraint, 1e-6)
            # conflicting equalities are still creeping after 3000 sweeps
            assert name not in SMALL or not int(data.warning) & WarningBit.NOT_CONVERGED


@pytest.mark.parametrize("solver", SOLVERS)
def test_iterations_that_run_out_are_reported(solver):
    m, model = compiled(SMALL[0], solver)
    crowded = max(states(m), key=lambda d: d.nefc)
    data = given(model, crowded).replace(qacc_warmstart=jnp.zeros(m.nv))
    short = forward(at_most(model, 5), data)  # up to four are taken for what a model is tuned to
    assert int(short.solver_niter) == 5
    assert int(short.warning) & WarningBit.NOT_CONVERGED
    early = forward(at_most(model, 3000, 1e-8), data)
    late = forward(model, data)
    assert int(early.solver_niter) < int(late.solver_niter)
    assert float(late.solver_gradient) < float(short.solver_gradient)
    none = forward(at_most(model, 0), data)
    assert int(none.solver_niter) == 0


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", SMALL)
def test_derivatives_are_those_of_newton(name, solver):
    m, model = compiled(name, solver)
    newton = put_model(m)
    d = max(states(m), key=lambda d: d.nefc)
    rng = np.random.default_rng(0)
    along = jnp.asarray(rng.standard_normal(m.nv))
    found = []
    for own in (model, newton):
        data = given(own, d)

        def acceleration(v, own=own, data=data):
            return jaxsim.forward(own, data.replace(qvel=v)).qacc

        tangent = jax.jit(lambda v, u, f=acceleration: jax.jvp(f, (v,), (u,))[1])(data.qvel, along)
        cotangent = jax.jit(lambda v, u, f=acceleration: jax.vjp(f, v)[1](u)[0])(data.qvel, along)
        assert abs(jnp.vdot(along, tangent) - jnp.vdot(cotangent, along)) < 1e-9 * (1 + np.abs(tangent).max())
        found.append(tangent)
    assert_close(found[0], np.asarray(found[1]), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_worlds_do_not_touch_each_other(solver):
    """In float32, worlds in the air, sliding and falling, against copies of one of them."""
    with jax.enable_x64(False):
        xml = SCENES[SMALL[1]].replace("<option", f"<option solver='{SolverType(solver).name}'")
        xml = xml.replace('tolerance="0" iterations="200"', 'tolerance="1e-6" iterations="50"')
        model = jaxsim.load_model(xml)
        data = jaxsim.make_data(model)
        rng = np.random.default_rng(0)
        velocity = 0.3 * rng.standard_normal((4, model.nv)).astype(np.float32)
        many = jax.vmap(lambda v: data.replace(qvel=v))(jnp.asarray(velocity))
        many = many.replace(qpos=many.qpos.at[1, 2].add(1.0))
        run = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))
        mixed, alike = many, jax.tree.map(lambda x: jnp.stack([x[0]] * 4), many)
        for _ in range(5):
            mixed, alike = run(model, mixed), run(model, alike)
        for name in ("qpos", "qvel", "efc_force"):
            np.testing.assert_array_equal(getattr(mixed, name)[0], getattr(alike, name)[0])


def test_sweeps_of_pyramids_go_on_to_the_optimum() -> None:
    """Boxes that slide on a slope, whose many edges are not independent: momentum must not drive sweeps away."""
    mj_model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="0.004" tolerance="0" iterations="1000"/>
        <default><geom friction=".7" solimp=".9 .95 .01 .4 2.5" solref=".03 1.1"/></default><worldbody>
        <geom type="plane" size="5 5 1" euler="3 2 0"/>
        <body pos="0 0 .115"><freejoint/><geom type="box" size=".1 .12 .11" mass="1"/></body>
        <body pos=".02 .01 .31"><freejoint/><geom type="box" size=".08 .07 .09" mass=".6"/></body>
        </worldbody></mujoco>"""
    )
    mj_data = mujoco.MjData(mj_model)
    mujoco.mj_step(mj_model, mj_data, 100)
    model = jaxsim.put_model(mj_model)
    data = jaxsim.make_data(model).replace(qpos=jnp.asarray(mj_data.qpos), qvel=jnp.asarray(mj_data.qvel))
    model = model.replace(opt=model.opt.replace(solver=SolverType.PGS))
    found = jax.jit(jaxsim.forward)(model, data)
    mujoco.mj_forward(mj_model, mj_data)
    assert int(found.ncon) == mj_data.ncon == 8
    np.testing.assert_allclose(found.qacc, mj_data.qacc, atol=1e-9)


def test_sweeps_leave_the_tip_of_a_cone() -> None:
    """A ball that slides fast and parts slowly: no normal force alone helps, friction and normal force together do.

    The C engine's sweeps stay at zero, so Newton's method is the oracle.
    """
    text = """<mujoco><option cone="elliptic" tolerance="0" iterations="100"/><worldbody>
      <geom type="plane" size="9 9 1"/><body pos="0 0 .099"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    mj_model = mujoco.MjModel.from_xml_string(text)
    mj_data = mujoco.MjData(mj_model)
    mj_data.qvel[:3] = 2, 0, 0.12
    mujoco.mj_forward(mj_model, mj_data)
    model = jaxsim.load_model(text)
    model = model.replace(opt=model.opt.replace(solver=SolverType.PGS))
    found = jax.jit(jaxsim.forward)(model, jaxsim.make_data(model).replace(qvel=jnp.asarray(mj_data.qvel)))
    assert mj_data.qacc[0] < -40
    np.testing.assert_allclose(found.qacc, mj_data.qacc, atol=1e-9)


def test_conjugate_gradients_with_short_line_searches() -> None:
    """Their steps lower the cost; where none that is tried does, the world has not converged."""
    model = jaxsim.load_model("""
        <mujoco>
          <option solver="CG" iterations="100"/>
          <worldbody>
            <geom type="plane" size="5 5 .1"/>
            <body pos="0 0 .045">
              <freejoint/>
              <geom type="capsule" size=".05 .1" euler="85 0 0"/>
              <body pos=".1 0 0">
                <joint axis="0 1 0" range="-2 2" damping=".1"/>
                <geom size=".05" pos=".1 0 0"/>
              </body>
            </body>
          </worldbody>
        </mujoco>""")

    def solved(evaluations: int) -> tuple[np.ndarray, int]:
        own = model.replace(opt=model.opt.replace(ls_iterations=jnp.full((), evaluations)))
        data = forward(own, jaxsim.make_data(own).replace(qvel=jnp.full(own.nv, 0.5)))
        return np.asarray(data.qacc), int(data.warning) & WarningBit.NOT_CONVERGED

    optimum, warned = solved(50)
    assert not warned
    for evaluations in (2, 3, 5):
        qacc, warned = solved(evaluations)
        assert not warned
        np.testing.assert_allclose(qacc, optimum, rtol=0, atol=1e-3)
    qacc, warned = solved(1)
    assert warned
    assert np.abs(qacc).max() < 2 * np.abs(optimum).max()
