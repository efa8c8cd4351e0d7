"""MJCF sensors: the elements of the catalogue (`structure.sensors`), each with the attributes of its form."""

from __future__ import annotations

from jaxsim.structure.sensors import CATALOGUE, CONTACT_DATA, RAY_DATA, Reduce

__all__ = ["TABLE"]

_GROUPS = """
(sensor)
  name                     @sensor
  nsample                  int = 0
  interp                   {$spline} = zoh
  delay                    float = 0
  interval                 float[1..2] = 0 0
  cutoff                   float = 0
  user                     float[] inf
  into sensor_*: delay interval cutoff

(noisy sensor)
  +sensor
  noise                    float = 0
  into sensor_*: noise
"""

_OBJECT = """
  +noisy sensor
  {0}                      ->{0} required
"""
"""Form of a sensor of one object."""

FORMS = {
    **{kind: _OBJECT.format(kind) for kind in ("site", "joint", "tendon", "actuator", "body")},
    "world": """
  +noisy sensor
""",
    "frame": """
  +noisy sensor
  objtype                  {$object} required
  objname                  ->objtype required
""",
    "frame in frame": """
  +noisy sensor
  objtype                  {$object} required
  objname                  ->objtype required
  reftype                  {$object}
  refname                  ->reftype
  all or none: reftype | refname
""",
    "frame in site": """
  +noisy sensor
  site                     ->site required
  objtype                  {$object} required
  objname                  ->objtype required
  enclosed                 bool
""",
    "site in camera": """
  +noisy sensor
  site                     ->site required
  camera                   ->camera required
""",
    "rays": f"""
  +noisy sensor
  site                     ->site
  camera                   ->camera
  data                     {{{" ".join(RAY_DATA)}}}+
  at most one: site | camera
  at least one: site | camera
""",
    "geoms": """
  +noisy sensor
  geom1, geom2             ->geom
  body1, body2             ->body
  at most one: geom1 | body1
  at least one: geom1 | body1
  at most one: geom2 | body2
  at least one: geom2 | body2
""",
    "contacts": f"""
  +noisy sensor
  geom1, geom2             ->geom
  body1, body2, subtree1, subtree2  ->body
  site                     ->site
  num                      int >0 <=100000 = 1
  data                     {{{" ".join(CONTACT_DATA)}}}+
  reduce                   {{{" ".join(r.name.lower() for r in Reduce)}}} = none
  at most one: geom1 | body1 | subtree1 | site
  at most one: geom2 | body2 | subtree2
""",
    "taxels": """
  +sensor
  geom                     ->geom required
  mesh                     ->mesh required
""",
    "user": """
  name                     @sensor
  objtype                  text
  objname                  ->objtype
  datatype                 {real positive axis quaternion} = real
  needstage                {none pos vel acc} = acc
  dim                      int >=0 <=1000000 required
  cutoff, noise            float = 0
  user                     float[] inf
  into sensor_*: cutoff noise
  all or none: objtype | objname
""",
    "plugin": """
  name                     @sensor
  plugin                   text
  instance                 ->instance
  cutoff                   float = 0
  objtype, reftype         text
  objname                  ->objtype
  refname                  ->reftype
  user                     float[] inf
  all or none: objtype | objname
  all or none: reftype | refname
""",
}
"""Attributes of sensors, by form."""


def _elements() -> str:
    """The elements of each form, and the attributes that they share."""
    text = ""
    for form, attributes in FORMS.items():
        tags = [row.tag for row in CATALOGUE if row.form == form]
        children = " config*" if form == "plugin" else ""
        text += "\n" + " ".join(f"[sensor/{tag}]" for tag in tags) + children + attributes
    return text


TABLE = f"[sensor] {' '.join(f'{row.tag}*' for row in CATALOGUE)}\n{_GROUPS}{_elements()}"
