"""The compiled model: mjModel as a frozen pytree.

Physical numbers are traced leaves (batch them for domain randomisation, differentiate them for system
identification); topology, types, sizes, flags and appearance are static. Shapes below are those of one world.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import ObjType
from jaxsim.options import Option, Statistic
from jaxsim.pytree import Record, leaf, record, static
from jaxsim.views import ByName, View, find

__all__ = ["Model", "from_fields"]

Ints = np.ndarray
Bools = np.ndarray
Floats = np.ndarray


@record
class Model(ByName, Record):
    """Everything that does not change during a simulation. Field names, shapes and units are mjModel's."""

    # sizes
    nq: int = static("position coordinates")
    nv: int = static("degrees of freedom")
    nu: int = static("controls")
    nactuator: int = static("actuators")
    nout: int = static("actuator force outputs")
    na: int = static("activation states")
    nbody: int = static("bodies, world included")
    njnt: int = static("joints")
    ntree: int = static("kinematic trees below the world")
    ngeom: int = static("geoms")
    nsite: int = static("sites")
    ncam: int = static("cameras")
    nlight: int = static("lights")
    nmesh: int = static("meshes")
    nhfield: int = static("height fields")
    ntex: int = static("textures")
    nmat: int = static("materials")
    npair: int = static("explicit contact pairs")
    nexclude: int = static("excluded body pairs")
    neq: int = static("equality constraints")
    ntendon: int = static("tendons")
    nwrap: int = static("objects on tendon paths")
    nsensor: int = static("sensors")
    nnumeric: int = static("custom numeric fields")
    ntext: int = static("custom text fields")
    ntuple: int = static("custom tuples")
    nkey: int = static("keyframes")
    nmocap: int = static("mocap bodies")
    nuserdata: int = static("user numbers in Data")
    nsensordata: int = static("sensor outputs")
    nhistory: int = static("numbers in the history buffer of delayed actuators and sensors")

    # options and statistics
    opt: Option = leaf("", "physics options")
    stat: Statistic = leaf("", "sizes at qpos0")

    # reference configurations
    qpos0: Array = leaf("nq", "configuration at compile time, m and rad")
    qpos_spring: Array = leaf("nq", "configuration at which joint springs are relaxed, m and rad")

    # bodies
    body_parentid: Ints = static("parent body")
    body_rootid: Ints = static("ancestor below the world")
    body_weldid: Ints = static("topmost ancestor without degrees of freedom in between")
    body_mocapid: Ints = static("row in mocap_pos; -1: none")
    body_jntnum: Ints = static("joints of the body")
    body_jntadr: Ints = static("first joint; -1: none")
    body_dofnum: Ints = static("degrees of freedom of the body")
    body_dofadr: Ints = static("first degree of freedom; -1: none")
    body_treeid: Ints = static("kinematic tree; -1: static")
    body_simple: np.ndarray = static(
        "1: its part of M is diagonal; 2: so, and it only slides; 0: neither is known"
    )
    body_geomnum: Ints = static("geoms of the body")
    body_geomadr: Ints = static("first geom; -1: none")
    body_pos: Array = leaf("nbody 3", "position in the parent frame, m")
    body_quat: Array = leaf("nbody 4", "orientation in the parent frame")
    body_ipos: Array = leaf("nbody 3", "centre of mass in the body frame, m")
    body_iquat: Array = leaf("nbody 4", "principal axes of inertia in the body frame")
    body_mass: Array = leaf("nbody", "kg")
    body_subtreemass: Array = leaf("nbody", "mass of the body and all below it, kg")
    body_inertia: Array = leaf("nbody 3", "principal moments of inertia, kg m^2")
    body_invweight0: Array = leaf("nbody 2", "mean inverse inertia at qpos0, 1/kg and 1/(kg m^2)")
    body_gravcomp: Array = leaf("nbody", "gravity compensation, in units of body weight")
    body_user: Floats = static("user data")

    # joints
    jnt_type: Ints = static("enums.JointType")
    jnt_qposadr: Ints = static("first position coordinate")
    jnt_dofadr: Ints = static("first degree of freedom")
    jnt_bodyid: Ints = static("body")
    jnt_actuatorid: Ints = static("actuator that adds damping or armature; -1: none")
    jnt_group: Ints = static("group")
    jnt_limited: Bools = static("has limits")
    jnt_actfrclimited: Bools = static("has a limit on its total actuator force")
    jnt_actgravcomp: Bools = static("gravity compensation counts as actuator force")
    jnt_solref: Array = leaf("njnt 2", "limit constraint: time constant (s), damping ratio")
    jnt_solimp: Array = leaf("njnt 5", "limit constraint: impedance")
    jnt_pos: Array = leaf("njnt 3", "anchor in the body frame, m")
    jnt_axis: Array = leaf("njnt 3", "axis in the body frame")
    jnt_stiffness: Array = leaf("njnt", "spring stiffness, N/m or N m/rad")
    jnt_stiffnesspoly: Array = leaf("njnt 2", "spring coefficients of the second and third order")
    jnt_range: Array = leaf("njnt 2", "limits, m or rad")
    jnt_actfrcrange: Array = leaf("njnt 2", "limits of the total actuator force, N or N m")
    jnt_margin: Array = leaf("njnt", "distance to a limit at which its constraint appears, m or rad")
    jnt_user: Floats = static("user data")

    # degrees of freedom
    dof_bodyid: Ints = static("body")
    dof_jntid: Ints = static("joint")
    dof_parentid: Ints = static("degree of freedom above; -1: none")
    dof_treeid: Ints = static("kinematic tree")
    dof_solref: Array = leaf("nv 2", "friction loss constraint: time constant (s), damping ratio")
    dof_solimp: Array = leaf("nv 5", "friction loss constraint: impedance")
    dof_frictionloss: Array = leaf("nv", "dry friction, N or N m")
    dof_armature: Array = leaf("nv", "inertia added to the diagonal of M, kg or kg m^2")
    dof_damping: Array = leaf("nv", "viscous damping, N s/m or N m s/rad")
    dof_dampingpoly: Array = leaf("nv 2", "damping coefficients of the second and third order")
    dof_invweight0: Array = leaf("nv", "diagonal of the inverse inertia at qpos0")
    dof_M0: Array = leaf("nv", "diagonal of M at qpos0")
    dof_length: Array = leaf("nv", "1 for translation, a length scale for rotation, m")

    # kinematic trees
    tree_bodyadr: Ints = static("first body")
    tree_bodynum: Ints = static("bodies")
    tree_dofadr: Ints = static("first degree of freedom")
    tree_dofnum: Ints = static("degrees of freedom")
    tree_sleep_policy: Ints = static("sleep policy")

    # geoms
    geom_type: Ints = static("enums.GeomType")
    geom_contype: Ints = static("contact type bits")
    geom_conaffinity: Ints = static("contact affinity bits")
    geom_condim: Ints = static("contact dimension: 1, 3, 4 or 6")
    geom_bodyid: Ints = static("body")
    geom_dataid: Ints = static("mesh or height field; -1: none")
    geom_matid: Ints = static("material; -1: none")
    geom_group: Ints = static("group")
    geom_priority: Ints = static("the geom of higher priority decides contact parameters")
    geom_solmix: Array = leaf("ngeom", "weight in averaging contact parameters")
    geom_solref: Array = leaf("ngeom 2", "contact constraint: time constant (s), damping ratio")
    geom_solimp: Array = leaf("ngeom 5", "contact constraint: impedance")
    geom_size: Array = leaf("ngeom 3", "sizes by type, m")
    geom_aabb: Array = leaf("ngeom 6", "bounding box in the geom frame: centre, half sizes, m")
    geom_rbound: Array = leaf("ngeom", "radius of the bounding sphere, m; 0: plane")
    geom_pos: Array = leaf("ngeom 3", "position in the body frame, m")
    geom_quat: Array = leaf("ngeom 4", "orientation in the body frame")
    geom_friction: Array = leaf("ngeom 3", "sliding, torsional (m) and rolling (m) friction")
    geom_margin: Array = leaf("ngeom", "inflation for contact, m")
    geom_gap: Array = leaf("ngeom", "extra distance at which a contact is detected, m")
    geom_surfacevel: Array = leaf("ngeom 6", "velocity of the surface in the geom frame, m/s and rad/s")
    geom_adhesion: Array = leaf("ngeom", "adhesive force of contacts, N")
    geom_fluid: Array = leaf("ngeom 12", "fluid interaction coefficients")
    geom_user: Floats = static("user data")
    geom_rgba: Floats = static("colour")

    # sites
    site_type: Ints = static("enums.GeomType, for drawing")
    site_bodyid: Ints = static("body")
    site_matid: Ints = static("material; -1: none")
    site_group: Ints = static("group")
    site_size: Array = leaf("nsite 3", "sizes by type, m")
    site_pos: Array = leaf("nsite 3", "position in the body frame, m")
    site_quat: Array = leaf("nsite 4", "orientation in the body frame")
    site_user: Floats = static("user data")
    site_rgba: Floats = static("colour")

    # cameras
    cam_mode: Ints = static("enums.CamLightType")
    cam_bodyid: Ints = static("body")
    cam_targetbodyid: Ints = static("body looked at; -1: none")
    cam_pos: Array = leaf("ncam 3", "position in the body frame, m")
    cam_quat: Array = leaf("ncam 4", "orientation in the body frame")
    cam_poscom0: Array = leaf("ncam 3", "position from the subtree centre of mass at qpos0, m, world axes")
    cam_pos0: Array = leaf("ncam 3", "position from the body at qpos0, m, world axes")
    cam_mat0: Array = leaf("ncam 3 3", "orientation at qpos0, world frame")
    cam_projection: Ints = static("0 perspective, 1 orthographic")
    cam_fovy: Array = leaf("ncam", "vertical field of view, degrees, or length if orthographic, m")
    cam_ipd: Array = leaf("ncam", "distance between the eyes, m")
    cam_resolution: Ints = static("width and height, pixels")
    cam_output: Ints = static("bits: kinds of image")
    cam_sensorsize: Array = leaf("ncam 2", "sensor width and height, m")
    cam_intrinsic: Array = leaf("ncam 4", "focal length, principal point, m")
    cam_user: Floats = static("user data")

    # lights
    light_mode: Ints = static("enums.CamLightType")
    light_bodyid: Ints = static("body")
    light_targetbodyid: Ints = static("body lit; -1: none")
    light_type: Ints = static("0 spot, 1 directional, 2 point, 3 image")
    light_texid: Ints = static("texture of an image light; -1: none")
    light_castshadow: Bools = static("casts shadows")
    light_bulbradius: Floats = static("m")
    light_intensity: Floats = static("cd")
    light_range: Floats = static("m")
    light_active: Bools = static("is on")
    light_pos: Array = leaf("nlight 3", "position in the body frame, m")
    light_dir: Array = leaf("nlight 3", "direction in the body frame")
    light_poscom0: Array = leaf(
        "nlight 3", "position from the subtree centre of mass at qpos0, m, world axes"
    )
    light_pos0: Array = leaf("nlight 3", "position from the body at qpos0, m, world axes")
    light_dir0: Array = leaf("nlight 3", "direction at qpos0, world frame")
    light_attenuation: Floats = static("constant, linear, quadratic")
    light_cutoff: Floats = static("degrees")
    light_softness: Floats = static("edge softness")
    light_exponent: Floats = static("exponent")
    light_ambient: Floats = static("rgb")
    light_diffuse: Floats = static("rgb")
    light_specular: Floats = static("rgb")

    # meshes
    mesh_vertadr: Ints = static("first vertex")
    mesh_vertnum: Ints = static("vertices")
    mesh_faceadr: Ints = static("first face")
    mesh_facenum: Ints = static("faces")
    mesh_normaladr: Ints = static("first normal")
    mesh_normalnum: Ints = static("normals")
    mesh_texcoordadr: Ints = static("first texture coordinate; -1: none")
    mesh_texcoordnum: Ints = static("texture coordinates")
    mesh_graphadr: Ints = static("convex hull in mesh_graph; -1: none")
    mesh_face: Ints = static("vertex indices of faces")
    mesh_facenormal: Ints = static("normal indices of faces")
    mesh_facetexcoord: Ints = static("texture coordinate indices of faces")
    mesh_graph: Ints = static("convex hulls, in mjModel's encoding")
    mesh_vert: Array = leaf("nmeshvert 3", "vertices in the inertial frame of the mesh, m")
    mesh_normal: Floats = static("normals")
    mesh_texcoord: Floats = static("texture coordinates")
    mesh_scale: Array = leaf("nmesh 3", "scaling applied at compile")
    mesh_pos: Array = leaf("nmesh 3", "translation applied at compile, m")
    mesh_quat: Array = leaf("nmesh 4", "rotation applied at compile")

    # height fields
    hfield_size: Array = leaf("nhfield 4", "half width, half depth, height, base, m")
    hfield_nrow: Ints = static("rows")
    hfield_ncol: Ints = static("columns")
    hfield_adr: Ints = static("first number in hfield_data")
    hfield_data: Array = leaf("nhfielddata", "elevation in [0, 1]")

    # textures and materials, for viewers
    tex_type: Ints = static("0 plane, 1 cube, 2 skybox")
    tex_colorspace: Ints = static("0 auto, 1 linear, 2 sRGB")
    tex_height: Ints = static("rows")
    tex_width: Ints = static("columns")
    tex_nchannel: Ints = static("channels")
    tex_adr: Ints = static("first byte in tex_data")
    tex_data: np.ndarray = static("pixels, uint8")
    mat_texid: Ints = static("textures by role; -1: none")
    mat_texuniform: Bools = static("texture scales with size")
    mat_texrepeat: Floats = static("repetitions")
    mat_emission: Floats = static("emission")
    mat_specular: Floats = static("specularity")
    mat_shininess: Floats = static("shininess")
    mat_reflectance: Floats = static("reflectance")
    mat_metallic: Floats = static("metallic")
    mat_roughness: Floats = static("roughness")
    mat_rgba: Floats = static("colour")

    # explicit contact pairs and exclusions
    pair_dim: Ints = static("contact dimension")
    pair_geom1: Ints = static("first geom")
    pair_geom2: Ints = static("second geom")
    pair_solref: Array = leaf("npair 2", "normal: time constant (s), damping ratio")
    pair_solreffriction: Array = leaf("npair 2", "friction: time constant (s), damping ratio; 0: as normal")
    pair_solimp: Array = leaf("npair 5", "impedance")
    pair_margin: Array = leaf("npair", "m")
    pair_gap: Array = leaf("npair", "m")
    pair_adhesion: Array = leaf("npair", "N")
    pair_friction: Array = leaf("npair 5", "two tangential, torsional, two rolling")
    exclude_signature: Ints = static("(body1 << 16) + body2")

    # equality constraints
    eq_type: Ints = static("enums.EqType")
    eq_obj1id: Ints = static("first object")
    eq_obj2id: Ints = static("second object; -1: none")
    eq_objtype: Ints = static("enums.ObjType of both")
    eq_active0: Bools = static("active at the start")
    eq_solref: Array = leaf("neq 2", "time constant (s), damping ratio")
    eq_solimp: Array = leaf("neq 5", "impedance")
    eq_data: Array = leaf("neq neqdata", "anchors, relative pose, polynomial coefficients")

    # tendons
    tendon_adr: Ints = static("first object on the path")
    tendon_num: Ints = static("objects on the path")
    tendon_matid: Ints = static("material; -1: none")
    tendon_actuatorid: Ints = static("actuator that adds damping or armature; -1: none")
    tendon_group: Ints = static("group")
    tendon_limited: Bools = static("has length limits")
    tendon_actfrclimited: Bools = static("has a limit on its total actuator force")
    tendon_width: Floats = static("m, for drawing")
    tendon_solref_lim: Array = leaf("ntendon 2", "limit constraint: time constant (s), damping ratio")
    tendon_solimp_lim: Array = leaf("ntendon 5", "limit constraint: impedance")
    tendon_solref_fri: Array = leaf("ntendon 2", "friction loss constraint: time constant (s), damping ratio")
    tendon_solimp_fri: Array = leaf("ntendon 5", "friction loss constraint: impedance")
    tendon_range: Array = leaf("ntendon 2", "length limits, m")
    tendon_actfrcrange: Array = leaf("ntendon 2", "limits of the total actuator force, N")
    tendon_margin: Array = leaf("ntendon", "distance to a limit at which its constraint appears, m")
    tendon_stiffness: Array = leaf("ntendon", "N/m")
    tendon_stiffnesspoly: Array = leaf("ntendon 2", "stiffness coefficients of the second and third order")
    tendon_damping: Array = leaf("ntendon", "N s/m")
    tendon_dampingpoly: Array = leaf("ntendon 2", "damping coefficients of the second and third order")
    tendon_armature: Array = leaf("ntendon", "inertia of tendon velocity, kg")
    tendon_frictionloss: Array = leaf("ntendon", "N")
    tendon_lengthspring: Array = leaf("ntendon 2", "range of relaxed lengths, m")
    tendon_length0: Array = leaf("ntendon", "length at qpos0, m")
    tendon_invweight0: Array = leaf("ntendon", "inverse inertia at qpos0, 1/kg")
    tendon_user: Floats = static("user data")
    tendon_rgba: Floats = static("colour")
    wrap_type: Ints = static("enums.WrapType")
    wrap_objid: Ints = static("joint, site or geom")
    wrap_prm: Array = leaf("nwrap", "joint coefficient, pulley divisor, or side site")

    # actuators
    actuator_trntype: Ints = static("enums.TrnType")
    actuator_dyntype: Ints = static("enums.DynType")
    actuator_gaintype: Ints = static("enums.GainType")
    actuator_biastype: Ints = static("enums.BiasType")
    actuator_ctrladr: Ints = static("first control")
    actuator_ctrlnum: Ints = static("controls")
    actuator_ctrlspec: Ints = static("bits: meaning of the controls")
    actuator_outadr: Ints = static("first force output")
    actuator_outnum: Ints = static("force outputs")
    actuator_actadr: Ints = static("first activation; -1: none")
    actuator_actnum: Ints = static("activations")
    actuator_trnid: Ints = static("joint, tendon, site or body")
    actuator_group: Ints = static("group")
    actuator_actlimited: Bools = static("activation is clamped")
    actuator_actearly: Bools = static("force uses the next activation")
    actuator_forcelimited: Bools = static("force is clamped")
    actuator_ctrllimited: Bools = static("control is clamped (nu)")
    actuator_history: Ints = static("samples kept, interpolation")
    actuator_historyadr: Ints = static("address in the history buffer; -1: none")
    actuator_delay: Array = leaf("nactuator", "s")
    actuator_cranklength: Array = leaf("nactuator", "rod length of a slider-crank, m")
    actuator_dynprm: Array = leaf("nactuator 10", "activation dynamics parameters")
    actuator_gainprm: Array = leaf("nactuator 10", "gain parameters")
    actuator_biasprm: Array = leaf("nactuator 10", "bias parameters")
    actuator_actrange: Array = leaf("nactuator 2", "activation limits")
    actuator_damping: Array = leaf("nactuator", "damping added to the target")
    actuator_dampingpoly: Array = leaf("nactuator 2", "damping coefficients of the second and third order")
    actuator_armature: Array = leaf("nactuator", "armature added to the target")
    actuator_forcerange: Array = leaf("nactuator 2", "force limits, N or N m")
    actuator_ctrlrange: Array = leaf("nu 2", "control limits")
    actuator_gear: Array = leaf("nout 6", "scale of length and of transmitted force")
    actuator_acc0: Array = leaf("nout", "joint acceleration by a unit force at qpos0")
    actuator_length0: Array = leaf("nout", "length at qpos0")
    actuator_lengthrange: Array = leaf("nout 2", "feasible lengths")
    actuator_user: Floats = static("user data")

    # sensors
    sensor_type: Ints = static("enums.SensorType")
    sensor_datatype: Ints = static("enums.DataType")
    sensor_needstage: Ints = static("enums.Stage")
    sensor_objtype: Ints = static("enums.ObjType of the object")
    sensor_objid: Ints = static("object")
    sensor_reftype: Ints = static("enums.ObjType of the reference frame")
    sensor_refid: Ints = static("reference frame; -1: world")
    sensor_intprm: Ints = static("integer parameters")
    sensor_dim: Ints = static("outputs")
    sensor_adr: Ints = static("first output")
    sensor_history: Ints = static("samples kept, interpolation")
    sensor_historyadr: Ints = static("address in the history buffer; -1: none")
    sensor_cutoff: Array = leaf("nsensor", "clipping threshold; 0: none")
    sensor_noise: Array = leaf("nsensor", "standard deviation; information only")
    sensor_delay: Array = leaf("nsensor", "s")
    sensor_interval: Array = leaf("nsensor 2", "period and phase, s")
    sensor_user: Floats = static("user data")

    # custom fields
    numeric_adr: Ints = static("first number")
    numeric_size: Ints = static("numbers")
    numeric_data: Floats = static("all custom numbers")
    text_adr: Ints = static("first character")
    text_size: Ints = static("characters, terminator included")
    text_data: bytes = static("all custom texts")
    tuple_adr: Ints = static("first object")
    tuple_size: Ints = static("objects")
    tuple_objtype: Ints = static("enums.ObjType")
    tuple_objid: Ints = static("objects")
    tuple_objprm: Floats = static("parameters")

    # keyframes
    key_time: Floats = static("s")
    key_qpos: Floats = static("m and rad (nkey, nq)")
    key_qvel: Floats = static("m/s and rad/s (nkey, nv)")
    key_act: Floats = static("activations (nkey, na)")
    key_mpos: Floats = static("mocap positions, m (nkey, 3 nmocap)")
    key_mquat: Floats = static("mocap orientations (nkey, 4 nmocap)")
    key_ctrl: Floats = static("controls (nkey, nu)")

    # jaxsim's own
    modelname: str = static("name of the model", default="MuJoCo Model")
    names: tuple[tuple[int, tuple[str, ...]], ...] = static("(ObjType, names by id)", default=())
    nconmax: int = static("contact slots by hand; -1: chosen from the model", default=-1)
    njmax: int = static("constraint rows by hand; -1: chosen from the model", default=-1)

    def id(self, kind: str | ObjType, name: str) -> int:
        """Returns the id of a named element.

        Args:
          kind: `"geom"`, `"joint"`, ... or an `ObjType`.
          name: the element's name.

        Raises:
          KeyError: there is no such element; the message lists the nearest names.
        """
        names = self._names_of(kind)
        if name in names:
            return names.index(name)
        near = difflib.get_close_matches(name, [n for n in names if n], n=3)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        what = kind if isinstance(kind, str) else kind.name.lower()
        raise KeyError(f"no {what} named {name!r}{hint}")

    def name(self, kind: str | ObjType, id: int) -> str:
        """Returns the name of an element, `""` if it has none.

        Raises:
          IndexError: the id is out of range.
        """
        names = self._names_of(kind)
        if not 0 <= id < len(names):
            what = kind if isinstance(kind, str) else kind.name.lower()
            raise IndexError(f"no {what} number {id}; there are {len(names)}")
        return names[id]

    def _names_of(self, kind: str | ObjType) -> tuple[str, ...]:
        found = dict(self.names)
        if isinstance(kind, str):
            kinds = {ObjType(key).name.lower(): key for key in found}
            if kind not in kinds:
                raise KeyError(f"no kind {kind!r} of elements; there are {', '.join(kinds)}")
            kind = ObjType(kinds[kind])
        return found.get(kind, ())

    def _view(self, kind: ObjType, key: str | int) -> View:
        return View(self, self, kind, find(self, kind, key))

    def mesh(self, key: str | int) -> View:
        """One mesh, with its vertices and faces."""
        return self._view(ObjType.MESH, key)

    def hfield(self, key: str | int) -> View:
        """One height field."""
        return self._view(ObjType.HFIELD, key)

    def texture(self, key: str | int) -> View:
        """One texture."""
        return self._view(ObjType.TEXTURE, key)

    def material(self, key: str | int) -> View:
        """One material."""
        return self._view(ObjType.MATERIAL, key)

    def pair(self, key: str | int) -> View:
        """One explicit contact pair."""
        return self._view(ObjType.PAIR, key)

    def exclude(self, key: str | int) -> View:
        """One excluded pair of bodies."""
        return self._view(ObjType.EXCLUDE, key)

    def numeric(self, key: str | int) -> View:
        """One custom numeric field; `data` are its numbers."""
        return self._view(ObjType.NUMERIC, key)

    def key(self, key: str | int) -> View:
        """One keyframe."""
        return self._view(ObjType.KEY, key)

    tex, mat, keyframe = texture, material, key


def from_fields(fields: Mapping[str, Any]) -> Model:
    """Builds a Model from host arrays, checking that every field is there and giving each its dtype.

    Args:
      fields: one entry per Model field; `opt` and `stat` are mappings of theirs.

    Raises:
      TypeError: a field is missing or unknown.
    """
    return _build(Model, fields)


def _build(cls: type[Any], fields: Mapping[str, Any]) -> Any:
    import dataclasses

    known = {f.name: f for f in dataclasses.fields(cls)}
    unknown = [n for n in fields if n not in known]
    missing = [n for n, f in known.items() if n not in fields and f.default is dataclasses.MISSING]
    if unknown or missing:
        raise TypeError(f"{cls.__name__}: missing fields {missing}, unknown fields {unknown}")
    values = {}
    for name, value in fields.items():
        if name == "opt":
            values[name] = _build(Option, value)
        elif name == "stat":
            values[name] = _build(Statistic, value)
        elif known[name].metadata["kind"] == "leaf":
            dtype = jax.dtypes.canonicalize_dtype(known[name].metadata["dtype"])
            on_device = isinstance(value, jax.Array)  # else numpy converts, which is faster
            values[name] = jnp.asarray(value if on_device else np.asarray(value, dtype), dtype)
        else:
            values[name] = value
    return cls(**values)
