"""Warnings in words."""

import jax.numpy as jnp

import jaxsim
from jaxsim import WarningBit, explain


def test_every_bit_has_a_sentence_and_a_remedy():
    for bit in WarningBit:
        line = explain(bit)
        assert line.startswith(f"{bit.name}: ")
        assert "Remedy: " in line


def test_counts_worlds():
    warning = jnp.array([0, WarningBit.BAD_CTRL, WarningBit.BAD_CTRL | WarningBit.NOT_CONVERGED])
    text = explain(warning).splitlines()
    assert text[0].startswith("BAD_CTRL (in 2 of 3 worlds): ")
    assert text[1].startswith("NOT_CONVERGED (in 1 of 3 worlds): ")


def test_of_data():
    data = jaxsim.make_data(jaxsim.load_model("<mujoco/>"))
    assert explain(data.replace(warning=int(WarningBit.BAD_CTRL))).startswith("BAD_CTRL: ")


def test_no_warning():
    assert explain(0) == "no warnings"


def test_is_lost():
    """What ends an episode: bits of a state that was no longer finite, not those of a bad control."""
    warning = jnp.array(
        [0, WarningBit.BAD_CTRL, WarningBit.BAD_QACC, WarningBit.BAD_QPOS | WarningBit.BAD_CTRL]
    )
    assert jaxsim.is_lost(warning).tolist() == [False, False, True, True]
    assert not jaxsim.is_lost(0)
