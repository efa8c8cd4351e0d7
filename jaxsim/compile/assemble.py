"""From a document to a Model: the order of compilation."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.collision.field import with_voxels
from jaxsim.compile.actuation import compile_actuators
from jaxsim.compile.appearance import material_fields
from jaxsim.compile.assets import Assets, compile_assets
from jaxsim.compile.bodies import align_free, check_moving_masses, check_places, compile_body
from jaxsim.compile.columns import empty_fields
from jaxsim.compile.constants import SleepError, set_fixed, set_reference
from jaxsim.compile.contact import compile_contact, paired_geoms
from jaxsim.compile.custom import compile_custom
from jaxsim.compile.equality import compile_equality
from jaxsim.compile.fuse import discard_visual, fuse_static
from jaxsim.compile.hfield import hfield_fields
from jaxsim.compile.keyframes import compile_keyframes
from jaxsim.compile.lengthrange import set_length_ranges
from jaxsim.compile.mesh.asset import mesh_fields
from jaxsim.compile.names import Names
from jaxsim.compile.options import compile_options
from jaxsim.compile.own import own_fields
from jaxsim.compile.scene import Scene, build_scene
from jaxsim.compile.scenefields import scene_fields
from jaxsim.compile.sensors import compile_sensors
from jaxsim.compile.tendons import compile_tendons
from jaxsim.compile.texture import texture_fields
from jaxsim.compile.visual import compile_visual
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf import Document, MjcfError
from jaxsim.mjcf.schema import landing
from jaxsim.model import Model, from_fields
from jaxsim.structure.budgets import asked_sizes, parse_budgets

__all__ = ["compile_document", "meshes_with_hulls"]


def compile_document(document: Document) -> Model:
    """Compiles a model, with the buffer sizes that it asks for; every numeric field is the C compiler's.

    Raises:
        MjcfError: the model is not valid, or uses a feature that is not built.
    """
    try:
        with np.errstate(all="ignore"):
            return with_voxels(from_fields(_compile(document)))
    except MjcfError:
        raise
    except ArithmeticError as error:
        raise document.root.error(
            f"the model has numbers that are too large or not finite: {error}"
        ) from None
    except ValueError as error:
        raise document.root.error(f"the model cannot be compiled: {error}") from error


def _compile(document: Document) -> dict[str, Any]:
    """Returns all fields of the model."""
    _refuse(document)
    scene = build_scene(document)
    discard = bool(document.compiler["discardvisual"])
    assets = compile_assets(document, meshes_with_hulls(document, scene), discard)
    for body in scene.bodies:
        compile_body(document, assets, body)
    fuse_static(document, scene)
    align_free(scene)
    if discard:
        discard_visual(document, scene, assets)
    scene.renumber()
    scene.weld()
    names = Names(("material", "texture") if discard else ())
    _name(names, scene, assets)
    fields: dict[str, Any] = dict(empty_fields())
    fields.update(_objects(document, scene, assets, names))
    fields["opt"], fields["vis"] = compile_options(document), compile_visual(document)
    _total_mass(document, fields)
    try:
        set_fixed(fields)
    except SleepError as error:
        raise document.section("tendon").children[error.tendon].error(str(error)) from None
    set_reference(fields)
    _spring_dampers(scene, fields)
    actuators = document.root.find("actuator")
    if actuators is not None:
        set_length_ranges(fields, document.settings("compiler/lengthrange"), actuators.children)
    _given_statistics(document, fields)
    fields.update(compile_keyframes(document, names, fields))
    sizes: Any = document.settings("size")
    fields.update(
        modelname=document.modelname,
        names=names.table(),
        nuserdata=max(0, sizes["nuserdata"]),
    )
    normals = np.concatenate([np.zeros((0, 3)), *(mesh.polygon_normals for mesh in assets.meshes)])
    return fields | own_fields(fields, normals) | _buffers(document)


def _buffers(document: Document) -> dict[str, Any]:
    """Buffer sizes of a world that the model asks for."""
    size: Any = document.settings("size")
    text = document.find("text", "max_geom_pairs")
    slots, pairs = (document.find("numeric", name) for name in ("max_contact_points", "max_geom_pairs"))
    numbers = {
        "max_contact_points": () if slots is None else slots.get("data", (0.0,)),
        "max_geom_pairs": () if pairs is None else pairs.get("data", ()),
    }
    asked = asked_sizes(
        size["nconmax"], size["njmax"], numbers, "" if text is None else str(text.get("data", ""))
    )
    try:
        parse_budgets(asked["max_geom_pairs"])
    except ValueError as error:
        raise (text or document.root).error(str(error), "data") from None
    return asked


def _refuse(document: Document) -> None:
    """Refuses what is not built: flexible objects and plugins."""
    section = document.root.find("deformable")
    if section is not None:
        for element in section.children:
            if element.tag == "flex":
                raise element.error("flexible objects are not built in jaxsim; remove the element")
    section = document.root.find("extension")
    if section is not None and section.children:
        raise section.children[0].error("engine plugins are not built in jaxsim; remove the element")


def meshes_with_hulls(document: Document, scene: Scene) -> set[str]:
    """Returns the names of the meshes that get a convex hull: those that collide and, as in C, those of sites."""
    paired = paired_geoms(document)
    sites = {site.values["mesh"] for site in scene.sites}
    geoms = {
        geom.values["mesh"]
        for geom in scene.geoms
        if geom.values["type"] in ("mesh", "sdf")
        and (geom.values["contype"] or geom.values["conaffinity"] or (geom.name and geom.name in paired))
    }
    return (geoms | sites) - {None}


def _name(names: Names, scene: Scene, assets: Assets) -> None:
    for kind, items in (
        ("body", scene.bodies),
        ("joint", scene.joints),
        ("geom", scene.geoms),
        ("site", scene.sites),
        ("camera", scene.cameras),
        ("light", scene.lights),
        ("mesh", assets.meshes),
        ("hfield", assets.hfields),
        ("texture", assets.textures),
        ("material", assets.materials),
    ):
        names.add(kind, items)


def _objects(document: Document, scene: Scene, assets: Assets, names: Names) -> dict[str, Any]:
    """Returns the fields of all objects, before constants are computed from them."""
    fields: dict[str, Any] = {}
    check_places(scene)
    check_moving_masses(scene)
    fields.update(compile_contact(document, names))
    fields.update(compile_tendons(document, names, scene.settings))
    fields.update(compile_equality(document, names))
    fields.update(compile_actuators(document, names, scene.settings))
    fields.update(compile_sensors(document, names, fields["nhistory"]))
    if fields["nhistory"] and (timestep := document.settings("option")["timestep"]) <= 0:
        raise document.root.error(f"histories of samples need a positive timestep, not {timestep:g}")
    fields.update(compile_custom(document, names))
    fields.update(scene_fields(scene, names))
    fields.update(mesh_fields(assets.meshes))
    fields.update(hfield_fields(assets.hfields))
    fields.update(texture_fields(assets.textures))
    fields.update(material_fields(assets.materials, names))
    return fields


def _total_mass(document: Document, fields: dict[str, Any]) -> None:
    """Scales all masses and inertias to the total that the compiler asks for."""
    compiler: Any = document.compiler
    wanted = compiler["settotalmass"]
    if wanted > 0:
        scale = wanted / max(MINVAL, fields["body_mass"][1:].sum())
        fields["body_mass"] = fields["body_mass"] * scale
        fields["body_inertia"] = fields["body_inertia"] * scale


def _spring_dampers(scene: Scene, fields: dict[str, Any]) -> None:
    """Sets stiffness and damping of joints that are given by time constant and damping ratio."""
    for joint in scene.joints:
        timeconst, dampratio = joint.values["springdamper"].tolist()
        if timeconst <= 0 or dampratio <= 0:
            continue
        dofs = slice(joint.dofadr, joint.dofadr + joint.type.nv)
        inertia = joint.type.nv / max(MINVAL, float(fields["dof_invweight0"][dofs].sum()))
        fields["jnt_stiffness"][joint.id] = inertia / max(MINVAL, (timeconst * dampratio) ** 2)
        fields["dof_damping"][dofs] = 2 * inertia / max(MINVAL, timeconst)


def _given_statistics(document: Document, fields: dict[str, Any]) -> None:
    """Overrides the computed statistics by those that the model gives."""
    given: Any = document.settings("statistic")
    for name, attribute in landing("statistic", "stat.").items():
        if given[attribute.name] is not None:
            fields["stat"][name] = np.asarray(given[attribute.name])
