"""A small ray caster for pictures of primitive geoms, in numpy; no display or graphics driver is needed."""

from __future__ import annotations

import dataclasses

import numpy as np

from jaxsim.enums import GeomType

__all__ = ["Camera", "Scene", "render"]

_FAR = 1e8
_SKY_TOP = np.array([0.55, 0.70, 0.88])
_SKY_HORIZON = np.array([0.93, 0.95, 0.97])
_SUN = np.array([-0.35, -0.55, 0.80]) / np.linalg.norm([-0.35, -0.55, 0.80])


@dataclasses.dataclass(frozen=True)
class Scene:
    """Geoms in the world frame.

    Attributes:
        type: `enums.GeomType` of each geom, `(n,)`; other types than primitives are drawn as their bounding box.
        size: Sizes in m as in `geom_size`, `(n, 3)`.
        pos: Centres in m, `(n, 3)`.
        mat: Orientations, `(n, 3, 3)`.
        rgba: Colours, `(n, 4)`; a geom with alpha 0 is not drawn.
    """

    type: np.ndarray
    size: np.ndarray
    pos: np.ndarray
    mat: np.ndarray
    rgba: np.ndarray

    def moved(self, offset: np.ndarray) -> Scene:
        """The same scene shifted by `offset` (m, world frame)."""
        return dataclasses.replace(self, pos=self.pos + offset)

    def __add__(self, other: Scene) -> Scene:
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Scene(*(np.concatenate(pair) for pair in pairs))

    def solid(self) -> Scene:
        """The scene without planes."""
        keep = self.type != GeomType.PLANE
        return Scene(*(field[keep] for field in dataclasses.astuple(self)))


@dataclasses.dataclass(frozen=True)
class Camera:
    """Where the picture is taken from.

    Attributes:
        target: Point at the picture's centre, m.
        distance: From the target, m.
        azimuth: Direction of view about the z axis, degrees; 0 looks along +x.
        elevation: Direction of view above the horizon, degrees; negative looks down.
        fovy: Vertical field of view, degrees.
    """

    target: np.ndarray
    distance: float
    azimuth: float = 120.0
    elevation: float = -16.0
    fovy: float = 35.0

    def axes(self) -> np.ndarray:
        """Rows: right, up and forward, unit vectors in the world frame, `(3, 3)`."""
        a, e = np.radians([self.azimuth, self.elevation])
        forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    def eye(self) -> np.ndarray:
        """Position, m, world frame."""
        return np.asarray(self.target) - self.distance * self.axes()[2]


class _Pixels:
    """Rays from a camera through the centres of pixels, and which of them may meet a sphere."""

    def __init__(self, camera: Camera, width: int, height: int) -> None:
        self.start = camera.eye()[None]
        self._axes = camera.axes()
        self._shape = height, width
        self._scale = 2 * np.tan(np.radians(camera.fovy) / 2) / height
        x = self._scale * (np.arange(width) + 0.5 - width / 2)
        y = self._scale * (height / 2 - np.arange(height) - 0.5)
        right, up, forward = self._axes
        dirs = forward + y[:, None, None] * up + x[None, :, None] * right
        self.dirs = (dirs / np.linalg.norm(dirs, axis=-1, keepdims=True)).reshape(-1, 3)
        self.count = len(self.dirs)

    def near(self, centre: np.ndarray, radius: float) -> np.ndarray:
        """Rays of the rectangle in which a sphere lies."""
        x, y, z = self._axes @ (centre - self.start[0])
        height, width = self._shape
        if z + radius <= 0:
            return np.empty(0, int)
        ends = [0, width, 0, height]
        if z > 1.01 * radius:
            for k, value in enumerate([x - radius, x + radius, -y - radius, -y + radius]):
                outwards = (value < 0) == (k % 2 == 0)
                pixel = value / (z - radius if outwards else z + radius) / self._scale
                side = (width, height)[k // 2]
                ends[k] = int(np.clip(np.floor(pixel + side / 2) + k % 2, 0, side))
        rows, columns = np.arange(ends[2], ends[3]), np.arange(ends[0], ends[1])
        return (rows[:, None] * width + columns).reshape(-1)


class _Sunbeams:
    """Parallel rays from points towards the sun, and which of them may meet a sphere."""

    def __init__(self, points: np.ndarray) -> None:
        self.start, self.dirs, self.count = points, _SUN[None], len(points)
        self._across = np.cross(_SUN, [1.0, 0.0, 0.0])
        self._across /= np.linalg.norm(self._across)
        across = points @ self._across
        self._order = np.argsort(across)
        self._sorted = across[self._order]

    def near(self, centre: np.ndarray, radius: float) -> np.ndarray:
        """Rays of the slab in which a sphere lies, without those that pass it by."""
        at = centre @ self._across
        low, high = np.searchsorted(self._sorted, [at - radius, at + radius])
        rays = self._order[low:high]
        to = centre - self.start[rays]
        along = to @ _SUN
        return rays[((to * to).sum(1) - along * along < radius**2) & (along > -radius)]


def render(scene: Scene, camera: Camera, width: int, height: int, *, samples: int = 2) -> np.ndarray:
    """Draws a scene with sunlight, shadows and a chequered floor.

    Args:
        scene: What to draw.
        camera: Where from.
        width: Pixels.
        height: Pixels.
        samples: Rays a pixel, per side.

    Returns:
        RGB picture, `(height, width, 3)`, uint8.
    """
    keep = scene.rgba[:, 3] > 0
    scene = Scene(*(field[keep] for field in dataclasses.astuple(scene)))
    pixels = _Pixels(camera, width * samples, height * samples)
    depth, geom = _first_hit(scene, pixels)
    colour = _SKY_HORIZON + (_SKY_TOP - _SKY_HORIZON) * np.clip(pixels.dirs[:, 2:], 0, 1) ** 0.5
    hit = np.flatnonzero(geom >= 0)
    dirs = pixels.dirs[hit]
    point = pixels.start + depth[hit, None] * dirs
    normal, base = _surface(scene, geom[hit], point, dirs)
    lambert = np.clip(normal @ _SUN, 0, 1)
    lit = np.flatnonzero(lambert > 0)
    lifted = point[lit] + 1e-4 * camera.distance * normal[lit]
    lambert[lit[_first_hit(scene.solid(), _Sunbeams(lifted))[0] < _FAR]] = 0
    half = _SUN - dirs
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    flat = scene.type[geom[hit]] == GeomType.PLANE
    shine = np.where(flat, 0.0, 0.18 * np.clip((normal * half).sum(1), 0, 1) ** 40 * (lambert > 0))
    ambient = 0.42 + 0.18 * normal[:, 2]
    shaded = base * (ambient + 0.55 * lambert)[:, None] + shine[:, None]
    haze = 1 - np.exp(-((depth[hit] / (14 * camera.distance)) ** 2))
    colour[hit] = shaded + (_SKY_HORIZON - shaded) * haze[:, None]
    picture = colour.reshape(height, samples, width, samples, 3).mean((1, 3))
    return (255 * np.clip(picture, 0, 1) ** (1 / 1.15) + 0.5).astype(np.uint8)


def _first_hit(scene: Scene, beams: _Pixels | _Sunbeams) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the first geom along each ray (`_FAR`: none) and its index (-1: none)."""
    count = beams.count
    depth = np.full(count, _FAR)
    geom = np.full(count, -1)
    for i, (kind, size) in enumerate(zip(scene.type, scene.size, strict=True)):
        rays = np.arange(count) if kind == GeomType.PLANE else beams.near(scene.pos[i], _radius(kind, size))
        if rays.size == 0:
            continue
        start = beams.start if len(beams.start) == 1 else beams.start[rays]
        dirs = beams.dirs if len(beams.dirs) == 1 else beams.dirs[rays]
        origin, local = np.broadcast_arrays((start - scene.pos[i]) @ scene.mat[i], dirs @ scene.mat[i])
        t = _INTERSECT.get(kind, _box)(origin, local, size)
        closer = t < depth[rays]
        depth[rays[closer]] = t[closer]
        geom[rays[closer]] = i
    return depth, geom


def _radius(kind: int, size: np.ndarray) -> float:
    """Radius of the bounding sphere."""
    return {
        GeomType.SPHERE: size[0],
        GeomType.CAPSULE: size[0] + size[1],
        GeomType.CYLINDER: np.hypot(size[0], size[1]),
        GeomType.ELLIPSOID: size.max(),
    }.get(GeomType(kind), np.linalg.norm(size))


def _entry(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Smaller positive root of `a t^2 + 2 b t + c = 0`; `_FAR` if there is none."""
    square = b * b - a * c
    t = (-b - np.sqrt(np.maximum(square, 0))) / np.where(a == 0, 1, a)
    return np.where((square >= 0) & (a > 1e-12) & (t > 0), t, _FAR)


def _plane(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    t = -o[:, 2] / np.where(d[:, 2] == 0, 1, d[:, 2])
    at = o + t[:, None] * d
    inside = np.ones(len(o), bool)
    for axis in range(2):
        inside &= (size[axis] <= 0) | (np.abs(at[:, axis]) <= size[axis])
    return np.where((d[:, 2] < 0) & (t > 0) & inside, t, _FAR)


def _sphere(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    return _entry(np.ones(len(o)), (o * d).sum(1), (o * o).sum(1) - size[0] ** 2)


def _ellipsoid(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    o, d = o / size, d / size
    return _entry((d * d).sum(1), (o * d).sum(1), (o * o).sum(1) - 1)


def _tube(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Open cylinder of radius `size[0]` and half length `size[1]`."""
    xy = (slice(None), slice(2))
    b, c = (o[xy] * d[xy]).sum(1), (o[xy] ** 2).sum(1) - size[0] ** 2
    t = _entry((d[xy] ** 2).sum(1), b, c)
    return np.where(np.abs(o[:, 2] + t * d[:, 2]) <= size[1], t, _FAR)


def _capsule(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    t = _tube(o, d, size)
    for end in (-size[1], size[1]):
        t = np.minimum(t, _sphere(o - [0, 0, end], d, size))
    return t


def _cylinder(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    t = _tube(o, d, size)
    for end in (-size[1], size[1]):
        cap = (end - o[:, 2]) / np.where(d[:, 2] == 0, 1e-12, d[:, 2])
        at = o[:, :2] + cap[:, None] * d[:, :2]
        t = np.minimum(t, np.where((cap > 0) & ((at**2).sum(1) <= size[0] ** 2), cap, _FAR))
    return t


def _box(o: np.ndarray, d: np.ndarray, size: np.ndarray) -> np.ndarray:
    inverse = 1 / np.where(np.abs(d) < 1e-12, 1e-12, d)
    a, b = (-size - o) * inverse, (size - o) * inverse
    enter, leave = np.minimum(a, b).max(1), np.maximum(a, b).min(1)
    return np.where((enter <= leave) & (enter > 0), enter, _FAR)


_INTERSECT = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}


def _surface(
    scene: Scene, geom: np.ndarray, point: np.ndarray, dirs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Outward unit normals and colours at points on the given geoms."""
    normal, colour = np.zeros_like(point), scene.rgba[geom, :3].astype(float)
    order = np.argsort(geom, kind="stable")
    found, starts = np.unique(geom[order], return_index=True)
    for i, at in zip(found, np.split(order, starts)[1:], strict=True):
        local, size, kind = (point[at] - scene.pos[i]) @ scene.mat[i], scene.size[i], scene.type[i]
        if kind == GeomType.PLANE:
            n = np.tile([0.0, 0.0, 1.0], (at.size, 1))
            colour[at] *= np.where(np.floor(local[:, :2]).sum(1) % 2, 0.9, 1.0)[:, None]
        elif kind == GeomType.SPHERE:
            n = local
        elif kind == GeomType.CAPSULE:
            n = local - np.clip(local * [0, 0, 1], -size[1], size[1])
        elif kind == GeomType.ELLIPSOID:
            n = local / size**2
        elif kind == GeomType.CYLINDER:
            cap = np.abs(local[:, 2:]) > size[1] * (1 - 1e-6)
            n = np.where(cap, local * [0, 0, 1], local * [1, 1, 0])
        else:
            face = np.argmax(np.abs(local) / size, axis=1)
            n = np.where(np.arange(3) == face[:, None], np.sign(local), 0.0)
        normal[at] = n @ scene.mat[i].T
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    facing = (normal * dirs).sum(1, keepdims=True) < 0
    return np.where(facing, normal, -normal), colour
