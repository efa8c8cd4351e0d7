"""Light on surfaces: the lights of a model and one at the camera, shadows, mirrors, textures and the sky.

The reflection model is that of MuJoCo's renderer (B. T. Phong, "Illumination for computer generated pictures", CACM 18,
1975, with the half vector of J. F. Blinn), so that a model looks as its author saw it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxsim.viewer.poses import Moment
from jaxsim.viewer.scene import Lights, Scene
from jaxsim.viewer.trace import Hits, Surfaces

__all__ = ["Lit"]

_SUN = np.array([-0.35, -0.55, 0.80]) / np.linalg.norm([-0.35, -0.55, 0.80])
"""Where light comes from in a model without lights, so that bodies have shadows to stand on."""

_DAY, _SUNSHINE = 1.05, 0.55
"""All light in such a model, which the headlight has its part of, and the most of it that is the sun's."""

_LAYERS = 6
"""Most surfaces that one looks through."""

_SKY_HIGH, _SKY_LOW = np.array([0.55, 0.70, 0.88]), np.array([0.93, 0.95, 0.97])
_HORIZON = 20.0
"""Distance of the horizon, into which planes fade, in extents."""

_ABOVE, _BELOW = 0.05, 0.15
"""How far haze reaches from the horizon into the sky's images, up and down, rad."""


@dataclasses.dataclass(frozen=True, eq=False)
class Lit:
    """A scene at one moment, ready to be looked at.

    Attributes:
        surfaces: What is there.
        scene: Lights and sky.
        frame: Where the lights are.
        flat: Which items are planes, `(n,)`.
        pixel: Angle that a pixel covers, rad.
    """

    surfaces: Surfaces
    scene: Scene
    frame: Moment
    flat: np.ndarray
    pixel: float

    def colours(self, origins: np.ndarray, dirs: np.ndarray, mirrors: int = 1) -> np.ndarray:
        """What is seen along rays.

        Args:
            origins: m, world frame, `(n, 3)`.
            dirs: Unit, `(n, 3)`.
            mirrors: How often a ray may be reflected.

        Returns:
            Colours `(n, 3)`, in [0, 1].
        """
        colour, left = np.zeros((len(dirs), 3)), np.ones(len(dirs))
        rays, start, looked = np.arange(len(dirs)), origins, dirs
        for layer in range(_LAYERS):
            hits = self.surfaces.first(start, looked)
            missed = np.ones(len(rays), bool)
            missed[hits.ray] = False
            colour[rays[missed]] += left[rays[missed], None] * self._sky(looked[missed])
            if not len(hits.ray):
                break
            shaded, alpha = self._shaded(hits, looked[hits.ray], mirrors)
            rays = rays[hits.ray]
            alpha = alpha if layer < _LAYERS - 1 else np.ones_like(alpha)
            colour[rays] += (left[rays] * alpha)[:, None] * shaded
            left[rays] *= 1 - alpha
            on = left[rays] > 1e-3
            if not on.any():
                break
            rays, looked = rays[on], looked[hits.ray][on]
            start = hits.point[on] + self._lift() * looked
        return colour

    def _lift(self) -> float:
        return 1e-4 * self.scene.extent

    def _sky(self, dirs: np.ndarray) -> np.ndarray:
        if self.scene.sky is None:
            return _SKY_LOW + (_SKY_HIGH - _SKY_LOW) * np.clip(dirs[:, 2:], 0, 1) ** 0.5
        # a cube of images stands with its "up" towards +z and its "front" towards +y
        sky = self.scene.sky.towards(dirs[:, [0, 2, 1]] * [1, 1, -1])
        if not self.scene.horizon:
            return sky
        up = dirs[:, 2:]
        return self._hazy(sky, np.exp(-((up / np.where(up > 0, _ABOVE, _BELOW)) ** 2)))

    def _hazy(self, colour: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Colours `(n, 3)` behind haze, which a part `(n, 1)` of the light is."""
        rgba = np.append(_SKY_LOW, 1.0) if self.scene.sky is None else self.scene.vis.rgba.haze
        return colour + (rgba[:3] - colour) * part * rgba[3]

    def _shaded(self, hits: Hits, dirs: np.ndarray, mirrors: int) -> tuple[np.ndarray, np.ndarray]:
        """Colours and opacities of what rays hit."""
        looks = self.surfaces.looks
        rgba = np.array([look.rgba for look in looks])[hits.item]
        numbers = np.array([[k.emission, k.specular, k.shininess, k.reflectance] for k in looks])[hits.item]
        emission, specular, shininess, reflectance = numbers.T
        base = rgba[:, :3].copy()
        glancing = np.maximum(np.abs((hits.normal * dirs).sum(1)), 0.05)
        footprint = hits.density * hits.distance * self.pixel / np.sqrt(glancing)
        for item in np.unique(hits.item):
            texture = looks[item].texture
            if texture is not None:
                at = hits.item == item
                if texture.kind:
                    base[at] *= texture.towards(hits.uv[at])
                else:
                    base[at] *= texture.at(hits.uv[at, :2], footprint[at])
        shine = np.maximum(128 * shininess, 1.0)
        light, gloss = self._light(hits, dirs, shine)
        colour = np.clip(base * (light + emission[:, None]) + gloss * specular[:, None], 0, 1)
        if mirrors:
            at = np.flatnonzero(reflectance > 0)
            if len(at):
                n, d = hits.normal[at], dirs[at]
                away = d - 2 * (n * d).sum(1, keepdims=True) * n
                seen = self.colours(hits.point[at] + self._lift() * hits.face[at], away, mirrors - 1)
                part = reflectance[at, None]
                colour[at] = (1 - part) * colour[at] + part * seen
        clear = _HORIZON * max(1 - self.scene.vis.map.haze, 1e-3) * max(self.scene.extent, 1.0)
        haze = np.where(self.flat[hits.item], 1 - np.exp(-((hits.distance / clear) ** 2)), 0)
        return self._hazy(colour, haze[:, None]), rgba[:, 3]

    def _light(self, hits: Hits, dirs: np.ndarray, shine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What falls on surfaces, ambient light included, and what they reflect as highlights, each `(n, 3)`."""
        count = len(hits.item)
        head, on = self.scene.vis.headlight, float(self.scene.vis.headlight.active != 0)
        facing = np.clip(-(hits.normal * dirs).sum(1, keepdims=True), 0, 1)
        total = on * (head.ambient + head.diffuse * facing)
        gloss = on * head.specular * facing ** shine[:, None]
        lights = self.scene.lights
        if not len(lights.id):
            sun = np.broadcast_to(_SUN, (count, 3))
            part, bright = self._from(hits, dirs, sun, np.full(count, 1e6), shine, shadow=True)
            strength = np.clip(_DAY - on * (head.ambient + head.diffuse).max(), 0, _SUNSHINE)
            return total + strength * part[:, None], gloss + _SUNSHINE * strength * bright[:, None]
        for k in range(len(lights.id)):
            way, distance, strength = _arriving(lights, k, self.frame, hits.point)
            part, bright = self._from(hits, dirs, way, distance, shine, shadow=bool(lights.shadow[k]))
            total += strength[:, None] * (lights.ambient[k] + part[:, None] * lights.diffuse[k])
            gloss += (strength * bright)[:, None] * lights.specular[k]
        return total, gloss

    def _from(
        self,
        hits: Hits,
        dirs: np.ndarray,
        way: np.ndarray,
        distance: np.ndarray,
        shine: np.ndarray,
        *,
        shadow: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Diffuse and specular parts `(n,)` of light from the directions `way` `(n, 3)`."""
        lambert = np.clip((hits.normal * way).sum(1), 0, 1)
        lit = np.flatnonzero(lambert > 0)
        if shadow and len(lit):
            start = hits.point[lit] + self._lift() * hits.face[lit]
            lambert[lit[self.surfaces.blocked(start, way[lit], distance[lit])]] = 0
        half = way - dirs
        half /= np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12)
        bright = np.where(lambert > 0, np.clip((hits.normal * half).sum(1), 0, 1) ** shine, 0)
        return lambert, bright


def _arriving(
    lights: Lights, k: int, frame: Moment, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions towards a light `(n, 3)`, distances (m) and strengths `(n,)` at points."""
    axis = frame.light_xdir[lights.id[k]]
    if lights.directional[k]:
        return np.broadcast_to(-axis, points.shape), np.full(len(points), 1e6), np.ones(len(points))
    to = frame.light_xpos[lights.id[k]] - points
    distance = np.maximum(np.linalg.norm(to, axis=1), 1e-9)
    way = to / distance[:, None]
    constant, linear, quadratic = lights.attenuation[k]
    strength = 1 / np.maximum(constant + linear * distance + quadratic * distance**2, 1e-9)
    if lights.cutoff[k] < 90:
        inside = np.clip(-(way @ axis), 0, 1)
        strength = strength * np.where(
            inside > np.cos(np.radians(lights.cutoff[k])), inside ** lights.exponent[k], 0
        )
    return way, distance, strength
