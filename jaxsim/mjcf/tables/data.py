"""MJCF default classes, custom data and keyframes."""

__all__ = ["TABLE"]

TABLE = """
$asset = mesh skin hfield texture material
$list  = flex pair exclude equality tendon actuator sensor numeric text tuple key plugin

[default] default* mesh? texture? material? joint? geom? site? camera? light? pair? equality? tendon? general? motor?
          position? velocity? intvelocity? orientation? pid? damper? cylinder? muscle? adhesion? dcmotor?
  class                    text

[custom] numeric* text* tuple*

[numeric]
  name                     @numeric required
  size                     int >=1 <=500
  data                     float[] inf

[text]
  name                     @text required
  data                     text required

[tuple] element*
  name                     @tuple required

[element]
  objtype                  {$object joint dof light $asset $list} required
  objname                  ->objtype required
  prm                      float = 0

[keyframe] key*

[key]
  name                     @key
  time                     float = 0
  into key_*: time
  qpos, qvel, act, mpos, mquat, ctrl  float[]
"""
