"""Measures fits by exact Jacobians beside the same search by differences: `python -m benchmarks.identify`.

Five parameters of an arm of two links, from noisy positions and velocities that the C engine simulated. All searches
share everything but the Jacobian. Plain differences simulate once for every unknown, as a solver does that is given
nothing but the residual; clever ones know that windows are independent, and need p + n simulations, as many as the
exact Jacobian has directions. Times are of a fit after its programs are compiled, the best of three.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxsim
from jaxsim import identify
from jaxsim.cli.compare import machine
from jaxsim.identify.parameters import values_of

__all__ = ["ARM", "TRUTH", "main", "measure", "trajectory", "unknown"]

ARM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="0.4" armature="0.02"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1.2"/>
      <body name="lower" pos=".3 0 0">
        <joint name="elbow" axis="0 1 0" damping="0.2" frictionloss="0.15"/>
        <geom type="capsule" fromto="0 0 0 .25 0 0" size=".03" mass="0.7"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder" gear="6"/><motor joint="elbow" gear="3"/></actuator>
</mujoco>
"""

TRUTH = {
    "lower.mass": 0.7,
    "shoulder.damping": 0.4,
    "elbow.damping": 0.2,
    "shoulder.armature": 0.02,
    "elbow.frictionloss": 0.15,
}

SIGMA = {"qpos": 1e-3, "qvel": 1e-2}
"""Standard deviations of the noise, rad and rad/s."""


def unknown(model: Any) -> list[identify.Parameter]:
    """The five parameters, starting at half to twice the truth."""
    return [
        identify.parameter(model, "body_mass", "lower", nominal=1.2),
        identify.parameter(model, "dof_damping", "shoulder", nominal=0.2),
        identify.parameter(model, "dof_damping", "elbow", nominal=0.4),
        identify.parameter(model, "dof_armature", "shoulder", nominal=0.04),
        identify.parameter(model, "dof_frictionloss", "elbow", nominal=0.08),
    ]


def trajectory(steps: int) -> identify.Trajectory:
    """A motion of the C engine under sines of torque, with noise."""
    mujoco: Any = import_module("mujoco")
    m = mujoco.MjModel.from_xml_string(ARM)
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    t = m.opt.timestep * np.arange(steps)[:, None]
    ctrl = np.sin(2 * np.pi * np.array([0.7, 1.1]) * t) + 0.5 * np.sin(2 * np.pi * np.array([2.3, 3.1]) * t)
    qpos, qvel = [d.qpos.copy()], [d.qvel.copy()]
    for u in ctrl:
        d.ctrl[:] = u
        mujoco.mj_step(m, d)
        qpos.append(d.qpos.copy())
        qvel.append(d.qvel.copy())
    noise = {name: s * rng.standard_normal((steps + 1, m.nv)) for name, s in SIGMA.items()}
    return identify.Trajectory(ctrl, np.array(qpos) + noise["qpos"], np.array(qvel) + noise["qvel"])


def measure(how: str, steps: int, window: int) -> dict[str, Any]:
    """One fit by `"exact"` Jacobians, `"clever"` or `"plain"` differences, timed."""
    model = jaxsim.load_model(ARM)
    residual = identify.build_residual(
        model,
        unknown(model),
        [trajectory(steps)],
        window=window,
        sigma=SIGMA,
        jacobian="exact" if how == "exact" else "differences",
    )

    def plain(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r, eps = residual.value(x), float(np.sqrt(np.finfo(float).eps))
        return r, np.stack([(residual.value(x + eps * e) - r) / eps for e in np.eye(len(x))], axis=1)

    linearise = plain if how == "plain" else residual
    start = residual.nominal()
    begin = time.perf_counter()
    linearise(start)
    first = time.perf_counter() - begin
    times, found = [], None
    for _ in range(1 if how == "plain" else 3):
        residual.simulations = 0
        begin = time.perf_counter()
        found = identify.least_squares(linearise, start, *residual.bounds(), ftol=1e-8, xtol=1e-8)
        times.append(time.perf_counter() - begin)
    assert found is not None
    values, _ = values_of(residual.parameters, found.x[: len(residual.names)])
    return {
        "first_evaluation_s": first,
        "fit_s": min(times),
        "simulations": residual.simulations,
        "evaluations": found.evaluations,
        "largest_error": float(max(abs(values / [TRUTH[name] for name in residual.names] - 1))),
    }


def main(steps: int = 800, window: int = 20, out: Path | None = None) -> None:
    """Prints both fits and their ratio; saves JSON if `out` is given."""
    jax.config.update("jax_enable_x64", True)
    found = {how: measure(how, steps, window) for how in ("exact", "clever", "plain")}
    for how, row in found.items():
        print(f"{how:7}", row, f"{row['fit_s'] / found['exact']['fit_s']:.1f} times as long")
    if out is not None:
        out.write_text(
            json.dumps({"machine": machine(), "steps": steps, "window": window, **found}, indent=1)
        )


if __name__ == "__main__":
    import tyro

    tyro.cli(main)
