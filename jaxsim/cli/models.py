"""From what the user typed to a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxsim import models
from jaxsim.hints import hint

if TYPE_CHECKING:
    import jaxsim
    from jaxsim.enums import ObjType

__all__ = ["CommandError", "find", "load", "locate"]


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
    raise CommandError(
        f"no file {model!r}{hint(model, models.names())}; bundled models: {', '.join(models.names())}"
    )


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


def find(model: jaxsim.Model, kind: ObjType, count: int, word: str, given: str) -> int:
    """Number of an element that is given by name or number.

    Args:
        model: The model.
        kind: Of element.
        count: How many there are.
        word: Its name in messages: "camera".
        given: What the user typed.

    Raises:
        CommandError: There is no such element; it lists those that there are.
    """
    names = [model.name(kind, k) for k in range(count)]
    if given in names:
        return names.index(given)
    if given.isdigit() and int(given) < count:
        return int(given)
    known = ", ".join(name or str(k) for k, name in enumerate(names)) or "none"
    raise CommandError(f"no {word} {given!r}; {word}s of the model: {known}")
