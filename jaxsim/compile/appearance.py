"""Materials: what a viewer needs to draw surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxsim.compile.columns import columns, landed
from jaxsim.compile.names import Names
from jaxsim.mjcf import Document, Element

__all__ = ["Material", "compile_material", "material_fields"]

_ROLES = ["user", "rgb", "occlusion", "roughness", "metallic", "normal", "opacity", "emissive", "rgba", "orm"]


@dataclass(eq=False)
class Material:
    """A material; `textures` are names by role, with the element that gives them."""

    element: Element
    values: Any
    name: str
    id: int
    textures: dict[int, tuple[str, Element]]


def compile_material(document: Document, element: Element, index: int) -> Material:
    """Reads one material.

    Raises:
        MjcfError: it has no name.
    """
    if not element.name:
        raise element.error("a material needs a name", attribute="name")
    textures: dict[int, tuple[str, Element]] = {}
    for source in (*document.default_chain(element), element):
        if source.get("texture"):
            textures[_ROLES.index("rgb")] = (source["texture"], element)
        for layer in source.find_all("layer"):
            textures[_ROLES.index(layer["role"])] = (layer["texture"], layer)
    return Material(element, document.resolve(element), element.name, index, textures)


def material_fields(materials: list[Material], names: Names) -> dict[str, Any]:
    """Returns the fields of all materials.

    Raises:
        MjcfError: a texture is unknown.
    """
    texid = []
    for material in materials:
        row = [-1] * len(_ROLES)
        for role, (texture, element) in material.textures.items():
            row[role] = names.id("texture", texture, element, "texture")
        texid.append(row)
    rows: dict[str, list[Any]] = {
        **landed("material", "mat_", [material.values for material in materials]),
        "mat_texid": texid,
    }
    return {"nmat": len(materials), **columns(rows)}
