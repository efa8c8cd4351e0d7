"""The state of one world and what the last step computed from it: mjData as a frozen pytree."""

from __future__ import annotations

from typing import Any

from jax import Array

from jaxsim.pytree import Record, leaf

__all__ = ["STATE_FIELDS", "Contact", "Data", "plain"]

STATE_FIELDS = (
    "time",
    "qpos",
    "qvel",
    "act",
    "history",
    "qacc_warmstart",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "eq_active",
    "mocap_pos",
    "mocap_quat",
    "userdata",
    "warning",
)
"""The integration state: all that `step` reads. Every other field of Data is an output."""


class Contact(Record):
    """Fixed buffer of contacts; fields are mjContact's.

    A slot holds a contact where `geom` is not -1. It makes a force where `dist < includemargin`, an adhesive one
    wherever it is detected.
    """

    dist: Array = leaf("ncon", "distance between the surfaces, negative in penetration, m")
    pos: Array = leaf("ncon 3", "midpoint between the surfaces, m, world frame")
    frame: Array = leaf("ncon 3 3", "rows: normal from geom 1 to geom 2, two tangents; world frame")
    includemargin: Array = leaf("ncon", "distance below which the contact makes a force, m")
    friction: Array = leaf("ncon 5", "two tangential, torsional (m), two rolling (m)")
    solref: Array = leaf("ncon 2", "normal: time constant (s), damping ratio")
    solreffriction: Array = leaf("ncon 2", "friction: time constant (s), damping ratio; 0: as normal")
    solimp: Array = leaf("ncon 5", "impedance")
    adhesion: Array = leaf("ncon", "force that pulls the surfaces together while the contact is detected, N")
    dim: Array = leaf("ncon", "contact dimension: 1, 3, 4 or 6", dtype=int)
    geom: Array = leaf("ncon 2", "geom ids; -1: slot not in use", dtype=int)
    efc_address: Array = leaf("ncon", "first row in efc_force; -1: not in the constraint set", dtype=int)


class Data(Record):
    """Fields carry mjData's names, shapes, units and frames; see the computation chapter."""

    # integration state
    time: Array = leaf("", "s")
    qpos: Array = leaf("nq", "position coordinates, m and rad")
    qvel: Array = leaf("nv", "velocity, m/s and rad/s")
    act: Array = leaf("na", "activations")
    history: Array = leaf("nhistory", "past controls and sensor values of delayed elements")
    qacc_warmstart: Array = leaf("nv", "starting point of the solver, m/s^2 and rad/s^2")
    ctrl: Array = leaf("nu", "controls")
    qfrc_applied: Array = leaf("nv", "applied generalized force, N and N m")
    xfrc_applied: Array = leaf(
        "nbody 6", "applied force (N) and torque (N m) at centres of mass, world frame"
    )
    eq_active: Array = leaf("neq", "equality constraint is active", dtype=bool)
    mocap_pos: Array = leaf("nmocap 3", "m, world frame")
    mocap_quat: Array = leaf("nmocap 4", "orientation, world frame")
    userdata: Array = leaf("nuserdata", "user numbers")
    warning: Array = leaf("", "bits of results.WarningBit, kept until reset", dtype=int)

    # results of position
    xpos: Array = leaf("nbody 3", "body position, m, world frame")
    xquat: Array = leaf("nbody 4", "body orientation, world frame")
    xmat: Array = leaf("nbody 3 3", "body orientation, world frame")
    xipos: Array = leaf("nbody 3", "centre of mass, m, world frame")
    ximat: Array = leaf("nbody 3 3", "inertial axes, world frame")
    xanchor: Array = leaf("njnt 3", "joint anchor, m, world frame")
    xaxis: Array = leaf("njnt 3", "joint axis, world frame")
    geom_xpos: Array = leaf("ngeom 3", "m, world frame")
    geom_xmat: Array = leaf("ngeom 3 3", "world frame")
    site_xpos: Array = leaf("nsite 3", "m, world frame")
    site_xmat: Array = leaf("nsite 3 3", "world frame")
    cam_xpos: Array = leaf("ncam 3", "m, world frame")
    cam_xmat: Array = leaf("ncam 3 3", "world frame")
    light_xpos: Array = leaf("nlight 3", "m, world frame")
    light_xdir: Array = leaf("nlight 3", "world frame")
    subtree_com: Array = leaf("nbody 3", "centre of mass of the subtree, m, world frame")
    cdof: Array = leaf("nv 6", "motion axis of each dof, rotation first, about the root's subtree_com")
    cinert: Array = leaf("nbody 10", "inertia about the root's subtree_com: six of I, mass*offset, mass")
    M: Array = leaf("nM", "joint-space inertia: entries (dof, ancestor) of structure.trees.m_entries")
    ten_length: Array = leaf("ntendon", "m")
    actuator_length: Array = leaf("nout", "m or rad")
    contact: Contact = leaf("", "contacts", dtype=Contact)
    ncon: Array = leaf("", "contacts detected", dtype=int)
    ne: Array = leaf("", "equality rows", dtype=int)
    nf: Array = leaf("", "friction loss rows", dtype=int)
    nl: Array = leaf("", "limit rows", dtype=int)
    nefc: Array = leaf("", "constraint rows in use", dtype=int)

    # results of velocity
    ten_velocity: Array = leaf("ntendon", "m/s")
    actuator_velocity: Array = leaf("nout", "m/s or rad/s")
    cvel: Array = leaf("nbody 6", "velocity, rotation first, about the root's subtree_com")
    cdof_dot: Array = leaf("nv 6", "time derivative of cdof")
    qfrc_bias: Array = leaf("nv", "Coriolis, centrifugal and gravitational force, N and N m")
    qfrc_spring: Array = leaf("nv", "spring force")
    qfrc_damper: Array = leaf("nv", "damper force")
    qfrc_gravcomp: Array = leaf("nv", "gravity compensation force")
    qfrc_fluid: Array = leaf("nv", "fluid force")
    qfrc_adhesion: Array = leaf("nv", "force of adhesive contacts")
    qfrc_passive: Array = leaf("nv", "sum of the passive forces")

    # results of actuation and acceleration
    act_dot: Array = leaf("na", "1/s")
    actuator_force: Array = leaf("nout", "N or N m")
    qfrc_actuator: Array = leaf("nv", "actuator force")
    qfrc_smooth: Array = leaf("nv", "all forces but those of constraints")
    qacc_smooth: Array = leaf("nv", "acceleration without constraints")
    qacc: Array = leaf("nv", "acceleration, m/s^2 and rad/s^2")
    qfrc_constraint: Array = leaf("nv", "constraint force")
    qfrc_inverse: Array = leaf("nv", "force computed by inverse dynamics")
    efc_force: Array = leaf("nefcmax", "constraint force by row of structure.constraints, N and N m")
    cacc: Array = leaf("nbody 6", "acceleration, rotation first, gravity included; filled when a sensor asks")
    cfrc_int: Array = leaf(
        "nbody 6", "force exchanged with the parent, torque first; filled when a sensor asks"
    )
    cfrc_ext: Array = leaf("nbody 6", "external force, torque first; filled when a sensor asks")
    subtree_linvel: Array = leaf(
        "nbody 3", "velocity of the subtree's centre of mass, m/s; when a sensor asks"
    )
    subtree_angmom: Array = leaf("nbody 3", "angular momentum about subtree_com; when a sensor asks")
    energy: Array = leaf("2", "potential and kinetic energy, J; filled with EnableBit.ENERGY")
    sensordata: Array = leaf("nsensordata", "sensor outputs")
    solver_niter: Array = leaf("", "iterations of the last solve", dtype=int)
    solver_gradient: Array = leaf("", "norm of the last solve's gradient, scaled as mjSolverStat's")
    solver_fwdinv: Array = leaf(
        "2", "gap of forward and inverse dynamics: constraint and applied forces; with EnableBit.FWDINV"
    )

    # working fields of the native stages, None outside them
    work: Any = leaf("", "intermediate results handed from stage to stage", default=None)


def plain(data: Data) -> Data:
    """The record itself, its contacts too: without what subclasses add (`jaxsim.mjx` has such)."""
    if type(data) is Data and type(data.contact) is Contact:
        return data
    fields: dict[str, Any] = {field.name: data.__dict__[field.name] for field in Data.leaf_fields()}
    contact = {field.name: data.contact.__dict__[field.name] for field in Contact.leaf_fields()}
    fields["contact"] = Contact(**contact)
    return Data(**fields)
