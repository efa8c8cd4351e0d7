"""Checkpoints: all arrays of a training, by orbax, and the same arrays back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp  # pyright: ignore[reportMissingImports]
from jax import Array
from orbax.checkpoint.checkpoint_managers import (  # pyright: ignore[reportMissingImports]
    AnyPreservationPolicy,
    BestN,
    LatestN,
)

__all__ = ["Checkpoints"]


class Checkpoints:
    """Checkpoints in a folder, by step; the newest stay, and the one of the greatest return.

    Each holds two trees: `policy`, for playing, and `learner`, for going on.

    Args:
      folder: made if it is not there.
      keep: how many of the newest stay when one is saved; 0: all.
    """

    def __init__(self, folder: Path, keep: int = 0) -> None:
        best = BestN(get_metric_fn=lambda numbers: numbers["return"], n=1)
        options = ocp.CheckpointManagerOptions(
            preservation_policy=AnyPreservationPolicy([LatestN(keep or None), best]),
            create=True,
            enable_async_checkpointing=False,
        )
        self._manager = ocp.CheckpointManager(folder.absolute(), options=options)

    @property
    def latest(self) -> int | None:
        """Step of the newest, if there is one."""
        return self._manager.latest_step()

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps of all, the oldest first."""
        return tuple(sorted(self._manager.all_steps()))

    def save(self, step: int, earned: float, **trees: Any) -> None:
        """Writes trees of arrays under a step, and the return of the policy, by which the best one stays."""
        items = {name: ocp.args.StandardSave(_rows(tree)) for name, tree in trees.items()}
        self._manager.save(step, args=ocp.args.Composite(**items), metrics={"return": earned}, force=True)

    def restore(self, step: int, name: str, like: Any) -> Any:
        """A tree as it was.

        Args:
          step: that it was saved under.
          name: of the tree.
          like: a tree of the same structure, of arrays or of their shapes.

        Raises:
          ValueError: the saved tree has another structure.
        """
        args = ocp.args.Composite(**{name: ocp.args.StandardRestore(_rows(like, abstract=True))})
        rows = self._manager.restore(step, args=args)[name]
        leaves, structure = jax.tree.flatten(like)
        return structure.unflatten(_back(rows.get(_row(k)), leaf) for k, leaf in enumerate(leaves))

    def close(self) -> None:
        """Waits until all is written."""
        self._manager.close()


def _row(k: int) -> str:
    return f"{k:05d}"


def _rows(tree: Any, abstract: bool = False) -> dict[str, Any]:
    """Leaves by number; random keys as numbers, without what is empty: orbax writes neither."""
    rows = {}
    for k, leaf in enumerate(jax.tree.leaves(tree)):
        kind = jax.eval_shape(_plain, leaf)
        if kind.size:
            rows[_row(k)] = np.zeros(kind.shape, kind.dtype) if abstract else np.asarray(_plain(leaf))
    return rows


def _plain(leaf: Any) -> Any:
    key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if key else leaf


def _back(saved: Any, leaf: Any) -> Array:
    if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(jax.numpy.asarray(saved))
    return jax.numpy.zeros(leaf.shape, leaf.dtype) if saved is None else jax.numpy.asarray(saved, leaf.dtype)
