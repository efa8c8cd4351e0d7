"""Cameras and lights."""

from __future__ import annotations

from math import atan2, pi
from typing import Any

import numpy as np

from jaxsim.compile.orientation import orientation
from jaxsim.compile.parts import Camera, Light
from jaxsim.mjcf import Document
from jaxsim.mjcf.frames import EPS, IDENTITY, accumulate, normalize, rotate

__all__ = ["compile_camera", "compile_light"]


def compile_camera(document: Document, camera: Camera) -> None:
    """Completes a camera.

    Raises:
        MjcfError: the camera is not valid.
    """
    element, values = camera.element, camera.values
    camera.pos = tuple(values["pos"].tolist())
    camera.quat = orientation(element, values, camera.settings)
    if camera.frame is not None:
        camera.pos, camera.quat = accumulate(*camera.frame, camera.pos, camera.quat)
    camera.fovy = values["fovy"]
    if camera.fovy >= 180:
        raise element.error("the field of view must be below 180 degrees", attribute="fovy")
    _intrinsics(document, camera)


def _intrinsics(document: Document, camera: Camera) -> None:
    """Focal length and principal point, in length units; numbers given in pixels win."""
    element, values = camera.element, camera.values
    names = ("focal", "focalpixel", "principal", "principalpixel")
    focal, focal_pixel, principal, principal_pixel = (values[name].astype(np.float32) for name in names)
    sensor, resolution = values["sensorsize"].astype(np.float32), values["resolution"]
    sized = bool((sensor > 0).all())
    if not sized:
        for name in names:
            if values[name].any():
                raise element.error("needs sensorsize", attribute=name)
        visual: Any = document.settings("visual/map")
        camera.intrinsic = (visual["znear"], visual["znear"], 0.0, 0.0)
        return
    if (resolution <= 0).any():
        raise element.error("sensorsize needs a positive resolution", attribute="resolution")
    density = resolution.astype(np.float32) / sensor
    length = np.where(focal_pixel != 0, focal_pixel / density, focal)
    center = np.where(principal_pixel != 0, principal_pixel / density, principal)
    camera.intrinsic = (*length.tolist(), *center.tolist())
    camera.fovy = atan2(float(sensor[1] / 2), float(length[1])) * 360.0 / pi


def compile_light(light: Light) -> None:
    """Completes a light.

    Raises:
        MjcfError: the light is not valid.
    """
    element, values = light.element, light.values
    light.pos = tuple(values["pos"].tolist())
    direction = values["dir"].tolist()
    if light.frame is not None:
        light.pos = accumulate(*light.frame, light.pos, IDENTITY)[0]
        direction = rotate(direction, light.frame[1])
    (x, y, z), length = normalize(direction)
    if length < EPS:
        raise element.error("the direction is zero", attribute="dir")
    light.dir = (x, y, z)
    if not 0 <= values["softness"] <= 1:
        raise element.error("expected a number from 0 to 1", attribute="softness")
