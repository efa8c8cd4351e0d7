"""The solver's optimum: against the C engine, against optimality, at the limits of its options."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.make_data import make_data
from jaxsim.results import WarningBit
from jaxsim.solver.compact import kept_slots
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.solve import solve
from jaxsim.structure.rows import row_layout

from .scenes import SCENES, compiled, given, smooth, states

forward = jax.jit(jaxsim.forward)
forward_many = jax.jit(jax.vmap(jaxsim.forward, in_axes=(None, 0)))


def at_most(model, iterations):
    """The model with so many iterations: of the same type, so that nothing is compiled again."""
    return model.replace(opt=model.opt.replace(iterations=jnp.full_like(model.opt.iterations, iterations)))


@pytest.mark.parametrize("name", SCENES)
def test_converged_solution_is_the_c_engines(name):
    m, model = compiled(name)
    for d in states(m):
        data = forward(model, given(model, d))
        # 1e-9: both are converged to round-off
        scale = 1 + np.abs(d.qacc).max()
        np.testing.assert_allclose(data.qacc, d.qacc, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(
            data.qfrc_constraint, d.qfrc_constraint, rtol=0, atol=1e-9 * (1 + np.abs(d.qfrc_constraint).max())
        )
        assert int(data.warning) == 0
        assert int(data.solver_niter) < 20


@pytest.mark.parametrize("joined", [(0, 1), (0, 2), (1, 3), (0, 3)])
def test_coupled_trees_may_have_others_between_them(joined):
    arms = "".join(
        f'<body pos="0 {k} 0"><joint name="{k}" axis="0 1 0"/><geom size=".1" pos=".{k + 1} 0 0"/></body>'
        for k in range(4)
    )
    xml = """<mujoco><option tolerance="0"/><worldbody>{}</worldbody>
      <equality><joint joint1="{}" joint2="{}"/></equality></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml.format(arms, *joined))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    data = forward(put_model(m), make_data(put_model(m)))
    np.testing.assert_allclose(data.qacc, d.qacc, rtol=1e-9)


def test_what_one_equality_holds_is_not_coupled_with_the_first_of_its_kind():
    """A tendon of fixed length makes no row, and no force of the row spoils the contacts of the box."""
    xml = """<mujoco><option tolerance="0"/><worldbody>
      <geom type="plane" size="1 1 .1"/><site name="a"/><body pos="2 0 .5"><geom size=".1"/><site name="b"/></body>
      <body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/><site name="c"/></body>
      <body pos="0 3 1"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></worldbody>
      <tendon><spatial><site site="a"/><site site="c"/></spatial>
        <spatial name="still"><site site="a"/><site site="b"/></spatial></tendon>
      <equality><tendon tendon1="still" polycoef=".3"/><joint joint1="j"/></equality></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    d.qvel[:] = [1, 0.3, -1, 0.5, 2, 0.2, 0.4]
    model = put_model(m)
    data = forward(model, make_data(model).replace(qvel=d.qvel.copy()))
    mujoco.mj_forward(m, d)
    assert int(data.ne) == d.ne == 1
    np.testing.assert_allclose(data.qacc, d.qacc, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["small pyramids", "small elliptic cones"])
def test_solution_does_not_depend_on_the_warm_start(name):
    m, model = compiled(name)
    d = states(m)[2]
    data = given(model, d)
    rng = np.random.default_rng(1)
    first = forward(model, data)
    for scale in (1.0, 1e3):
        start = jnp.asarray(d.qacc + scale * rng.standard_normal(m.nv))
        other = forward(model, data.replace(qacc_warmstart=start))
        np.testing.assert_allclose(other.qacc, first.qacc, rtol=0, atol=1e-9 * np.abs(d.qacc).max())


def test_worlds_stop_by_themselves():
    """A world's result does not depend on its neighbours, though all share one loop."""
    m, model = compiled("small pyramids")
    data = [given(model, d) for d in states(m, (0, 2, 30, 31, 32, 33))]
    together = forward_many(model, jax.tree.map(lambda *x: jnp.stack(x), *data))
    for i, alone in enumerate(data):
        single = forward(model, alone)
        np.testing.assert_allclose(together.qacc[i], single.qacc, rtol=1e-10, atol=1e-9)
        assert int(together.solver_niter[i]) == int(single.solver_niter)


def test_many_worlds_are_gathered_without_changing_results():
    """From 64 worlds on, those that need more than one iteration are solved apart from the others."""
    m, model = compiled("small elliptic cones")
    base = [given(model, d) for d in states(m, (0, 2, 30))]
    rng = np.random.default_rng(0)
    many = [
        b.replace(
            qvel=b.qvel + rng.standard_normal(m.nv),
            qacc_warmstart=b.qacc_warmstart + 100 * rng.standard_normal(m.nv),
        )
        for b in base
        for _ in range(24)
    ]
    together = forward_many(model, jax.tree.map(lambda *x: jnp.stack(x), *many))
    assert len(set(np.asarray(together.solver_niter).tolist())) > 2
    assert not np.asarray(together.warning).any()
    for i in range(0, len(many), 7):
        single = forward(model, many[i])
        scale = np.abs(single.qacc).max()
        np.testing.assert_allclose(together.qacc[i], single.qacc, rtol=0, atol=1e-9 * scale)
        assert int(together.solver_niter[i]) == int(single.solver_niter)


def test_iterations_that_run_out_are_reported():
    m, model = compiled("pyramids")
    data = given(model, states(m)[0]).replace(qacc_warmstart=jnp.zeros(m.nv))
    full = forward(model, data)
    assert int(full.solver_niter) > 1
    assert not int(full.warning) & WarningBit.NOT_CONVERGED
    for count in (0, 1):
        short = forward(at_most(model, count), data)
        assert int(short.solver_niter) == count
        assert int(short.warning) & WarningBit.NOT_CONVERGED
        assert float(short.solver_gradient) > float(full.solver_gradient)


def test_few_iterations_that_get_near_are_no_news():
    m, model = compiled("pyramids")
    data = given(model, states(m)[1]).replace(qacc_warmstart=jnp.zeros(m.nv))
    near, none = forward(at_most(model, 1), data), forward(at_most(model, 0), data)
    assert 1e-3 < float(near.solver_gradient) < 1e-3 * float(none.solver_gradient)
    assert not int(near.warning)
    assert int(none.warning) & WarningBit.NOT_CONVERGED


def test_gradient_is_reported_at_round_off():
    m, model = compiled("small elliptic cones")
    for d in states(m):
        data = forward(model, given(model, d))
        scale = 1 / (m.stat.meaninertia * m.nv)
        # 1e-12 of the forces at hand: rounding of sums of a few hundred terms
        assert float(data.solver_gradient) < 1e-12 * scale * (1 + np.abs(d.qfrc_smooth).max()) * 1e2


def test_without_rows_the_smooth_acceleration_is_taken():
    m = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><freejoint/><geom size='.1' contype='0'/></body></worldbody></mujoco>"
    )
    model = put_model(m)
    data = forward(model, make_data(model).replace(qvel=jnp.arange(6.0)))
    np.testing.assert_array_equal(data.qacc, data.qacc_smooth)
    assert int(data.nefc) == 0


@pytest.mark.parametrize("name", ["small pyramids", "small elliptic cones"])
def test_float32_converges_with_tolerance_zero(name):
    m, model = compiled(name)
    d = states(m)[2]

    def single(tree):
        return jax.tree.map(
            lambda x: x.astype(np.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree
        )

    data = jax.jit(smooth)(model, given(model, d))
    out = jax.jit(lambda m, x: solve(m, make_constraint(m, x)))(*single((worlds.expand(model), data)))
    assert out.qacc.dtype == np.float32
    assert out.efc_force.dtype == np.float32
    assert int(out.solver_niter[0]) < 20
    assert int(out.warning[0]) == 0
    # 1e-4: float32 through a condition number of about 1e3
    np.testing.assert_allclose(out.qacc[:, 0], d.qacc, rtol=0, atol=1e-4 * np.abs(d.qacc).max())


@pytest.mark.parametrize("name", ["pyramids", "elliptic cones"])
def test_one_iteration_gets_as_far_as_the_c_engines(name):
    """Models for learning are tuned to few iterations: the line search of the last one is exact."""
    m, model = compiled(name)
    model = at_most(model, 1)
    short = mujoco.MjModel.from_xml_string(SCENES[name])
    short.opt.iterations = 1
    short.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    for d in states(m, (30, 33)):
        theirs = mujoco.MjData(short)
        theirs.qpos, theirs.qvel = d.qpos, d.qvel
        theirs.qacc_warmstart = 0
        mujoco.mj_forward(short, theirs)
        assert theirs.solver_niter[0] == 1
        ours = forward(model, given(model, d).replace(qacc_warmstart=jnp.zeros(m.nv)))
        # 1e-9: the same step along the same direction
        scale = np.abs(theirs.qacc).max()
        np.testing.assert_allclose(ours.qacc, theirs.qacc, rtol=0, atol=1e-9 * scale)


def test_what_is_not_a_number_is_reported():
    m, model = compiled("small pyramids")
    data = jax.jit(smooth)(model, given(model, states(m)[0]))
    data = data.replace(qfrc_smooth=data.qfrc_smooth.at[0].set(jnp.nan))
    out = jax.jit(lambda m, x: solve(m, make_constraint(m, x)))(worlds.expand(model), data)
    assert int(out.warning[0]) & WarningBit.NOT_CONVERGED


def test_a_heavy_tree_does_not_end_the_search_of_a_light_one():
    """In float32 the rounding of ten thousand tons is more than all there is to gain for ten grams."""
    body = """<body pos="{x} 0 {z}"><freejoint/><geom type="capsule" size=".1 .1" mass="{mass}" euler="60 0 0"/>
      <body pos="0 0 .2"><joint axis="1 0 0" frictionloss="{mass}" range="-1 1"/><geom size=".05" mass="{mass}"/></body>
      </body>"""
    light, heavy = body.format(x=0, z=0.12, mass=0.01), body.format(x=5, z=0.12, mass=1e7)
    found = []
    for bodies in (light, light + heavy):
        with jax.enable_x64(False):
            model = jaxsim.load_model(
                f"<mujoco><worldbody><geom type='plane' size='9 9 1'/>{bodies}</worldbody></mujoco>"
            )
            data = jaxsim.make_data(model)
            data = data.replace(qvel=data.qvel.at[:7].set(jnp.array([0.3, -0.2, -0.1, 0.5, 1, 2, -3.0])))
            found.append(np.asarray(jax.jit(jaxsim.forward)(model, data).qacc[:7]))
    # 1e-4: float32 through a condition number of about 1e3
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-4 * np.abs(found[0]).max())


ALL_DIMENSIONS = (1, 3, 4, 6, 1, 3, 1, 6, 4)


def falling_spheres(cone, crowded, dims=(3,) * 6):
    """Spheres above a floor in 64 worlds, six with 21 slots for contacts, of which eight are kept; a model, its data.

    If it is crowded, one world needs more of them.
    """
    n = len(dims)
    spheres = "".join(
        f"<body pos='{0.19 * (i % 3)} {0.19 * (i // 3)} .099'><freejoint/><geom size='.1' condim='{dim}'/></body>"
        for i, dim in enumerate(dims)
    )
    model = jaxsim.load_model(
        f"""<mujoco><option cone='{cone}'/><default><geom friction='.8 .1 .02'/></default>
        <worldbody><geom type='plane' condim='1' size='2 2 1'/>{spheres}</worldbody></mujoco>"""
    )
    data = make_data(model)
    rng = np.random.default_rng(0)
    qvel = rng.standard_normal((64, model.nv))
    apart = 1.0 + np.arange(n)
    qpos = np.tile(np.asarray(data.qpos), (64, 1)).reshape(64, n, 7)
    qpos[:, :, 0] += apart
    qpos[::2, ::2, 2] += 1
    if crowded:
        qpos[5] = np.asarray(data.qpos).reshape(n, 7)
    qpos = qpos.reshape(64, -1)
    return model, jax.vmap(lambda q, v: data.replace(qpos=q, qvel=v))(jnp.asarray(qpos), jnp.asarray(qvel))


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("crowded", [False, True])
def test_worlds_iterate_on_the_contacts_that_touch(cone, crowded):
    """If a world needs more slots than are kept, it runs on all of them."""
    model, many = falling_spheres(cone, crowded)
    _same_alone_and_together(model, many, crowded)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_contacts_of_all_dimensions_are_worked_on_together(cone):
    """Also where a world has more than are kept."""
    model, many = falling_spheres(cone, True, ALL_DIMENSIONS)
    together = _same_alone_and_together(model, many, True)
    # of two worlds all slots are worked on, dimension by dimension
    pair = np.array([5, 62])
    apart = forward_many(model, jax.tree.map(lambda x: x[pair], many))
    for name in ("qacc", "efc_force", "qfrc_constraint"):
        expected = np.asarray(getattr(apart, name))
        np.testing.assert_allclose(
            getattr(together, name)[pair], expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max())
        )


def _same_alone_and_together(model, many, crowded):
    together = forward_many(model, many)
    assert (int(together.ncon.max()) > 8) == crowded
    assert kept_slots([(own.count, own.rows) for own in row_layout(model).contacts], False)[0] == 8
    for i in (0, 1, 5, 62):
        alone = forward(model, jax.tree.map(lambda x, i=i: x[i], many))
        for name in ("qacc", "efc_force", "qfrc_constraint"):
            expected = np.asarray(getattr(alone, name))
            # 1e-9: both are converged to round-off
            np.testing.assert_allclose(
                getattr(together, name)[i], expected, rtol=0, atol=1e-9 * (1 + np.abs(expected).max())
            )
    return together


def derivative(mode):
    """Of acceleration and forces by density, position and velocity: "jvp" or "vjp", of a direction given."""

    def found(model, data, direction):
        def results(density, qpos, qvel):
            heavier = model.replace(
                body_mass=density * model.body_mass, body_inertia=density * model.body_inertia
            )
            after = jaxsim.forward(heavier, data.replace(qpos=qpos, qvel=qvel))
            return after.qacc, after.qfrc_constraint, after.efc_force

        at = jnp.ones(()), data.qpos, data.qvel
        return jax.jvp(results, at, direction)[1] if mode == "jvp" else jax.vjp(results, *at)[1](direction)

    return found


@pytest.mark.parametrize(
    ("cone", "mode"),
    [
        ("pyramidal", "jvp"),
        ("elliptic", "vjp"),
        pytest.param("pyramidal", "vjp", marks=pytest.mark.slow),
        pytest.param("elliptic", "jvp", marks=pytest.mark.slow),
    ],
)
def test_derivatives_work_on_the_contacts_that_touch(cone, mode):
    """They are those of two worlds alone, which work on all slots, also where a world has more than are kept."""
    together = jax.jit(jax.vmap(derivative(mode), in_axes=(None, 0, 0)))
    dims = ALL_DIMENSIONS if cone == "elliptic" else (3,) * 6
    rng = np.random.default_rng(1)
    for crowded in (False, True):
        model, many = falling_spheres(cone, crowded, dims)
        shapes = ((), (model.nq,), (model.nv,))
        if mode == "vjp":
            shapes = ((model.nv,), (model.nv,), many.efc_force.shape[1:])
        directions = tuple(jnp.asarray(rng.standard_normal((64, *shape))) for shape in shapes)
        found = together(model, many, directions)
        for i in ((0, 1), (5, 62)):
            own = np.array(i)
            expected = together(model, *jax.tree.map(lambda x, own=own: x[own], (many, directions)))
            for one, other in zip(*map(jax.tree.leaves, (expected, found)), strict=True):
                # 1e-8: both are converged to round-off, times the stiffness of contacts
                np.testing.assert_allclose(other[own], one, rtol=0, atol=1e-8 * (1 + np.abs(one).max()))
