"""Deformable and generated MJCF objects: flex, flexcomp, skin and composite."""

__all__ = ["TABLE"]

TABLE = """
$freedom = full radial trilinear quadratic 2d

[deformable] flex* skin*

[flex] contact? edge? elasticity?
  name                     @flex
  group                    int = 0
  dim                      int = 2
  radius                   float = 0.005
  material                 ->material
  rgba                     float[4] = 0.5 0.5 0.5 1
  flatskin                 bool = false
  body                     text required
  vertex                   float[]
  element                  int[] required
  texcoord                 float[]
  elemtexcoord             int[]
  node                     text
  nodecoord                float[]
  cellcount                int[3] = 1 1 1
  dof                      {$freedom}

[flex/contact]
  contype, conaffinity     int = 1
  condim                   int = 3
  priority                 int = 0
  friction                 float[1..3] = 1 0.005 0.0001
  solmix                   float = 1
  +softness
  margin, gap              float = 0
  selfcollide              {none narrow bvh sap auto} = auto
  activelayers             int = 1
  passive                  bool = false

[flex/edge]
  stiffness, damping       float = 0

[elasticity]
  young, poisson, damping  float = 0
  thickness                float = -1
  elastic2d                {none bend stretch both} = none
  section                  {circle box}
  sectionsize              float[1..2]

[flexcomp] edge? elasticity? contact? pin* plugin*
  name                     @flex required
  type                     {grid box cylinder ellipsoid square disc circle mesh gmsh direct}
  group, dim               int
  dof                      {$freedom}
  count, cellcount         int[3]
  spacing, scale, origin   float[3]
  radius, mass, inertiabox float
  rigid, flatskin          bool
  file                     file
  mesh                     ->mesh
  point, texcoord          float[]
  element                  int[]
  material                 ->material
  rgba                     float[4]
  pos                      float[3]
  +orientation

[flexcomp/contact]
  contype, conaffinity     int = 1
  condim                   int = 3
  priority                 int = 0
  friction                 float[1..3] = 1 0.005 0.0001
  solmix                   float = 1
  +softness
  margin, gap              float = 0
  selfcollide              {none narrow bvh sap auto} = auto
  activelayers             int = 1
  passive                  bool = false

[flexcomp/edge]
  equality                 {false true vert strain}
  +softness
  stiffness, damping       float

[pin]
  id, grid, gridrange      int[]
  range                    int[]

[composite] joint* skin? geom? site? plugin*
  prefix                   text
  type                     {particle grid rope loop cable cloth} required
  count                    int[1..3]
  offset                   float[3]
  vertex                   float[]
  initial, curve           text
  size                     float[1..3]
  quat                     float[4]

[composite/joint]
  kind                     {main} required
  group                    int
  stiffness, damping, armature, margin, frictionloss  float
  solreffix                float[1..2]
  solimpfix                float[1..5]
  type                     {$joint}
  axis                     float[3]
  limited                  {$auto} = auto
  range                    float[2] inf
  +limit and friction softness

[composite/skin]
  texcoord                 bool
  material                 ->material
  group                    int >=0 <=5
  rgba                     float[4]
  inflate                  float
  subgrid                  int

[composite/geom]
  type                     {$shape}
  contype, conaffinity, condim, group, priority  int
  size, friction           float[1..3]
  material                 ->material
  rgba                     float[4]
  mass, density, solmix, margin, gap, adhesion   float
  +softness
  surfacevel               float[1..6]

[composite/site]
  group                    int
  size                     float[1..3]
  material                 ->material
  mesh                     ->mesh
  rgba                     float[4]
"""
