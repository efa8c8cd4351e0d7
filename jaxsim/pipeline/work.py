"""What the stages hand to each other and nobody outside needs; never part of a scan's carry."""

from __future__ import annotations

from typing import Any, NamedTuple

from jax import Array

from jaxsim.pytree import Record, leaf

__all__ = ["Found", "Work"]


class Found(NamedTuple):
    """What a pass found by searching, now or in an earlier pass of the same step.

    Attributes:
      choices: of collisions, in turn, see `Choices`; (): none yet; None: nobody wants them.
      solution: what the solver found, (n, W); `solver.solve` tells what is in it. None: nothing yet.
    """

    choices: tuple[Any, ...] | None = None
    solution: Array | None = None

    @classmethod
    def nothing(cls, kept: bool) -> Found:
        """Nothing yet; `kept`: what is found is wanted."""
        return cls(choices=() if kept else None)


class Work(Record):
    """Intermediate results of one forward pass, native layout (worlds `W` on the last axis)."""

    ten_J: Array | None = leaf(
        "nJten", "tendon Jacobian: entries of structure.tendons.tendon_entries", default=None
    )
    actuator_moment: Array | None = leaf(
        "nJmom", "moment arms: entries of structure.transmissions.moment_entries", default=None
    )
    samples: Any = leaf("", "values of sensors with a history, by stage", default=None)
    rows: Any = leaf("", "constraint rows, solver.rows.Rows", default=None)
    choices: Any = leaf("", "what collisions chose, see Found", default=None)
    solution: Array | None = leaf("n", "what the solver found, see Found", default=None)

    @property
    def found(self) -> Found:
        """What a derivative is told."""
        return Found(self.choices, self.solution)
