"""Keyword sets and attribute groups that several concepts of the MJCF table share."""

__all__ = ["TABLE"]

TABLE = """
$auto     = false true auto
$enable   = disable enable
$shape    = plane hfield sphere capsule ellipsoid cylinder box mesh sdf
$joint    = free ball slide hinge
$tracking = fixed track trackcom targetbody targetbodycom
$object   = body xbody geom site camera
$spline   = zoh linear cubic
$inputs   = pos vel ff voltage pressure / expmap quat none

(orientation)
  quat                     float[4] = 1 0 0 0
  axisangle                float[4]
  xyaxes                   float[6]
  zaxis, euler             float[3]
  at most one: quat | axisangle | xyaxes | zaxis | euler

(softness)
  solref                   float[1..2] = 0.02 1
  solimp                   float[1..5] = 0.9 0.95 0.001 0.5 2

(limit and friction softness)
  solreflimit              float[1..2] = 0.02 1
  solimplimit              float[1..5] = 0.9 0.95 0.001 0.5 2
  solreffriction           float[1..2] = 0.02 1
  solimpfriction           float[1..5] = 0.9 0.95 0.001 0.5 2
"""
