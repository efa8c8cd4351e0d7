"""What relates bodies of the tree in MJCF: contact pairs, tendons and equality constraints."""

__all__ = ["TABLE"]

TABLE = """
[contact] pair* exclude*

[pair]
  name                     @pair
  class                    ->default
  geom1, geom2             ->geom own required
  condim                   int = 3
  friction                 float[1..5] = 1 1 0.005 0.0001 0.0001
  +softness
  solreffriction           float[1..2] = 0 0
  margin, gap, adhesion    float = 0
  into pair_*: condim=dim friction solref solimp solreffriction margin gap adhesion

[exclude]
  name                     @exclude
  body1, body2             ->body required

[tendon] spatial* fixed*

(tendon)
  name                     @tendon
  class                    ->default
  group                    int = 0
  limited, actuatorfrclimited  {$auto} = auto
  range, actuatorfrcrange  float[2] inf = 0 0
  +limit and friction softness
  frictionloss, margin, armature  float = 0
  springlength             float[1..2] repeat = -1 -1
  stiffness, damping       float[1..3] = 0 0 0
  user                     float[] inf
  into tendon_*: group range actuatorfrcrange=actfrcrange frictionloss margin armature springlength=lengthspring
  into tendon_*: solreflimit=solref_lim solimplimit=solimp_lim solreffriction=solref_fri solimpfriction=solimp_fri

[spatial] site* geom* pulley*
  +tendon
  width                    float = 0.003
  material                 ->material
  rgba                     float[4] = 0.5 0.5 0.5 1

[spatial/site]
  site                     ->site required

[spatial/geom]
  geom                     ->geom required
  sidesite                 ->site

[pulley]
  divisor                  float required

[fixed] joint*
  +tendon

[fixed/joint]
  joint                    ->joint required
  coef                     float required

[default/tendon]
  group                    int = 0
  limited                  {$auto} = auto
  range                    float[2] inf = 0 0
  +limit and friction softness
  frictionloss, margin     float = 0
  springlength             float[1..2] repeat = -1 -1
  width                    float = 0.003
  material                 ->material
  stiffness, damping       float[1..3] = 0 0 0
  rgba                     float[4] = 0.5 0.5 0.5 1
  user                     float[] inf

[equality] connect* weld* joint* tendon* flex* flexvert* flexstrain*

(equality)
  name                     @equality
  class                    ->default
  active                   bool = true
  +softness
  into eq_*: active=active0 solref solimp

[default/equality]
  active                   bool = true
  +softness

[connect]
  +equality
  body1, body2             ->body
  anchor                   float[3]
  site1, site2             ->site
  at most one: site1+site2 | body1+body2+anchor
  at least one: site1+site2 | body1+anchor
  all or none: site1 | site2

[weld]
  +equality
  body1, body2             ->body
  anchor                   float[3]
  relpose                  float[7]
  site1, site2             ->site
  torquescale              float = 1
  at most one: site1+site2 | body1+body2+anchor+relpose
  at least one: site1+site2 | body1
  all or none: site1 | site2

[equality/joint]
  +equality
  joint1                   ->joint required
  joint2                   ->joint
  polycoef                 float[1..5] = 0 1 0 0 0

[equality/tendon]
  +equality
  tendon1                  ->tendon required
  tendon2                  ->tendon
  polycoef                 float[1..5] = 0 1 0 0 0

[equality/flex]
  +equality
  flex                     ->flex required

[flexvert]
  +equality
  flex                     ->flex required

[flexstrain]
  +equality
  flex                     ->flex required
  cell                     float[3]
"""
