"""What pictures of a model look like: mjVisual's numbers, on the host, which no physics reads."""

from __future__ import annotations

import numpy as np

from jaxsim.pytree import Record, static

__all__ = ["Global", "Headlight", "Map", "Quality", "Rgba", "Scale", "Visual"]


class Global(Record):
    """The free camera, and what belongs to no other group."""

    cameraid: int = static("", "camera that one looks through at first; -1: the free one")
    orthographic: bool = static("", "whether the free camera's rays are parallel", dtype=bool)
    fovy: float = static("", "of the free camera, from bottom to top, degrees; orthographic: m", dtype=float)
    ipd: float = static("", "distance between the free camera's eyes, m", dtype=float)
    azimuth: float = static("", "free camera's direction about the z axis, degrees", dtype=float)
    elevation: float = static("", "free camera's direction above the horizon, degrees", dtype=float)
    linewidth: float = static("", "width of lines, pixels", dtype=float)
    glow: float = static("", "emission of what is selected", dtype=float)
    realtime: float = static("", "simulated seconds a second at first", dtype=float)
    offwidth: int = static("", "width of the off-screen buffer, pixels")
    offheight: int = static("", "height of the off-screen buffer, pixels")
    ellipsoidinertia: bool = static("", "whether inertia is drawn as ellipsoids, not boxes", dtype=bool)
    bvactive: bool = static("", "whether bounding volumes that were tested are marked", dtype=bool)


class Quality(Record):
    """How finely a rasteriser draws; the ray tracer needs none of it."""

    shadowsize: int = static("", "size of the shadow map, texels")
    offsamples: int = static("", "samples of a pixel of the off-screen buffer")
    numslices: int = static("", "parts of round shapes about their axis")
    numstacks: int = static("", "parts of round shapes along their axis")
    numquads: int = static("", "parts of a box's or plane's side")


class Headlight(Record):
    """The light at the camera."""

    ambient: np.ndarray = static("3", "in [0, 1]", dtype=np.float32)
    diffuse: np.ndarray = static("3", "in [0, 1]", dtype=np.float32)
    specular: np.ndarray = static("3", "in [0, 1]", dtype=np.float32)
    active: int = static("", "0: it is off")


class Map(Record):
    """From physical quantities to what is seen, and how far one sees."""

    stiffness: float = static(
        "", "of the spring that pulls a body, 1/s^2 for each kg that moves", dtype=float
    )
    stiffnessrot: float = static("", "of the spring that turns a body, 1/s^2", dtype=float)
    force: float = static("", "length of an arrow for a force of 1 N on a mean mass of 1 kg, m", dtype=float)
    torque: float = static("", "the same for a torque of 1 N m", dtype=float)
    alpha: float = static("", "opacity of geoms that are made transparent", dtype=float)
    fogstart: float = static("", "where fog begins, extents", dtype=float)
    fogend: float = static("", "where fog is all that one sees, extents", dtype=float)
    znear: float = static("", "nearest that is seen, extents", dtype=float)
    zfar: float = static("", "farthest that is seen, extents", dtype=float)
    haze: float = static("", "part of the way to the horizon that haze covers", dtype=float)
    shadowclip: float = static("", "half the width of a directional light's shadows, extents", dtype=float)
    shadowscale: float = static("", "part of a spot light's cone that has shadows", dtype=float)
    actuatortendon: float = static("", "width of a tendon's actuator, widths of the tendon", dtype=float)


class Scale(Record):
    """Sizes of what is drawn beside geoms, in mean sizes of the model."""

    forcewidth: float = static("", "radius of arrows of forces", dtype=float)
    contactwidth: float = static("", "radius of discs at contacts", dtype=float)
    contactheight: float = static("", "half the height of discs at contacts", dtype=float)
    connect: float = static("", "radius of the lines of connections", dtype=float)
    com: float = static("", "radius of balls at centres of mass", dtype=float)
    camera: float = static("", "of cameras", dtype=float)
    light: float = static("", "of lights", dtype=float)
    selectpoint: float = static("", "radius of the ball at a selected point", dtype=float)
    jointlength: float = static("", "length of arrows of joints", dtype=float)
    jointwidth: float = static("", "radius of arrows of joints", dtype=float)
    actuatorlength: float = static("", "length of actuators", dtype=float)
    actuatorwidth: float = static("", "radius of actuators", dtype=float)
    framelength: float = static("", "length of the axes of frames", dtype=float)
    framewidth: float = static("", "radius of the axes of frames", dtype=float)
    constraint: float = static("", "radius of the lines of broken constraints", dtype=float)
    slidercrank: float = static("", "radius of slider-cranks", dtype=float)
    frustum: float = static("", "distance of the far end of a camera's frustum", dtype=float)


class Rgba(Record):
    """Colours and opacities in [0, 1]."""

    fog: np.ndarray = static("4", "fog", dtype=np.float32)
    haze: np.ndarray = static("4", "haze at the horizon", dtype=np.float32)
    force: np.ndarray = static("4", "forces that are applied by hand", dtype=np.float32)
    inertia: np.ndarray = static("4", "boxes of inertia", dtype=np.float32)
    joint: np.ndarray = static("4", "joints", dtype=np.float32)
    actuator: np.ndarray = static("4", "actuators at rest", dtype=np.float32)
    actuatornegative: np.ndarray = static("4", "actuators at the lower end of their range", dtype=np.float32)
    actuatorpositive: np.ndarray = static("4", "actuators at the upper end of their range", dtype=np.float32)
    com: np.ndarray = static("4", "centres of mass", dtype=np.float32)
    camera: np.ndarray = static("4", "cameras", dtype=np.float32)
    light: np.ndarray = static("4", "lights", dtype=np.float32)
    selectpoint: np.ndarray = static("4", "selected points", dtype=np.float32)
    connect: np.ndarray = static("4", "lines between bodies", dtype=np.float32)
    contactpoint: np.ndarray = static("4", "contacts", dtype=np.float32)
    contactforce: np.ndarray = static("4", "contact forces", dtype=np.float32)
    contactfriction: np.ndarray = static("4", "friction's part of contact forces", dtype=np.float32)
    contacttorque: np.ndarray = static("4", "contact torques", dtype=np.float32)
    contactgap: np.ndarray = static("4", "contacts that bear nothing yet", dtype=np.float32)
    rangefinder: np.ndarray = static("4", "rays of range finders", dtype=np.float32)
    constraint: np.ndarray = static("4", "broken constraints", dtype=np.float32)
    slidercrank: np.ndarray = static("4", "slider-cranks", dtype=np.float32)
    crankbroken: np.ndarray = static("4", "slider-cranks that cannot reach", dtype=np.float32)
    frustum: np.ndarray = static("4", "frusta of cameras", dtype=np.float32)
    bv: np.ndarray = static("4", "bounding volumes", dtype=np.float32)
    bvactive: np.ndarray = static("4", "bounding volumes that were tested", dtype=np.float32)


class Visual(Record):
    """The groups of mjVisual (MJCF reference, `visual`)."""

    global_: Global = static("", "the free camera, and the rest", dtype=Global)
    quality: Quality = static("", "how finely a rasteriser draws", dtype=Quality)
    headlight: Headlight = static("", "the light at the camera", dtype=Headlight)
    map: Map = static("", "from quantities to what is seen", dtype=Map)
    scale: Scale = static("", "sizes of what is drawn", dtype=Scale)
    rgba: Rgba = static("", "colours", dtype=Rgba)
