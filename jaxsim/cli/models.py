"""From what the user typed to a model."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from jaxsim import models

if TYPE_CHECKING:
    import jaxsim

__all__ = ["CommandError", "load", "locate"]


class CommandError(Exception):
    """The user asked for something that cannot be done; the message says what and what would work."""


def locate(model: str) -> Path:
    """File of a model.

    Args:
        model: A path, or the name of a bundled model.

    Raises:
        CommandError: There is neither such a file nor such a bundled model.
    """
    if model in models.names():
        return models.path(model)
    file = Path(model).expanduser()
    if file.is_file():
        return file
    near = difflib.get_close_matches(model, models.names(), n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise CommandError(f"no file {model!r}{hint}; bundled models: {', '.join(models.names())}")


def load(model: str) -> jaxsim.Model:
    """Loads a model by path or bundled name.

    Raises:
        CommandError: There is no such model, or its file cannot be read.
        MjcfError: The model is not valid or not supported.
    """
    import jaxsim

    file = locate(model)
    try:
        return jaxsim.load_model(file)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {str(file)!r}: {error}") from error
