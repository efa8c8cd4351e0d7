"""One mesh asset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxsim.compile.frames import Quat, Vec3
from jaxsim.enums import GeomType
from jaxsim.mjcf import Element, Spec

__all__ = ["Mesh", "compile_mesh"]


@dataclass(eq=False)
class Mesh:
    element: Element
    name: str
    id: int
    pos: Vec3
    quat: Quat
    volume: float
    inertia_box: Vec3
    box: tuple[Vec3, Vec3]
    material: str
    nvert: int

    def fit(self, type: GeomType, to_box: bool) -> tuple[Vec3, Vec3]:
        raise NotImplementedError


def compile_mesh(spec: Spec, element: Element, name: str, index: int, hull: bool) -> Mesh:
    raise element.error("meshes are not built yet")


def mesh_fields(meshes: list[Mesh]) -> dict[str, Any]:
    return {"nmesh": 0}
