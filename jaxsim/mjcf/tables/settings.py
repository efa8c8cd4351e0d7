"""MJCF sections that hold settings: compiler, option, size, statistic and visual."""

__all__ = ["TABLE"]

TABLE = """
[mujoco] compiler* option* size* statistic* visual* default* extension* asset* worldbody* deformable*
         contact* tendon* equality* actuator* sensor* custom* keyframe*
  model                    text = MuJoCo Model

[compiler] lengthrange?
  autolimits               bool = true
  boundmass, boundinertia  float = 0
  settotalmass             float = -1
  balanceinertia, strippath, fitaabb, discardvisual, fusestatic, saveinertial, alignfree  bool = false
  coordinate               {local}
  angle                    {radian degree} = degree
  eulerseq                 chars[3] = xyz
  meshdir, texturedir, assetdir  text
  usethread                bool = true
  inertiafromgeom          {$auto} = auto
  inertiagrouprange        int[2] = 0 5
  conflict                 {warning merge error} = warning
  passthrough              {none} = none
  savecanonical, savecompiled  bool = false

[lengthrange]
  mode                     {none muscle muscleuser all} = muscle
  useexisting              bool = true
  uselimit                 bool = false
  accel                    float = 20
  maxforce                 float = 0
  timeconst                float = 1
  timestep                 float = 0.01
  inttotal                 float = 10
  interval                 float = 2
  tolrange                 float = 0.05

[option] flag?
  timestep                 float = 0.002
  impratio                 float = 1
  tolerance                float = 1e-8
  ls_tolerance             float = 0.01
  noslip_tolerance, ccd_tolerance  float = 1e-6
  sleep_tolerance          float = 1e-3
  gravity                  float[3] = 0 0 -9.81
  wind                     float[3] = 0 0 0
  magnetic                 float[3] = 0 -0.5 0
  density, viscosity, o_margin  float = 0
  o_solref                 float[1..2] = 0.02 1
  o_solimp                 float[1..5] = 0.9 0.95 0.001 0.5 2
  o_friction               float[1..5] = 1 1 0.005 0.0001 0.0001
  integrator               {Euler RK4 implicit implicitfast discrete} = Euler
  cone                     {pyramidal elliptic} = pyramidal
  jacobian                 {dense sparse auto} = auto
  solver                   {PGS CG Newton} = Newton
  iterations               int = 100
  ls_iterations            int = 50
  noslip_iterations        int = 0
  ccd_iterations           int = 35
  sdf_iterations           int = 10
  sdf_initpoints           int = 40
  actuatorgroupdisable     int[0..31] >=0 <=30
  into opt.*: timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance
  into opt.*: gravity wind magnetic density viscosity o_margin o_solref o_solimp o_friction
  into opt.*: iterations ls_iterations noslip_iterations ccd_iterations sdf_iterations sdf_initpoints

[flag]
  constraint, equality, frictionloss, limit, contact, spring, damper, gravity, clampctrl  {$enable} = enable
  warmstart, filterparent, actuation, refsafe, sensor, midphase, eulerdamp, autoreset     {$enable} = enable
  nativeccd, island, multiccd                                                             {$enable} = enable
  override, energy, fwdinv, invdiscrete, sleep, diagexact, ipc                            {$enable} = disable

[size]
  memory                   bytes
  njmax, nconmax, nstack   int >=-1 = -1
  nuserdata                int >=0 <=10000000 = 0
  nkey                     int >=-1 <=100000 = 0
  nuser_body, nuser_jnt, nuser_geom, nuser_site            int >=-1 <=10000 = -1
  nuser_cam, nuser_tendon, nuser_actuator, nuser_sensor    int >=-1 <=10000 = -1
  at most one: memory | nstack
  at most one: memory | njmax

[statistic]
  meaninertia, meanmass, meansize  float
  extent                   float >0
  center                   float[3]
  into stat.*: meaninertia meanmass meansize extent center

[visual] global? quality? headlight? map? scale? rgba?

[global]
  cameraid                 int = -1
  orthographic, ellipsoidinertia, bvactive  bool = false
  fovy                     float = 45
  ipd                      float = 0.068
  azimuth                  float = 90
  elevation                float = -45
  linewidth                float = 1
  glow                     float = 0.3
  offwidth                 int = 640
  offheight                int = 480
  realtime                 float >0 = 1

[quality]
  shadowsize               int = 4096
  offsamples, numquads     int = 4
  numslices                int = 28
  numstacks                int = 16

[headlight]
  ambient                  float[3] = 0.1 0.1 0.1
  diffuse                  float[3] = 0.4 0.4 0.4
  specular                 float[3] = 0.5 0.5 0.5
  active                   int = 1

[map]
  stiffness                float = 100
  stiffnessrot             float = 500
  force                    float = 0.005
  torque                   float = 0.1
  alpha, haze              float = 0.3
  fogstart                 float = 3
  fogend                   float = 10
  znear                    float >0 = 0.01
  zfar                     float = 50
  shadowclip               float = 1
  shadowscale              float = 0.6
  actuatortendon           float = 2

[scale]
  forcewidth, contactheight, jointwidth, framewidth, constraint  float = 0.1
  contactwidth, camera, light              float = 0.3
  connect, selectpoint, actuatorwidth, slidercrank  float = 0.2
  com                      float = 0.4
  jointlength, framelength float = 1
  actuatorlength           float = 0.7
  frustum                  float = 10

[visual/rgba]
  fog                      float[4] = 0 0 0 1
  haze                     float[4] = 1 1 1 1
  force                    float[4] = 1 0.5 0.5 1
  inertia                  float[4] = 0.8 0.2 0.2 0.6
  joint                    float[4] = 0.2 0.6 0.8 1
  actuator                 float[4] = 0.2 0.25 0.2 1
  actuatornegative         float[4] = 0.2 0.6 0.9 1
  actuatorpositive         float[4] = 0.9 0.4 0.2 1
  com                      float[4] = 0.9 0.9 0.9 1
  camera                   float[4] = 0.6 0.9 0.6 1
  light                    float[4] = 0.6 0.6 0.9 1
  selectpoint              float[4] = 0.9 0.9 0.1 1
  connect                  float[4] = 0.2 0.2 0.8 1
  contactpoint             float[4] = 0.9 0.6 0.2 1
  contactforce             float[4] = 0.7 0.9 0.9 1
  contactfriction          float[4] = 0.9 0.8 0.4 1
  contacttorque            float[4] = 0.9 0.7 0.9 1
  contactgap               float[4] = 0.5 0.8 0.9 1
  rangefinder              float[4] = 1 1 0.1 1
  constraint, crankbroken  float[4] = 0.9 0 0 1
  slidercrank              float[4] = 0.5 0.3 0.8 1
  frustum                  float[4] = 1 1 0 0.2
  bv                       float[4] = 0 1 0 0.5
  bvactive                 float[4] = 1 0 0 0.5
"""
