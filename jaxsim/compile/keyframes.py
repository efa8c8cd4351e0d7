"""Keyframes: saved states, completed by the reference configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.compile.names import Names
from jaxsim.enums import JointType
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Document, Element

__all__ = ["compile_keyframes"]

_WHOLE = {"mpos": 3, "mquat": 4}
"""Vectors that are read in blocks of so many numbers."""


@dataclass(eq=False)
class _Key:
    element: Element | None
    name: str
    id: int


def compile_keyframes(document: Document, names: Names, fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of keyframes, and registers their names.

    Args:
        document: the model.
        names: the names.
        fields: the rest of the model.

    Raises:
        MjcfError: a keyframe has more numbers than the model needs.
    """
    section = document.root.find("keyframe")
    elements: list[Element | None] = list(section.children) if section is not None else []
    sizes: Any = document.settings("size")
    elements += [None] * max(0, sizes["nkey"] - len(elements))
    names.add("key", [_Key(e, e.name if e is not None else "", k) for k, e in enumerate(elements)])
    mocap = np.flatnonzero(fields["body_mocapid"] >= 0)
    defaults = {
        "qpos": fields["qpos0"],
        "qvel": np.zeros(fields["nv"]),
        "act": np.zeros(fields["na"]),
        "mpos": fields["body_pos"][mocap].ravel(),
        "mquat": fields["body_quat"][mocap].ravel(),
        "ctrl": np.zeros(fields["nu"]),
    }
    result: dict[str, Any] = {"nkey": len(elements)}
    result["key_time"] = np.array([e.get("time", 0.0) if e is not None else 0.0 for e in elements], float)
    for name, default in defaults.items():
        rows = [_row(element, name, default) for element in elements]
        result[f"key_{name}"] = np.array(rows, float).reshape(len(elements), default.size)
    _normalize(result, fields)
    return result


def _row(element: Element | None, name: str, default: np.ndarray) -> np.ndarray:
    """One vector of a keyframe: what it leaves out at its end, or gives as nan, is the reference.

    Poses of mocap bodies are taken whole: numbers that do not fill one are dropped.
    """
    if element is None or name not in element:
        return default
    values = element[name]
    if values.size > default.size:
        raise element.error(f"expected at most {default.size} numbers, got {values.size}", attribute=name)
    count = values.size - values.size % _WHOLE.get(name, 1)
    row = default.copy()
    row[:count] = np.where(np.isnan(values[:count]), default[:count], values[:count])
    return row


def _normalize(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    """Normalises all quaternions."""
    for type, adr in zip(fields["jnt_type"], fields["jnt_qposadr"], strict=True):
        if type in (JointType.FREE, JointType.BALL):
            start = adr + 3 * (type == JointType.FREE)
            _unit(keys["key_qpos"][:, start : start + 4])
    for k in range(keys["key_mquat"].shape[1] // 4):
        _unit(keys["key_mquat"][:, 4 * k : 4 * k + 4])


def _unit(quats: np.ndarray) -> None:
    norms = np.linalg.norm(quats, axis=1, keepdims=True)
    quats /= np.where(norms > MINVAL, norms, 1.0)
    quats[norms[:, 0] <= MINVAL] = (1.0, 0.0, 0.0, 0.0)
