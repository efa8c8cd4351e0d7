"""Textures of a model: images, and their colours at points of surfaces and in directions."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from jaxsim.model import Model

__all__ = ["CUBE", "Texture", "textures"]

CUBE = np.array(
    [
        (0, 1, 2, -1, 1, -1),
        (0, -1, 2, 1, 1, -1),
        (1, 1, 0, 1, 2, 1),
        (1, -1, 0, 1, 2, -1),
        (2, 1, 0, 1, 1, -1),
        (2, -1, 0, -1, 1, -1),
    ]
)
"""Of each face of a cube: its axis and sign, axes and signs along its rows and down its columns `(6, 6)`.

OpenGL 4.6, table 8.19.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Texture:
    """An image.

    Attributes:
        pixels: Colours in [0, 1], `(rows, columns, 3)`; of a cube, its six faces `(6, n, n, 3)`.
        kind: 0 flat, 1 cube, 2 sky.
    """

    pixels: np.ndarray
    kind: int

    @functools.cached_property
    def _levels(self) -> list[np.ndarray]:
        """The image at its own, half, a quarter... of its size."""
        levels = [self.pixels]
        while min(levels[-1].shape[:2]) > 1:
            x = levels[-1]
            x = x[: x.shape[0] // 2 * 2, : x.shape[1] // 2 * 2]
            levels.append((x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]) / 4)
        return levels

    def at(self, uv: np.ndarray, footprint: np.ndarray) -> np.ndarray:
        """Colours `(n, 3)` at texture coordinates `(n, 2)`; a pixel covers `footprint` `(n,)` of them."""
        size = np.sqrt(self.pixels.shape[0] * self.pixels.shape[1])
        level = np.log2(np.maximum(footprint * size, 1.0)).round().astype(int).clip(0, len(self._levels) - 1)
        colour = np.empty((len(uv), 3))
        for k in np.unique(level):
            at, image = level == k, self._levels[k]
            row, column = (uv[at][:, ::-1] % 1.0 * image.shape[:2]).astype(int).T
            colour[at] = image[row.clip(0, image.shape[0] - 1), column.clip(0, image.shape[1] - 1)]
        return colour

    def towards(self, direction: np.ndarray) -> np.ndarray:
        """Colours `(n, 3)` of a cube in directions `(n, 3)`."""
        major = np.abs(direction).argmax(1)
        sign = np.take_along_axis(direction, major[:, None], 1)[:, 0]
        face = 2 * major + (sign < 0)
        table = CUBE[face]
        length = np.maximum(np.abs(sign), 1e-12)
        n = self.pixels.shape[1]
        column, row = (
            ((direction[np.arange(len(face)), table[:, k]] * table[:, k + 1] / length + 1) / 2 * n)
            .astype(int)
            .clip(0, n - 1)
            for k in (2, 4)
        )
        return self.pixels[face, row, column]


def textures(model: Model) -> list[Texture]:
    """The textures of a model."""
    found, data = [], np.asarray(model.tex_data)
    for t in range(model.ntex):
        height, width, channels, start = (
            int(x[t]) for x in (model.tex_height, model.tex_width, model.tex_nchannel, model.tex_adr)
        )
        image = data[start : start + height * width * channels].reshape(height, width, channels) / 255.0
        image = image[..., :3] if channels >= 3 else np.repeat(image[..., :1], 3, -1)
        kind = int(model.tex_type[t])
        if kind and height == 6 * width:
            image = image.reshape(6, width, width, 3)
        elif kind:  # one image for all faces
            image = np.broadcast_to(image, (6, *image.shape))
        found.append(Texture(image, kind))
    return found
