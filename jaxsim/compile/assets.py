"""Assets of a model by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jaxsim.compile.appearance import Material, compile_material
from jaxsim.compile.hfield import HField, compile_hfield
from jaxsim.compile.mesh.asset import Mesh, compile_mesh
from jaxsim.compile.references import in_tuples
from jaxsim.compile.texture import Texture, compile_texture
from jaxsim.hints import nearest
from jaxsim.mjcf import Document, Element

__all__ = ["Assets", "compile_assets"]


@dataclass(eq=False)
class Assets:
    """Compiled meshes and height fields, textures and materials, in the order of their ids."""

    meshes: list[Mesh] = field(default_factory=list)
    hfields: list[HField] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)

    def mesh(self, element: Element, name: str) -> Mesh:
        """Returns a mesh by name.

        Raises:
            MjcfError: there is none.
        """
        return _find(self.meshes, element, "mesh", name)

    def hfield(self, element: Element, name: str) -> HField:
        """Returns a height field by name.

        Raises:
            MjcfError: there is none.
        """
        return _find(self.hfields, element, "hfield", name)


def _find(items: list[Any], element: Element, kind: str, name: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    raise element.error(
        f"unknown {kind} {name!r}", attribute=kind, suggestion=nearest(name, [item.name for item in items])
    )


def compile_assets(document: Document, hulls: set[str], discard_visual: bool) -> Assets:
    """Compiles all assets.

    Args:
        document: the model.
        hulls: names of the meshes that need a convex hull.
        discard_visual: whether to drop materials and textures, but for those that tuples name.

    Raises:
        MjcfError: a file cannot be read, or an asset is not valid.
    """
    section = document.root.find("asset")
    assets = Assets()
    for element in section.children if section is not None else ():
        name = element.name
        if element.tag == "mesh":
            assets.meshes.append(compile_mesh(document, element, name, len(assets.meshes), name in hulls))
        elif element.tag == "hfield":
            assets.hfields.append(compile_hfield(document, element, name, len(assets.hfields)))
        elif discard_visual and name not in in_tuples(document, element.tag):
            continue
        elif element.tag == "texture":
            assets.textures.append(compile_texture(document, element, name, len(assets.textures)))
        elif element.tag == "material":
            assets.materials.append(compile_material(document, element, len(assets.materials)))
    return assets
