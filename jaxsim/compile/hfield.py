"""Height fields from images, MuJoCo's binary files or inline numbers."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from jaxsim.compile.columns import addresses, column
from jaxsim.mjcf import Document, Element
from jaxsim.mjcf.frames import EPS

__all__ = ["HField", "compile_hfield", "hfield_fields"]

_MAX_CELLS = 1 << 27
_OWN = "image/vnd.mujoco.hfield"
"""Type of content of MuJoCo's binary files."""


@dataclass(eq=False)
class HField:
    """A height field: half width, half depth, height and base (m), and elevation in [0, 1], rows from y = -depth."""

    element: Element
    name: str
    id: int
    size: tuple[float, ...]
    data: np.ndarray


def compile_hfield(document: Document, element: Element, name: str, index: int) -> HField:
    """Reads one height field.

    Raises:
        MjcfError: the file or the numbers are not valid.
    """
    values: Any = document.resolve(element)
    size = tuple(values["size"].tolist())
    nrow, ncol = values["nrow"], values["ncol"]
    if values["file"]:
        file, content = document.open_asset(element, "file")
        kind = values["content_type"] or ("image/png" if file.lower().endswith(".png") else _OWN)
        if kind not in ("image/png", _OWN):
            raise element.error(f"expected image/png or {_OWN}", attribute="content_type")
        data = _png(element, content) if kind == "image/png" else _binary(element, content)
    elif nrow > 0 and ncol > 0:
        data = _inline(element, nrow, ncol, values["elevation"])
    else:
        raise element.error("give a file, or nrow and ncol", attribute="file")
    attribute = "file" if values["file"] else "nrow"
    if min(data.shape) < 2:
        raise element.error(f"expected at least 2 rows and 2 columns, not {data.shape}", attribute=attribute)
    if not np.isfinite(data).all():
        raise element.error("an elevation is not finite", attribute=attribute)
    return HField(element, name, index, size, _scaled(data))


def _png(element: Element, content: bytes) -> np.ndarray:
    from PIL import Image

    try:
        with Image.open(BytesIO(content)) as image:
            if image.width * image.height > _MAX_CELLS:
                raise element.error("the image is too large", attribute="file")
            grey = np.asarray(_grey(image), np.float32)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise element.error(f"not a readable image: {error}", attribute="file") from None
    return grey[::-1]


def _grey(image: Any) -> Any:
    """Converts to 8 bits of grey; of 16 bits the upper ones count."""
    if image.mode in ("I;16", "I;16B", "I"):
        return np.asarray(image).astype(np.int64) >> 8
    return image.convert("RGB").getchannel(0) if image.mode in ("P", "RGB", "RGBA") else image.convert("L")


def _binary(element: Element, content: bytes) -> np.ndarray:
    """Two 32-bit integers, rows and columns, then single-precision numbers."""
    if len(content) < 8:
        raise element.error("the file has no header", attribute="file")
    nrow, ncol = np.frombuffer(content, "<i4", 2).tolist()
    if nrow < 1 or ncol < 1 or len(content) != 8 + 4 * nrow * ncol:
        raise element.error("the size of the file does not fit its header", attribute="file")
    return np.frombuffer(content, "<f4", nrow * ncol, 8).reshape(nrow, ncol)


def _inline(element: Element, nrow: int, ncol: int, elevation: np.ndarray | None) -> np.ndarray:
    if nrow * ncol > _MAX_CELLS:
        raise element.error("the height field is too large", attribute="nrow")
    if elevation is None:
        return np.zeros((nrow, ncol), np.float32)
    return elevation.astype(np.float32).reshape(nrow, ncol)[::-1]


def _scaled(data: np.ndarray) -> np.ndarray:
    """Maps elevation to [0, 1] in single precision."""
    low, high = data.min(), data.max()
    data = data - low
    return data / (high - low) if high - low > EPS else data


def hfield_fields(hfields: list[HField]) -> dict[str, Any]:
    """Returns the fields of all height fields."""
    counts = [h.data.size for h in hfields]
    data = np.concatenate([h.data.ravel() for h in hfields]) if hfields else np.zeros(0)
    return {
        "nhfield": len(hfields),
        "hfield_size": column("hfield_size", [h.size for h in hfields]),
        "hfield_nrow": column("hfield_nrow", [h.data.shape[0] for h in hfields]),
        "hfield_ncol": column("hfield_ncol", [h.data.shape[1] for h in hfields]),
        "hfield_adr": column("hfield_adr", addresses(counts)),
        "hfield_data": column("hfield_data", data),
    }
