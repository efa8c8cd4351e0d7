"""Textures: pixels from images or from built-in patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from math import pi, sqrt
from typing import Any

import numpy as np

from jaxsim.compile.columns import addresses, column
from jaxsim.mjcf import Document, Element

__all__ = ["Texture", "compile_texture", "texture_fields"]

_FACES = ("fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
_LETTERS = "RLUDFB"
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_MAX_BYTES = 1 << 29


@dataclass(eq=False)
class Texture:
    """A texture; `pixels` is (height, width, channels), the six faces of a cube below one another."""

    element: Element
    name: str
    id: int
    type: int
    colorspace: int
    pixels: np.ndarray


def compile_texture(document: Document, element: Element, name: str, index: int) -> Texture:
    """Reads or paints one texture.

    Raises:
        MjcfError: an image cannot be read, or its size does not fit.
    """
    values: Any = document.resolve(element)
    type = ("2d", "cube", "skybox").index(values["type"])
    if not name and values["type"] != "skybox":
        raise element.error("a texture needs a name", attribute="name")
    if type != 0 and values["nchannel"] != 3 and values["builtin"] == "none":
        raise element.error("the images of a cube or skybox have 3 channels", attribute="nchannel")
    if values["builtin"] != "none":
        pixels = _builtin(element, values)
    elif values["file"]:
        pixels = _image(document, element, "file", values)
        if type != 0:
            pixels = _cube(element, values, pixels)
    elif type == 0:
        raise element.error("a 2d texture needs a file or a builtin pattern", attribute="file")
    else:
        pixels = _separate(document, element, values)
    space = values["colorspace"]
    if space == "auto" and values["builtin"] == "none":
        space = "sRGB" if _srgb(document, element, values) else "linear"
    colorspace = ("auto", "linear", "sRGB").index(space)
    return Texture(element, name, index, type, colorspace, pixels)


def _srgb(document: Document, element: Element, values: Any) -> bool:
    """Whether the first image declares the sRGB colour space, by a chunk of its own."""
    attribute = next(name for name in ("file", *_FACES) if values[name])
    _, content = document.open_asset(element, attribute)
    start = 8
    while start + 8 <= len(content):
        if content[start + 4 : start + 8] == b"sRGB":
            return True
        start += 12 + int.from_bytes(content[start : start + 4], "big")
    return False


def _image(document: Document, element: Element, attribute: str, values: Any) -> np.ndarray:
    from PIL import Image

    name, content = document.open_asset(element, attribute)
    kind = values["content_type"] or ("image/ktx" if name.lower().endswith(".ktx") else "image/png")
    if kind not in ("image/png", "image/ktx"):
        raise element.error("expected image/png or image/ktx", attribute="content_type")
    if kind == "image/ktx":
        return np.frombuffer(content, np.uint8).reshape(1, -1, 1)
    mode = _MODES.get(values["nchannel"])
    if mode is None:
        raise element.error("expected 1, 3 or 4", attribute="nchannel")
    try:
        with Image.open(BytesIO(content)) as image:
            if image.width * image.height * len(mode) > _MAX_BYTES:
                raise element.error("the image is too large", attribute=attribute)
            if image.mode.startswith("I"):  # of 16 bits the upper ones count
                image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).astype(np.uint8))
            if mode == "L" and image.mode in ("P", "RGB", "RGBA"):
                image = image.convert("RGB").getchannel(0)  # grey is the red channel, as in C
            pixels = np.asarray(image.convert(mode), np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise element.error(f"not a readable image: {error}", attribute=attribute) from None
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    return pixels[:: -1 if values["vflip"] else 1, :: -1 if values["hflip"] else 1]


def _flat(rgb: Sequence[float], size: int) -> np.ndarray:
    return np.broadcast_to((255 * np.asarray(rgb)).astype(np.uint8), (size, size, 3))


def _cube(element: Element, values: Any, pixels: np.ndarray) -> np.ndarray:
    """Cuts one image into six faces; a single square stands for all."""
    rows, cols = values["gridsize"].tolist()
    if rows < 1 or cols < 1 or rows * cols > 12:
        raise element.error("expected 1 to 12 squares", attribute="gridsize")
    height, width = pixels.shape[:2]
    if height % rows or width % cols or height // rows != width // cols:
        raise element.error("the image does not consist of such squares", attribute="gridsize")
    if rows == cols == 1:
        return pixels
    layout = values["gridlayout"] or "." * (rows * cols)
    if len(layout) != rows * cols:
        raise element.error(f"expected {rows * cols} letters", attribute="gridlayout")
    side = width // cols
    faces = [_flat(values["rgb1"], side)] * 6
    for k, letter in enumerate(layout):
        if letter == ".":
            continue
        if letter not in _LETTERS:
            raise element.error("expected letters of .RLUDFB", attribute="gridlayout")
        top, left = side * (k // cols), side * (k % cols)
        faces[_LETTERS.index(letter)] = pixels[top : top + side, left : left + side, :3]
    return np.concatenate(faces)


def _separate(document: Document, element: Element, values: Any) -> np.ndarray:
    """Joins six square images; a missing one is filled with the first colour."""
    images = {k: _image(document, element, face, values) for k, face in enumerate(_FACES) if values[face]}
    if not images:
        raise element.error("give a file, a builtin pattern, or the files of the faces", attribute="file")
    side = next(iter(images.values())).shape[0]
    for k, image in images.items():
        if image.shape[:2] != (side, side):
            raise element.error("the images must be squares of the same size", attribute=_FACES[k])
    return np.concatenate(
        [images[k][..., :3] if k in images else _flat(values["rgb1"], side) for k in range(6)]
    )


def _builtin(element: Element, values: Any) -> np.ndarray:
    if values["nchannel"] != 3:
        raise element.error("a builtin pattern has 3 channels", attribute="nchannel")
    width = values["width"]
    height = width if values["type"] != "2d" else values["height"]
    if width < 1 or height < 1:
        raise element.error("a builtin pattern needs a size", attribute="width" if width < 1 else "height")
    if 18 * width * height > _MAX_BYTES:
        raise element.error("the texture is too large", attribute="width")
    first, second = values["rgb1"].tolist(), values["rgb2"].tolist()
    if values["type"] == "2d":
        faces = [_face(values["builtin"], first, second, width, height, "2d")]
    else:
        kinds = {"R": "side", "L": "side", "U": "U", "D": "D", "F": "front", "B": "front"}
        if values["builtin"] != "checker":
            kinds.update(F="side", B="side")
        painted = {
            kind: _face(values["builtin"], first, second, width, width, kind) for kind in {*kinds.values()}
        }
        faces = [painted[kinds[letter]].copy() for letter in _LETTERS]
    mark = (255 * values["markrgb"]).astype(np.uint8)
    dots = np.random.default_rng(42)
    for face in faces:
        if values["mark"] == "edge":
            face[[0, -1]] = mark
            face[:, [0, -1]] = mark
        elif values["mark"] == "cross":
            face[:, width // 2] = mark
            face[face.shape[0] // 2] = mark
        elif values["mark"] == "random" and values["random"] > 0:
            face[dots.random(face.shape[:2]) < values["random"]] = mark
    return np.concatenate(faces)


def _face(
    pattern: str, first: Sequence[float], second: Sequence[float], width: int, height: int, face: str
) -> np.ndarray:
    """Paints one face; `face` is `2d`, or which side of a cube it is."""
    if pattern == "flat":
        return np.array(np.broadcast_to(_flat(second if face == "D" else first, 1), (height, width, 3)))
    if pattern == "checker":
        if face == "front":
            first, second = second, first
        even = (np.arange(height)[:, None] < height // 2) == (np.arange(width)[None] < width // 2)
        return np.where(even[..., None], _flat(first, 1), _flat(second, 1))
    x = np.linspace(-1, 1, width, dtype=np.float32)[None] if width > 1 else np.zeros((1, 1), np.float32)
    y = np.linspace(1, -1, height, dtype=np.float32)[:, None] if height > 1 else np.zeros((1, 1), np.float32)
    if face == "2d":
        return _blend(second, first, 2 * np.sqrt(x * x + y * y) - 1)
    root = np.sqrt(1 + x * x + y * y)
    if face in ("U", "D"):
        level = 1 - np.arccos(1 / root) / (pi / 2)
        return _blend(first, second, level if face == "U" else -level)
    return _blend(first, second, np.arcsin(y / root) / (pi / 2))


def _blend(first: Sequence[float], second: Sequence[float], level: np.ndarray) -> np.ndarray:
    """Mixes two colours by a sigmoid of a level in [-1, 1]."""
    alpha = np.clip(0.5 + sqrt(0.5) * level / np.sqrt(1 + level * level), 0, 1)
    result = np.empty((*alpha.shape, 3), np.uint8)
    for channel, (a, b) in enumerate(zip(first, second, strict=True)):
        result[..., channel] = np.float32(255 * b) + alpha * np.float32(255 * (a - b))
    return result


def texture_fields(textures: list[Texture]) -> dict[str, Any]:
    """Returns the fields of all textures."""
    sizes = [texture.pixels.size for texture in textures]
    data = [np.ascontiguousarray(texture.pixels).ravel() for texture in textures]
    return {
        "ntex": len(textures),
        "tex_type": column("tex_type", [texture.type for texture in textures]),
        "tex_colorspace": column("tex_colorspace", [texture.colorspace for texture in textures]),
        "tex_height": column("tex_height", [texture.pixels.shape[0] for texture in textures]),
        "tex_width": column("tex_width", [texture.pixels.shape[1] for texture in textures]),
        "tex_nchannel": column("tex_nchannel", [texture.pixels.shape[2] for texture in textures]),
        "tex_adr": column("tex_adr", addresses(sizes)),
        "tex_data": np.concatenate(data) if data else np.zeros(0, np.uint8),
    }
