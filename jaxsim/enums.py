"""MuJoCo's enumerations: same values as the C headers, so integers in a Model mean the same in both."""

from __future__ import annotations

import enum

__all__ = [
    "PREFIXES",
    "BiasType",
    "CamLightType",
    "ConeType",
    "ConstraintType",
    "CtrlInput",
    "DataType",
    "DisableBit",
    "DynType",
    "EnableBit",
    "EqType",
    "GainType",
    "GeomType",
    "IntegratorType",
    "JacobianType",
    "JointType",
    "ObjType",
    "SensorType",
    "SolverType",
    "Stage",
    "TrnType",
    "WrapType",
]


class DisableBit(enum.IntFlag):
    """Features switched off by `option/flag`."""

    CONSTRAINT = 1 << 0
    EQUALITY = 1 << 1
    FRICTIONLOSS = 1 << 2
    LIMIT = 1 << 3
    CONTACT = 1 << 4
    SPRING = 1 << 5
    DAMPER = 1 << 6
    GRAVITY = 1 << 7
    CLAMPCTRL = 1 << 8
    WARMSTART = 1 << 9
    FILTERPARENT = 1 << 10
    ACTUATION = 1 << 11
    REFSAFE = 1 << 12
    SENSOR = 1 << 13
    MIDPHASE = 1 << 14
    EULERDAMP = 1 << 15
    AUTORESET = 1 << 16
    NATIVECCD = 1 << 17
    ISLAND = 1 << 18
    MULTICCD = 1 << 19


class EnableBit(enum.IntFlag):
    """Optional features switched on by `option/flag`."""

    OVERRIDE = 1 << 0
    ENERGY = 1 << 1
    FWDINV = 1 << 2
    INVDISCRETE = 1 << 3
    SLEEP = 1 << 4
    DIAGEXACT = 1 << 5
    IPC = 1 << 6


class JointType(enum.IntEnum):
    """Joint types; `nq` and `nv` give their widths in qpos and qvel."""

    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return (7, 4, 1, 1)[self]

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return (6, 3, 1, 1)[self]


class GeomType(enum.IntEnum):
    """Geometric primitives."""

    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7
    SDF = 8


class CamLightType(enum.IntEnum):
    """How a camera or light follows its body."""

    FIXED = 0
    TRACK = 1
    TRACKCOM = 2
    TARGETBODY = 3
    TARGETBODYCOM = 4


class IntegratorType(enum.IntEnum):
    """Numerical integrators."""

    EULER = 0
    RK4 = 1
    IMPLICIT = 2
    IMPLICITFAST = 3
    DISCRETE = 4


class ConeType(enum.IntEnum):
    """Friction cones."""

    PYRAMIDAL = 0
    ELLIPTIC = 1


class JacobianType(enum.IntEnum):
    """How constraint Jacobians are kept; jaxsim chooses by itself."""

    DENSE = 0
    SPARSE = 1
    AUTO = 2


class SolverType(enum.IntEnum):
    """Constraint solvers."""

    PGS = 0
    CG = 1
    NEWTON = 2


class EqType(enum.IntEnum):
    """Equality constraints."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3
    FLEX = 4
    FLEXVERT = 5
    FLEXSTRAIN = 6
    DISTANCE = 7


class WrapType(enum.IntEnum):
    """Objects on a tendon's path."""

    NONE = 0
    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


class TrnType(enum.IntEnum):
    """Actuator transmissions."""

    JOINT = 0
    JOINTINPARENT = 1
    SLIDERCRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5
    SO3 = 6
    UNDEFINED = 1000


class DynType(enum.IntEnum):
    """Actuator activation dynamics."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTEREXACT = 3
    MUSCLE = 4
    DCMOTOR = 5
    PID = 6
    USER = 7


class GainType(enum.IntEnum):
    """Actuator gains."""

    FIXED = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    PID = 5
    USER = 6


class BiasType(enum.IntEnum):
    """Actuator biases."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2
    DCMOTOR = 3
    SO3 = 4
    USER = 5


class CtrlInput(enum.IntFlag):
    """Meaning of an actuator's controls, in the order of their bits; `EXPMAP` and `QUAT` are for orientation servos."""

    EXPMAP = 1
    QUAT = 2
    POS = 1
    VEL = 2
    FF = 4
    VOLTAGE = 8
    NONE = 16
    PRESSURE = 32


class ObjType(enum.IntEnum):
    """Kinds of named model elements."""

    UNKNOWN = 0
    BODY = 1
    XBODY = 2
    JOINT = 3
    DOF = 4
    GEOM = 5
    SITE = 6
    CAMERA = 7
    LIGHT = 8
    FLEX = 9
    MESH = 10
    SKIN = 11
    HFIELD = 12
    TEXTURE = 13
    MATERIAL = 14
    PAIR = 15
    EXCLUDE = 16
    EQUALITY = 17
    TENDON = 18
    ACTUATOR = 19
    SENSOR = 20
    NUMERIC = 21
    TEXT = 22
    TUPLE = 23
    KEY = 24
    PLUGIN = 25


PREFIXES = {
    ObjType.BODY: "body",
    ObjType.JOINT: "jnt",
    ObjType.GEOM: "geom",
    ObjType.SITE: "site",
    ObjType.CAMERA: "cam",
    ObjType.LIGHT: "light",
    ObjType.MESH: "mesh",
    ObjType.HFIELD: "hfield",
    ObjType.TEXTURE: "tex",
    ObjType.MATERIAL: "mat",
    ObjType.PAIR: "pair",
    ObjType.EXCLUDE: "exclude",
    ObjType.EQUALITY: "eq",
    ObjType.TENDON: "tendon",
    ObjType.ACTUATOR: "actuator",
    ObjType.SENSOR: "sensor",
    ObjType.NUMERIC: "numeric",
    ObjType.TEXT: "text",
    ObjType.TUPLE: "tuple",
    ObjType.KEY: "key",
}
"""Kinds of elements that have names, in mjModel's order, and what their fields begin with; `n...` is their number."""


class ConstraintType(enum.IntEnum):
    """Kinds of constraint rows."""

    EQUALITY = 0
    FRICTION_DOF = 1
    FRICTION_TENDON = 2
    LIMIT_JOINT = 3
    LIMIT_TENDON = 4
    CONTACT_FRICTIONLESS = 5
    CONTACT_PYRAMIDAL = 6
    CONTACT_ELLIPTIC = 7


class SensorType(enum.IntEnum):
    """Sensors."""

    TOUCH = 0
    ACCELEROMETER = 1
    VELOCIMETER = 2
    GYRO = 3
    FORCE = 4
    TORQUE = 5
    MAGNETOMETER = 6
    RANGEFINDER = 7
    CAMPROJECTION = 8
    JOINTPOS = 9
    JOINTVEL = 10
    TENDONPOS = 11
    TENDONVEL = 12
    ACTUATORPOS = 13
    ACTUATORVEL = 14
    ACTUATORFRC = 15
    JOINTACTFRC = 16
    TENDONACTFRC = 17
    BALLQUAT = 18
    BALLANGVEL = 19
    JOINTLIMITPOS = 20
    JOINTLIMITVEL = 21
    JOINTLIMITFRC = 22
    TENDONLIMITPOS = 23
    TENDONLIMITVEL = 24
    TENDONLIMITFRC = 25
    FRAMEPOS = 26
    FRAMEQUAT = 27
    FRAMEXAXIS = 28
    FRAMEYAXIS = 29
    FRAMEZAXIS = 30
    FRAMELINVEL = 31
    FRAMEANGVEL = 32
    FRAMELINACC = 33
    FRAMEANGACC = 34
    SUBTREECOM = 35
    SUBTREELINVEL = 36
    SUBTREEANGMOM = 37
    INSIDESITE = 38
    GEOMDIST = 39
    GEOMNORMAL = 40
    GEOMFROMTO = 41
    CONTACT = 42
    E_POTENTIAL = 43
    E_KINETIC = 44
    CLOCK = 45
    TACTILE = 46
    PLUGIN = 47
    USER = 48


class DataType(enum.IntEnum):
    """How sensor output is clipped by `cutoff`."""

    REAL = 0
    POSITIVE = 1
    AXIS = 2
    QUATERNION = 3


class Stage(enum.IntEnum):
    """Stage of the pipeline after which a quantity is known."""

    NONE = 0
    POS = 1
    VEL = 2
    ACC = 3
