"""Training of policies: `jaxsim train CONFIG`, and what it is made of. Needs the extra `train`.

from jaxsim.train.config import read
from jaxsim.train.run import train

train(read(Path("configs/shac_cartpole_swingup.yaml")))
"""

__all__: list[str] = []
