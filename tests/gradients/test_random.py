"""Random small models in random states, at the default options: derivatives are finite and both modes agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline.integrate import integrate_pos

WORLDS = 24


def random_model(seed: int) -> str:
    """A free body and a chain, of random joints and shapes, some of which stand on the floor.

    Shapes stand off their joints: a contact of a body that only turns about its centre of mass has no inertia to work
    against, and its force is rounding, in the C engine too.
    """
    rng = np.random.default_rng(seed)
    dim = rng.choice([1, 3, 4, 6])

    def vector(n: int, scale: float) -> str:
        return " ".join(f"{x:.4f}" for x in scale * rng.standard_normal(n))

    def geom() -> str:
        kind = rng.choice(["sphere", "capsule", "box"])
        size = {"sphere": 1, "capsule": 2, "box": 3}[kind]
        sizes = " ".join(f"{x:.3f}" for x in rng.uniform(0.05, 0.15, size))
        friction = f"{rng.uniform(0.2, 1):.3f} 0.01 0.001"
        return f'<geom type="{kind}" size="{sizes}" pos="{vector(3, 0.1)}" condim="{dim}" friction="{friction}"/>'

    def joint(name: str, free: bool) -> str:
        if free:
            return f'<freejoint name="{name}"/>'
        kind = rng.choice(["hinge", "slide", "ball"])
        extra = f'damping="{rng.uniform():.3f}" stiffness="{rng.uniform(0, 5):.3f}" armature="0.01"'
        if kind != "ball":
            extra += f' axis="{vector(3, 1)}" frictionloss="{rng.uniform(0, 0.5):.3f}"'
        span = "-0.3 0.4" if kind != "ball" else "0 0.3"
        return f'<joint name="{name}" type="{kind}" limited="true" range="{span}" {extra}/>'

    bodies, motors = [], []
    for tree in range(2):
        text, depth = "", 1 if tree == 0 else int(rng.integers(2, 4))
        for k in range(depth):
            name = f"j{tree}{k}"
            free = k == 0 and tree == 0
            place = f"{tree} 0 0.15" if k == 0 else vector(3, 0.15)
            text += f'<body pos="{place}">{joint(name, free)}{geom()}'
            if not free:
                motors.append(f'<motor joint="{name}" gear="1 0.5 0.2"/>')
        bodies.append(text + "</body>" * depth)
    floor = '<geom type="plane" size="5 5 1"/>'
    cone = rng.choice(["pyramidal", "elliptic"])
    return (
        f'<mujoco><option cone="{cone}"/><worldbody>{floor}{"".join(bodies)}</worldbody>'
        f"<actuator>{''.join(motors)}</actuator></mujoco>"
    )


@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.slow] * (k != 1)) for k in range(5)])
def test_finite_and_dual(seed):
    rng = np.random.default_rng(100 + seed)
    model = jaxsim.load_model(random_model(seed))
    data = jaxsim.make_data(model)

    def after(x: dict[str, jax.Array]) -> dict[str, jax.Array]:
        qpos = integrate_pos(model, data.qpos[:, None], x["qpos"][:, None], jnp.ones(1))[:, 0]
        m = model.replace(
            body_mass=model.body_mass * x["mass"], geom_friction=model.geom_friction * x["friction"]
        )
        d = jaxsim.step(m, data.replace(qpos=qpos, qvel=x["qvel"], ctrl=x["ctrl"]))
        return {"qpos": d.qpos, "qvel": d.qvel, "qacc": d.qacc}

    def both(x: dict[str, jax.Array], u: dict[str, jax.Array], w: dict[str, jax.Array]) -> tuple:
        y, push = jax.linearize(after, x)
        return y, push(u), jax.linear_transpose(push, x)(w)[0]

    def draw(*shape: int) -> np.ndarray:
        # every third world stands still, every fourth is at qpos0
        return rng.standard_normal((WORLDS, *shape))

    point = {
        "qpos": 0.2 * draw(model.nv) * (np.arange(WORLDS) % 4 > 0)[:, None],
        "qvel": draw(model.nv) * (np.arange(WORLDS) % 3 > 0)[:, None],
        "ctrl": draw(model.nu),
        "mass": 1 + 0.2 * np.abs(draw(model.nbody)),
        "friction": 1 + 0.2 * np.abs(draw(model.ngeom, 3)),
    }
    direction = {name: draw(*x.shape[1:]) for name, x in point.items()}
    weight = {"qpos": draw(model.nq), "qvel": draw(model.nv), "qacc": draw(model.nv)}
    value, pushed, pulled = jax.jit(jax.vmap(both))(point, direction, weight)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((value, pushed, pulled)))

    def inner(a: dict, b: dict) -> np.ndarray:
        return sum((np.asarray(a[k]) * b[k]).reshape(WORLDS, -1).sum(axis=1) for k in a)

    def size(a: dict) -> np.ndarray:
        return sum((np.asarray(a[k]) ** 2).reshape(WORLDS, -1).sum(axis=1) for k in a) ** 0.5

    left, right = inner(pulled, direction), inner(pushed, weight)
    # both maps are exact transposes of each other: rounding of sums
    assert (np.abs(left - right) < 1e-9 * size(pushed) * size(weight)).all()
    assert (size(pushed) > 0).all()
