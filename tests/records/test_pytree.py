"""Records: what is traced, what is part of a program, what is neither; and what is refused."""

import copy
import dataclasses
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.keys import Labels, Static
from jaxsim.pytree import Record, bare, build, label, leaf, static


class Inner(Record):
    """A record inside a record."""

    gain: jax.Array = leaf("", "a number")
    mode: int = static("", "what to do", default=0)


class Thing(Record):
    """One field of every kind."""

    inner: Inner = leaf("", "a record", dtype=Inner)
    mass: jax.Array = leaf("n", "kg")
    colour: jax.Array = leaf("n 4", "rgba", dtype=np.float32, inert=True)
    parent: np.ndarray = static("n", "the one above")
    open: np.ndarray = static("n", "can be passed", dtype=bool)
    n: int = static("", "how many")
    path: tuple[int, ...] = static("", "a way", dtype=tuple, default=())
    names: tuple[str, ...] = label("names", dtype=tuple, default=())
    title: str = label("title", default="none")


def thing(**fields):
    return build(
        Thing,
        {
            "inner": {"gain": 2.0},
            "mass": [1.0, 2.0],
            "colour": np.ones((2, 4)),
            "parent": [-1, 0],
            "open": [True, False],
            "n": 2,
            "names": ("a", "b"),
            **fields,
        },
    )


def traces(f):
    """The function compiled, and a list that grows with every trace."""
    seen = []

    def counted(*args):
        seen.append(1)
        return f(*args)

    return jax.jit(counted), seen


def test_values_have_the_declared_types():
    x = thing()
    assert (x.parent.dtype, x.open.dtype) == (np.int32, np.bool_)
    assert (x.mass.dtype, x.colour.dtype) == (jnp.float64, jnp.float32)
    assert isinstance(x.inner, Inner)
    assert x.title == "none"
    assert type(thing(n=np.int64(2)).n) is int
    assert thing(n=np.int64(2), parent=np.array([-1, 0], np.int8)).static == x.static


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("n", 2.5, r"Thing\.n: .*float"),
        ("parent", [0.5, 1.5], r"Thing\.parent: expected int32, got float64"),
        ("parent", [[0, 1]], r"Thing\.parent: expected an array of 1 dimensions, got shape \(1, 2\)"),
        ("path", 3, r"Thing\.path: expected tuple, got int"),
        ("size", 3, r"no field 'size'"),
        ("mas", 3, r"no field 'mas' \(did you mean 'mass'\?\)"),
        ("gain", 3, r"no field 'gain', inner has: replace\(inner=x\.inner\.replace\(gain=\.\.\.\)\)"),
        ("n", "two", r"Thing\.n: expected an integer \(how many\), got str 'two'"),
    ],
)
def test_refused_values(field, value, message):
    with pytest.raises(TypeError, match=message):
        thing().replace(**{field: value})


def test_assignment_says_what_to_do_instead():
    with pytest.raises(
        dataclasses.FrozenInstanceError, match=r"'mass' of Thing.*thing\.replace\(mass=\.\.\.\)"
    ):
        thing().mass = 1


def test_integers_for_numbers():
    assert thing().replace(mass=np.array([1, 2])).mass.dtype == thing().mass.dtype
    jax.eval_shape(lambda x: thing().replace(mass=x).mass * jnp.ones(2), jnp.ones(2, int))
    assert thing().replace(colour=np.ones((2, 4), int)).colour.dtype == int


def test_a_number_of_python_compiles_no_other_program():
    step, seen = traces(lambda x: x.mass * 2)
    before = thing().replace(mass=np.ones(()))
    step(before)
    for value in (0.5, 2, True, np.float64(3), jnp.asarray(0.5)):
        changed = before.replace(mass=value)
        assert changed.mass.dtype == before.mass.dtype
        assert changed.mass == value
        step(changed)
    jax.jit(lambda own, x: step(own.replace(mass=x)))(before, 0.5)
    assert len(seen) == 1
    axes = jax.tree.map(lambda _: None, before)
    assert axes.replace(mass=0).replace(mass=1).mass == 1


def test_shown_by_type_and_shape():
    text = repr(thing())
    assert text.startswith("Thing(inner=Inner(...), mass=float")
    assert "colour=float32[2,4], parent=int32[2], open=bool[2], n=2, path=())" in text
    assert repr(jax.eval_shape(lambda: thing())) == text


def test_unknown_and_missing_fields():
    with pytest.raises(TypeError, match=r"missing fields \['gain'\], unknown fields \['gian'\]"):
        build(Inner, {"gian": 2})


def test_static_fields_refuse_tracers():
    x = thing()
    message = r"Thing\.parent is static: .* cannot be traced. Replace it outside of jit, vmap and grad"
    with pytest.raises(TypeError, match=message):
        jax.vmap(lambda p: x.replace(parent=p).mass)(jnp.zeros((3, 2), int))
    with pytest.raises(TypeError, match=message):
        jax.jit(lambda p: Thing(**{**x.__dict__, "parent": p}).mass)(jnp.zeros(2, int))
    with pytest.raises(TypeError, match=r"Thing\.path is static"):
        jax.jit(lambda i: x.replace(path=(1, i)).mass)(1)


def test_static_arrays_are_read_only():
    given = np.array([-1, 0], np.int32)
    x = thing(parent=given)
    given[0] = 7
    assert x.parent[0] == -1
    for y in (x, x.replace(parent=given[:]), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        with pytest.raises(ValueError, match="read-only"):
            y.parent[0] = 3
        with pytest.raises(ValueError, match="read-only"):
            y.static.parent[0] = 3
    given = np.array([1, 0], np.int32)
    view = given.view()
    view.setflags(write=False)
    x = thing(parent=view)
    given[0] = 7
    assert x.parent[0] == 1


def test_keys_tell_all_contents_apart():
    base = thing(path=(1, (2, 3)))
    others = [
        thing(path=((1, 2), 3)),
        thing(path=(1, 2, 3)),
        thing(path=("1", (2, 3))),
        thing(path=(1, (2, 3)), n=3),
        thing(path=(1, (2, 3)), open=[False, True]),
    ]
    assert len({base.static, *(x.static for x in others)}) == 6
    assert len(base.static._digest) == 32
    assert base.static._digest.hex() in repr(base.static)
    many = np.zeros(5000, int)
    assert thing(parent=many).static != thing(parent=many + (np.arange(5000) == 2500)).static


def test_objects_of_unknown_classes_count_by_identity():
    class Opaque:
        def __repr__(self):
            return "opaque"

    one, two = Opaque(), Opaque()
    assert Static({"x": one}) == Static({"x": one})
    assert Static({"x": one}) != Static({"x": two})


def test_a_record_is_made_of_its_own_fields():
    x = thing()
    jax.tree.flatten(x)
    for y in (Thing(**x.__dict__), dataclasses.replace(x, n=2), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert jax.tree.structure(y) == jax.tree.structure(x)
        assert y.names == x.names
    assert set(x.__dict__) == {f.name for f in dataclasses.fields(x)}


def test_subclasses():
    class More(Thing):
        """Declares fields as records do."""

        speed: jax.Array = leaf("n", "m/s", default=0.0)
        kind: int = static("", "of thing", default=1)

    class Loose(Thing):
        """Declares fields as flax does."""

        speed: jax.Array
        kind: object = dataclasses.field(metadata={"pytree_node": False}, default=None)

    x = thing()
    for y in (More(**x.__dict__, speed=jnp.ones(2)), Loose(**x.__dict__, speed=jnp.ones(2))):
        assert len(jax.tree.leaves(y)) == len(jax.tree.leaves(x)) + 1
        after = jax.jit(lambda y: y.replace(mass=y.mass + y.speed, kind=3))(y)
        assert type(after) is type(y)
        assert after.kind == 3
        np.testing.assert_array_equal(after.mass, x.mass + 1)
        assert after.names == x.names
    assert jax.tree.structure(More(**x.__dict__)) != jax.tree.structure(More(**x.__dict__, kind=2))


def test_inert_leaves_and_labels_are_bare():
    x, y = thing(), bare((thing(), 3.0))[0]
    assert y.colour is None
    assert (y.names, y.title) == ((), "none")
    assert y.mass is not None
    assert y.static == x.static
    assert jax.tree.structure(y) == jax.tree.structure(bare(thing(names=("c",))))
    assert x.without_leaves().inner.gain is None
    assert x.without_leaves().names == x.names


def test_labels_do_not_retrace():
    f, seen = traces(lambda x: x.mass * x.n)
    f(thing(title="nobody reads this"))
    f(thing(names=("c", "d"), title="nor this"))
    f(thing(title="nobody reads this", colour=np.zeros((2, 4))))
    assert len(seen) == 1
    f(thing(n=3))
    assert len(seen) == 2


def test_labels_that_a_trace_reads_are_part_of_it():
    f, seen = traces(lambda x, y: y[x.names.index("b")])
    y = jnp.array([1.0, 2.0])
    x = thing(names=("a", "b"), title="read")
    assert f(x, y) == 2
    assert f(thing(names=("b", "a"), title="read"), y) == 1
    assert f(x.replace(mass=x.mass + 1), y) == 2
    assert f(thing(names=("a", "b"), title="read"), y) == 2
    assert len(seen) == 2


@pytest.mark.parametrize(
    "through",
    [
        lambda x: x.replace(mass=2 * x.mass),
        lambda x: x.replace(n=x.n + 1),
        lambda x: Thing(**x.__dict__),
        lambda x: jax.lax.scan(lambda c, _: (c.replace(mass=2 * c.mass), None), x, length=2)[0],
        jax.vmap(lambda x: x, in_axes=None, out_axes=None, axis_size=2),
        jax.jit(lambda x: x),
    ],
)
def test_labels_that_leave_a_trace_are_those_that_came(through):
    f = jax.jit(through)
    for names in (("p", "q"), ("q", "p"), ("p", "q")):
        assert f(thing(names=names)).names == names


def test_labels_are_shared_by_content():
    one, two = Labels.of({"names": ("x",)}), Labels.of({"names": ("x",)})
    other = Labels.of({"names": ("y",)})
    assert one is two
    assert one == other
    one.read("names")
    assert two != other
    assert two == one
    assert hash(one) == hash(other)


def test_names_change_under_a_trace():
    f = jax.jit(lambda x: x.replace(names=tuple(n + "!" for n in x.names)))
    assert f(thing(names=("u", "v"))).names == ("u!", "v!")
    assert f(thing(names=("v", "u"))).names == ("v!", "u!")


class Medium(Record):
    """Leaves that programs leave out while they are zero."""

    density: jax.Array = leaf("", "kg/m^3", optional=True)
    viscosity: jax.Array = leaf("n", "Pa s", optional=True)
    kind: int = static("", "of medium", default=0)


def test_optional_leaves_are_part_of_the_program_while_they_are_zero():
    calm = build(Medium, {"density": 0.0, "viscosity": [0.0, 0.0]})
    assert not calm.has("density")
    assert not calm.has("viscosity")
    dense = calm.replace(density=1.2)
    assert dense.has("density")
    assert not dense.has("viscosity")
    f, seen = traces(lambda x: x.density + (1 if x.has("density") else 0))
    assert [f(x) for x in (calm, dense, dense.replace(density=jnp.asarray(2.0)))] == [0, 2.2, 3]
    assert len(seen) == 2
    assert not dense.replace(density=0).has("density")
    assert dense.replace(kind=1).has("density")
    assert pickle.loads(pickle.dumps(dense)).has("density")


def test_optional_leaves_without_entries_are_zero():
    """A model without tendons needs no code for their springs, whatever is traced."""

    @jax.jit
    def present(viscosity):
        return jnp.array(Medium(density=jnp.array(0.0), viscosity=viscosity).has("viscosity"))

    assert not present(jnp.zeros(0))
    assert present(jnp.zeros(1))


def test_optional_leaves_that_are_traced_may_be_anything():
    calm = build(Medium, {"density": 0.0, "viscosity": [0.0, 0.0]})
    inside = []

    def f(x, y):
        inside.append(
            (x.has("density"), x.replace(kind=2).has("density"), x.replace(density=y).has("density"))
        )
        return x.replace(density=y)

    assert jax.jit(f)(calm, 0.0).has("density")
    assert jax.vmap(f, in_axes=(None, 0))(calm, jnp.zeros(3)).has("density")
    assert inside == [(False, False, True)] * 2
