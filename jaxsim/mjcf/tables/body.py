"""The kinematic tree of MJCF: bodies, frames and what they carry."""

__all__ = ["TABLE"]

TABLE = """
[worldbody] body* frame* replicate* inertial? joint* freejoint* geom* attach* site* camera* light* plugin*
            composite* flexcomp*

[body] body* frame* replicate* inertial? joint* freejoint* geom* attach* site* camera* light* plugin*
       composite* flexcomp*
  name                     @body
  childclass               ->default
  pos                      float[3] = 0 0 0
  +orientation
  mocap                    bool = false
  gravcomp                 float = 0
  sleep                    {auto never allowed init} = auto
  simple                   {false auto} = auto
  fuse                     {false auto} = auto
  user                     float[] inf
  into body_*: gravcomp

[frame] body* frame* replicate* inertial? joint* freejoint* geom* attach* site* camera* light* plugin*
        composite* flexcomp*
  name                     @frame
  childclass               ->default
  pos                      float[3] = 0 0 0
  +orientation
  scale                    float[1..3] >0 = 1 1 1
  massscale                float >=0 = 0
  scaling                  {similar geometry} = similar

[replicate] body* frame* replicate* inertial? joint* freejoint* geom* attach* site* camera* light* plugin*
            composite* flexcomp*
  count                    int >=0 required
  offset, euler            float[3] = 0 0 0
  sep, prefix              text =
  childclass               ->default

[attach]
  model                    text
  body                     text
  frame                    text
  prefix                   text required
  at most one: body | frame

[inertial]
  pos                      float[3] required
  mass                     float required
  diaginertia              float[3]
  fullinertia              float[6]
  quat                     float[4] = 1 0 0 0
  axisangle                float[4]
  xyaxes                   float[6]
  zaxis, euler             float[3]
  at most one: fullinertia | quat | axisangle | xyaxes | zaxis | euler

[joint]
  name                     @joint
  class                    ->default
  type                     {$joint} = hinge
  group                    int = 0
  pos                      float[3] = 0 0 0
  axis                     float[3] = 0 0 1
  springdamper             float[2] = 0 0
  limited, actuatorfrclimited  {$auto} = auto
  +limit and friction softness
  stiffness, damping       float[1..3] = 0 0 0
  range, actuatorfrcrange  float[2] inf = 0 0
  actuatorgravcomp         bool = false
  margin, ref, springref, armature, frictionloss  float = 0
  user                     float[] inf
  into jnt_*: solreflimit=solref solimplimit=solimp actuatorfrcrange=actfrcrange actuatorgravcomp=actgravcomp margin
  into dof_*: solreffriction=solref solimpfriction=solimp armature frictionloss

[freejoint]
  name                     @joint
  group                    int = 0
  align                    {$auto} = auto

[geom] plugin*
  name                     @geom
  class                    ->default
  type                     {$shape} = sphere
  contype, conaffinity     int = 1
  condim                   int = 3
  group, priority          int = 0
  size                     float[1..3] = 0 0 0
  material                 ->material
  friction                 float[1..3] = 1 0.005 0.0001
  mass                     float
  density                  float = 1000
  shellinertia             bool = false
  solmix                   float = 1
  +softness
  margin, gap, adhesion    float = 0
  surfacevel               float[1..6] = 0 0 0 0 0 0
  fromto                   float[6]
  pos                      float[3] = 0 0 0
  +orientation
  hfield                   ->hfield
  mesh                     ->mesh
  fitscale                 float = 1
  rgba                     float[4] = 0.5 0.5 0.5 1
  fluidshape               {none ellipsoid} = none
  fluidcoef                float[1..5] = 0.5 0.25 1.5 1 1
  user                     float[] inf
  into geom_*: contype conaffinity condim group priority friction solmix solref solimp margin gap adhesion rgba

[site]
  name                     @site
  class                    ->default
  type                     {$shape} = sphere
  group                    int = 0
  pos                      float[3] = 0 0 0
  +orientation
  material                 ->material
  mesh                     ->mesh
  size                     float[1..3] = 0.005 0.005 0.005
  fromto                   float[6]
  rgba                     float[4] = 0.5 0.5 0.5 1
  user                     float[] inf
  into site_*: group rgba

[camera]
  name                     @camera
  class                    ->default
  projection               {perspective orthographic} = perspective
  fovy                     float = 45
  ipd                      float = 0.068
  resolution               int[2] = 1 1
  output                   {rgb depth distance normal segmentation}*
  pos                      float[3] = 0 0 0
  +orientation
  mode                     {$tracking} = fixed
  target                   ->body own
  focal, focalpixel, principal, principalpixel, sensorsize  float[2] = 0 0
  user                     float[] inf
  at most one: fovy | sensorsize
  into cam_*: ipd resolution sensorsize

[light]
  name                     @light
  class                    ->default
  directional              bool
  type                     {spot directional point image} = spot
  castshadow, active       bool = true
  pos                      float[3] = 0 0 0
  dir                      float[3] = 0 0 -1
  bulbradius               float = 0.02
  intensity                float = 0
  range, exponent          float = 10
  attenuation              float[3] = 1 0 0
  cutoff                   float = 45
  softness                 float = 0.2
  ambient                  float[3] = 0 0 0
  diffuse                  float[3] = 0.7 0.7 0.7
  specular                 float[3] = 0.3 0.3 0.3
  mode                     {$tracking} = fixed
  target                   ->body own
  texture                  ->texture own
  at most one: directional | type
  into light_*: castshadow active bulbradius intensity range exponent attenuation cutoff softness
  into light_*: ambient diffuse specular
"""
