"""MJCF actuators: the general one and its shortcuts."""

__all__ = ["TABLE"]

TABLE = """
[actuator] general* motor* position* velocity* intvelocity* orientation* pid* damper* cylinder* muscle*
           adhesion* dcmotor* plugin*

(actuator)
  name                     @actuator
  class                    ->default
  group, nsample           int = 0
  interp                   {$spline} = zoh
  delay                    float = 0
  ctrlrange                float[2] inf = 0 0
  user                     float[] inf
  into actuator_*: group delay

(force limit)
  forcelimited             {$auto} = auto
  forcerange               float[2] inf = 0 0
  into actuator_*: forcerange

(control limit)
  ctrllimited              {$auto} = auto

(activation limit)
  actlimited               {$auto} = auto
  actrange                 float[2] inf = 0 0
  into actuator_*: actrange

(drive)
  lengthrange              float[2] own = 0 0
  gear                     float[1..6] = 1 0 0 0 0 0
  damping                  float[1..3] = 0 0 0
  armature                 float = 0
  cranklength              float = 0
  into actuator_*: armature cranklength

(transmission)
  joint                    ->joint own
  jointinparent            ->joint own
  tendon                   ->tendon own
  slidersite, cranksite, site, refsite  ->site own

(servo)
  kp                       float
  kv, dampratio            float >=0

[general]
  +actuator
  +control limit
  +force limit
  +activation limit
  +drive
  +transmission
  body                     ->body own
  actdim                   int = -1
  input                    {$inputs}+
  velrange, ffrange        float[2] inf = 0 0
  inheritrange             float = 0
  dyntype                  {none integrator filter filterexact muscle dcmotor pid user} = none
  gaintype                 {fixed affine muscle dcmotor so3 pid user} = fixed
  biastype                 {none affine muscle dcmotor so3 user} = none
  dynprm, gainprm          float[1..10] = 1 0 0 0 0 0 0 0 0 0
  biasprm                  float[1..10] = 0 0 0 0 0 0 0 0 0 0
  actearly                 bool = false
  into actuator_*: dynprm gainprm biasprm actearly

[motor]
  +actuator
  +control limit
  +force limit
  +drive
  +transmission

[position]
  +actuator
  +control limit
  +force limit
  +drive
  +transmission
  +servo
  inheritrange             float
  timeconst                float >=0

[velocity]
  +actuator
  +control limit
  +force limit
  +drive
  +transmission
  kv                       float

[intvelocity]
  +actuator
  +control limit
  +force limit
  +activation limit
  +drive
  +transmission
  +servo
  inheritrange             float

[orientation]
  +actuator
  +force limit
  joint                    ->joint own
  site, refsite            ->site own
  +servo
  input                    {$inputs}+

[pid]
  +actuator
  +control limit
  +force limit
  +drive
  +transmission
  +servo
  posrange, velrange, ffrange  float[2] inf
  inheritrange, ki, imax   float
  slewmax                  float >=0
  input                    {$inputs}+

[damper]
  +actuator
  ctrlrange                float[2] inf >=0 = 0 0
  +force limit
  +drive
  +transmission
  kv                       float >=0

[cylinder]
  +actuator
  +control limit
  +force limit
  +drive
  +transmission
  timeconst, area, diameter  float
  bias                     float[3]

[muscle]
  +actuator
  +control limit
  +force limit
  +drive
  joint                    ->joint own
  jointinparent            ->joint own
  tendon                   ->tendon own
  slidersite, cranksite    ->site own
  timeconst, range         float[2] inf
  tausmooth                float own >=0
  force, scale, lmin, lmax, vmax, fpmax, fvmax  float

[adhesion]
  +actuator
  ctrlrange                float[2] inf >=0 = 0 0
  +force limit
  body                     ->body own
  gain                     float >=0

[dcmotor]
  +actuator
  +control limit
  +drive
  +transmission
  motorconst, inductance   float[1..2]
  resistance               float
  nominal, saturation, cogging  float[1..3]
  controller, thermal      float[1..6]
  lugre                    float[1..5]
  input                    {$inputs}+

[actuator/plugin] config*
  +actuator
  plugin                   text
  instance                 ->instance
  +control limit
  +force limit
  +activation limit
  +drive
  joint                    ->joint
  jointinparent            ->joint
  tendon                   ->tendon
  site, cranksite, slidersite  ->site
  actdim                   int = -1
  dyntype                  {none integrator filter filterexact muscle dcmotor pid user} = none
  dynprm                   float[1..10] = 1 0 0 0 0 0 0 0 0 0
  actearly                 bool = false
"""
