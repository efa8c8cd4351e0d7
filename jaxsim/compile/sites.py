"""Sites, and the `fromto` form that sites and geoms share."""

from __future__ import annotations

from jaxsim.compile.assets import Assets
from jaxsim.compile.orientation import orientation
from jaxsim.compile.parts import Geom, Site
from jaxsim.compile.shapes import SIZES
from jaxsim.enums import GeomType
from jaxsim.mjcf.frames import EPS, Quat, Vec3, accumulate, from_zaxis, normalize

__all__ = ["check_size", "compile_site", "from_ends"]

_LONG = (GeomType.CAPSULE, GeomType.CYLINDER, GeomType.ELLIPSOID, GeomType.BOX)
_NO_SITE = (GeomType.HFIELD, GeomType.PLANE)


def compile_site(assets: Assets, site: Site) -> None:
    """Completes a site.

    Args:
        assets: the model's compiled meshes.
        site: the part.

    Raises:
        MjcfError: the site is not valid.
    """
    element, values = site.element, site.values
    site.type = GeomType[values["type"].upper()]
    if site.type in _NO_SITE:
        raise element.error("a site cannot be a height field or plane", attribute="type")
    if (site.type == GeomType.MESH) != bool(values["mesh"]):
        raise element.error("a mesh site, and only such a site, needs a mesh", attribute="mesh")
    site.size = tuple(values["size"].tolist())
    if values["fromto"] is not None:
        site.pos, site.quat, site.size = from_ends(site)
    else:
        site.pos = tuple(values["pos"].tolist())
        site.quat = orientation(element, values, site.settings)
    if site.frame is not None:
        site.pos, site.quat = accumulate(*site.frame, site.pos, site.quat)
    site.material = values["material"] or ""
    if values["mesh"]:
        site.mesh = assets.mesh(element, values["mesh"])
        site.size = site.mesh.reach
        site.material = site.material or site.mesh.material
    check_size(site)


def from_ends(item: Geom | Site) -> tuple[Vec3, Quat, Vec3]:
    """Returns position, orientation and size of a geom or site given by the two ends of its axis.

    Raises:
        MjcfError: the type has no axis, the ends coincide, or `pos` is given too.
    """
    element, size = item.element, item.size
    if item.type not in _LONG:
        raise element.error("only a capsule, cylinder, ellipsoid or box has two ends", attribute="fromto")
    if item.values["pos"].any():
        raise element.error("give either pos or fromto", attribute="fromto")
    ends = item.values["fromto"].tolist()
    axis, length = normalize([ends[k] - ends[k + 3] for k in range(3)])
    if length / 2 < EPS:
        raise element.error("the two points are too close", attribute="fromto")
    if item.type in (GeomType.ELLIPSOID, GeomType.BOX):
        size = (size[0], size[0], length / 2)
    else:
        size = (size[0], length / 2, size[2])
    center = ((ends[0] + ends[3]) / 2, (ends[1] + ends[4]) / 2, (ends[2] + ends[5]) / 2)
    return center, from_zaxis(axis), size


def check_size(item: Geom | Site) -> None:
    """Checks that a geom or site has the sizes that its type needs.

    Raises:
        MjcfError: a size is missing, not positive, or not a number.
    """
    if any(x != x for x in item.size):
        raise item.element.error("expected numbers, got nan", attribute="size")
    if item.type == GeomType.PLANE:
        if item.size[2] <= 0:
            raise item.element.error(
                "size[2] of a plane, its grid spacing, must be positive", attribute="size"
            )
        return
    for k in range(SIZES[item.type]):
        if item.size[k] <= 0:
            kind = item.type.name.lower()
            raise item.element.error(f"a {kind} needs size[{k}] > 0", attribute="size")
