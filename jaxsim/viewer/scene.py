"""What there is to draw in a model: parts with their meshes and looks, lights and the sky, for every viewer.

Made once a model; where the parts are is the affair of `jaxsim.viewer.poses`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxsim.enums import GeomType, ObjType
from jaxsim.model import Model
from jaxsim.viewer.shapes import Mesh, model_hfield, model_mesh, plane, primitive
from jaxsim.viewer.texture import Texture, textures
from jaxsim.visual import Visual

__all__ = ["GROUPS", "Lights", "Look", "Part", "Scene", "colour", "make_scene"]

GROUPS = (0, 1, 2)
"""Groups of geoms, sites and tendons that are shown unless one asks for others, as in the C engine's viewer."""

_UNBOUNDED = 25.0
"""Half the side of a plane without end, in extents of the model."""

_PLAIN = np.array([0.5, 0.5, 0.5, 1.0])
"""The colour of an element that has none of its own, for which its material's counts."""

_ROLES = (1, 8)
"""Places of a material's textures that hold colours: RGB, RGBA (mjtTextureRole)."""

_MIRRORS = (GeomType.PLANE, GeomType.BOX)
"""Shapes of which a material's `reflectance` makes mirrors; the others ignore it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Look:
    """What a surface looks like (XML reference, "asset/material").

    Attributes:
        rgba: Colour, `(4,)`, in [0, 1].
        texture: Image that multiplies the colour.
        emission: Part of its colour that it emits.
        specular: Strength of highlights.
        shininess: Their sharpness, in [0, 1].
        reflectance: Part of the colour that is a mirror's; planes and boxes only.
    """

    rgba: np.ndarray
    texture: Texture | None = None
    emission: float = 0.0
    specular: float = 0.5
    shininess: float = 0.5
    reflectance: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """A geom or a site.

    Attributes:
        kind: `ObjType.GEOM` or `ObjType.SITE`.
        id: Its number in the model.
        body: The body it is fixed to.
        name: Its name, or its kind and number.
        group: Its group.
        mesh: In its own frame.
        look: Of its surface.
        flat: Whether it is a plane, seen from above alone.
    """

    kind: ObjType
    id: int
    body: int
    name: str
    group: int
    mesh: Mesh
    look: Look
    flat: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Lights:
    """Lights, by columns; colours `(n, 3)`. Places and directions are those of a frame (`poses.Moment`).

    Attributes:
        id: In the model, `(n,)`.
        directional: Whether light comes from infinity, `(n,)`.
        shadow: Whether it casts shadows, `(n,)`.
        cutoff: Half the angle of a spot light's cone, degrees, `(n,)`; 180 for a light to all sides.
        exponent: How fast a spot light falls off from its axis, `(n,)`.
        attenuation: Constant, linear and quadratic, `(n, 3)`.
        ambient: In [0, 1].
        diffuse: In [0, 1].
        specular: In [0, 1].
    """

    id: np.ndarray
    directional: np.ndarray
    shadow: np.ndarray
    cutoff: np.ndarray
    exponent: np.ndarray
    attenuation: np.ndarray
    ambient: np.ndarray
    diffuse: np.ndarray
    specular: np.ndarray

    def none(self) -> Lights:
        """The same with all of them off, so that there is but the sun."""
        return Lights(*(getattr(self, field.name)[:0] for field in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """All that does not move in the pictures of a model.

    Attributes:
        parts: Geoms and sites that are not wholly transparent, of all groups.
        lights: Those that are on.
        sky: Texture of the sky.
        extent: Size of the model, m.
        center: Its centre at qpos0, m, world frame.
        horizon: Whether there is a plane without end.
        vis: The model's `vis`: headlight, free camera, haze.
    """

    parts: tuple[Part, ...]
    lights: Lights
    sky: Texture | None
    extent: float
    center: np.ndarray
    horizon: bool
    vis: Visual


def make_scene(model: Model) -> Scene:
    """The parts, lights and sky of a model."""
    images = textures(model)
    extent, center = float(model.stat.extent), np.asarray(model.stat.center, float)
    meshes: dict[Any, Mesh] = {}
    parts = []
    for kind, count, name in ((ObjType.GEOM, model.ngeom, "geom"), (ObjType.SITE, model.nsite, "site")):
        fields = {
            k: np.asarray(getattr(model, f"{name}_{k}"))
            for k in ("type", "size", "dataid", "matid", "rgba", "group", "bodyid")
        }
        for i in range(count):
            shape, size = int(fields["type"][i]), fields["size"][i].astype(float)
            look, repeat, uniform = _look(
                model, int(fields["matid"][i]), fields["rgba"][i].astype(float), images, shape
            )
            shapeless = shape == GeomType.SDF and fields["dataid"][i] < 0  # a site: C does not draw it
            if look.rgba[3] <= 0 or shapeless:
                continue
            key = (shape, int(fields["dataid"][i]), tuple(size))
            if key not in meshes:
                meshes[key] = _mesh(model, *key[:2], size, extent)
            mesh = _mapped(meshes[key], look.texture, repeat, uniform, shape, size)
            parts.append(
                Part(
                    kind=kind,
                    id=i,
                    body=int(fields["bodyid"][i]),
                    name=model.name(kind, i) or f"{name} {i}",
                    group=int(fields["group"][i]),
                    mesh=mesh,
                    look=look,
                    flat=shape == GeomType.PLANE,
                )
            )
    sky = next((image for image in images if image.kind == 2), None)
    endless = (np.asarray(model.geom_size)[:, :2] <= 0).any(1) & (
        np.asarray(model.geom_type) == GeomType.PLANE
    )
    return Scene(tuple(parts), _lights(model), sky, extent, center, bool(endless.any()), model.vis)


def _look(
    model: Model, material: int, rgba: np.ndarray, images: list[Texture], shape: int
) -> tuple[Look, np.ndarray, bool]:
    """The look of an element of a shape, and how often its texture repeats: in all, or for each unit of length."""
    if material < 0:
        return Look(rgba), np.ones(2), False
    found = [int(model.mat_texid[material, role]) for role in _ROLES]
    texture = next((images[t] for t in found if t >= 0), None)
    numbers = {
        name: float(getattr(model, f"mat_{name}")[material])
        for name in ("emission", "specular", "shininess", "reflectance")
    }
    numbers["reflectance"] *= shape in _MIRRORS
    look = Look(colour(model, material, rgba), texture, **numbers)
    return look, np.asarray(model.mat_texrepeat[material], float), bool(model.mat_texuniform[material])


def colour(model: Model, material: int, rgba: np.ndarray) -> np.ndarray:
    """Colour `(4,)` of an element: its material's, if it has one and no colour of its own."""
    own = material < 0 or not np.allclose(rgba, _PLAIN)
    return rgba if own else np.asarray(model.mat_rgba[material], float)


def _mesh(model: Model, shape: int, asset: int, size: np.ndarray, extent: float) -> Mesh:
    if shape == GeomType.PLANE:
        far = _UNBOUNDED * max(extent, 1.0)
        return plane(*(s if s > 0 else far for s in size[:2]))
    if shape == GeomType.HFIELD:
        return model_hfield(model, asset)
    if shape in (GeomType.MESH, GeomType.SDF):
        return model_mesh(model, asset)
    return primitive(shape, size)


def _mapped(
    mesh: Mesh, texture: Texture | None, repeat: np.ndarray, uniform: bool, shape: int, size: np.ndarray
) -> Mesh:
    """The mesh with the texture coordinates that a material asks for."""
    if texture is None:
        return mesh
    reach = np.abs(mesh.vertices).max(0)
    if texture.kind:
        return dataclasses.replace(
            mesh, uv=mesh.vertices if uniform else mesh.vertices / np.maximum(reach, 1e-9)
        )
    if mesh.has_uv:
        return mesh
    if shape in (GeomType.MESH, GeomType.SDF):  # without coordinates of its own: seen from above
        flat = mesh.vertices[:, :2] * [1, -1] / (1 if uniform else np.maximum(reach[:2], 1e-9))
        return dataclasses.replace(mesh, uv=(flat + 1) / 2 * repeat)
    if shape == GeomType.PLANE:
        side = np.where(size[:2] > 0, 1 if uniform else size[:2], 1)
        return dataclasses.replace(mesh, uv=(mesh.vertices[:, :2] * [1, -1] / side + 1) / 2 * repeat)
    return dataclasses.replace(mesh, uv=mesh.uv * repeat * (np.maximum(size[:2], 1e-9) if uniform else 1))


def _lights(model: Model) -> Lights:
    on = np.flatnonzero(np.asarray(model.light_active))
    column = lambda name: np.asarray(getattr(model, f"light_{name}"), float)[on]  # noqa: E731
    kind = np.asarray(model.light_type)[on]
    return Lights(
        id=on,
        directional=kind == 1,
        shadow=column("castshadow") > 0,
        cutoff=np.where(kind == 0, column("cutoff"), 180.0),
        exponent=column("exponent"),
        attenuation=column("attenuation"),
        ambient=column("ambient"),
        diffuse=column("diffuse"),
        specular=column("specular"),
    )
