"""Comparison of compiled models with the oracle's, field by field."""

from __future__ import annotations

import mujoco
import numpy as np

from jaxsim import Spec

__all__ = ["assert_same_model"]

SIZES = [
    "nq",
    "nv",
    "nu",
    "na",
    "nbody",
    "njnt",
    "ngeom",
    "nsite",
    "ncam",
    "nlight",
    "nmesh",
    "npair",
    "nexclude",
    "neq",
    "ntendon",
    "nwrap",
    "nsensor",
    "nkey",
]
FIELDS = [
    "qpos0",
    "body_parentid",
    "body_pos",
    "body_quat",
    "body_ipos",
    "body_iquat",
    "body_mass",
    "body_inertia",
    "jnt_type",
    "jnt_bodyid",
    "jnt_pos",
    "jnt_axis",
    "jnt_range",
    "jnt_limited",
    "jnt_stiffness",
    "dof_damping",
    "geom_type",
    "geom_bodyid",
    "geom_size",
    "geom_pos",
    "geom_quat",
    "geom_contype",
    "geom_rgba",
    "site_bodyid",
    "site_pos",
    "site_quat",
    "pair_geom1",
    "pair_geom2",
    "exclude_signature",
    "eq_type",
    "eq_obj1id",
    "eq_obj2id",
    "eq_data",
    "tendon_num",
    "wrap_objid",
    "actuator_trntype",
    "actuator_trnid",
    "actuator_gear",
    "actuator_gainprm",
    "actuator_biasprm",
    "actuator_ctrlrange",
    "sensor_type",
    "sensor_objid",
    "sensor_refid",
    "key_qpos",
    "key_qvel",
    "key_ctrl",
    "key_mpos",
    "key_mquat",
]


def assert_same_model(spec: Spec, oracle: mujoco.MjModel) -> None:
    """Checks sizes and physical fields of a compiled specification against the oracle's model.

    The tolerance is the project's for compiled fields: 1e-6 of the largest entry.
    """
    model = spec.compile()
    assert {n: int(getattr(model, n)) for n in SIZES} == {n: getattr(oracle, n) for n in SIZES}
    for name in FIELDS:
        theirs = np.asarray(getattr(oracle, name), float)
        mine = np.asarray(getattr(model, name), float).reshape(theirs.shape)
        scale = 1.0 + np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(mine / scale, theirs / scale, atol=1e-6, err_msg=name)
