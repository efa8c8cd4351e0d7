"""Geoms: pose, size, mass and bounds."""

from __future__ import annotations

from jaxsim.compile import fluid, shapes
from jaxsim.compile.assets import Assets
from jaxsim.compile.orientation import orientation
from jaxsim.compile.parts import Body, Geom
from jaxsim.compile.sites import check_size, from_ends
from jaxsim.enums import GeomType
from jaxsim.mjcf.frames import EPS, accumulate, conjugate, cross, rotate

__all__ = ["compile_geom"]

_MESHES = (GeomType.MESH, GeomType.SDF)


def compile_geom(assets: Assets, geom: Geom, massive: bool) -> None:
    """Completes a geom.

    Args:
        assets: its compiled meshes and height fields.
        geom: the part.
        massive: whether the geom contributes to its body's inertia.

    Raises:
        MjcfError: the geom is not valid.
    """
    element, values = geom.element, geom.values
    geom.type = GeomType[values["type"].upper()]
    if values["condim"] not in (1, 3, 4, 6):
        raise element.error("expected 1, 3, 4 or 6", attribute="condim")
    _references(assets, geom)
    if geom.type == GeomType.PLANE and not _static(geom.body):
        raise element.error("a plane cannot move: it is allowed only in static bodies", attribute="type")
    geom.visual = not values["contype"] and not values["conaffinity"]
    geom.size = tuple(values["size"].tolist())
    geom.surfacevel = tuple(values["surfacevel"].tolist())
    if values["fromto"] is not None:
        if geom.mesh is not None:
            raise element.error("a mesh has no two ends", attribute="fromto")
        geom.pos, geom.quat, geom.size = from_ends(geom)
    else:
        geom.pos = tuple(values["pos"].tolist())
        geom.quat = orientation(element, values, geom.settings)
    if geom.mesh is not None:
        _place_mesh(geom)
    check_size(geom)
    _bounds(assets, geom)
    if massive:
        _mass(geom)
    if values["fluidshape"] == "ellipsoid":
        geom.fluid = fluid.coefficients(geom.type, geom.size, values["fluidcoef"].tolist())
    if geom.frame is not None:
        geom.pos, geom.quat = accumulate(*geom.frame, geom.pos, geom.quat)


def _static(body: Body) -> bool:
    weld = body.weld
    return weld is not None and (weld.parent is None or weld.mocap)


def _references(assets: Assets, geom: Geom) -> None:
    """Finds mesh, height field and material."""
    element, values = geom.element, geom.values
    geom.material = values["material"] or ""
    if values["mesh"]:
        geom.mesh = assets.mesh(element, values["mesh"])
        geom.material = geom.material or geom.mesh.material
    elif geom.type in _MESHES:
        raise element.error("a mesh geom needs the name of a mesh", attribute="mesh")
    if values["hfield"]:
        geom.hfield = assets.hfield(element, values["hfield"]).id
    if (geom.type == GeomType.HFIELD) != (geom.hfield >= 0):
        raise element.error(
            "a height field geom, and only such a geom, needs a height field", attribute="hfield"
        )


def _place_mesh(geom: Geom) -> None:
    """Moves the geom's frame to the mesh's own, and fits a primitive if the geom is one."""
    mesh = geom.mesh
    assert mesh is not None
    center = (0.0, 0.0, 0.0)
    if geom.type not in _MESHES:
        center, size = mesh.fit(geom.type, geom.size, geom.settings.fitaabb)
        scale = geom.values["fitscale"]
        geom.size = tuple(s * scale for s in size)
        geom.mesh = None
    elif geom.values["shellinertia"]:
        raise geom.element.error("the mesh asset says how its inertia is computed", attribute="shellinertia")
    shift = rotate(center, mesh.quat)
    pos = (shift[0] + mesh.pos[0], shift[1] + mesh.pos[1], shift[2] + mesh.pos[2])
    geom.pos, geom.quat = accumulate(geom.pos, geom.quat, pos, mesh.quat)
    if any(geom.surfacevel):
        linear, angular = geom.surfacevel[:3], geom.surfacevel[3:]
        extra = cross(angular, pos)
        back = conjugate(mesh.quat)
        moved = rotate([a + b for a, b in zip(linear, extra, strict=True)], back)
        geom.surfacevel = (*moved, *rotate(angular, back))


def _bounds(assets: Assets, geom: Geom) -> None:
    """Bounding box and sphere; the size of a mesh or height field follows from its data."""
    if geom.type == GeomType.HFIELD:
        width, depth, height, base = assets.hfields[geom.hfield].size
        geom.size = (width, depth, 0.25 * height + 0.5 * base)
        geom.aabb = (0.0, 0.0, (height - base) / 2, width, depth, (height + base) / 2)
        geom.rbound = (width**2 + depth**2 + max(height**2, base**2)) ** 0.5
    elif geom.mesh is not None:
        low, high = geom.mesh.box
        geom.size = reach = geom.mesh.reach
        center = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        half = [(b - a) / 2 for a, b in zip(low, high, strict=True)]
        geom.aabb = (*center, *half)
        geom.rbound = (reach[0] ** 2 + reach[1] ** 2 + reach[2] ** 2) ** 0.5
    else:
        geom.aabb = shapes.bounding_box(geom.type, geom.size)
        geom.rbound = shapes.bounding_radius(geom.type, geom.size)


def _mass(geom: Geom) -> None:
    """Mass and principal moments, from the mass if it is given, else from the density."""
    values = geom.values
    mass, density = values["mass"], values["density"]
    shell = values["shellinertia"]
    extent = geom.mesh.volume if geom.mesh is not None else shapes.extent(geom.type, geom.size, shell)
    if mass is not None and mass != 0:
        geom.mass = mass if extent > EPS else 0.0
    elif mass is None and density != 0:
        geom.mass = density * extent
    if geom.mass:
        if geom.mesh is not None:
            geom.inertia = shapes.moments(GeomType.BOX, geom.mesh.inertia_box, geom.mass, shell=False)
        else:
            geom.inertia = shapes.moments(geom.type, geom.size, geom.mass, shell)
    if geom.mass < 0 or min(geom.inertia) < 0 or density < 0:
        raise geom.element.error(
            "mass, density and inertia cannot be negative", attribute="density" if mass is None else "mass"
        )
