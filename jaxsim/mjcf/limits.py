"""Caps on what one model may make the reader do; each is far above any real model."""

__all__ = [
    "MAX_ASSET_BYTES",
    "MAX_BUILTIN_VERTICES",
    "MAX_DEPTH",
    "MAX_ELEMENTS",
    "MAX_FILES",
    "MAX_REPLICATE",
    "MAX_XML_BYTES",
]

MAX_XML_BYTES = 100_000_000
"""Bytes of one XML file."""

MAX_ASSET_BYTES = 1_000_000_000
"""Bytes of one mesh, image or height field file."""

MAX_FILES = 2_000
"""XML files that one model may include or attach."""

MAX_ELEMENTS = 1_000_000
"""Elements of a model after include, attach and replicate."""

MAX_DEPTH = 200
"""Nested elements of a model after include, attach and replicate."""

MAX_REPLICATE = 100_000
"""Copies that one replicate element may ask for."""

MAX_BUILTIN_VERTICES = 1_000_000
"""Vertices of a mesh that is made from parameters."""
