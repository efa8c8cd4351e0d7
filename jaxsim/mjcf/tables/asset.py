"""MJCF assets: meshes, height fields, textures, materials, sub-models; and plugin declarations."""

__all__ = ["TABLE"]

TABLE = """
[asset] mesh* hfield* skin* texture* material* model*

[mesh] plugin*
  name                     @mesh
  class                    ->default
  content_type             text own
  file                     file own
  vertex, normal, texcoord float[] own
  face                     int[] own
  refpos                   float[3] own = 0 0 0
  refquat                  float[4] own = 1 0 0 0
  scale                    float[3] = 1 1 1
  smoothnormal             bool own = false
  maxhullvert              int >=-1 = -1
  inertia                  {convex legacy exact shell} = legacy
  builtin                  {none sphere hemisphere cone supertorus supersphere wedge plate} own = none
  params                   float[] own
  material                 ->material own
  at most one: builtin | file
  at most one: builtin | vertex
  into mesh_*: scale

[hfield]
  name                     @hfield
  content_type             text
  file                     file
  nrow, ncol               int = 0
  size                     float[4] required
  elevation                float[]
  into hfield_*: size

[skin] bone*
  name                     @skin
  file                     file
  material                 ->material
  rgba                     float[4] = 0.5 0.5 0.5 1
  inflate                  float = 0
  vertex, texcoord         float[]
  face                     int[]
  group                    int >=0 <=5 = 0

[bone]
  body                     ->body required
  bindpos                  float[3] required
  bindquat                 float[4] required
  vertid                   int[] required
  vertweight               float[] required

[texture]
  name                     @texture
  class                    ->default
  type                     {2d cube skybox} = cube
  colorspace               {auto linear sRGB} = auto
  content_type             text own
  file, fileright, fileleft, fileup, filedown, filefront, fileback  file own
  gridsize                 int[2] = 1 1
  gridlayout               chars[1..12]
  builtin                  {none gradient checker flat} = none
  rgb1                     float[3] = 0.8 0.8 0.8
  rgb2                     float[3] = 0.5 0.5 0.5
  mark                     {none edge cross random} = none
  markrgb                  float[3] = 0 0 0
  random                   float = 0.01
  width, height            int = 0
  hflip, vflip             bool = false
  embed                    {$auto} = auto
  nchannel                 int = 3

[material] layer*
  name                     @material
  class                    ->default
  texture                  ->texture
  texrepeat                float[2] = 1 1
  texuniform               bool = false
  emission, reflectance    float = 0
  specular, shininess      float = 0.5
  metallic, roughness      float = -1
  rgba                     float[4] = 1 1 1 1
  into mat_*: texrepeat texuniform emission reflectance specular shininess metallic roughness rgba

[layer]
  texture                  ->texture required
  role                     {rgb occlusion roughness metallic normal opacity emissive rgba orm} required

[model]
  name                     text
  file                     file required
  content_type             text

[extension] plugin*

[extension/plugin] instance*
  plugin                   text required

[instance] config*
  name                     @instance required

[plugin] config*
  plugin                   text
  instance                 ->instance

[config]
  key, value               text required
"""
