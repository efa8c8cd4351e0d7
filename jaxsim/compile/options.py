"""Simulation options and their flags."""

from __future__ import annotations

from typing import Any

from jaxsim.enums import ConeType, DisableBit, EnableBit, IntegratorType, JacobianType, SolverType
from jaxsim.mjcf import Document
from jaxsim.mjcf.schema import landing

__all__ = ["compile_options"]


def compile_options(document: Document) -> dict[str, Any]:
    """Returns the fields of Option."""
    option: Any = document.settings("option")
    flag: Any = document.settings("option/flag")
    fields: dict[str, Any] = {name: option[a.name] for name, a in landing("option", "opt.").items()}
    fields["integrator"] = int(IntegratorType[option["integrator"].upper()])
    fields["cone"] = int(ConeType[option["cone"].upper()])
    fields["solver"] = int(SolverType[option["solver"].upper()])
    fields["jacobian"] = int(JacobianType[option["jacobian"].upper()])
    fields["disableflags"] = sum(int(bit) for bit in DisableBit if flag[str(bit.name).lower()] == "disable")
    fields["enableflags"] = sum(int(bit) for bit in EnableBit if flag[str(bit.name).lower()] == "enable")
    groups = option["actuatorgroupdisable"]
    fields["disableactuator"] = sum(1 << group for group in set(groups.tolist())) if groups is not None else 0
    return fields
