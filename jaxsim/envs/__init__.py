"""Environments for reinforcement learning: `load(name)`, `reset(rng)`, `step(state, action)`.

env = jaxsim.envs.load("quadruped")
state = jax.jit(env.reset)(jax.random.key(0))
state = jax.jit(env.step)(state, action)
"""

from jaxsim.envs.base import Env, State
from jaxsim.envs.config import Config, override
from jaxsim.envs.randomise import randomise
from jaxsim.envs.registry import default_config, load, names, register
from jaxsim.envs.wrappers import AutoReset, Episode, Randomised, Vmap, Wrapper, wrap_for_training

__all__ = [
    "AutoReset",
    "Config",
    "Env",
    "Episode",
    "Randomised",
    "State",
    "Vmap",
    "Wrapper",
    "default_config",
    "load",
    "names",
    "override",
    "randomise",
    "register",
    "wrap_for_training",
]
