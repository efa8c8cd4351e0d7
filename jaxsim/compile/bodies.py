"""Bodies: pose, mass and inertial frame."""

from __future__ import annotations

from typing import Any

from jaxsim.compile.assets import Assets
from jaxsim.compile.cameras_lights import compile_camera, compile_light
from jaxsim.compile.geoms import compile_geom
from jaxsim.compile.inertia import combine, principal_axes
from jaxsim.compile.joints import compile_joint
from jaxsim.compile.orientation import orientation
from jaxsim.compile.parts import Body
from jaxsim.compile.scene import Scene
from jaxsim.compile.sites import compile_site
from jaxsim.enums import JointType
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Document
from jaxsim.mjcf.frames import EPS, IDENTITY, ORIGIN, accumulate, invert, rotate

__all__ = [
    "align_free",
    "check_moving_masses",
    "check_places",
    "compile_body",
    "compile_inertia",
    "infer_again",
]


def compile_body(document: Document, assets: Assets, body: Body) -> None:
    """Completes a body and everything it holds.

    Raises:
        MjcfError: the body, or something in it, is not valid.
    """
    compile_inertia(document, assets, body)
    if body.frame is not None:
        body.pos, body.quat = accumulate(*body.frame, body.pos, body.quat)
    for joint in body.joints:
        compile_joint(joint)
    _check_joints(body)
    for site in body.sites:
        compile_site(assets, site)
    for camera in body.cameras:
        compile_camera(document, camera)
    for light in body.lights:
        compile_light(light)


def align_free(scene: Scene) -> None:
    """Gives free bodies that ask for it the frame of their principal axes; those that carry no other body.

    Static bodies have been fused by then: what they brought belongs to the free body.
    """
    for body in scene.bodies:
        if _aligned(body):
            _align(body)


def compile_inertia(document: Document, assets: Assets, body: Body) -> None:
    """Finds pose, geoms and inertial frame of a body, apart from frame elements around it.

    Raises:
        MjcfError: the body or a geom is not valid.
    """
    values, settings, world = body.values, body.settings, body.parent is None
    if not world:
        body.pos = tuple(values["pos"].tolist())
        body.quat = orientation(body.element, values, settings)
    _given_inertia(document, body)
    low, high = settings.inertiagrouprange
    inferred = not world and (not body.explicit or settings.inertiafromgeom == "true")
    for geom in body.geoms:
        compile_geom(assets, geom, inferred and low <= geom.values["group"] <= high)
    if inferred and (settings.inertiafromgeom != "false"):
        _inertia_from_geoms(body)
    if body.ipos is None:
        body.ipos, body.iquat = body.pos, body.quat
    if not world:
        _bound_inertia(body)


def infer_again(body: Body) -> None:
    """Finds the inertial frame of a body that got geoms of another; it stays if none has mass.

    Raises:
        MjcfError: the inertia is not that of a rigid body.
    """
    _inertia_from_geoms(body)
    _bound_inertia(body)


def _given_inertia(document: Document, body: Body) -> None:
    """Reads the `inertial` element."""
    element = body.inertial
    if element is None:
        return
    values: Any = document.resolve(element)
    body.ipos = tuple(values["pos"].tolist())
    body.mass = values["mass"]
    body.iquat = orientation(element, values, body.settings)
    diagonal, full = values["diaginertia"], values["fullinertia"]
    if diagonal is not None:
        body.inertia = tuple(diagonal.tolist())
    if full is not None:
        if any(body.inertia):
            raise element.error("give either diaginertia or fullinertia", attribute="fullinertia")
        try:
            body.iquat, body.inertia = principal_axes(full.tolist())
        except ValueError as error:
            raise element.error(str(error), attribute="fullinertia") from None
    if body.inertial_frame is not None:
        body.ipos, body.iquat = accumulate(*body.inertial_frame, body.ipos, body.iquat)


def _inertia_from_geoms(body: Body) -> None:
    """Computes the inertial frame from the geoms that have mass, if there are any."""
    geoms = [geom for geom in body.geoms if geom.mass > EPS]
    if len(geoms) == 1:
        (geom,) = geoms
        body.ipos, body.iquat, body.mass, body.inertia = geom.pos, geom.quat, geom.mass, geom.inertia
    elif geoms:
        try:
            body.mass, body.ipos, body.iquat, body.inertia = combine(
                (geom.mass, geom.pos, geom.quat, geom.inertia) for geom in geoms
            )
        except ValueError as error:
            raise body.element.error(f"cannot combine the inertia of the geoms: {error}") from None


def _bound_inertia(body: Body) -> None:
    """Applies the compiler's lower bounds, and checks that a rigid body can have these moments."""
    settings, element = body.settings, body.inertial or body.element
    found = body.mass, body.inertia
    body.mass = max(body.mass, settings.boundmass)
    a, b, c = (max(moment, settings.boundinertia) for moment in body.inertia)
    if body.mass < 0 or min(a, b, c) < 0:
        raise element.error("mass and inertia cannot be negative")
    if a + b < c or a + c < b or b + c < a:
        if not settings.balanceinertia:
            raise element.error(
                "inertia must satisfy A + B >= C; correct it, or set compiler balanceinertia to true"
            )
        a = b = c = (a + b + c) / 3.0
    body.inertia = (a, b, c)
    body.corrected = (body.mass, body.inertia) != found


def _check_joints(body: Body) -> None:
    element, types = body.element, [joint.type for joint in body.joints]
    if JointType.FREE in types and len(types) > 1:
        raise element.error("a free joint can only appear by itself")
    if body.dofnum > 6:
        raise element.error("a body has at most 6 degrees of freedom")
    if JointType.BALL in types:
        after = types[types.index(JointType.BALL) + 1 :]
        if JointType.BALL in after or JointType.HINGE in after:
            raise element.error("no rotation can follow a ball joint in the same body")
    if body.mocap and (types or body.parent is None or body.parent.parent is not None):
        raise element.error("a mocap body must be a child of the world, without joints", attribute="mocap")


def _aligned(body: Body) -> bool:
    """Whether a free body takes the frame of its principal axes."""
    if len(body.joints) != 1 or body.bodies:
        return False
    (joint,) = body.joints
    if joint.type != JointType.FREE:
        return False
    return joint.align == "true" or (joint.align == "auto" and body.settings.alignfree)


def _align(body: Body) -> None:
    assert body.ipos is not None
    pos, quat = invert(body.ipos, body.iquat)
    body.pos, body.quat = accumulate(body.pos, body.quat, body.ipos, body.iquat)
    body.ipos, body.iquat = ORIGIN, IDENTITY
    for item in (*body.geoms, *body.sites, *body.cameras):
        item.pos, item.quat = accumulate(pos, quat, item.pos, item.quat)
    for light in body.lights:
        light.pos = accumulate(pos, quat, light.pos, IDENTITY)[0]
        light.dir = rotate(light.dir, quat)


def check_places(scene: Scene) -> None:
    """Checks that bodies with free joints are children of the world, once static bodies are fused.

    Raises:
        MjcfError: one is not.
    """
    for body in scene.bodies:
        free = any(joint.type == JointType.FREE for joint in body.joints)
        if free and (body.parent is None or body.parent.parent is not None):
            raise body.element.error("a free joint can only be used in a child of the world body")


def check_moving_masses(scene: Scene) -> None:
    """Checks that every moving body has mass and inertia, itself or in a static body that it carries.

    Raises:
        MjcfError: a moving body has none.
    """
    for body in scene.bodies:
        if body.joints and not _massive(body):
            raise body.element.error(
                f"mass and inertia of a moving body must be larger than {MINVAL:g}: give it an inertial or a geom"
            )


def _massive(body: Body) -> bool:
    if body.mass >= MINVAL and min(body.inertia) >= MINVAL:
        return True
    return any(_massive(child) for child in body.bodies if not child.joints)
