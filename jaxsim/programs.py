"""A second start in seconds: what XLA compiled for a command is kept on disk."""

from __future__ import annotations

import os
from pathlib import Path

import jax

__all__ = ["keep_programs"]


def keep_programs() -> None:
    """Has JAX keep compiled programs in the user's cache folder, unless the user chose a folder or none.

    The folder is `jaxsim` in `$XDG_CACHE_HOME`, else in `~/.cache`; deleting it costs nothing but time.
    `JAX_COMPILATION_CACHE_DIR` names another, `JAX_ENABLE_COMPILATION_CACHE=0` switches it off.
    """
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(home / "jaxsim"))
