"""MJCF sensors."""

__all__ = ["TABLE"]

TABLE = """
[sensor] touch* accelerometer* velocimeter* gyro* force* torque* magnetometer* camprojection* rangefinder*
         jointpos* jointvel* ballquat* ballangvel* jointactuatorfrc* jointlimitpos* jointlimitvel* jointlimitfrc*
         tendonpos* tendonvel* tendonactuatorfrc* tendonlimitpos* tendonlimitvel* tendonlimitfrc*
         actuatorpos* actuatorvel* actuatorfrc*
         framepos* framequat* framexaxis* frameyaxis* framezaxis* framelinvel* frameangvel* framelinacc*
         frameangacc* subtreecom* subtreelinvel* subtreeangmom* insidesite* distance* normal* fromto* contact*
         e_potential* e_kinetic* clock* tactile* user* plugin*

(sensor)
  name                     @sensor
  nsample                  int = 0
  interp                   {$spline} = zoh
  delay                    float = 0
  interval                 float[1..2] = 0 0
  cutoff                   float = 0
  user                     float[] inf

(noisy sensor)
  +sensor
  noise                    float = 0

(two objects)
  geom1, geom2             ->geom
  body1, body2             ->body
  at most one: geom1 | body1
  at least one: geom1 | body1
  at most one: geom2 | body2
  at least one: geom2 | body2

[touch] [accelerometer] [velocimeter] [gyro] [sensor/force] [sensor/torque] [magnetometer]
  +noisy sensor
  site                     ->site required

[camprojection]
  +noisy sensor
  site                     ->site required
  camera                   ->camera required

[rangefinder]
  +noisy sensor
  site                     ->site
  camera                   ->camera
  data                     {dist dir origin point normal depth}+
  at most one: site | camera
  at least one: site | camera

[jointpos] [jointvel] [ballquat] [ballangvel] [jointactuatorfrc] [jointlimitpos] [jointlimitvel] [jointlimitfrc]
  +noisy sensor
  joint                    ->joint required

[tendonpos] [tendonvel] [tendonactuatorfrc] [tendonlimitpos] [tendonlimitvel] [tendonlimitfrc]
  +noisy sensor
  tendon                   ->tendon required

[actuatorpos] [actuatorvel] [actuatorfrc]
  +noisy sensor
  actuator                 ->actuator required

[framepos] [framequat] [framexaxis] [frameyaxis] [framezaxis] [framelinvel] [frameangvel]
  +noisy sensor
  objtype                  {$object} required
  objname                  ->objtype required
  reftype                  {$object}
  refname                  ->reftype
  all or none: reftype | refname

[framelinacc] [frameangacc]
  +noisy sensor
  objtype                  {$object} required
  objname                  ->objtype required

[subtreecom] [subtreelinvel] [subtreeangmom]
  +noisy sensor
  body                     ->body required

[insidesite]
  +noisy sensor
  site                     ->site required
  objtype                  {$object} required
  objname                  ->objtype required
  enclosed                 bool

[distance] [normal] [sensor/fromto]
  +noisy sensor
  +two objects

[sensor/contact]
  +noisy sensor
  geom1, geom2             ->geom
  body1, body2, subtree1, subtree2  ->body
  site                     ->site
  num                      int >0 <=100000 = 1
  data                     {found force torque dist pos normal tangent linvel angvel}+
  reduce                   {none mindist maxforce netforce} = none
  at most one: geom1 | body1 | subtree1 | site
  at most one: geom2 | body2 | subtree2

[e_potential] [e_kinetic] [clock]
  +noisy sensor

[tactile]
  +sensor
  geom                     ->geom required
  mesh                     ->mesh required

[user]
  name                     @sensor
  objtype                  text
  objname                  ->objtype
  datatype                 {real positive axis quaternion} = real
  needstage                {none pos vel acc} = acc
  dim                      int >=0 <=1000000 required
  cutoff, noise            float = 0
  user                     float[] inf
  all or none: objtype | objname

[sensor/plugin] config*
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
"""
