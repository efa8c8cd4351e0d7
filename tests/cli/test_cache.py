"""Compiled programs are kept on disk by the command line, where the user did not say otherwise."""

import sys

import jax
import pytest

from jaxsim.cli import main


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """The folder that a command leaves chosen, when the user's own choice was `before`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = jax.config.jax_compilation_cache_dir

    def run(*words, before=None):
        monkeypatch.setattr(sys, "argv", ["jaxsim", *words])
        jax.config.update("jax_compilation_cache_dir", before)
        with pytest.raises(SystemExit):
            main()
        return jax.config.jax_compilation_cache_dir

    yield run
    jax.config.update("jax_compilation_cache_dir", own)


def test_in_the_users_cache(chosen, tmp_path):
    assert chosen("info", "no_such_model") == str(tmp_path / "jaxsim")


def test_where_the_user_says(chosen):
    assert chosen("info", "no_such_model", before="/elsewhere") == "/elsewhere"


def test_not_where_compiling_is_measured(chosen):
    assert chosen("benchmark", "no_such_model") is None


def test_not_for_callers_of_main(chosen):
    before = jax.config.jax_compilation_cache_dir
    with pytest.raises(SystemExit):
        main(["info", "no_such_model"])
    assert jax.config.jax_compilation_cache_dir == before
