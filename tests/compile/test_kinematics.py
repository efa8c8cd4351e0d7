"""Mechanics on the host against the C engine, at random configurations, one and many at once."""

import dataclasses

import mujoco
import numpy as np
import pytest

from jaxsim import load_model
from jaxsim.compile.kinematics import (
    Mechanism,
    Routes,
    kinematics,
    mass_matrix,
    spatial_inertia,
    tendons,
    transmission,
)
from jaxsim.math.rotations import from_vector, matrix, multiply, to_vector

SCENE = """<mujoco><option jacobian="dense"/><worldbody><site name="w" pos=".2 .9 1"/>
  <body pos="1 2 3" quat="1 2 3 4"><freejoint/><geom size=".1 .2 .3" type="box" pos=".1 0 .2"/>
    <site name="f" quat="1 1 0 0"/><body pos=".3 0 0"><joint name="b" type="ball" pos="0 .1 0"/>
      <geom size=".2" fromto="0 0 0 .3 .1 .5" type="capsule"/><site name="t" pos=".1 .2 .3"/></body></body>
  <body name="mocap" mocap="true" pos="4 0 0"><geom size=".1"/></body>
  <body pos="0 0 1"><joint type="slide" axis="1 2 0" ref=".3"/>
    <joint name="h" axis="0 1 1" pos=".1 0 0" ref="20"/><geom name="ball" size=".15" pos="0 .3 0"/>
    <geom name="tube" type="cylinder" size=".12 .3" pos=".5 0 0" quat="1 .3 .2 0"/>
    <site name="a" pos=".2 .4 .1"/><site name="in" pos="0 .35 0"/><site name="side" pos=".5 .4 0"/>
    <body pos=".4 .1 0"><joint/><joint name="l" type="slide" axis="0 0 1"/><geom size=".1" pos="0 0 .4"/>
      <site name="e" pos=".6 .2 .1"/><body><geom size=".05" pos=".5 0 0"/></body></body></body>
  </worldbody>
  <tendon><spatial><site site="w"/><geom geom="ball"/><site site="e"/></spatial>
    <spatial><site site="a"/><geom geom="ball" sidesite="in"/><site site="e"/><pulley divisor="3"/><site site="f"/>
      <site site="t"/><geom geom="tube" sidesite="side"/><site site="w"/></spatial>
    <fixed><joint joint="h" coef="2"/><joint joint="l" coef="-.5"/></fixed></tendon>
  <actuator><motor cranksite="a" slidersite="e" cranklength="3"/>
    <motor cranksite="a" slidersite="e" cranklength=".01"/><motor joint="h" gear="3"/><motor joint="b" gear="1 2 3"/>
    <motor jointinparent="b" gear="3 2 1"/><motor site="t" gear="1 2 3 4 5 6"/>
    <motor site="e" refsite="a" gear="1 2 3 4 5 6"/>
    <orientation joint="b" kp="1"/><orientation site="e" refsite="w" kp="1"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def scene():
    model = load_model(SCENE)
    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    fields = {name: np.asarray(v) if hasattr(v, "shape") else v for name, v in fields.items()}
    mechanism, rng = Mechanism(fields), np.random.default_rng(0)
    m = mujoco.MjModel.from_xml_string(SCENE)
    qpos = np.tile(m.qpos0, (40, 1))
    for row in qpos:
        mujoco.mj_integratePos(m, row, rng.normal(size=m.nv), 1.0)
    return m, mechanism, qpos


def reference(m: mujoco.MjModel, qpos: np.ndarray) -> mujoco.MjData:
    d = mujoco.MjData(m)
    d.qpos[:] = qpos
    mujoco.mj_forward(m, d)
    return d


def test_poses_and_inertia(scene):
    m, mechanism, qpos = scene
    pose = kinematics(mechanism, qpos)
    inertia = mass_matrix(pose, spatial_inertia(pose))
    for k, q in enumerate(qpos):
        d = reference(m, q)
        for name in ("xpos", "xquat", "xipos", "xanchor", "subtree_com"):
            np.testing.assert_allclose(getattr(pose, name)[k], getattr(d, name), atol=1e-12, err_msg=name)
        np.testing.assert_allclose(pose.xmat[k].reshape(-1, 9), d.xmat, atol=1e-12)
        np.testing.assert_allclose(pose.points("site")[k], d.site_xpos, atol=1e-12)
        np.testing.assert_allclose(pose.axes("geom")[k].reshape(-1, 9), d.geom_xmat, atol=1e-12)
        full = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, full)
        np.testing.assert_allclose(inertia[k], full, atol=1e-11)


def test_tendons(scene):
    """The touch from inside is found by Newton's method, which ends at 1e-6 as in C."""
    m, mechanism, qpos = scene
    every = np.arange(m.ntendon)
    length, jacobian = tendons(kinematics(mechanism, qpos), Routes.of(mechanism.fields), every)
    wrapped = 0
    for k, q in enumerate(qpos):
        d = reference(m, q)
        np.testing.assert_allclose(length[k], d.ten_length, atol=1e-9)
        full = np.zeros((m.ntendon, m.nv))
        mujoco.mju_sparse2dense(full, d.ten_J.ravel(), m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind.ravel())
        np.testing.assert_allclose(jacobian[k], full, atol=1e-7)
        wrapped += int((d.wrap_obj >= 0).sum())
    assert wrapped > 50


def test_transmissions(scene):
    m, mechanism, qpos = scene
    pose = kinematics(mechanism, qpos)
    found = [transmission(pose, i) for i in range(m.nactuator)]
    lengths, moments = np.concatenate([f[0] for f in found], 1), np.concatenate([f[1] for f in found], 1)
    for k, q in enumerate(qpos):
        d = reference(m, q)
        np.testing.assert_allclose(lengths[k], d.actuator_length, atol=1e-11)
        full = np.zeros((m.nout, m.nv))
        mujoco.mju_sparse2dense(full, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        np.testing.assert_allclose(moments[k], full, atol=1e-10)


def test_one_configuration_is_one_of_many(scene):
    m, mechanism, qpos = scene
    routes, ids = Routes.of(mechanism.fields), np.array([1, 0])
    many, one = kinematics(mechanism, qpos), kinematics(mechanism, qpos[3])
    for name in ("xpos", "xmat", "xquat", "motions"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name)[3], atol=1e-14)
    for a, b in zip(tendons(one, routes, ids), tendons(many, routes, ids), strict=True):
        np.testing.assert_allclose(a, b[3], atol=1e-13)
    apart = np.array([[k % m.ntendon] for k in range(len(qpos))])
    for a, b in zip(tendons(many, routes, apart), tendons(many, routes, np.arange(m.ntendon)), strict=True):
        np.testing.assert_allclose(a[:, 0], b[np.arange(len(qpos)), apart[:, 0]], atol=1e-14)
    taken = many.take(np.array([3, 5]))
    np.testing.assert_array_equal(taken.motions, many.motions[[3, 5]])


def test_rotations():
    rng = np.random.default_rng(1)
    a, b = from_vector(rng.normal(size=(2, 50, 3)))
    np.testing.assert_allclose(matrix(multiply(a, b)), matrix(a) @ matrix(b), atol=1e-14)
    vectors = np.concatenate([rng.normal(size=(50, 3)), np.zeros((1, 3)), np.eye(3) * 1e-9])
    np.testing.assert_allclose(to_vector(from_vector(vectors)), vectors, atol=1e-14)
