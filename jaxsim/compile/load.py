"""Model files to models."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path

from jaxsim import models
from jaxsim.compile.archive import read_model
from jaxsim.compile.assemble import compile_document
from jaxsim.mjcf import Document
from jaxsim.mjcf.errors import MjcfError
from jaxsim.model import Model
from jaxsim.structure.budgets import given_sizes

__all__ = ["load_model"]


def load_model(
    source: str | bytes | PathLike[str],
    *,
    root: str | PathLike[str] | None = None,
    assets: Mapping[str, bytes] | None = None,
    packages: Mapping[str, str | PathLike[str]] | None = None,
    nconmax: int | None = None,
    njmax: int | None = None,
    max_geom_pairs: str | int | None = None,
) -> Model:
    """Loads a model.

    Args:
        source: path of an MJCF (.xml) or URDF (.urdf) file or of a saved model (.npz), or XML text.
        root: a folder outside of which no file is opened, for models that are not trusted.
        assets: contents of files by name, looked up before the disk.
        packages: folders of the packages that `package://` paths of a URDF name.
        nconmax: contact slots of a world; if None what the file asks for, else chosen from the model.
        njmax: constraint rows of a world; None or -1: as many as it may have.
        max_geom_pairs: pairs of geoms of each kind that a broad phase keeps in a world, a number or as in
            "sphere box 40, box box 20"; if None what the file asks for, else chosen from the model.

    Raises:
        MjcfError: the model cannot be read, is not valid, or uses a feature that is not built.
        TypeError: the source is something else.
        ValueError: `nconmax` or `njmax` is less than -1.
    """
    if not isinstance(source, str | bytes | PathLike):
        remedy = "; jaxsim.put_model copies the C engine's" if type(source).__name__ == "MjModel" else ""
        raise TypeError(f"load_model: expected a path or XML text, got {type(source).__name__}{remedy}")
    sizes = given_sizes(nconmax, njmax, max_geom_pairs)
    if isinstance(source, bytes) or (
        isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")
    ):
        document = Document.from_string(source, assets, root=root, packages=packages)
    elif fspath(source).endswith(".npz"):
        return read_model(source).replace(**sizes)
    else:
        file = fspath(source)
        if not file:
            raise MjcfError("load_model: the path or text is empty")
        if file in models.names() and not Path(file).exists():
            raise MjcfError(f"no such file; the bundled model is jaxsim.models.path({file!r})", file=file)
        document = Document.from_file(file, root, assets, packages)
    return compile_document(document).replace(**sizes)
