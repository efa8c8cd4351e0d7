"""What XLA is asked for: to keep programs on disk, to compile them quickly."""

from __future__ import annotations

import os
from pathlib import Path

import jax

__all__ = ["compile_quickly", "keep_programs"]

_QUICK = "--xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters"


def keep_programs() -> None:
    """Has JAX keep compiled programs on disk, so that a second start is quick; the command `jaxsim` does so by itself.

    The folder is `jaxsim` in `$XDG_CACHE_HOME`, else in `~/.cache`; deleting it costs nothing but time.
    `JAX_COMPILATION_CACHE_DIR` names another, `JAX_ENABLE_COMPILATION_CACHE=0` switches it off. What was compiled
    before the call is not kept.
    """
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(home / "jaxsim"))


def compile_quickly() -> None:
    """Asks for little of XLA on a CPU, where compiling takes longer than learning; no use once JAX has computed."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_QUICK}".strip()
