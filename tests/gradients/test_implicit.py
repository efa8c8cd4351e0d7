"""Steps of the implicit integrators with contacts, limits, friction, servos and a medium: both modes of derivatives."""

import functools

import numpy as np
import pytest

from tests.gradients import scenes
from tests.gradients.jacobians import Jacobians, Scene

pytestmark = pytest.mark.slow

LEAVES = (
    "body_mass",
    "body_inertia",
    "dof_damping",
    "jnt_range",
    "actuator_gainprm",
    "actuator_dynprm",
    "opt.density",
    "opt.viscosity",
    "opt.wind",
    "opt.gravity",
    "opt.timestep",
)
FIRST, TENTH = 0, 1


@functools.cache
def jacobians(integrator: str) -> Jacobians:
    xml = scenes.RUNGE_KUTTA.replace(
        'integrator="RK4"', f'integrator="{integrator}" density="80" viscosity="0.5" wind="0.5 -1 0.3"'
    )
    xml = xml.replace("<actuator>", '<actuator><position joint="shoulder" kp="8" kv="3"/>')
    s = Scene(xml, LEAVES)
    d = scenes.runge_kutta(s.mj_model)
    d.ctrl[:] = 0.4, 0.6
    return s.at(d)


@pytest.mark.parametrize("body", ["limited arm", "sphere"])
@pytest.mark.parametrize("step", [FIRST, TENTH])
@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_against_differences(integrator, step, body):
    found = jacobians(integrator)
    for quantity in found.scene.columns:
        # ten stiff steps: the differences carry their rounding
        assert found.error(body, quantity, step) < (2e-6 if step else 1e-6), quantity


@pytest.mark.parametrize("integrator", ["implicit", "implicitfast"])
def test_modes_agree(integrator):
    found = jacobians(integrator)
    assert np.isfinite(found.forward).all()
    assert found.duality_error() < 1e-10
