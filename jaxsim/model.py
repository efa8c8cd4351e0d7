"""The compiled model: mjModel as a frozen pytree.

Numbers are traced leaves (batch them for domain randomisation, differentiate them for system identification), user
data, textures and most colours inert ones; topology, types, sizes and flags are static. Shapes below are those of one
world.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from jax import Array

from jaxsim.catalogue import Catalogue
from jaxsim.hooks import Hooks
from jaxsim.hulls import Hulls
from jaxsim.options import Option, Statistic
from jaxsim.pytree import build, label, leaf, static
from jaxsim.visual import Visual

__all__ = ["Model", "from_fields"]


class Model(Catalogue):
    """Everything that does not change during a simulation. Field names, shapes and units are mjModel's."""

    # sizes
    nq: int = static("", "position coordinates")
    nv: int = static("", "degrees of freedom")
    nu: int = static("", "controls")
    nactuator: int = static("", "actuators")
    nout: int = static("", "actuator force outputs")
    na: int = static("", "activation states")
    nbody: int = static("", "bodies, world included")
    njnt: int = static("", "joints")
    ntree: int = static("", "kinematic trees below the world")
    ngeom: int = static("", "geoms")
    nsite: int = static("", "sites")
    ncam: int = static("", "cameras")
    nlight: int = static("", "lights")
    nmesh: int = static("", "meshes")
    nhfield: int = static("", "height fields")
    ntex: int = static("", "textures")
    nmat: int = static("", "materials")
    npair: int = static("", "explicit contact pairs")
    nexclude: int = static("", "excluded body pairs")
    neq: int = static("", "equality constraints")
    ntendon: int = static("", "tendons")
    nwrap: int = static("", "objects on tendon paths")
    nsensor: int = static("", "sensors")
    nnumeric: int = static("", "custom numeric fields")
    ntext: int = static("", "custom text fields")
    ntuple: int = static("", "custom tuples")
    nkey: int = static("", "keyframes")
    nmocap: int = static("", "mocap bodies")
    nuserdata: int = static("", "user numbers in Data")
    nsensordata: int = static("", "sensor outputs")
    nhistory: int = static("", "numbers in the history buffer of delayed actuators and sensors")

    # options, statistics, and what pictures look like
    opt: Option = leaf("", "physics options", dtype=Option)
    stat: Statistic = leaf("", "sizes at qpos0", dtype=Statistic)
    vis: Visual = label("what pictures look like; None in native functions", dtype=Visual, default=None)

    # reference configurations
    qpos0: Array = leaf("nq", "configuration at compile time, m and rad")
    qpos_spring: Array = leaf("nq", "configuration at which joint springs are relaxed, m and rad")

    # bodies
    body_parentid: np.ndarray = static("nbody", "parent body")
    body_rootid: np.ndarray = static("nbody", "ancestor below the world")
    body_weldid: np.ndarray = static("nbody", "topmost ancestor without degrees of freedom in between")
    body_mocapid: np.ndarray = static("nbody", "row in mocap_pos; -1: none")
    body_jntnum: np.ndarray = static("nbody", "joints of the body")
    body_jntadr: np.ndarray = static("nbody", "first joint; -1: none")
    body_dofnum: np.ndarray = static("nbody", "degrees of freedom of the body")
    body_dofadr: np.ndarray = static("nbody", "first degree of freedom; -1: none")
    body_treeid: np.ndarray = static("nbody", "kinematic tree; -1: static")
    body_simple: np.ndarray = static(
        "nbody",
        "its part of M: 1: diagonal; 2: so, and it only slides; 0: unknown",
        dtype=np.uint8,
    )
    body_geomnum: np.ndarray = static("nbody", "geoms of the body")
    body_geomadr: np.ndarray = static("nbody", "first geom; -1: none")
    body_pos: Array = leaf("nbody 3", "position in the parent frame, m")
    body_quat: Array = leaf("nbody 4", "orientation in the parent frame")
    body_ipos: Array = leaf("nbody 3", "centre of mass in the body frame, m")
    body_iquat: Array = leaf("nbody 4", "principal axes of inertia in the body frame")
    body_mass: Array = leaf("nbody", "kg", least=0)
    body_subtreemass: Array = leaf("nbody", "mass of the body and all below it, kg")
    body_inertia: Array = leaf("nbody 3", "principal moments of inertia, kg m^2", least=0)
    body_invweight0: Array = leaf("nbody 2", "mean inverse inertia at qpos0, 1/kg and 1/(kg m^2)")
    body_gravcomp: Array = leaf("nbody", "gravity compensation, in units of body weight")
    body_user: Array = leaf("nbody nuser_body", "user data", inert=True)

    # joints
    jnt_type: np.ndarray = static("njnt", "enums.JointType")
    jnt_qposadr: np.ndarray = static("njnt", "first position coordinate")
    jnt_dofadr: np.ndarray = static("njnt", "first degree of freedom")
    jnt_bodyid: np.ndarray = static("njnt", "body")
    jnt_actuatorid: np.ndarray = static("njnt", "actuator that adds damping or armature; -1: none")
    jnt_group: np.ndarray = static("njnt", "group")
    jnt_limited: np.ndarray = static("njnt", "has limits", dtype=bool)
    jnt_actfrclimited: np.ndarray = static("njnt", "has a limit on its total actuator force", dtype=bool)
    jnt_actgravcomp: np.ndarray = static("njnt", "gravity compensation counts as actuator force", dtype=bool)
    jnt_solref: Array = leaf("njnt 2", "limit constraint: time constant (s), damping ratio")
    jnt_solimp: Array = leaf("njnt 5", "limit constraint: impedance")
    jnt_pos: Array = leaf("njnt 3", "anchor in the body frame, m")
    jnt_axis: Array = leaf("njnt 3", "axis in the body frame")
    jnt_stiffness: Array = leaf("njnt", "spring stiffness, N/m or N m/rad")
    jnt_stiffnesspoly: Array = leaf("njnt 2", "spring coefficients of the second and third order")
    jnt_range: Array = leaf("njnt 2", "limits, m or rad")
    jnt_actfrcrange: Array = leaf("njnt 2", "limits of the total actuator force, N or N m")
    jnt_margin: Array = leaf("njnt", "distance to a limit at which its constraint appears, m or rad")
    jnt_user: Array = leaf("njnt nuser_jnt", "user data", inert=True)

    # degrees of freedom
    dof_bodyid: np.ndarray = static("nv", "body")
    dof_jntid: np.ndarray = static("nv", "joint")
    dof_parentid: np.ndarray = static("nv", "degree of freedom above; -1: none")
    dof_treeid: np.ndarray = static("nv", "kinematic tree")
    dof_solref: Array = leaf("nv 2", "friction loss constraint: time constant (s), damping ratio")
    dof_solimp: Array = leaf("nv 5", "friction loss constraint: impedance")
    dof_frictionloss: Array = leaf("nv", "dry friction, N or N m", least=0)
    dof_armature: Array = leaf("nv", "inertia added to the diagonal of M, kg or kg m^2")
    dof_damping: Array = leaf("nv", "viscous damping, N s/m or N m s/rad")
    dof_dampingpoly: Array = leaf("nv 2", "damping coefficients of the second and third order")
    dof_invweight0: Array = leaf("nv", "diagonal of the inverse inertia at qpos0")
    dof_M0: Array = leaf("nv", "diagonal of M at qpos0")
    dof_length: Array = leaf("nv", "1 for translation, a length scale for rotation, m")

    # kinematic trees
    tree_bodyadr: np.ndarray = static("ntree", "first body")
    tree_bodynum: np.ndarray = static("ntree", "bodies")
    tree_dofadr: np.ndarray = static("ntree", "first degree of freedom")
    tree_dofnum: np.ndarray = static("ntree", "degrees of freedom")
    tree_sleep_policy: np.ndarray = static("ntree", "sleep policy")

    # geoms
    geom_type: np.ndarray = static("ngeom", "enums.GeomType")
    geom_contype: np.ndarray = static("ngeom", "contact type bits")
    geom_conaffinity: np.ndarray = static("ngeom", "contact affinity bits")
    geom_condim: np.ndarray = static("ngeom", "contact dimension: 1, 3, 4 or 6")
    geom_bodyid: np.ndarray = static("ngeom", "body")
    geom_dataid: np.ndarray = static("ngeom", "mesh or height field; -1: none")
    geom_matid: Array = leaf("ngeom", "material; -1: none", dtype=np.int32)
    geom_group: np.ndarray = static("ngeom", "group")
    geom_priority: np.ndarray = static("ngeom", "the geom of higher priority decides contact parameters")
    geom_solmix: Array = leaf("ngeom", "weight in averaging contact parameters")
    geom_solref: Array = leaf("ngeom 2", "contact constraint: time constant (s), damping ratio")
    geom_solimp: Array = leaf("ngeom 5", "contact constraint: impedance")
    geom_size: Array = leaf("ngeom 3", "sizes by type, m")
    geom_aabb: Array = leaf("ngeom 6", "bounding box in the geom frame: centre, half sizes, m")
    geom_rbound: Array = leaf("ngeom", "radius of the bounding sphere, m; 0: plane")
    geom_pos: Array = leaf("ngeom 3", "position in the body frame, m")
    geom_quat: Array = leaf("ngeom 4", "orientation in the body frame")
    geom_friction: Array = leaf("ngeom 3", "sliding, torsional (m) and rolling (m) friction", least=0)
    geom_margin: Array = leaf("ngeom", "inflation for contact, m")
    geom_gap: Array = leaf("ngeom", "extra distance at which a contact is detected, m")
    geom_surfacevel: Array = leaf(
        "ngeom 6", "velocity of the surface in the geom frame, m/s and rad/s", optional=True
    )
    geom_adhesion: Array = leaf("ngeom", "adhesive force of contacts, N", optional=True)
    geom_fluid: Array = leaf("ngeom 12", "fluid interaction coefficients", optional=True)
    geom_user: Array = leaf("ngeom nuser_geom", "user data", inert=True)
    geom_rgba: Array = leaf("ngeom 4", "colour; rays pass what is not visible", dtype=np.float32)

    # sites
    site_type: np.ndarray = static("nsite", "enums.GeomType, for drawing")
    site_bodyid: np.ndarray = static("nsite", "body")
    site_dataid: np.ndarray = static("nsite", "mesh, for drawing; -1: none")
    site_matid: Array = leaf("nsite", "material; -1: none", dtype=np.int32, inert=True)
    site_group: np.ndarray = static("nsite", "group")
    site_size: Array = leaf("nsite 3", "sizes by type, m")
    site_pos: Array = leaf("nsite 3", "position in the body frame, m")
    site_quat: Array = leaf("nsite 4", "orientation in the body frame")
    site_user: Array = leaf("nsite nuser_site", "user data", inert=True)
    site_rgba: Array = leaf("nsite 4", "colour", dtype=np.float32, inert=True)

    # cameras
    cam_mode: np.ndarray = static("ncam", "enums.CamLightType")
    cam_bodyid: np.ndarray = static("ncam", "body")
    cam_targetbodyid: np.ndarray = static("ncam", "body looked at; -1: none")
    cam_pos: Array = leaf("ncam 3", "position in the body frame, m")
    cam_quat: Array = leaf("ncam 4", "orientation in the body frame")
    cam_poscom0: Array = leaf("ncam 3", "position from the subtree centre of mass at qpos0, m, world axes")
    cam_pos0: Array = leaf("ncam 3", "position from the body at qpos0, m, world axes")
    cam_mat0: Array = leaf("ncam 3 3", "orientation at qpos0, world frame")
    cam_projection: np.ndarray = static("ncam", "0 perspective, 1 orthographic")
    cam_fovy: Array = leaf("ncam", "vertical field of view, degrees, or length if orthographic, m")
    cam_ipd: Array = leaf("ncam", "distance between the eyes, m")
    cam_resolution: np.ndarray = static("ncam 2", "width and height, pixels")
    cam_output: np.ndarray = static("ncam", "bits: kinds of image")
    cam_sensorsize: Array = leaf("ncam 2", "sensor width and height, m", single=True)
    cam_intrinsic: Array = leaf("ncam 4", "focal length, principal point, m", single=True)
    cam_user: Array = leaf("ncam nuser_cam", "user data", inert=True)

    # lights
    light_mode: np.ndarray = static("nlight", "enums.CamLightType")
    light_bodyid: np.ndarray = static("nlight", "body")
    light_targetbodyid: np.ndarray = static("nlight", "body lit; -1: none")
    light_type: Array = leaf("nlight", "0 spot, 1 directional, 2 point, 3 image", dtype=np.int32, inert=True)
    light_texid: Array = leaf("nlight", "texture of an image light; -1: none", dtype=np.int32, inert=True)
    light_castshadow: Array = leaf("nlight", "casts shadows", dtype=bool, inert=True)
    light_bulbradius: Array = leaf("nlight", "m", dtype=np.float32, inert=True)
    light_intensity: Array = leaf("nlight", "cd", dtype=np.float32, inert=True)
    light_range: Array = leaf("nlight", "m", dtype=np.float32, inert=True)
    light_active: Array = leaf("nlight", "is on", dtype=bool, inert=True)
    light_pos: Array = leaf("nlight 3", "position in the body frame, m")
    light_dir: Array = leaf("nlight 3", "direction in the body frame")
    light_poscom0: Array = leaf(
        "nlight 3", "position from the subtree centre of mass at qpos0, m, world axes"
    )
    light_pos0: Array = leaf("nlight 3", "position from the body at qpos0, m, world axes")
    light_dir0: Array = leaf("nlight 3", "direction at qpos0, world frame")
    light_attenuation: Array = leaf("nlight 3", "constant, linear, quadratic", dtype=np.float32, inert=True)
    light_cutoff: Array = leaf("nlight", "degrees", dtype=np.float32, inert=True)
    light_softness: Array = leaf("nlight", "edge softness", dtype=np.float32, inert=True)
    light_exponent: Array = leaf("nlight", "exponent", dtype=np.float32, inert=True)
    light_ambient: Array = leaf("nlight 3", "rgb", dtype=np.float32, inert=True)
    light_diffuse: Array = leaf("nlight 3", "rgb", dtype=np.float32, inert=True)
    light_specular: Array = leaf("nlight 3", "rgb", dtype=np.float32, inert=True)

    # meshes
    mesh_vertadr: np.ndarray = static("nmesh", "first vertex")
    mesh_vertnum: np.ndarray = static("nmesh", "vertices")
    mesh_faceadr: np.ndarray = static("nmesh", "first face")
    mesh_facenum: np.ndarray = static("nmesh", "faces")
    mesh_normaladr: np.ndarray = static("nmesh", "first normal")
    mesh_normalnum: np.ndarray = static("nmesh", "normals")
    mesh_texcoordadr: np.ndarray = static("nmesh", "first texture coordinate; -1: none")
    mesh_texcoordnum: np.ndarray = static("nmesh", "texture coordinates")
    mesh_graphadr: np.ndarray = static("nmesh", "convex hull in mesh_graph; -1: none")
    mesh_hulled: np.ndarray = static("nmesh", "whether there is a hull to collide, or to measure distances")
    mesh_face: np.ndarray = static("nmeshface 3", "vertex indices of faces")
    mesh_facenormal: np.ndarray = static("nmeshface 3", "normal indices of faces")
    mesh_facetexcoord: np.ndarray = static("nmeshface 3", "texture coordinate indices of faces")
    mesh_graph: np.ndarray = static("nmeshgraph", "convex hulls, in mjModel's encoding")
    mesh_polynum: np.ndarray = static("nmesh", "polygons of the convex hull")
    mesh_polyadr: np.ndarray = static("nmesh", "first polygon")
    mesh_polyvertnum: np.ndarray = static("nmeshpoly", "vertices of the polygon")
    mesh_polyvertadr: np.ndarray = static("nmeshpoly", "first entry in mesh_polyvert")
    mesh_polyvert: np.ndarray = static(
        "nmeshpolyvert", "vertices of polygons, counter-clockwise, by number within the mesh"
    )
    mesh_polymapnum: np.ndarray = static("nmeshvert", "polygons at the vertex")
    mesh_polymapadr: np.ndarray = static("nmeshvert", "first entry in mesh_polymap")
    mesh_polymap: np.ndarray = static("nmeshpolymap", "polygons at vertices, by number within the mesh")
    mesh_vert: Array = leaf("nmeshvert 3", "vertices in the inertial frame of the mesh, m", single=True)
    mesh_normal: Array = leaf(
        "nmeshnormal 3", "normals, or a normal and two tangents a vertex", dtype=np.float32
    )
    mesh_texcoord: Array = leaf("nmeshtexcoord 2", "texture coordinates", dtype=np.float32, inert=True)
    mesh_scale: Array = leaf("nmesh 3", "scaling applied at compile")
    mesh_pos: Array = leaf("nmesh 3", "translation applied at compile, m")
    mesh_quat: Array = leaf("nmesh 4", "rotation applied at compile")

    # height fields
    hfield_size: Array = leaf("nhfield 4", "half width, half depth, height, base, m", least=0)
    hfield_nrow: np.ndarray = static("nhfield", "rows")
    hfield_ncol: np.ndarray = static("nhfield", "columns")
    hfield_adr: np.ndarray = static("nhfield", "first number in hfield_data")
    hfield_data: Array = leaf("nhfielddata", "elevation in [0, 1]", single=True)

    # textures and materials, for viewers
    tex_type: np.ndarray = static("ntex", "0 plane, 1 cube, 2 skybox")
    tex_colorspace: np.ndarray = static("ntex", "0 auto, 1 linear, 2 sRGB")
    tex_height: np.ndarray = static("ntex", "rows")
    tex_width: np.ndarray = static("ntex", "columns")
    tex_nchannel: np.ndarray = static("ntex", "channels")
    tex_adr: np.ndarray = static("ntex", "first byte in tex_data", dtype=np.int64)
    tex_data: Array = leaf("ntexdata", "pixels", dtype=np.uint8, inert=True)
    mat_texid: Array = leaf("nmat 10", "textures by role; -1: none", dtype=np.int32, inert=True)
    mat_texuniform: Array = leaf("nmat", "texture scales with size", dtype=bool, inert=True)
    mat_texrepeat: Array = leaf("nmat 2", "repetitions", dtype=np.float32, inert=True)
    mat_emission: Array = leaf("nmat", "emission", dtype=np.float32, inert=True)
    mat_specular: Array = leaf("nmat", "specularity", dtype=np.float32, inert=True)
    mat_shininess: Array = leaf("nmat", "shininess", dtype=np.float32, inert=True)
    mat_reflectance: Array = leaf("nmat", "reflectance", dtype=np.float32, inert=True)
    mat_metallic: Array = leaf("nmat", "metallic", dtype=np.float32, inert=True)
    mat_roughness: Array = leaf("nmat", "roughness", dtype=np.float32, inert=True)
    mat_rgba: Array = leaf("nmat 4", "colour; rays pass what is not visible", dtype=np.float32)

    # explicit contact pairs and exclusions
    pair_dim: np.ndarray = static("npair", "contact dimension")
    pair_geom1: np.ndarray = static("npair", "first geom")
    pair_geom2: np.ndarray = static("npair", "second geom")
    pair_solref: Array = leaf("npair 2", "normal: time constant (s), damping ratio")
    pair_solreffriction: Array = leaf("npair 2", "friction: time constant (s), damping ratio; 0: as normal")
    pair_solimp: Array = leaf("npair 5", "impedance")
    pair_margin: Array = leaf("npair", "m")
    pair_gap: Array = leaf("npair", "m")
    pair_adhesion: Array = leaf("npair", "adhesive force of contacts, N", optional=True)
    pair_friction: Array = leaf("npair 5", "two tangential, torsional, two rolling", least=0)
    exclude_signature: np.ndarray = static("nexclude", "(body1 << 16) + body2")

    # equality constraints
    eq_type: np.ndarray = static("neq", "enums.EqType")
    eq_obj1id: np.ndarray = static("neq", "first object")
    eq_obj2id: np.ndarray = static("neq", "second object; -1: none")
    eq_objtype: np.ndarray = static("neq", "enums.ObjType of both")
    eq_active0: np.ndarray = static("neq", "active at the start", dtype=bool)
    eq_solref: Array = leaf("neq 2", "time constant (s), damping ratio")
    eq_solimp: Array = leaf("neq 5", "impedance")
    eq_data: Array = leaf("neq 12", "anchors, relative pose, polynomial coefficients")

    # tendons
    tendon_adr: np.ndarray = static("ntendon", "first object on the path")
    tendon_num: np.ndarray = static("ntendon", "objects on the path")
    tendon_matid: Array = leaf("ntendon", "material; -1: none", dtype=np.int32, inert=True)
    tendon_actuatorid: np.ndarray = static("ntendon", "actuator that adds damping or armature; -1: none")
    tendon_group: np.ndarray = static("ntendon", "group")
    tendon_limited: np.ndarray = static("ntendon", "has length limits", dtype=bool)
    tendon_actfrclimited: np.ndarray = static(
        "ntendon", "has a limit on its total actuator force", dtype=bool
    )
    tendon_width: Array = leaf("ntendon", "m, for drawing", inert=True)
    tendon_solref_lim: Array = leaf("ntendon 2", "limit constraint: time constant (s), damping ratio")
    tendon_solimp_lim: Array = leaf("ntendon 5", "limit constraint: impedance")
    tendon_solref_fri: Array = leaf("ntendon 2", "friction loss constraint: time constant (s), damping ratio")
    tendon_solimp_fri: Array = leaf("ntendon 5", "friction loss constraint: impedance")
    tendon_range: Array = leaf("ntendon 2", "length limits, m")
    tendon_actfrcrange: Array = leaf("ntendon 2", "limits of the total actuator force, N")
    tendon_margin: Array = leaf("ntendon", "distance to a limit at which its constraint appears, m")
    tendon_stiffness: Array = leaf("ntendon", "N/m", optional=True)
    tendon_stiffnesspoly: Array = leaf("ntendon 2", "stiffness of the second and third order", optional=True)
    tendon_damping: Array = leaf("ntendon", "N s/m", optional=True)
    tendon_dampingpoly: Array = leaf("ntendon 2", "damping of the second and third order", optional=True)
    tendon_armature: Array = leaf("ntendon", "inertia of tendon velocity, kg", optional=True, least=0)
    tendon_frictionloss: Array = leaf("ntendon", "N", optional=True, least=0)
    tendon_lengthspring: Array = leaf("ntendon 2", "range of relaxed lengths, m")
    tendon_length0: Array = leaf("ntendon", "length at qpos0, m")
    tendon_invweight0: Array = leaf("ntendon", "inverse inertia at qpos0, 1/kg")
    tendon_user: Array = leaf("ntendon nuser_tendon", "user data", inert=True)
    tendon_rgba: Array = leaf("ntendon 4", "colour", dtype=np.float32, inert=True)
    wrap_type: np.ndarray = static("nwrap", "enums.WrapType")
    wrap_objid: np.ndarray = static("nwrap", "joint, site or geom")
    wrap_prm: Array = leaf("nwrap", "joint coefficient, pulley divisor, or side site")
    wrap_sideid: np.ndarray = static("nwrap", "side site of a geom; -1: none")

    # actuators
    actuator_trntype: np.ndarray = static("nactuator", "enums.TrnType")
    actuator_dyntype: np.ndarray = static("nactuator", "enums.DynType")
    actuator_gaintype: np.ndarray = static("nactuator", "enums.GainType")
    actuator_biastype: np.ndarray = static("nactuator", "enums.BiasType")
    actuator_ctrladr: np.ndarray = static("nactuator", "first control")
    actuator_ctrlnum: np.ndarray = static("nactuator", "controls")
    actuator_ctrlspec: np.ndarray = static("nactuator", "bits: meaning of the controls")
    actuator_outadr: np.ndarray = static("nactuator", "first force output")
    actuator_outnum: np.ndarray = static("nactuator", "force outputs")
    actuator_actadr: np.ndarray = static("nactuator", "first activation; -1: none")
    actuator_actnum: np.ndarray = static("nactuator", "activations")
    actuator_trnid: np.ndarray = static("nactuator 2", "joint, tendon, site or body")
    actuator_group: np.ndarray = static("nactuator", "group")
    actuator_actlimited: np.ndarray = static("nactuator", "activation is clamped", dtype=bool)
    actuator_actearly: np.ndarray = static("nactuator", "force uses the next activation", dtype=bool)
    actuator_forcelimited: np.ndarray = static("nactuator", "force is clamped", dtype=bool)
    actuator_ctrllimited: np.ndarray = static("nu", "control is clamped", dtype=bool)
    actuator_history: np.ndarray = static("nactuator 2", "samples kept, interpolation")
    actuator_historyadr: np.ndarray = static("nactuator", "address in the history buffer; -1: none")
    actuator_delay: Array = leaf("nactuator", "s", optional=True)
    actuator_cranklength: Array = leaf("nactuator", "rod length of a slider-crank, m")
    actuator_dynprm: Array = leaf("nactuator 10", "activation dynamics parameters")
    actuator_gainprm: Array = leaf("nactuator 10", "gain parameters")
    actuator_biasprm: Array = leaf("nactuator 10", "bias parameters")
    actuator_actrange: Array = leaf("nactuator 2", "activation limits")
    actuator_damping: Array = leaf("nactuator", "damping added to the target", optional=True)
    actuator_dampingpoly: Array = leaf("nactuator 2", "damping of the second and third order", optional=True)
    actuator_armature: Array = leaf("nactuator", "armature added to the target", optional=True)
    actuator_forcerange: Array = leaf("nactuator 2", "force limits, N or N m")
    actuator_ctrlrange: Array = leaf("nu 2", "control limits")
    actuator_gear: Array = leaf("nout 6", "scale of length and of transmitted force")
    actuator_acc0: Array = leaf("nout", "joint acceleration by a unit force at qpos0")
    actuator_length0: Array = leaf("nout", "length at qpos0")
    actuator_lengthrange: Array = leaf("nout 2", "feasible lengths")
    actuator_user: Array = leaf("nactuator nuser_actuator", "user data", inert=True)

    # sensors
    sensor_type: np.ndarray = static("nsensor", "enums.SensorType")
    sensor_datatype: np.ndarray = static("nsensor", "enums.DataType")
    sensor_needstage: np.ndarray = static("nsensor", "enums.Stage")
    sensor_objtype: np.ndarray = static("nsensor", "enums.ObjType of the object")
    sensor_objid: np.ndarray = static("nsensor", "object")
    sensor_reftype: np.ndarray = static("nsensor", "enums.ObjType of the reference frame")
    sensor_refid: np.ndarray = static("nsensor", "reference frame; -1: world")
    sensor_intprm: np.ndarray = static("nsensor 3", "integer parameters")
    sensor_dim: np.ndarray = static("nsensor", "outputs")
    sensor_adr: np.ndarray = static("nsensor", "first output")
    sensor_history: np.ndarray = static("nsensor 2", "samples kept, interpolation")
    sensor_historyadr: np.ndarray = static("nsensor", "address in the history buffer; -1: none")
    sensor_cutoff: Array = leaf("nsensor", "clipping threshold; 0: none", least=0)
    sensor_noise: Array = leaf("nsensor", "standard deviation; information only", least=0)
    sensor_delay: Array = leaf("nsensor", "s")
    sensor_interval: Array = leaf("nsensor 2", "period and phase, s")
    sensor_user: Array = leaf("nsensor nuser_sensor", "user data", inert=True)

    # custom fields
    numeric_adr: np.ndarray = static("nnumeric", "first number")
    numeric_size: np.ndarray = static("nnumeric", "numbers")
    numeric_data: Array = leaf("nnumericdata", "all custom numbers", inert=True)
    text_adr: np.ndarray = static("ntext", "first character")
    text_size: np.ndarray = static("ntext", "characters, terminator included")
    text_data: bytes = label("all custom texts", dtype=bytes, default=b"")
    tuple_adr: np.ndarray = static("ntuple", "first object")
    tuple_size: np.ndarray = static("ntuple", "objects")
    tuple_objtype: np.ndarray = static("ntupledata", "enums.ObjType")
    tuple_objid: np.ndarray = static("ntupledata", "objects")
    tuple_objprm: Array = leaf("ntupledata", "parameters", inert=True)

    # keyframes
    key_time: Array = leaf("nkey", "s", inert=True)
    key_qpos: Array = leaf("nkey nq", "m and rad", inert=True)
    key_qvel: Array = leaf("nkey nv", "m/s and rad/s", inert=True)
    key_act: Array = leaf("nkey na", "activations", inert=True)
    key_mpos: Array = leaf("nkey 3*nmocap", "mocap positions, m", inert=True)
    key_mquat: Array = leaf("nkey 4*nmocap", "mocap orientations", inert=True)
    key_ctrl: Array = leaf("nkey nu", "controls", inert=True)

    # jaxsim's own
    mesh_hulls: Hulls = leaf("", "convex hulls of meshes", dtype=Hulls)
    mesh_polytilt: Array = leaf(
        "nmeshpoly 3", "what unit normals of polygons lack if taken from rounded vertices: structure.hulls"
    )
    body_snap: Array = leaf(
        "nbody 7", "added to body_ipos, m, and body_iquat in kinematics: structure.snaps", optional=True
    )
    geom_snap: Array = leaf("ngeom 7", "the same of geom_pos, m, and geom_quat", optional=True)
    site_snap: Array = leaf("nsite 7", "the same of site_pos, m, and site_quat", optional=True)
    geom_hfieldcells: np.ndarray = static(
        "ngeom 2", "most columns and rows of a height field's cells under the geom: structure.cells"
    )
    modelname: str = label("name of the model", default="MuJoCo Model")
    nconmax: int = static("", "contact slots by hand; -1: chosen from the model", default=-1, least=-1)
    njmax: int = static("", "constraint rows by hand; -1: chosen from the model", default=-1, least=-1)
    max_geom_pairs: str = static(
        "",
        'pairs that the broad phase keeps, by hand, as "sphere box 40, box box 20"; "": chosen from the model',
        dtype=str,
        default="",
    )
    hooks: Hooks = static("", "the user's functions", dtype=Hooks, default=Hooks())
    onset: Array | None = leaf(
        "", "distance within which derivatives feel contacts that are not made, m; None: exact", default=None
    )

    def replace(self, **fields: Any) -> Self:
        """Returns a copy with some fields replaced.

        Functions of `user_sensor` and its like stay beside other `hooks`; `Hooks()` removes all.

        Raises:
          TypeError: a name is not a field, a field is a size or says how objects hang together, which other fields
            follow from, a static field gets a value that it cannot have, or an array None.
          ValueError: a number is less than it may be: a negative mass, say. The files of models are taken as the C
            compiler takes them, which minds fewer.
        """
        fixed = sorted(name for name in fields if name in self._statics and _STRUCTURE.fullmatch(name))
        if fixed:
            raise TypeError(
                f"Model.replace: {', '.join(fixed)}: sizes and how objects hang together cannot be replaced, as other "
                "fields follow from them; change the MJCF and compile it"
            )
        if isinstance(hooks := fields.get("hooks"), Hooks) and hooks != Hooks():
            fields["hooks"] = hooks.beside(self.hooks)
        return super().replace(**fields)

    def _unread(self) -> tuple[str, ...]:
        return () if self.hooks.read_models else super()._unread()


_STRUCTURE = re.compile(
    r"n(?!conmax|jmax)[a-z]+|jnt_type|\w+_\w*(adr|num)|(body|jnt|dof|geom)_(body|jnt|parent|root|weld|mocap|tree)id"
)
"""Names of static fields that others follow from."""


def from_fields(fields: Mapping[str, Any]) -> Model:
    """Builds a Model from host arrays, checking that every field is there and giving each its dtype.

    Args:
      fields: one entry per Model field; `opt`, `stat`, `vis` and `mesh_hulls` are mappings of theirs.

    Raises:
      TypeError: a field is missing or unknown, or cannot have its value.
    """
    return build(Model, fields)
