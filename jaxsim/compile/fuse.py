"""Merges static bodies into their parents, and drops what is only seen."""

from __future__ import annotations

from jaxsim.compile.assets import Assets
from jaxsim.compile.bodies import infer_again
from jaxsim.compile.inertia import combine
from jaxsim.compile.parts import Body, Geom
from jaxsim.compile.references import in_tuples, referenced
from jaxsim.compile.scene import Scene
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Document
from jaxsim.mjcf.frames import IDENTITY, accumulate, rotate

__all__ = ["discard_visual", "fuse_static"]


def fuse_static(document: Document, scene: Scene) -> None:
    """Merges bodies without joints into their parents; only those whose names nothing refers to.

    Where bodies of different gravity compensation, or in a medium, would become one, they stay apart: its forces would
    be others. So do those whose inertia would be found anew from all geoms, where bounds or balance have changed it.

    Raises:
        MjcfError: the merged inertia is not positive.
    """
    default = document.compiler["fusestatic"]
    medium = bool(document.option["density"] or document.option["viscosity"])
    fixed = referenced(document, "body") | _loaded_bodies(document, scene)
    for body in scene.bodies[1:]:
        wanted = body.values["fuse"]
        fuse = default if wanted == "auto" else wanted == "true"
        if not fuse or body.joints or body.mocap or (body.name and body.name in fixed):
            continue
        if _adds_mass(body) and (medium or _compensated_differently(body)):
            continue
        if not _loses_correction(body):
            _merge(body)


def _loaded_bodies(document: Document, scene: Scene) -> set[str]:
    """Returns the names of bodies whose interaction force or torque a sensor measures."""
    section = document.root.find("sensor")
    sensors = section.find_all("force", "torque") if section is not None else []
    sites = {sensor.get("site") for sensor in sensors}
    return {site.body.name for site in scene.sites if site.name and site.name in sites}


def _adds_mass(body: Body) -> bool:
    """Whether a body would change the inertia of its parent; that of the world plays no part."""
    parent = body.parent
    return parent is not None and parent.parent is not None and body.mass >= MINVAL


def _compensated_differently(body: Body) -> bool:
    """Whether gravity is compensated by another share for a body than for its parent."""
    parent = body.parent
    return parent is not None and body.values["gravcomp"] != parent.values["gravcomp"]


def _inferred(body: Body) -> bool:
    """Whether the inertia of a body always follows from its geoms; that of the world plays no part."""
    return body.parent is not None and body.settings.inertiafromgeom == "true"


def _loses_correction(body: Body) -> bool:
    """Whether mass or inertia that bounds or balance have changed would be found anew from the geoms of both bodies."""
    parent = body.parent
    assert parent is not None
    anew = _inferred(parent) and (bool(body.geoms) or _adds_mass(body))
    return anew and (body.corrected or parent.corrected)


def _merge(body: Body) -> None:
    parent = body.parent
    assert parent is not None
    inferred = _inferred(parent)
    if _adds_mass(body) and not inferred:
        assert parent.ipos is not None
        assert body.ipos is not None
        ipos, iquat = accumulate(body.pos, body.quat, body.ipos, body.iquat)
        parts = [
            (parent.mass, parent.ipos, parent.iquat, parent.inertia),
            (body.mass, ipos, iquat, body.inertia),
        ]
        try:
            parent.mass, parent.ipos, parent.iquat, parent.inertia = combine(parts)
        except ValueError as error:
            raise body.element.error(f"cannot fuse with the parent: {error}") from None
    for item in (*body.bodies, *body.geoms, *body.sites, *body.cameras):
        item.pos, item.quat = accumulate(body.pos, body.quat, item.pos, item.quat)
    for light in body.lights:
        light.pos = accumulate(body.pos, body.quat, light.pos, IDENTITY)[0]
        light.dir = rotate(light.dir, body.quat)
    place = parent.bodies.index(body)
    parent.bodies[place : place + 1] = body.bodies
    for child in body.bodies:
        child.parent = parent
    for name in ("geoms", "sites", "cameras", "lights"):
        items = getattr(body, name)
        for item in items:
            item.body = parent
        getattr(parent, name).extend(items)
    if inferred:  # what the body's `inertial` said is lost, as its parent's is
        infer_again(parent)


def discard_visual(document: Document, scene: Scene, assets: Assets) -> None:
    """Drops geoms that are only seen and that nothing refers to, and meshes that no geom left uses, site or tuple."""
    used = referenced(document, "geom")
    kept = _tactile(document) | in_tuples(document, "mesh")
    for body in scene.bodies:
        body.geoms = [
            geom for geom in body.geoms if not _only_seen(geom) or (geom.name and geom.name in used)
        ]
        kept |= {item.values["mesh"] for item in (*body.geoms, *body.sites)}
    assets.meshes = [mesh for mesh in assets.meshes if mesh.name in kept]
    for index, mesh in enumerate(assets.meshes):
        mesh.id = index


def _only_seen(geom: Geom) -> bool:
    """Whether a geom neither collides by its own bits nor feels the medium as an ellipsoid."""
    return geom.visual and not any(geom.fluid)


def _tactile(document: Document) -> set[str]:
    section = document.root.find("sensor")
    return {sensor["mesh"] for sensor in section.find_all("tactile")} if section is not None else set()
