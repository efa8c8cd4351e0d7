"""The tasks that come with jaxsim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxsim.envs.base import Env
from jaxsim.envs.config import Config
from jaxsim.envs.tasks import cartpole, cube, hopper, humanoid, pick, push, quadruped, reacher

__all__ = ["TASKS"]

TASKS: dict[str, tuple[Callable[[Any], Env], Config]] = {
    "cartpole_balance": (cartpole.Cartpole, cartpole.BALANCE),
    "cartpole_swingup": (cartpole.Cartpole, cartpole.SWINGUP),
    "cube_turn": (cube.CubeTurn, cube.CubeConfig()),
    "hopper_hop": (hopper.Hopper, hopper.HopperConfig()),
    "humanoid_stand": (humanoid.Humanoid, humanoid.STAND),
    "humanoid_walk": (humanoid.Humanoid, humanoid.WALK),
    "pick": (pick.Pick, pick.PickConfig()),
    "push": (push.Push, push.PushConfig()),
    "quadruped": (quadruped.Quadruped, quadruped.FLAT),
    "quadruped_rough": (quadruped.Quadruped, quadruped.ROUGH),
    "reacher": (reacher.Reacher, reacher.ReacherConfig()),
}
"""How to make an environment from a config, and its usual config, by name."""
