"""More candidates than slots: selection, broad phase, overflow."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.collision import broad, collision
from jaxsim.collision.select import _WORD, pick_first, pick_least, pick_nearest, rank
from jaxsim.enums import GeomType
from jaxsim.interop.mujoco import put_model
from jaxsim.math.stage import lowering_for
from jaxsim.results import WarningBit
from jaxsim.structure.budgets import parse_budgets
from jaxsim.structure.slots import slot_layout
from tests.collision import oracle


def _heap(count: int, extra: str = "") -> mujoco.MjModel:
    kinds = ["sphere", "capsule", "box"]
    shapes = {"sphere": 'size=".1"', "capsule": 'size=".07 .1"', "box": 'size=".08 .1 .09"'}
    bodies = "".join(
        f'<body><freejoint/><geom type="{kinds[i % 3]}" {shapes[kinds[i % 3]]} {extra}/></body>'
        for i in range(count)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="9 9 9" condim="1"/>{bodies}</worldbody></mujoco>'
    )


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize(("n", "slots"), [(37, 9), (20, 30), (33, 1), (33, 0), (500, 40), (9000, 30)])
def test_pick_least_against_sorting(n: int, slots: int, kind: str) -> None:
    """By both ways of finding the least; which is taken depends on the platform that a program is for."""
    rng = np.random.default_rng(7)
    key = rng.integers(-12, 12, size=(n, 200)) / 4
    key = np.where(rng.random((n, 200)) < rng.random(200), key, np.inf)
    with lowering_for(kind):
        rows, filled, overflow = pick_least(jnp.asarray(key), slots=slots)
    for w in range(200):
        live = np.flatnonzero(key[:, w] <= 0)
        kept = np.sort(live[np.argsort(key[live, w], kind="stable")[:slots]])
        np.testing.assert_array_equal(np.asarray(rows)[np.asarray(filled)[:, w], w], kept)
        assert bool(overflow[w]) == (len(live) > slots)


@pytest.mark.parametrize("sizes", [(70,), (5, 64, 33), (32, 1)])
@pytest.mark.parametrize("slots", [3, 20, 200])
def test_pick_nearest_is_pick_least_of_parts(sizes: tuple[int, ...], slots: int) -> None:
    """Some worlds have more than the slots, some none."""
    rng, width = np.random.default_rng(1), 40
    keys = [jnp.asarray(rng.standard_normal((n, width)) + np.linspace(-3, 3, width)) for n in sizes]
    numbers = np.split(rng.permutation(sum(sizes)), np.cumsum(sizes)[:-1])
    found = pick_nearest(numbers, [k <= 0 for k in keys], lambda tables: tables, keys, slots=slots)
    whole = [np.pad(k, ((0, -len(k) % _WORD), (0, 0)), constant_values=1) for k in keys]
    rows, *others = pick_least(jnp.asarray(np.concatenate(whole)), slots=slots)
    number = np.concatenate([np.pad(x, (0, -len(x) % _WORD)) for x in numbers])
    expected = number[np.asarray(rows)], *others
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("excluded", [False, True])
def test_tables_of_geoms_find_what_pairs_one_by_one_do(kind: str, excluded: bool) -> None:
    """Capsules of many bodies, each with each; worlds crowded and not."""
    extra = "".join(f'<exclude body1="b{i}" body2="b{i + 3}"/>' for i in range(40)) if excluded else ""
    bodies = "".join(
        f'<body name="b{i}"><freejoint/><geom type="capsule" size=".1 .2"/></body>' for i in range(50)
    )
    m = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{bodies}</worldbody><contact>{extra}</contact></mujoco>"
    )
    model = put_model(m)
    rng, width = np.random.default_rng(2), 6
    (pairs,) = [k for k in slot_layout(model).kinds if k.types[0][0] == GeomType.CAPSULE]
    budgeted = dataclasses.replace(pairs, budget=25)
    around = rng.uniform(-1, 1, (50, 11, width)) * np.linspace(1, 6, width)
    around[:, 6:9], around[:, [3, 4, 5, 9]], around[:, 10] = around[:, :3], 0.3, 0
    with lowering_for(kind):
        assert len(broad._tables(model, budgeted)) == (6 if kind == "cpu" else 1)
        data = jaxsim.make_data(model)  # of which tables need nothing
        rows, filled, dropped = broad.pairs_in_reach(model, data, budgeted, jnp.asarray(around))
        key = broad._beyond(model, data, budgeted, jnp.asarray(around))
    expected = pick_least(key, slots=25)
    assert np.asarray(dropped).any()
    assert not np.asarray(dropped).all()
    np.testing.assert_array_equal(filled, expected[1])
    np.testing.assert_array_equal(dropped, expected[2])
    np.testing.assert_array_equal(np.where(filled, rows, 0), np.where(filled, expected[0], 0))


@pytest.mark.parametrize("n", [5, 32, 70])
def test_rank_is_the_slot_that_a_row_is_picked_for(n: int) -> None:
    active = np.random.default_rng(n).random((n, 50)) < 0.3
    ranks = np.asarray(rank(jnp.asarray(active)))
    np.testing.assert_array_equal(ranks, np.cumsum(active, axis=0) - active)
    rows, filled, _ = pick_first(jnp.asarray(active), slots=n)
    for w in range(50):
        np.testing.assert_array_equal(
            np.asarray(rows)[ranks[active[:, w], w], w], np.flatnonzero(active[:, w])
        )
        assert filled[:, w].sum() == active[:, w].sum()


def test_selected_slots_agree_with_c() -> None:
    mj_model = _heap(9)
    layout = slot_layout(put_model(mj_model))
    assert any(group.selected for group in layout.groups)
    qpos = oracle.random_qpos(mj_model, 60, np.random.default_rng(8), 0.3)
    qpos[:, 2::7] += 0.4
    oracle.check(mj_model, qpos, 1e-8)


def test_broad_phase_agrees_with_c() -> None:
    mj_model = _heap(16, 'margin=".01"')
    layout = slot_layout(put_model(mj_model, max_geom_pairs="sphere capsule 20, 12"))
    budgets = {kind.types[0]: kind.budget for kind in layout.kinds}
    assert budgets[GeomType.SPHERE, GeomType.CAPSULE] == 20
    assert budgets[GeomType.SPHERE, GeomType.SPHERE] == 12
    qpos = oracle.random_qpos(mj_model, 40, np.random.default_rng(9), 0.45)
    qpos[:, 2::7] += 0.5
    oracle.check(mj_model, qpos, 1e-8, max_geom_pairs="sphere capsule 20, 12")


def test_a_terrain_asks_for_no_more_than_what_walks_on_it() -> None:
    """The budgets of a robot on a floor of boxes do not grow with the floor, and are enough to stand on it."""

    def terrain(n: int) -> mujoco.MjModel:
        places = [(i * 0.5, j * 0.5) for i in range(n) for j in range(n)]
        boxes = "".join(f'<geom type="box" size=".25 .25 .1" pos="{x} {y} -.1"/>' for x, y in places)
        feet = "".join(f'<geom size=".05" pos="{x} {y} 0"/>' for x in (0, 1) for y in (0, 1))
        return mujoco.MjModel.from_xml_string(
            f"""<mujoco><worldbody>{boxes}<body pos=".6 .6 .049"><freejoint/>{feet}
                <geom type="box" size=".2 .2 .01" pos=".5 .5 .1"/></body></worldbody></mujoco>"""
        )

    few, many = (slot_layout(put_model(terrain(n))) for n in (12, 20))
    assert few.count == many.count < 60
    assert [kind.budget for kind in few.kinds] == [kind.budget for kind in many.kinds]
    assert oracle.check(terrain(8), terrain(8).qpos0[None], 1e-8).ncon.tolist() == [4]


def test_pairs_left_out_are_reported() -> None:
    """Two pairs are kept, the nearest; the bit of the broad phase is up where more were near."""
    bodies = "".join('<body><freejoint/><geom type="sphere" size=".2"/></body>' for _ in range(7))
    mj_model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    qpos = oracle.random_qpos(mj_model, 80, np.random.default_rng(15), 0.4)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=6, max_geom_pairs=2)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    flags = np.asarray(data.warning) & WarningBit.PAIR_OVERFLOW > 0
    np.testing.assert_array_equal(flags, [len(w) > 2 for w in wanted])
    assert flags.any()
    assert not flags.all()
    oracle.assert_same_contacts(oracle.ours(data), [w[np.argsort(w[:, 3])[:2]] for w in wanted], 1e-9)


@pytest.mark.parametrize("text", ["box", "box box", "box ball 3", "box box -1", "1 2"])
def test_budgets_that_make_no_sense(text: str) -> None:
    with pytest.raises(ValueError, match="max_geom_pairs"):
        parse_budgets(text)


def test_budgets_as_text() -> None:
    found = parse_budgets("box sphere 40, box box 20, 5")
    sphere, box = GeomType.SPHERE, GeomType.BOX
    assert found == {(sphere, box): 40, (box, box): 20, None: 5}


def test_overflow_keeps_the_deepest() -> None:
    """Six slots by hand: the flag is up exactly where contacts were lost, and the rest are the deepest."""
    bodies = "".join('<body><freejoint/><geom type="sphere" size=".2"/></body>' for _ in range(6))
    mj_model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    qpos = oracle.random_qpos(mj_model, 80, np.random.default_rng(10), 0.22)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=6)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    flags = np.asarray(data.warning) & WarningBit.CONTACT_OVERFLOW > 0
    np.testing.assert_array_equal(flags, [len(w) > 6 for w in wanted])
    assert flags.any()
    assert not flags.all()
    oracle.assert_same_contacts(oracle.ours(data), [w[np.argsort(w[:, 3])[:6]] for w in wanted], 1e-9)


def _mixture(flag: str) -> mujoco.MjModel:
    """Capsules, cylinders and meshes of two contact dimensions: pairs of five types for the general collider."""
    shapes = [oracle.SHAPES[kind] for kind in ("capsule", "cylinder", "mesh")]
    bodies = "".join(
        f'<body><freejoint/><geom {shapes[i % 3]} condim="{(1, 3)[i % 2]}" margin=".01"/></body>'
        for i in range(15)
    )
    option = f'<option><flag multiccd="{flag}"/></option>'
    return mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}{oracle.ASSETS}<worldbody>{bodies}</worldbody></mujoco>"
    )


def test_pairs_of_many_types_agree_with_c() -> None:
    """One point a pair: the same pairs, the same dimensions, the same distances; some overlaps are very deep."""
    mj_model = _mixture("disable")
    kinds = slot_layout(put_model(mj_model)).kinds
    assert [kind.name for kind in kinds] == ["capsule capsule", "convex"]
    assert len(kinds[-1].types) == 5
    assert kinds[-1].touching is not None
    qpos = oracle.random_qpos(mj_model, 24, np.random.default_rng(20), 0.6)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=100)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    assert not np.any(np.asarray(data.warning))
    assert np.mean([len(contacts) for contacts in wanted]) > 5
    oracle.assert_same_contacts([f[:, :5] for f in oracle.ours(data)], [w[:, :5] for w in wanted], 1e-3)


def test_round_geoms_and_meshes_as_one_kind() -> None:
    """Spheres have neither a face nor an edge that the meshes among them could lie on."""
    shapes = [oracle.SHAPES[kind] for kind in ("sphere", "mesh")]
    bodies = "".join(f'<body><freejoint/><geom {shapes[i % 2]} margin=".01"/></body>' for i in range(14))
    mj_model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{oracle.ASSETS}<worldbody>{bodies}</worldbody></mujoco>"
    )
    kind = slot_layout(put_model(mj_model)).kinds[-1]
    assert kind.types == ((GeomType.SPHERE, GeomType.MESH), (GeomType.MESH, GeomType.MESH))
    qpos = oracle.random_qpos(mj_model, 4, np.random.default_rng(22), 0.8)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=100)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    assert not np.any(np.asarray(data.warning))
    oracle.assert_same_contacts([f[:, :5] for f in oracle.ours(data)], [w[:, :5] for w in wanted], 1e-6)


def test_a_few_pairs_of_another_dimension_are_searched_with_many() -> None:
    """A robot of meshes and a cube of `condim` 4: one search, which is all of the program, not two."""
    link = f'<body><freejoint/><geom {oracle.SHAPES["mesh"]} margin=".01"/></body>'
    cube = '<body><freejoint/><geom type="box" size=".1 .1 .1" condim="4" margin=".01"/></body>'
    mj_model = mujoco.MjModel.from_xml_string(
        f"<mujoco>{oracle.ASSETS}<worldbody>{10 * link}{cube}</worldbody></mujoco>"
    )
    (kind,) = slot_layout(put_model(mj_model)).kinds
    assert kind.types == ((GeomType.BOX, GeomType.MESH), (GeomType.MESH, GeomType.MESH))
    assert len(kind.pairs) == 55
    qpos = oracle.random_qpos(mj_model, 6, np.random.default_rng(23), 0.4)
    xpos, xmat, wanted = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    assert not np.any(np.asarray(data.warning))
    assert {int(c[2]) for contacts in wanted for c in contacts} == {3, 4}
    oracle.assert_same_contacts([f[:, :5] for f in oracle.ours(data)], [w[:, :5] for w in wanted], 1e-6)


def test_pairs_of_many_types_that_touch_are_counted() -> None:
    """Where more pairs touch than are kept, the bit is up."""
    mj_model = _mixture("disable")
    qpos = oracle.random_qpos(mj_model, 24, np.random.default_rng(21), 0.05)
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    xpos[..., :12] += 100 * np.arange(15)[:, None, None]
    model = oracle.native_model(mj_model, nconmax=100)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    flags = np.asarray(data.warning) & WarningBit.PAIR_OVERFLOW > 0
    np.testing.assert_array_equal(flags, np.arange(24) >= 12)
    assert all(np.isfinite(np.asarray(x)).all() for x in jax.tree.leaves(data.contact))


@pytest.mark.slow
def test_pairs_of_many_types_as_one_kind() -> None:
    """The same contacts as of each pair of types by itself, which budgets by hand ask for."""
    mj_model = _mixture("enable")
    types = slot_layout(put_model(mj_model)).kinds[-1].types
    by_hand = ", ".join(" ".join(GeomType(t).name.lower() for t in pair) + " 1000" for pair in types)
    assert len(slot_layout(put_model(mj_model, max_geom_pairs=by_hand)).kinds) == 6
    qpos = oracle.random_qpos(mj_model, 24, np.random.default_rng(20), 0.6)
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    found = []
    for budgets in ("", by_hand):
        model = oracle.native_model(mj_model, nconmax=200, max_geom_pairs=budgets)
        data = oracle.run(model, oracle.native_data(model, xpos, xmat))
        assert not np.any(np.asarray(data.warning))
        found.append(oracle.ours(data))
    oracle.assert_same_contacts(found[0], found[1], 1e-9)


@pytest.mark.slow
def test_derivatives_of_pairs_of_many_types() -> None:
    """Both modes against central differences, by positions and sizes."""
    mj_model = _mixture("disable")
    qpos = oracle.random_qpos(mj_model, 6, np.random.default_rng(20), 0.6)
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=100)
    data = oracle.native_data(model, xpos, xmat)

    def total(xpos: jax.Array, size: jax.Array) -> jax.Array:
        contact = collision(model.replace(geom_size=size), data.replace(geom_xpos=xpos)).contact
        each = contact.dist + 0.3 * jnp.sum(contact.pos, axis=1)
        return jnp.sum(jnp.where(contact.geom[:, 0] >= 0, each, 0))

    rng = np.random.default_rng(0)
    at = jnp.asarray(xpos), model.geom_size
    along = jnp.asarray(rng.normal(size=xpos.shape)), jnp.asarray(0.1 * rng.normal(size=at[1].shape))
    line = jax.jit(lambda e: total(*(x + e * v for x, v in zip(at, along, strict=True))))
    slope = (line(1e-7) - line(-1e-7)) / 2e-7
    forward = jax.jit(lambda e: jax.jvp(line, (e,), (1.0,))[1])(0.0)
    gradient = jax.jit(jax.grad(total, argnums=(0, 1)))(*at)
    reverse = sum(jnp.sum(g * v) for g, v in zip(gradient, along, strict=True))
    np.testing.assert_allclose([forward, reverse], slope, rtol=1e-6)


def test_worlds_do_not_see_each_other() -> None:
    """One world's result does not depend on the others, though the overflow of one changes the path of all."""
    mj_model = _heap(9)
    qpos = oracle.random_qpos(mj_model, 20, np.random.default_rng(11), 0.2)
    xpos, xmat, _ = oracle.detect(mj_model, qpos)
    model = oracle.native_model(mj_model, nconmax=10)
    together = oracle.run(model, oracle.native_data(model, xpos, xmat))
    order = np.random.default_rng(12).permutation(20)
    shuffled = oracle.run(model, oracle.native_data(model, xpos[..., order], xmat[..., order]))
    for a, b in zip(jax.tree.leaves(together.contact), jax.tree.leaves(shuffled.contact), strict=True):
        np.testing.assert_array_equal(
            np.asarray(a)[..., order] if a.shape[-1] > 1 else np.asarray(a), np.asarray(b)
        )


def test_parameters_by_world() -> None:
    """A friction leaf that differs between worlds reaches the contacts of its world, in every kind of group."""
    for nconmax in (-1, 6):
        mj_model = _heap(4)
        qpos = oracle.random_qpos(mj_model, 3, np.random.default_rng(13), 0.1)
        qpos[:, 2::7] = 0.05
        xpos, xmat, _ = oracle.detect(mj_model, qpos)
        model = oracle.native_model(mj_model, nconmax=nconmax)
        data = oracle.native_data(model, xpos, xmat)
        scale = jnp.asarray([1.0, 2.0, 3.0])
        varied = model.replace(geom_friction=model.geom_friction * scale)
        plain, wide = oracle.run(model, data).contact, oracle.run(varied, data).contact
        used = np.asarray(plain.geom[:, 0] >= 0)
        ratio = np.broadcast_to(np.asarray(wide.friction / plain.friction)[:, 0], used.shape)
        assert used.any()
        np.testing.assert_allclose(ratio[used], np.broadcast_to(scale, used.shape)[used])


def test_model_without_pairs() -> None:
    mj_model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
    )
    layout = slot_layout(put_model(mj_model))
    assert (layout.count, layout.kinds) == (0, ())


def test_layout_is_cached() -> None:
    mj_model = _heap(3)
    assert slot_layout(put_model(mj_model)) is slot_layout(put_model(mj_model))


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize(
    "types", [("box", "box"), ("box", "cylinder"), ("box", "capsule"), ("ellipsoid", "ellipsoid")]
)
def test_geoms_that_grew_touch(types: tuple[str, str], count: int) -> None:
    """Pairs are picked by bounds of the sizes as they are, without `set_const`, and so in worlds of other sizes."""
    pair = """<body pos="{0} 0 0"><geom type="{1}" size=".1 .1 .1"/></body>
      <body pos="{0} .01 .34"><freejoint/><geom type="{2}" size=".1 .1 .1"/></body>"""
    text = "".join(pair.format(k, *types) for k in range(count))
    model = jaxsim.load_model(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    sizes = jnp.stack([model.geom_size, 2 * model.geom_size])
    axes = jax.tree.map(lambda _: None, model).replace(geom_size=0)
    models, data = model.replace(geom_size=sizes), jaxsim.make_data(model)
    found = jax.jit(jax.vmap(jaxsim.forward, in_axes=(axes, None)))(models, data)
    alone = jaxsim.forward(jaxsim.set_const(model.replace(geom_size=sizes[1])), data)
    assert found.ncon[0] == 0
    assert found.ncon[1] == alone.ncon >= count
    np.testing.assert_allclose(found.contact.dist[1], alone.contact.dist, atol=1e-12)
