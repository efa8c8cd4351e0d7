"""Programs of few kernels give what they give as they are, whatever is in them."""

from __future__ import annotations

import re

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxsim
from jaxsim import models
from jaxsim.math import few_kernels
from jaxsim.math.few_kernels import call_in_few_kernels, in_few_kernels
from jaxsim.math.linear import primitive
from jaxsim.math.stage import stage

POSITIVE = np.random.default_rng(0).uniform(0.1, 0.9, (40, 120))  # more than XLA sums without a library
SIGNED = POSITIVE * np.random.default_rng(1).choice([-1, 1], POSITIVE.shape)
SQUARE = np.tril(POSITIVE[:9, :9]) + 2 * np.eye(9)
SPD = SQUARE @ SQUARE.T
ROWS = jnp.asarray([3, 0, 39, 3])
WHOLE = np.arange(4800, dtype=np.int32).reshape(40, 120)

UNARY = """
    abs acos asin atan ceil cos exp exp2 expm1 floor is_finite logistic log1p neg round sign sin square tan tanh
"""
BINARY = "add atan2 div eq ge gt le lt max min mul ne rem sub"


def unary(function):
    return lambda x, y: function(x)


ELEMENTWISE = {
    **{name: unary(getattr(lax, name)) for name in UNARY.split()},
    **{name: getattr(lax, name) for name in BINARY.split()},
    "clamp": lambda x, y: lax.clamp(-y, x, y),
    "integer_pow": lambda x, y: lax.integer_pow(x, 3),
    "log": lambda x, y: lax.log(y),
    "pow": lambda x, y: lax.pow(y, x),
    "rsqrt": lambda x, y: lax.rsqrt(y),
    "select_n": lambda x, y: lax.select(x > y, x, y),
    "sqrt": lambda x, y: lax.sqrt(y),
}
"""Functions of signed and positive numbers, by primitive."""

OTHERS = {
    "and": lambda x, y: (x > 0) & (y > 0.5),
    "argmax": lambda x, y: jnp.argmax(x, 0),
    "argmin": lambda x, y: jnp.argmin(x),
    "bitcast_convert_type": lambda x, y: lax.bitcast_convert_type(x, np.int32 if x.dtype == np.float32 else np.int64),
    "broadcast_in_dim": lambda x, y: jnp.broadcast_to(x, (2, *x.shape)),
    "cholesky": lambda x, y: jnp.linalg.cholesky(SPD.astype(x.dtype) + 0 * x[0, 0]),
    "concatenate": lambda x, y: jnp.concatenate([x, y, x], 1),
    "convert_element_type": lambda x, y: (10 * x).astype(np.int32),
    "copy": lambda x, y: jnp.copy(x),
    "cummax": lambda x, y: lax.cummax(x),
    "cummin": lambda x, y: lax.cummin(x, 1),
    "cumprod": lambda x, y: jnp.cumprod(y, 0),
    "cumsum": lambda x, y: jnp.cumsum(x.reshape(-1)),
    "dot_general": lambda x, y: [x[:n, :m] @ y[:n, :m].T for n, m in ((40, 120), (12, 90), (2, 9), (0, 9), (2, 0))],
    "dot_general, a matrix for each": lambda x, y: jnp.vecdot(x, y),
    "dynamic_slice": lambda x, y: lax.dynamic_slice(x, (jnp.argmax(y[0]), 3), (4, 4)),
    "dynamic_update_slice": lambda x, y: lax.dynamic_update_slice(x, y[:4, :4], (jnp.argmax(x[0]), 3)),
    "gather": lambda x, y: (x[ROWS], jnp.take_along_axis(x, ROWS[:, None], 0)),
    "iota": lambda x, y: jnp.arange(7) + x[0, 0],
    "not": lambda x, y: ~(x > 0),
    "optimization_barrier": lambda x, y: lax.optimization_barrier((x, y)),
    "or": lambda x, y: (x > 0) | (y > 0.5),
    "pad": lambda x, y: jnp.pad(x, ((1, 2), (0, 3))),
    "population_count": lambda x, y: lax.population_count(WHOLE + (x > 0)),
    "reduce_and": lambda x, y: (jnp.all(x > -0.8, 0), jnp.all(x > -2)),
    "reduce_max": lambda x, y: (jnp.max(x), jnp.max(WHOLE + (x > 0)), jnp.max(x, 0), jnp.max(x, 1), jnp.max(x[:3], 1)),
    "reduce_min": lambda x, y: (jnp.min(x), jnp.min(x, (0, 1))),
    "reduce_or": lambda x, y: (jnp.any(x > 0.89, 0), jnp.any(x > 2)),
    "reduce_prod": lambda x, y: (jnp.prod(1 + 0.01 * x, 0), jnp.prod(1 + 0.001 * x)),
    "reduce_sum": lambda x, y: [jnp.sum(x), jnp.sum(x, 0), jnp.sum(x, 1), jnp.sum(x[:0], 0), jnp.sum(WHOLE + (x > 0))],
    "reshape": lambda x, y: x.reshape(-1),
    "rev": lambda x, y: x[::-1],
    "scatter": lambda x, y: [x.at[ROWS + 36].set(y[0], mode=mode) for mode in (None, "drop", "clip")],
    "scatter-add": lambda x, y: (x.at[ROWS].add(y[:4]), jnp.zeros((9, 4, 120)).at[ROWS - 3, :, 2].add(y[:4, :4])),
    "scatter-max": lambda x, y: x.at[ROWS].max(y[:4]),
    "scatter-min": lambda x, y: x.at[:, ROWS].min(y[:, :4]),
    "scatter-mul": lambda x, y: x.at[ROWS].mul(y[:4], unique_indices=False),
    "shift_left": lambda x, y: WHOLE + (x > 0) << 2,
    "shift_right_arithmetic": lambda x, y: -WHOLE - (x > 0) >> 2,
    "shift_right_logical": lambda x, y: lax.shift_right_logical(WHOLE + (x > 0), WHOLE % 5),
    "slice": lambda x, y: x[3:9:2, 1:],
    "split": lambda x, y: jnp.split(x, 4),
    "squeeze": lambda x, y: x[:1].squeeze(0),
    "stack": lambda x, y: jnp.stack([x, y]),
    "stop_gradient": lambda x, y: lax.stop_gradient(x),
    "transpose": lambda x, y: x.T,
    "triangular_solve": lambda x, y: [
        lax.linalg.triangular_solve(
            (SQUARE if lower else SQUARE.T).astype(x.dtype) + 0 * x[0, 0],
            x[:9, :9],
            left_side=left,
            lower=lower,
            transpose_a=transposed,
            unit_diagonal=unit,
        )
        for left in (True, False)
        for lower in (True, False)
        for transposed in (True, False)
        for unit in (True, False)
    ],
    "unstack": lambda x, y: jnp.unstack(x),
    "xor": lambda x, y: (x > 0) ^ (y > 0.5),
}  # fmt: skip

double = stage(lambda x, y, z: (2 * x + z, jnp.zeros(3)))

NESTED = {
    "add_any": lambda x, y: jax.vjp(lambda x: (x * y, jnp.sin(x)), x)[1]((x, y)),
    "cond": lambda x, y: lax.cond(x[0, 0] > 0, lambda: (x, 2 * y), lambda: (y, x)),
    "cond that ignores": lambda x, y: lax.cond(x[0, 0] > 0, lambda: (jnp.zeros(3), y), lambda: (jnp.ones(3), 0 * y)),
    "custom_jvp_call": lambda x, y: jax.nn.relu(x),
    "custom_linear_solve": lambda x, y: lax.custom_linear_solve(lambda v: y * v, x, lambda _, b: b / y, symmetric=True),
    "custom_vjp_call": lambda x, y: optional(x),
    "jit": lambda x, y: jax.jit(lambda x: x + jnp.where(x > 0, x, 1))(x),
    "remat2": lambda x, y: jax.checkpoint(lambda x: jnp.sin(x))(x),
    "scan": lambda x, y: lax.scan(lambda c, row: (c + row[0] * y[0], (c[0], row[1])), y[1], (x, y), reverse=True),
    "stage": lambda x, y: (double(x, y, 1), double(x, x[:0], y), double(np.ones((40, 120)), y, x)),
    "while that forgets": lambda x, y: lax.while_loop(lambda c: c[0] < 1, lambda c: (2.0, c[2], y), (0.0, x, x)),
    "while": lambda x, y: lax.while_loop(lambda c: c[0] < jnp.sum(y[0]), lambda c: (c[0] + y[1, 0], x), (0.0, y)),
}  # fmt: skip


@jax.custom_vjp
def optional(x):
    return 3 * x


optional.defvjp(lambda x: (3 * x, None), lambda _, ct: (ct,))

GROUPS = {"elementwise": ELEMENTWISE, "others": OTHERS, "nested": NESTED}


def traced(functions, dtype):
    """The program of functions, and what it is called with."""
    args = jnp.asarray(SIGNED, dtype), jnp.asarray(POSITIVE, dtype)
    return jax.make_jaxpr(lambda x, y: jax.tree.leaves([f(x, y) for f in functions]))(*args), args


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("group", GROUPS)
def test_results_are_those_of_the_program(group, dtype):
    program, args = traced(GROUPS[group].values(), dtype)
    compiled = jax.jit(in_few_kernels(program)).lower(*args).compile()
    assert "xla_cpu_small_call" in compiled.as_text()
    tolerance = 200 * np.finfo(dtype).eps  # sums in another order
    for ours, plain in zip(
        compiled(*args), jax.jit(jax.extend.core.jaxpr_as_fun(program))(*args), strict=True
    ):
        assert ours.dtype == plain.dtype
        np.testing.assert_allclose(ours, plain, rtol=tolerance, atol=tolerance)


def primitives(program):
    """Names of all that a program and what it calls have."""
    for eqn in program.jaxpr.eqns:
        yield eqn.primitive.name
        for inner in few_kernels._inner(eqn):
            yield from primitives(inner)


def test_each_primitive_is_tried():
    seen = {
        name
        for functions in GROUPS.values()
        for name in primitives(traced(functions.values(), jnp.float32)[0])
    }
    known = few_kernels._KNOWN | few_kernels.LOOPS.keys() | few_kernels._NESTED.keys()
    assert known <= seen


@pytest.mark.parametrize("unknown", [jnp.sort, jnp.linalg.inv], ids=["sort", "inverse"])
def test_what_is_not_known_is_beside_the_kernels(unknown):
    def mixed(x):
        chosen = lax.cond(x[0, 0] > 0, unknown, jnp.sin, x + 1)
        return jnp.cos(lax.fori_loop(0, 2, lambda _, y: unknown(y) + jnp.tanh(x), chosen))

    x = jnp.asarray(SIGNED[:4, :4]) + 3 * jnp.eye(4)
    program = jax.make_jaxpr(mixed)(x)
    compiled = jax.jit(in_few_kernels(program)).lower(x).compile()
    assert "xla_cpu_small_call" in compiled.as_text()
    np.testing.assert_allclose(compiled(x)[0], mixed(x), rtol=1e-10)


def test_long_products_are_those_of_a_library():
    x = jnp.ones((64, 64))
    program = jax.make_jaxpr(lambda x: jnp.sin(jnp.cos(x) @ x) @ x[:, :4])(x)
    text = jax.jit(in_few_kernels(program)).lower(x).as_text()
    assert text.count("dot_general") == 1
    np.testing.assert_allclose(jax.jit(in_few_kernels(program))(x)[0], jnp.sin(jnp.cos(x) @ x) @ x[:, :4])


def prints(x):
    jax.debug.print("{}", x)
    return jnp.sin(x)


@pytest.mark.parametrize(
    "function", [prints, lambda x: lax.cond(True, prints, jnp.cos, x)], ids=["print", "if"]
)
def test_programs_that_print_stay_as_they_are(function):
    program = jax.make_jaxpr(function)(SIGNED)
    assert "xla_cpu_small_call" not in jax.jit(in_few_kernels(program)).lower(SIGNED).as_text()


@pytest.mark.parametrize("known", [True, False])
def test_part_of_a_program_is_few_kernels(known):
    def part(tree, x):
        order = x if known else jnp.sort(x, axis=0)
        return {"sum": lax.fori_loop(0, 3, lambda _, y: y + tree["table"][ROWS][:, :4] * y, order)}

    def whole(x, y):
        return call_in_few_kernels(part, {"table": 2 * x}, y[:4, :4])["sum"] + 1

    args = jnp.asarray(SIGNED), jnp.asarray(POSITIVE)
    compiled = jax.jit(whole).lower(*args).compile()
    assert "xla_cpu_small_call" in compiled.as_text()
    np.testing.assert_allclose(compiled(*args), part({"table": 2 * SIGNED}, POSITIVE[:4, :4])["sum"] + 1)


def test_large_programs_are_several_kernels(monkeypatch):
    monkeypatch.setattr(few_kernels, "_MOST", 5)
    monkeypatch.setattr(few_kernels, "_LOOP", 5)
    program, args = traced(NESTED.values(), jnp.float64)
    compiled = jax.jit(in_few_kernels(program)).lower(*args).compile()
    for ours, plain in zip(
        compiled(*args), jax.jit(jax.extend.core.jaxpr_as_fun(program))(*args), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-13)


def test_what_a_primitive_of_jaxsim_computes_counts(monkeypatch):
    def twelve(x):
        for k in range(12):
            x = lax.sin(x) if k % 2 else lax.exp(x)
        return x

    made = primitive("twelve", twelve, False)
    monkeypatch.setattr(few_kernels, "_MOST", 5)
    program = jax.make_jaxpr(made.bind)(SIGNED)
    lowered = jax.jit(in_few_kernels(program)).lower(SIGNED)
    assert lowered.as_text().count('xla_cpu_small_call = "true"') == 3
    np.testing.assert_allclose(lowered.compile()(SIGNED)[0], twelve(SIGNED), rtol=1e-13)


FREE = "<body><freejoint/><geom size='.1'/></body>"


def test_trees_alike_are_in_the_kernels_of_one_world(monkeypatch):
    """They are solved in loops over rows, side by side as worlds are, which elsewhere is a kernel by itself."""
    model = jaxsim.load_model(f"<mujoco><worldbody>{FREE}{FREE}</worldbody></mujoco>")
    lengths = []

    def kept(program):
        lengths.append(few_kernels._length(program.jaxpr))
        return in_few_kernels(program)

    monkeypatch.setattr("jaxsim.worlds.in_few_kernels", kept)
    jax.jit(jaxsim.step).lower(model, jaxsim.make_data(model))
    assert np.isfinite(lengths).all()
    assert len(lengths) == 1


@pytest.mark.parametrize("worlds", [1, 3])
def test_a_step_is_few_kernels_and_nothing_computed_beside_them(worlds):
    plane = "<geom type='plane' size='1 1 1'/>"
    model = jaxsim.load_model(f"<mujoco><worldbody>{plane}{FREE}</worldbody></mujoco>")
    data = jax.vmap(lambda _: jaxsim.make_data(model))(jnp.arange(worlds))
    text = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0))).lower(model, data).as_text()
    main = text[text.index("func.func public @main") :].split("\n  }\n")[0]
    assert not re.findall(r"stablehlo\.(?:multiply|divide|select|while|slice|dynamic_slice|gather)", main)
    assert 1 <= len(re.findall("call @kernel", main)) <= 10


@pytest.mark.optimised
def test_one_world_is_as_in_a_batch():
    model = jaxsim.load_model(models.path("quadruped"))
    data = jaxsim.make_data(model)
    data = data.replace(qpos=data.qpos.at[2].add(-0.05), ctrl=jnp.linspace(-0.3, 0.3, model.nu))
    one = jax.jit(jaxsim.step)(model, data)
    batch = jax.jit(jax.vmap(jaxsim.step, in_axes=(None, 0)))(
        model, jax.tree.map(lambda x: jnp.stack([x, x]), data)
    )
    assert one.ncon
    for name in ("qpos", "qvel", "qacc", "sensordata", "qfrc_constraint"):
        # 1e-9: sums in another order, and where the solver stops
        np.testing.assert_allclose(getattr(batch, name)[1], getattr(one, name), rtol=1e-9, atol=1e-9)
