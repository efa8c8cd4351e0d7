"""Models of many kinematic trees: no matrix of all degrees of freedom, and the results of one."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.interop.mujoco import put_model
from jaxsim.math.stage import lowering_for
from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, push
from jaxsim.solver.blocks import MANY
from jaxsim.solver.chain_jacobian import _FEW, ChainFrames, ChainJacobian, Side
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.hessian import hessian, solve_hessian
from jaxsim.solver.jacobian import EdgeJacobian
from jaxsim.solver.rows import residuals
from jaxsim.structure.rows import row_layout
from jaxsim.structure.slots import slot_layout
from jaxsim.structure.sparsity import tree_structure
from tests.gradients.jacobians import Scene

from .scenes import given, smooth, states

BALLS = 7
ARMS = 2


def heap(cone: str, dim: int = 3, extra: str = "") -> str:
    """A layer of balls that overlap each other and the floor, and two arms that reach into it and touch themselves."""
    ball = '<body pos="{x} {y} .09"><freejoint/><geom type="sphere" size=".1" condim="{dim}" mass="{mass}"/></body>'
    arm = """
      <body pos="0 {y} .4"><joint name="a{k}" axis="0 1 0" range="-40 40" limited="true"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .2 0 0"/>
        <body pos=".2 0 0"><joint axis="1 0 0"/><joint axis="0 1 0" frictionloss=".1"/>
          <geom type="capsule" size=".04" fromto="0 0 0 0 0 -.15"/>
          <body name="hand{k}" pos="0 0 -.15">
            <joint name="b{k}" axis="0 1 0"/><joint axis="0 0 1"/><joint axis="1 0 0"/>
            <geom type="capsule" size=".04" fromto="0 0 0 -.15 0 .12"/></body></body></body>"""
    balls = (ball.format(x=0.12 * (k % 3), y=0.12 * (k // 3), dim=dim, mass=0.3 + k) for k in range(BALLS))
    arms = (arm.format(y=0.06 * k, k=k) for k in range(ARMS))
    return f"""
    <mujoco>
      <option timestep="0.004" cone="{cone}" jacobian="sparse" tolerance="0" iterations="200" ls_iterations="100"/>
      <default><geom friction="0.7 0.05 0.01"/></default>
      <worldbody><geom type="plane" size="5 5 .1"/>{"".join([*balls, *arms])}</worldbody>
      <custom><numeric name="max_contact_points" data="40"/></custom>
      {extra}
    </mujoco>"""


JOINED = '<equality><joint joint1="b0" joint2="b1"/></equality>'
SCENES = {
    "pyramids": heap("pyramidal"),
    "elliptic cones": heap("elliptic", 4),
    "no friction": heap("elliptic", 1),
    "joined by an equality": heap("pyramidal", extra=JOINED),
}

forward = jax.jit(jaxsim.forward)


@functools.cache
def compiled(name: str):
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    return m, put_model(m)


@pytest.mark.parametrize("name", [pytest.param("pyramids", marks=pytest.mark.optimised), *list(SCENES)[1:]])
def test_forward_is_the_c_engines(name):
    m, model = compiled(name)
    layout = row_layout(model)
    assert not layout.whole
    assert layout.hessian.size < model.nv**2 / 4
    for d in states(m, (0, 1, 3)):
        assert d.ncon > BALLS
        found = forward(model, given(model, d))
        for field in ("qacc", "qfrc_constraint"):
            expected = getattr(d, field)
            # two solutions to rounding, of which one is iterative
            atol = 1e-8 * (1 + np.abs(expected).max())
            np.testing.assert_allclose(getattr(found, field), expected, rtol=0, atol=atol, err_msg=field)
        assert int(found.warning) == 0
        assert int(found.ncon) == d.ncon


def test_jacobian_of_chains_is_that_of_all_dofs():
    m, model = compiled("elliptic cones")
    data = given(model, states(m, (2,))[0])
    native = worlds.expand(model)
    rows = jax.jit(make_constraint)(native, smooth(model, data)).work.rows
    found = 0
    for group in rows.cones:
        J = group.J.jacobian() if isinstance(group.J, ChainFrames) else group.J
        assert isinstance(J, ChainJacobian)
        dense = np.asarray(J.matrix())[..., 0]
        rng = np.random.default_rng(0)
        x, f = (jnp.asarray(rng.standard_normal(k)) for k in ((model.nv, 1), (*dense.shape[:2], 1)))
        np.testing.assert_allclose(J.product(x)[..., 0], dense @ x[:, 0], atol=1e-12)
        np.testing.assert_allclose(J.transpose(f)[:, 0], np.einsum("ndj,nd->j", dense, f[..., 0]), atol=1e-12)
        found += len(dense)
    assert found > BALLS
    edges = EdgeJacobian(contacts=J, friction=group.friction).matrix(model.nv)
    np.testing.assert_allclose(
        edges[::6, :, 0], dense[:, 0] + group.friction[:, :1, 0] * dense[:, 1], atol=1e-12
    )


@pytest.mark.parametrize("most", [0, 1, 16, 17, 48])
def test_contacts_in_use_alone_are_looked_at(most):
    """Those after them have entries that are not numbers, which nothing may read but what is in their block."""
    structure = tree_structure([-1, 0, 1, -1, 3, 4, -1, 6, 7])
    rng = np.random.default_rng(most)
    n, dim, k, worlds = 48, 3, 3, 4
    used = np.array([0, most // 2, most, 0])
    in_use, mutual = np.arange(n)[:, None] < used, used // 2
    tree = rng.integers(0, 3, (n, 2, worlds))
    still = np.arange(n)[:, None] >= mutual
    sides = []
    for side, size, last in ((0, MANY, most), (1, _FEW, most // 2)):
        J = rng.standard_normal((n, dim, k, worlds))
        if side:
            J = np.where(still[:, None, None], 0, J)
        J[-(-last // size) * size :] = np.nan
        sides.append((J, 3 * tree[:, side, None] + np.arange(k)[:, None]))
    tree[:, 1] = np.where(still, -1, tree[:, 1])
    f = np.where(in_use[:, None], rng.standard_normal((n, dim, worlds)), 0)
    C = np.where(in_use, rng.uniform(1, 2, (dim, dim, n, worlds)), 0)
    C = [[jnp.asarray(c) for c in row] for row in C + np.swapaxes(C, 0, 1)]
    x = jnp.asarray(rng.standard_normal((structure.n, worlds)))

    def found(used, mutual, clean):
        own = tuple(Side(J=jnp.asarray(clean(J)), dofs=jnp.asarray(dofs)) for J, dofs in sides)
        J = ChainJacobian(
            sides=own, trees=jnp.asarray(tree), used=used, mutual=mutual, nv=structure.n, within=True
        )
        product = jnp.where(in_use[:, None], J.product(x), 0)
        return product, J.transpose(jnp.asarray(f)), J.gram(structure, C), J.between(C, x)

    with lowering_for("cpu"):
        counted = found(jnp.asarray(used), jnp.asarray(mutual), lambda J: J)
        every = found(None, None, np.nan_to_num)
    for ours, expected in zip(counted, every, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)
    assert np.abs(every[3]).max() > 0 or most < 4


@pytest.mark.parametrize("name", ["pyramids", "elliptic cones"])
def test_worlds_iterate_on_the_contacts_that_touch(monkeypatch, name):
    """And those that have too many on all: as each world alone."""
    monkeypatch.setattr("jaxsim.solver.compact._LEAST_OF_MANY", 20)
    # 20 slots are whole blocks of each
    for name_of_size in ("compact.MANY", "chain_jacobian.MANY", "blocks.MOST"):
        monkeypatch.setattr(f"jaxsim.solver.{name_of_size}", 4)
    m, model = compiled(name)
    given_states = [given(model, d) for d in states(m, (0, 1, 3))]
    touching = [int(jnp.sum(forward(model, d).contact.dist < 0)) for d in given_states]
    assert min(touching) <= 20 < max(touching)
    many = jax.tree.map(lambda *x: jnp.stack(x * 12), *given_states)
    found = jax.jit(jax.vmap(jaxsim.forward, (None, 0)))(model, many)
    for k, d in enumerate(given_states):
        alone = forward(model, d)
        for field in ("qacc", "qfrc_constraint", "efc_force"):
            expected = np.asarray(getattr(alone, field))
            atol = 1e-8 * (1 + np.abs(expected).max())
            np.testing.assert_allclose(getattr(found, field)[k], expected, rtol=0, atol=atol, err_msg=field)


@pytest.mark.parametrize("name", ["pyramids", "elliptic cones", "joined by an equality"])
def test_hessian_of_trees_solves_the_whole_system(name):
    m, model = compiled(name)
    layout, native = row_layout(model), worlds.expand(model)

    @jax.jit
    def multiplied(data, b):
        """The Hessian times the solution, by the derivative of the gradient of the cost."""
        data = make_constraint(native, smooth(model, data))
        problem = Problem(M=data.M, force=data.qfrc_smooth, rows=data.work.rows)

        def gradient(x):
            inertial = linalg.mul_tree(layout.inertia, problem.M, x)
            return inertial - push(problem.rows, residuals(problem.rows, x), x)

        at = data.qacc_smooth
        H = hessian(layout, problem, residuals(problem.rows, at))
        return jax.jvp(gradient, (at,), (solve_hessian(layout, problem, H, b),))[1]

    b = np.random.default_rng(0).standard_normal((model.nv, 1))
    for d in states(m, (0, 2)):
        np.testing.assert_allclose(multiplied(given(model, d), jnp.asarray(b)), b, atol=1e-9)


@pytest.mark.parametrize("worlds", [1, 32])
@pytest.mark.parametrize("slots", [24, 56, 96])
def test_a_derivative_keeps_other_slots_than_the_iteration(slots, worlds):
    """Of either, of both, or of none are there fewer than all: their Jacobians are computed of those that are kept."""
    model = jaxsim.load_model(SCENES["pyramids"].replace('data="40"', f'data="{slots}"'))
    data = jaxsim.make_data(model)
    at = np.tile(data.qpos, (worlds, 1))

    def accelerations(qpos):
        return jax.vmap(lambda q: jaxsim.forward(model, data.replace(qpos=q)).qacc)(qpos)

    assert jax.eval_shape(lambda x: jax.jvp(accelerations, (x,), (x,)), at)[1].shape == (worlds, model.nv)


@functools.cache
def derivatives(cone):
    scene = Scene(heap(cone), ("body_mass", "geom_friction", "geom_size"), steps=2)
    return scene.at(states(scene.mj_model, (12,))[0], scene.model)


@pytest.mark.parametrize("cone", [pytest.param("pyramidal", marks=pytest.mark.slow), "elliptic"])
def test_derivatives(cone):
    found = derivatives(cone)
    for quantity, columns in found.scene.columns.items():
        exact, differences = found.forward[..., columns], found.differences[..., columns]
        # the scale of differences at 1e-6: rounding of the solver, magnified by the stiffness of contacts
        assert np.abs(exact - differences).max(initial=0) < 3e-6 * max(
            np.abs(differences).max(initial=0), 1
        ), quantity
    assert found.duality_error() < 1e-7


@pytest.mark.parametrize("name", [*SCENES, "a tendon across", "a weld"])
def test_the_structure_of_the_hessian_is_that_of_its_elimination(name):
    """Whole rows of dofs that are coupled are marked here, and eliminated from the last to the first."""
    extra = {
        "a tendon across": '<tendon><fixed limited="true" range="-1 1"><joint joint="a0" coef="1"/>'
        '<joint joint="b1" coef="2"/></fixed></tendon>',
        "a weld": '<equality><weld body1="hand0" body2="hand1"/></equality>',
    }
    text = SCENES.get(name, heap("pyramidal", extra=extra.get(name, "")))
    if name in extra:
        text = text.replace("<geom ", '<geom contype="0" conaffinity="0" ')
    model = jaxsim.load_model(text.replace("<option ", '<option solver="PGS" '))
    layout = row_layout(model)
    moves = np.zeros((model.nbody, model.nv), bool)
    for d, body in enumerate(model.dof_bodyid):
        moves[body, d] = True
    for body in range(1, model.nbody):
        moves[body] |= moves[model.body_parentid[body]]
    sets = [moves[body] for body in range(model.nbody)]
    pairs = slot_layout(model).pairs
    sets += [moves[a] ^ moves[b] for a, b in model.geom_bodyid[np.stack([pairs.geom1, pairs.geom2], axis=1)]]
    sets += [
        np.isin(np.arange(model.nv), list(rows.kind.couples(model.static, int(i))))
        for rows in layout.classes.values()
        for i in rows.ids
    ]
    coupled = np.zeros((model.nv, model.nv), bool)
    for own in sets:
        coupled |= np.outer(own, own)
    parents = np.full(model.nv, -1)
    for d in range(model.nv - 1, -1, -1):
        below = np.flatnonzero(coupled[d, :d])
        if len(below):
            parents[d] = below[-1]
            coupled[np.ix_(below, below)] = True
    np.testing.assert_array_equal(layout.hessian.parent, parents)
    assert layout.hessian != layout.inertia
    assert name not in extra or np.sum(parents < 0) == BALLS + 1


def test_forces_that_cancel_hide_no_minimum_in_single_precision():
    """Two spheres deep in each other, one above the other, that slide sideways: their contact only pushes up."""
    slider = """<body pos="0 0 {}"><joint type="slide" axis="1 0 0" damping="4"/><joint type="slide" axis="0 1 0"
      damping="4"/><geom type="sphere" size=".2" mass="1" friction=".01"/></body>"""
    xml = f'<mujoco><option timestep=".02"/><worldbody>{slider.format(0)}{slider.format(0.1)}</worldbody></mujoco>'
    with jax.enable_x64(False):
        model = jaxsim.load_model(xml)
        data = jaxsim.make_data(model)
        qvel = np.random.default_rng(0).uniform(-0.02, 0.02, (64, 4)).astype(np.float32)
        step = jax.jit(jax.vmap(lambda v: jaxsim.rollout(model, data.replace(qvel=v), steps=2)[0]))
        after = step(qvel)
    assert not after.warning.any()
    assert (after.solver_niter < 5).all()
