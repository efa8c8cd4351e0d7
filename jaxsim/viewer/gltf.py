"""Parts of a scene as binary glTF, which browsers draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from jaxsim.viewer.needs import needs
from jaxsim.viewer.scene import Part
from jaxsim.viewer.texture import CUBE, Texture

__all__ = ["glb"]


def glb(parts: Sequence[Part], places: Sequence[tuple[np.ndarray, np.ndarray]]) -> bytes:
    """Some parts as one file.

    Args:
        parts: What it holds.
        places: Position (m) and orientation `(3, 3)` of each.
    """
    trimesh = needs("trimesh", "the viewer needs")
    scene = trimesh.Scene()
    for part, (pos, mat) in zip(parts, places, strict=True):
        mesh, look = part.mesh.placed(pos, mat), part.look
        # a face stands for itself where coordinates on the image are not continuous
        split = look.texture is not None and look.texture.kind > 0
        vertices, faces, normals, uv = mesh.vertices, mesh.faces, mesh.normals, mesh.uv
        if split:
            uv = _atlas(part.mesh.uv[faces]).reshape(-1, 2)
            vertices, normals = vertices[faces].reshape(-1, 3), normals[faces].reshape(-1, 3)
            faces = np.arange(len(vertices)).reshape(-1, 3)
        linear = np.append(np.clip(look.rgba[:3], 0, 1) ** 2.2, look.rgba[3])  # as glTF wants factors
        material = trimesh.visual.material.PBRMaterial(
            baseColorFactor=np.round(255 * np.clip(linear, 0, 1)).astype(np.uint8),
            baseColorTexture=None if look.texture is None else _image(look.texture),
            metallicFactor=0.0,
            roughnessFactor=float(np.clip(1 - 0.8 * look.shininess * look.specular, 0.1, 1.0)),
            emissiveFactor=np.clip(look.emission * linear[:3], 0, 1),
            alphaMode="BLEND" if look.rgba[3] < 1 else "OPAQUE",
        )
        # glTF counts v from the first row as we do, trimesh from the last
        visual = trimesh.visual.TextureVisuals(uv=uv[:, :2] * [1, -1] + [0, 1], material=material)
        scene.add_geometry(
            trimesh.Trimesh(vertices, faces, vertex_normals=normals, visual=visual, process=False)
        )
    return scene.export(file_type="glb")


def _image(texture: Texture) -> Image.Image:
    """The pixels, a cube's faces below one another."""
    pixels = texture.pixels.reshape(-1, *texture.pixels.shape[-2:])
    return Image.fromarray((255 * pixels + 0.5).astype(np.uint8))


def _atlas(corners: np.ndarray) -> np.ndarray:
    """Coordinates `(m, 3, 2)` on a cube's faces below one another, of triangles of directions `(m, 3, 3)`.

    A triangle takes the face that its middle looks at.
    """
    middle = corners.mean(1)
    major = np.abs(middle).argmax(1)
    sign = np.sign(np.take_along_axis(middle, major[:, None], 1)[:, 0])
    face = 2 * major + (sign < 0)
    table = CUBE[face]
    rows = np.arange(len(corners))[:, None]
    length = np.maximum(np.abs(corners[rows, [0, 1, 2], major[:, None]]), 1e-12)
    column, row = (
        np.clip(
            (corners[rows, [0, 1, 2], table[:, k : k + 1]] * table[:, k + 1 : k + 2] / length + 1) / 2,
            0.0,
            1.0,
        )
        for k in (2, 4)
    )
    inset = 0.02 + 0.96 * np.stack([column, row], -1)  # away from the edge to the face above or below
    return np.stack([inset[..., 0], (inset[..., 1] + face[:, None]) / 6], -1)
