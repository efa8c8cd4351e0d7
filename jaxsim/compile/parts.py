"""What the compiler knows about the objects of the kinematic tree while it works on them.

A part keeps the resolved attributes of its element in `values`; its other fields are what the compiler computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jaxsim.compile.settings import Settings
from jaxsim.enums import GeomType, JointType
from jaxsim.mjcf import Element
from jaxsim.mjcf.frames import IDENTITY, ORIGIN, Quat, Vec3

if TYPE_CHECKING:
    from jaxsim.compile.mesh.asset import Mesh

__all__ = ["Body", "Camera", "Frame", "Geom", "Joint", "Light", "Part", "Site"]

Frame = tuple[Vec3, Quat] | None
"""Pose of the innermost `frame` element in its body, None if there is none."""


@dataclass(eq=False)
class Part:
    """A named object.

    Attributes:
        element: where it comes from.
        values: its resolved attributes.
        settings: the compiler settings of its model.
        frame: the frame element around it, composed with those around that.
        name: "" if it has none.
        id: its row in the Model, -1 until it is known.
    """

    element: Element
    values: Any
    settings: Settings
    frame: Frame = None
    name: str = ""
    id: int = -1


@dataclass(eq=False)
class Body(Part):
    """A body; poses are in the parent's frame, the inertial frame is in the body's.

    Attributes:
        explicit: whether the inertia is given by an `inertial` element.
        inertial: that element.
        inertial_frame: the frame element around it.
        ipos: centre of mass, None while unknown.
        corrected: whether the compiler's bounds or `balanceinertia` changed mass or inertia.
        weld: the topmost body that moves with this one.
    """

    parent: Body | None = None
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    cameras: list[Camera] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    inertial: Element | None = None
    inertial_frame: Frame = None
    explicit: bool = False
    pos: Vec3 = ORIGIN
    quat: Quat = IDENTITY
    ipos: Vec3 | None = None
    iquat: Quat = IDENTITY
    mass: float = 0.0
    inertia: Vec3 = ORIGIN
    corrected: bool = False
    mocap: bool = False
    weld: Body | None = None

    @property
    def dofnum(self) -> int:
        """Degrees of freedom of the body's own joints."""
        return sum(joint.type.nv for joint in self.joints)


@dataclass(eq=False)
class Joint(Part):
    """A joint; anchor and axis are in the body frame, angles in radians."""

    body: Body = None  # pyright: ignore[reportAssignmentType]
    type: JointType = JointType.HINGE
    pos: Vec3 = ORIGIN
    axis: Vec3 = (0.0, 0.0, 1.0)
    range: tuple[float, float] = (0.0, 0.0)
    limited: bool = False
    actfrclimited: bool = False
    ref: float = 0.0
    springref: float = 0.0
    align: str = "auto"
    group: int = 0
    qposadr: int = -1
    dofadr: int = -1


@dataclass(eq=False)
class Geom(Part):
    """A geom; its pose is in the body frame.

    Attributes:
        mesh: the mesh it shows; a primitive that was only fitted to a mesh keeps none.
        hfield: id of its height field, -1: none.
        material: name of its material.
        visual: whether it cannot collide by its own bits.
    """

    body: Body = None  # pyright: ignore[reportAssignmentType]
    type: GeomType = GeomType.SPHERE
    pos: Vec3 = ORIGIN
    quat: Quat = IDENTITY
    size: Vec3 = ORIGIN
    mass: float = 0.0
    inertia: Vec3 = ORIGIN
    aabb: tuple[float, ...] = (0.0,) * 6
    rbound: float = 0.0
    fluid: tuple[float, ...] = (0.0,) * 12
    surfacevel: tuple[float, ...] = (0.0,) * 6
    mesh: Mesh | None = None
    hfield: int = -1
    material: str = ""
    visual: bool = False


@dataclass(eq=False)
class Site(Part):
    """A site; its pose is in the body frame.

    Attributes:
        mesh: the mesh it shows.
        material: name of its material.
    """

    body: Body = None  # pyright: ignore[reportAssignmentType]
    type: GeomType = GeomType.SPHERE
    pos: Vec3 = ORIGIN
    quat: Quat = IDENTITY
    size: Vec3 = ORIGIN
    mesh: Mesh | None = None
    material: str = ""


@dataclass(eq=False)
class Camera(Part):
    """A camera; its pose is in the body frame."""

    body: Body = None  # pyright: ignore[reportAssignmentType]
    pos: Vec3 = ORIGIN
    quat: Quat = IDENTITY
    fovy: float = 45.0
    intrinsic: tuple[float, ...] = (0.0,) * 4


@dataclass(eq=False)
class Light(Part):
    """A light; position and direction are in the body frame."""

    body: Body = None  # pyright: ignore[reportAssignmentType]
    pos: Vec3 = ORIGIN
    dir: Vec3 = (0.0, 0.0, -1.0)
