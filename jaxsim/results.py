"""Flags and errors: nothing that goes wrong is silent."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np

__all__ = ["UnsupportedError", "WarningBit", "explain", "is_lost"]


class WarningBit(enum.IntFlag):
    """Bits of `Data.warning`; a bit once set stays until the state is reset by hand. `explain` puts them in words."""

    CONTACT_OVERFLOW = 1 << 0
    BAD_QPOS = 1 << 1
    BAD_QVEL = 1 << 2
    BAD_QACC = 1 << 3
    BAD_CTRL = 1 << 4
    NOT_CONVERGED = 1 << 5
    PAIR_OVERFLOW = 1 << 6
    UNSUPPORTED = 1 << 7


_BAD_STATE = WarningBit.BAD_QPOS | WarningBit.BAD_QVEL | WarningBit.BAD_QACC
"""The bits of a world whose state was lost."""


def is_lost(warning: Any) -> Any:
    """Where warnings say that a state was no longer finite: what comes after is no motion of it.

    Args:
      warning: bits as in `Data.warning`, an integer or an array of any shape.

    Returns:
      Booleans of that shape.
    """
    return (warning & int(_BAD_STATE)) != 0


class _Meaning(NamedTuple):
    what: str
    remedy: str


_MEANINGS = {
    WarningBit.CONTACT_OVERFLOW: _Meaning(
        "more contacts were active than the buffer holds; the deepest were kept",
        "load the model with a larger nconmax",
    ),
    WarningBit.PAIR_OVERFLOW: _Meaning(
        "more pairs of geoms were near each other, or touched, than are kept; the nearest were collided",
        "see the budgets with `jaxsim info`, and raise them by max_geom_pairs",
    ),
    WarningBit.BAD_QPOS: _Meaning(
        "qpos was not finite or above 1e10; the world was reset, or left as it was if autoreset is off",
        "look at the initial state, or at what a controller wrote into it",
    ),
    WarningBit.BAD_QVEL: _Meaning(
        "qvel was not finite or above 1e10; the world was reset, or left as it was if autoreset is off",
        "take a smaller timestep, add damping or armature, or bound the forces",
    ),
    WarningBit.BAD_QACC: _Meaning(
        "qacc was not finite or above 1e10; the world was reset, or left as it was if autoreset is off",
        "take a smaller timestep, softer contacts, or look for bodies that are almost massless",
    ),
    WarningBit.BAD_CTRL: _Meaning(
        "a control was not finite or above 1e10; all controls of the world counted as zero",
        "bound the controls, or give the actuators a ctrlrange",
    ),
    WarningBit.NOT_CONVERGED: _Meaning(
        "the solver ran out of iterations with its gradient above tolerance, or, of a model that allows four or fewer, "
        "with more than half of the forces not in balance",
        "raise option/iterations or option/ls_iterations, or accept it: a model tuned to few iterations may want this",
    ),
    WarningBit.UNSUPPORTED: _Meaning(
        "a number of the model that was traced asks for physics that is not computed: this world lacks it",
        "call jaxsim.step(model, data) with this model outside of jit: its error names the feature",
    ),
}
"""What each bit means, and what helps."""


def explain(warning: Any) -> str:
    """Says in words what the bits of `Data.warning` mean, how many worlds set each, and what helps.

    Args:
      warning: the data or their `warning`, of one world or of many, any shape; an int; or a `WarningBit`.

    Returns:
      A line for each bit that is set; "no warnings" without any.
    """
    warning = getattr(warning, "warning", warning)
    worlds = np.atleast_1d(np.asarray(warning)).astype(int).reshape(-1)
    lines = []
    for bit, meaning in _MEANINGS.items():
        count = int(np.sum((worlds & bit) != 0))
        if count:
            where = f" (in {count} of {len(worlds)} worlds)" if len(worlds) > 1 else ""
            lines.append(f"{bit.name}{where}: {meaning.what}. Remedy: {meaning.remedy}.")
    return "\n".join(lines) or "no warnings"


class UnsupportedError(NotImplementedError):
    """The model asks for physics that jaxsim does not compute yet; the message names elements and features."""
