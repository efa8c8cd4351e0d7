"""Inertias written out, where models that were put together infer theirs by rules of their own."""

from __future__ import annotations

from typing import Any, TypeVar

from jaxsim.compile.assemble import meshes_with_hulls
from jaxsim.compile.assets import compile_assets
from jaxsim.compile.bodies import compile_inertia
from jaxsim.compile.parts import Body
from jaxsim.compile.scene import build_scene
from jaxsim.mjcf import Document

__all__ = ["with_inertials"]

_RULES = ("inertiafromgeom", "inertiagrouprange", "boundmass", "boundinertia", "balanceinertia")
"""Attributes of `compiler` by which bodies get their inertia."""

_D = TypeVar("_D", bound=Document)


def with_inertials(document: _D) -> _D:
    """A model whose text needs one compiler element: a copy with an `inertial` for each body, if rules differ.

    Raises:
        MjcfError: a body, a geom or a mesh is not valid.
    """
    scene = build_scene(document)
    if (
        len({_rules(body) for body in scene.bodies if body.parent is not None} | {_rules(scene.bodies[0])})
        == 1
    ):
        return document
    copy = document.copy()
    scene = build_scene(copy)
    assets = compile_assets(copy, meshes_with_hulls(copy, scene), bool(copy.compiler["discardvisual"]))
    for body in scene.bodies:
        compile_inertia(copy, assets, body)
        if body.mass > 0 or any(body.inertia):
            _write(body)
    for name in _RULES:
        copy.compiler_element.attrib.pop(name, None)
    return copy


def _rules(body: Body) -> tuple[Any, ...]:
    return tuple(getattr(body.settings, name) for name in _RULES)


def _write(body: Body) -> None:
    """Puts an `inertial` with the numbers of a body in place of the one it has."""
    if body.inertial is not None:
        assert body.inertial.parent is not None
        body.inertial.parent.children.remove(body.inertial)
    written = body.element.new("inertial", 0, pos=body.ipos, quat=body.iquat, mass=body.mass)
    written["diaginertia"] = body.inertia
    written.scope = body.element.scope
