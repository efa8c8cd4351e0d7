"""Training of policies: `jaxsim train CONFIG`, and what it is made of. Needs the extra `train`.

from jaxsim.train import read, train

train(read("configs/shac_cartpole_swingup.yaml"))
"""

from jaxsim.train.config import Config, ConfigError, Ppo, Shac, read
from jaxsim.train.evaluate import evaluate, summary
from jaxsim.train.record import rows
from jaxsim.train.run import checkpoints, restore, train

__all__ = [
    "Config",
    "ConfigError",
    "Ppo",
    "Shac",
    "checkpoints",
    "evaluate",
    "read",
    "restore",
    "rows",
    "summary",
    "train",
]
