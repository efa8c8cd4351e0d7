"""One of several processes that run the same program on worlds that lie on all of them.

python -m tests.parallel.worker PROCESS PROCESSES PORT DEVICES FOLDER STEPS PATIENCE
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxsim
from jaxsim import parallel
from jaxsim.recording import record

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body pos="0 0 .3">
      <freejoint/>
      <geom size=".1"/>
      <body pos=".2 0 0"><joint name="hinge" axis="0 1 0"/>
        <geom type="capsule" size=".04" fromto="0 0 0 .2 0 0"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
WORLDS, CHUNK = 8, 10


def start(model: jaxsim.Model) -> jaxsim.Data:
    """Worlds that differ."""
    speed = 0.3 * np.random.default_rng(0).normal(size=(WORLDS, model.nv))
    data = jaxsim.make_data(model)
    return jax.vmap(lambda v: data.replace(qvel=v))(jnp.asarray(speed))


def control(data: jaxsim.Data, step: jax.Array, world: jax.Array) -> jax.Array:
    """Noise that depends on the number of the step and of the world alone, and a spring."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(5), world), step)
    return 0.2 * jax.random.normal(key, (1,)) - 0.1 * data.qpos[7:]


def main(
    process: int, processes: int, port: int, devices: int, folder: Path, steps: int, patience: float
) -> None:
    """Records a run; prints what the process has of it."""
    jax.config.update("jax_enable_x64", True)
    parallel.use_cores(devices)
    if processes > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, process)
    model = jaxsim.load_model(MODEL)
    keys = parallel.own_worlds(jax.random.key_data(parallel.world_keys(jax.random.key(1), WORLDS)))
    print("keys", keys[0].start, keys[0].stop, int(keys[1].astype(np.uint64).sum()), flush=True)
    data = start(model)
    if processes > 1:
        data = parallel.spread(data, parallel.worlds_mesh(WORLDS))
    recording = record(
        model,
        data,
        folder,
        steps=steps,
        fields=("qpos", "sensordata"),
        control=control,
        chunk=CHUNK,
        patience=patience,
        progress=lambda done: print("done", done, flush=True),
    )
    print("steps", recording.steps, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), Path(sys.argv[5]), int(sys.argv[6]), float(sys.argv[7]))
