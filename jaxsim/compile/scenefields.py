"""The parts of a scene to the fields of a Model."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.columns import columns, landed
from jaxsim.compile.names import Names
from jaxsim.compile.parts import Body, Part
from jaxsim.compile.scene import Scene
from jaxsim.compile.userdata import user_field
from jaxsim.enums import CamLightType, JointType, ObjType

__all__ = ["scene_fields"]

_OUTPUTS = ("rgb", "depth", "distance", "normal", "segmentation")
_LIGHTS = ("spot", "directional", "point", "image")
_SLEEP = {"auto": 0, "never": 3, "allowed": 4, "init": 5}


def scene_fields(scene: Scene, names: Names) -> dict[str, Any]:
    """Returns the fields of bodies, joints, degrees of freedom, trees, geoms, sites, cameras and lights.

    Raises:
        MjcfError: a target, material or texture is unknown, or a sleep policy stands where it cannot.
    """
    fields: dict[str, Any] = {
        "nbody": len(scene.bodies),
        "njnt": len(scene.joints),
        "ngeom": len(scene.geoms),
        "nsite": len(scene.sites),
        "ncam": len(scene.cameras),
        "nlight": len(scene.lights),
        "nq": sum(joint.type.nq for joint in scene.joints),
        "nv": sum(joint.type.nv for joint in scene.joints),
        "nmocap": sum(body.mocap for body in scene.bodies),
    }
    rows = {
        **_bodies(scene),
        **_joints(scene),
        **_dofs(scene),
        **_geoms(scene, names),
        **_sites(scene, names),
    }
    rows.update(_cameras(scene, names))
    rows.update(_lights(scene, names))
    fields.update(columns(rows))
    for kind, parts in (
        (ObjType.BODY, scene.bodies),
        (ObjType.JOINT, scene.joints),
        (ObjType.GEOM, scene.geoms),
        (ObjType.SITE, scene.sites),
        (ObjType.CAMERA, scene.cameras),
    ):
        elements = [part.element for part in parts]
        fields |= user_field(scene.document, kind, elements, _take(parts, "user"))
    _trees(scene, fields)
    return fields


def _values(parts: list[Any]) -> list[Any]:
    return [part.values for part in parts]


def _take(parts: list[Any], attribute: str) -> list[Any]:
    return [part.values[attribute] for part in parts]


def _first(parts: list[Any]) -> int:
    return parts[0].id if parts else -1


def _bodies(scene: Scene) -> dict[str, list[Any]]:
    bodies = scene.bodies
    roots: list[int] = []
    mocaps: list[int] = []
    count = 0
    for body in bodies:
        top = body.parent is None or body.parent.parent is None
        roots.append(body.id if top or body.parent is None else roots[body.parent.id])
        mocaps.append(count if body.mocap else -1)
        count += body.mocap
    return {
        "body_parentid": [body.parent.id if body.parent else 0 for body in bodies],
        "body_rootid": roots,
        "body_weldid": [_weld(body).id for body in bodies],
        "body_mocapid": mocaps,
        "body_jntnum": [len(body.joints) for body in bodies],
        "body_jntadr": [_first(body.joints) for body in bodies],
        "body_dofnum": [body.dofnum for body in bodies],
        "body_simple": [body.values["simple"] != "false" for body in bodies],
        "body_dofadr": [body.joints[0].dofadr if body.joints else -1 for body in bodies],
        "body_geomnum": [len(body.geoms) for body in bodies],
        "body_geomadr": [_first(body.geoms) for body in bodies],
        "body_pos": [body.pos for body in bodies],
        "body_quat": [body.quat for body in bodies],
        "body_ipos": [body.ipos for body in bodies],
        "body_iquat": [body.iquat for body in bodies],
        "body_mass": [body.mass for body in bodies],
        "body_inertia": [body.inertia for body in bodies],
        **landed("body", "body_", _values(bodies)),
    }


def _weld(body: Body) -> Body:
    assert body.weld is not None
    return body.weld


def _joints(scene: Scene) -> dict[str, list[Any]]:
    joints = scene.joints
    stiffness = _take(joints, "stiffness")
    qpos0: list[float] = []
    spring: list[float] = []
    for joint in joints:
        if joint.type == JointType.FREE:
            now = rest = [*joint.body.pos, *joint.body.quat]
        elif joint.type == JointType.BALL:
            now = rest = [1.0, 0.0, 0.0, 0.0]
        else:
            now, rest = [joint.ref], [joint.springref]
        qpos0 += now
        spring += rest
    return {
        "qpos0": qpos0,
        "qpos_spring": spring,
        "jnt_type": [joint.type for joint in joints],
        "jnt_qposadr": [joint.qposadr for joint in joints],
        "jnt_dofadr": [joint.dofadr for joint in joints],
        "jnt_bodyid": [joint.body.id for joint in joints],
        "jnt_group": [joint.group for joint in joints],
        "jnt_limited": [joint.limited for joint in joints],
        "jnt_actfrclimited": [joint.actfrclimited for joint in joints],
        **landed("joint", "jnt_", _values(joints)),
        "jnt_pos": [joint.pos for joint in joints],
        "jnt_axis": [joint.axis for joint in joints],
        "jnt_stiffness": [values[0] for values in stiffness],
        "jnt_stiffnesspoly": [values[1:] for values in stiffness],
        "jnt_range": [joint.range for joint in joints],
    }


def _dofs(scene: Scene) -> dict[str, list[Any]]:
    dofs = [joint for joint in scene.joints for _ in range(joint.type.nv)]
    damping = _take(dofs, "damping")
    parents: list[int] = []
    last = [-1] * len(scene.bodies)
    for body in scene.bodies:
        if body.parent is not None:
            last[body.id] = last[body.parent.id]
        for _ in range(body.dofnum):
            parents.append(last[body.id])
            last[body.id] = len(parents) - 1
    return {
        "dof_bodyid": [joint.body.id for joint in dofs],
        "dof_jntid": [joint.id for joint in dofs],
        "dof_parentid": parents,
        **landed("joint", "dof_", _values(dofs)),
        "dof_damping": [values[0] for values in damping],
        "dof_dampingpoly": [values[1:] for values in damping],
    }


def _material(names: Names, part: Part, material: str) -> int:
    return names.id("material", material, part.element, "material") if material else -1


def _geoms(scene: Scene, names: Names) -> dict[str, list[Any]]:
    geoms = scene.geoms
    return {
        **landed("geom", "geom_", _values(geoms)),
        "geom_type": [geom.type for geom in geoms],
        "geom_bodyid": [geom.body.id for geom in geoms],
        "geom_dataid": [geom.mesh.id if geom.mesh is not None else geom.hfield for geom in geoms],
        "geom_matid": [_material(names, geom, geom.material) for geom in geoms],
        "geom_size": [geom.size for geom in geoms],
        "geom_aabb": [geom.aabb for geom in geoms],
        "geom_rbound": [geom.rbound for geom in geoms],
        "geom_pos": [geom.pos for geom in geoms],
        "geom_quat": [geom.quat for geom in geoms],
        "geom_surfacevel": [geom.surfacevel for geom in geoms],
        "geom_fluid": [geom.fluid for geom in geoms],
    }


def _sites(scene: Scene, names: Names) -> dict[str, list[Any]]:
    sites = scene.sites
    return {
        "site_type": [site.type for site in sites],
        "site_bodyid": [site.body.id for site in sites],
        "site_dataid": [site.mesh.id if site.mesh is not None else -1 for site in sites],
        "site_matid": [_material(names, site, site.material) for site in sites],
        **landed("site", "site_", _values(sites)),
        "site_size": [site.size for site in sites],
        "site_pos": [site.pos for site in sites],
        "site_quat": [site.quat for site in sites],
    }


def _target(names: Names, part: Part) -> int:
    target = part.values["target"]
    return names.id("body", target, part.element, "target") if target else -1


def _modes(parts: list[Any]) -> list[int]:
    return [CamLightType[mode.upper()] for mode in _take(parts, "mode")]


def _cameras(scene: Scene, names: Names) -> dict[str, list[Any]]:
    cameras = scene.cameras
    return {
        "cam_mode": _modes(cameras),
        "cam_bodyid": [camera.body.id for camera in cameras],
        "cam_targetbodyid": [_target(names, camera) for camera in cameras],
        "cam_pos": [camera.pos for camera in cameras],
        "cam_quat": [camera.quat for camera in cameras],
        "cam_projection": [int(word == "orthographic") for word in _take(cameras, "projection")],
        "cam_fovy": [camera.fovy for camera in cameras],
        **landed("camera", "cam_", _values(cameras)),
        "cam_output": [
            sum(1 << _OUTPUTS.index(w) for w in words or ("rgb",)) for words in _take(cameras, "output")
        ],
        "cam_intrinsic": [camera.intrinsic for camera in cameras],
    }


def _lights(scene: Scene, names: Names) -> dict[str, list[Any]]:
    lights = scene.lights
    types = []
    textures = []
    for light in lights:
        directional = light.values["directional"]
        word = light.values["type"]
        if directional is not None and not light.element.get("type"):
            word = "directional" if directional else "spot"
        types.append(_LIGHTS.index(word))
        texture = light.values["texture"]
        textures.append(names.id("texture", texture, light.element, "texture") if texture else -1)
    return {
        **landed("light", "light_", _values(lights)),
        "light_mode": _modes(lights),
        "light_bodyid": [light.body.id for light in lights],
        "light_targetbodyid": [_target(names, light) for light in lights],
        "light_type": types,
        "light_texid": textures,
        "light_pos": [light.pos for light in lights],
        "light_dir": [light.dir for light in lights],
    }


def _trees(scene: Scene, fields: dict[str, Any]) -> None:
    """Adds the kinematic trees: what hangs together below one degree of freedom that has none above it."""
    parents = fields["dof_parentid"]
    dof_treeid = np.cumsum(parents < 0, dtype=np.int32) - 1 if parents.size else np.zeros(0, np.int32)
    ntree = int((parents < 0).sum())
    weld = fields["body_weldid"]
    moving = fields["body_dofnum"][weld] > 0
    body_treeid = np.full(fields["nbody"], -1, np.int32)
    body_treeid[moving] = dof_treeid[fields["body_dofadr"][weld[moving]]]
    fields["ntree"] = ntree
    fields["dof_treeid"], fields["body_treeid"] = dof_treeid.astype(np.int32), body_treeid
    ids = np.arange(ntree)
    fields["tree_bodynum"] = np.bincount(body_treeid[moving], minlength=ntree).astype(np.int32)
    fields["tree_dofnum"] = np.bincount(dof_treeid, minlength=ntree).astype(np.int32)
    fields["tree_bodyadr"] = np.array([int(np.argmax(body_treeid == k)) for k in ids], np.int32)
    fields["tree_dofadr"] = np.array([int(np.argmax(dof_treeid == k)) for k in ids], np.int32)
    policy = np.zeros(ntree, np.int32)
    for body in scene.bodies[1:]:
        word = _SLEEP[body.values["sleep"]]
        if word:
            index = body_treeid[body.id]
            if index < 0 or index == body_treeid[body.id - 1]:
                raise body.element.error("only a movable root body has a sleep policy", attribute="sleep")
            policy[index] = word
    fields["tree_sleep_policy"] = policy
