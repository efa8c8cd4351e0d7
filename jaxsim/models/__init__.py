"""The models that come with the package: `cartpole`, `reacher`, `hopper`, `quadruped`, `humanoid`, `arm`, `hand`.

Each has a keyframe `home`, in which it rests under that keyframe's controls.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["names", "path"]

_FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Names of the bundled models."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.xml")))


def path(name: str) -> Path:
    """File of the bundled model `name`.

    Raises:
        KeyError: There is no such model; the message lists those that there are.
    """
    if name not in names():
        raise KeyError(f"no bundled model {name!r}; there are {', '.join(names())}")
    return _FOLDER / f"{name}.xml"
