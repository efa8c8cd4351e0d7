"""Pulls actuators towards their shortest and longest lengths (MJCF reference, compiler/lengthrange).

Each actuator has two worlds, one for each direction. The force along its moment arms gives a constant acceleration;
limits and couplings act, while gravity, springs, damping, friction loss, contacts and actuators do not. The velocity
decays, so that the motion ends at an extreme length, which is measured over the last seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.kinematics import Fields
from jaxsim.compile.lengthrange.simulation import Simulation
from jaxsim.enums import BiasType, GainType, TrnType
from jaxsim.math.constants import MAXVAL
from jaxsim.mjcf import Element

__all__ = ["set_length_ranges"]


def set_length_ranges(fields: Fields, settings: Any, elements: list[Element]) -> None:
    """Fills in the length ranges that the model does not give and that the settings ask for.

    Args:
        fields: the model; `actuator_lengthrange` is changed.
        settings: attributes of `compiler/lengthrange`.
        elements: the actuators' elements, for errors.

    Raises:
        MjcfError: a simulation does not settle, or needs a feature that is not built.
    """
    wanted = [i for i in range(fields["nactuator"]) if _wanted(fields, settings, i)]
    wanted = [i for i in wanted if not _from_limits(fields, settings, i)]
    if not wanted:
        return
    simulation = Simulation(fields, settings, wanted)
    lengths = np.split(_simulate(settings, simulation, [elements[i] for i in wanted]), 2)
    for i, low, high in zip(wanted, *lengths, strict=True):
        shortest, longest = low.min(), high.max()
        gap = longest - shortest
        if gap <= 0:
            raise elements[i].error("its length does not change; give lengthrange", attribute="lengthrange")
        if max(np.ptp(low), np.ptp(high)) > settings["tolrange"] * gap:
            raise elements[i].error(
                "the simulation of its length range does not settle; give lengthrange, or limit its joints",
                attribute="lengthrange",
            )
        fields["actuator_lengthrange"][fields["actuator_outadr"][i]] = (shortest, longest)


def _wanted(f: Fields, settings: Any, i: int) -> bool:
    muscle = f["actuator_gaintype"][i] == GainType.MUSCLE or f["actuator_biastype"][i] == BiasType.MUSCLE
    user = f["actuator_gaintype"][i] == GainType.USER or f["actuator_biastype"][i] == BiasType.USER
    chosen = {"none": False, "muscle": muscle, "muscleuser": muscle or user, "all": True}[settings["mode"]]
    low, high = f["actuator_lengthrange"][f["actuator_outadr"][i]]
    return chosen and not (settings["useexisting"] and low < high)


def _from_limits(f: Fields, settings: Any, i: int) -> bool:
    """Takes the limits of the joint or tendon, if the settings want that and there are any."""
    if not settings["uselimit"]:
        return False
    type, target = f["actuator_trntype"][i], f["actuator_trnid"][i, 0]
    kind = (
        "jnt"
        if type in (TrnType.JOINT, TrnType.JOINTINPARENT)
        else "tendon"
        if type == TrnType.TENDON
        else ""
    )
    if not kind or not f[f"{kind}_limited"][target]:
        return False
    f["actuator_lengthrange"][f["actuator_outadr"][i]] = f[f"{kind}_range"][target]
    return True


def _simulate(settings: Any, simulation: Simulation, elements: list[Element]) -> np.ndarray:
    """Returns the lengths (W, samples) over the last seconds.

    Args:
        settings: attributes of `compiler/lengthrange`.
        simulation: of W worlds, two for each actuator.
        elements: the actuators' elements.
    """
    time, samples = 0.0, []
    while time < settings["inttotal"]:
        length = simulation.step()
        stable = (np.abs(simulation.qvel) < MAXVAL).all(1)
        if not stable.all():
            raise elements[int(np.argmin(stable)) % len(elements)].error(
                "the simulation of its length range is unstable; give lengthrange"
            )
        time += simulation.step_size
        if time > settings["inttotal"] - settings["interval"]:
            samples.append(length)
    return np.array(samples).T
