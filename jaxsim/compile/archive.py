"""Compiled models in one file: a zip of numpy arrays with a format version and a checksum."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
import zlib
from os import PathLike, fspath
from typing import Any

import numpy as np

from jaxsim.collision.field import with_voxels, without_voxels
from jaxsim.hooks import Hooks
from jaxsim.keys import frozen
from jaxsim.mjcf import MjcfError
from jaxsim.model import Model, from_fields
from jaxsim.pytree import Record

__all__ = ["FORMAT", "read_model", "save_model"]

FORMAT = 5
"""Version of the file format; it changes when an older reader would misread a newer file."""

_HEADER = "header"
_MAX_BYTES = 1 << 33
"""Most bytes that a file may unpack to."""


def save_model(model: Model, path: str | PathLike[str]) -> None:
    """Writes a compiled model to a `.npz` file, which `load_model` reads much faster than the original.

    Args:
        model: the model; leaves may be batched.
        path: the file, whose name ends in `.npz`.

    Raises:
        ValueError: the name has another ending, or the model holds functions of the user's, which no file can.
    """
    if not fspath(path).endswith(".npz"):
        raise ValueError(
            f"the name of a saved model ends in .npz, by which load_model knows it, not {fspath(path)!r}"
        )
    model = without_voxels(model)
    if model.hooks != Hooks():
        raise ValueError("a model with functions of your own cannot be saved: save it before it gets them")
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    _collect(model, "", arrays, plain)
    header = json.dumps(
        {"format": FORMAT, "plain": plain, "checksum": _checksum(arrays, plain)}, separators=(",", ":")
    )
    arrays[_HEADER] = np.frombuffer(header.encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _collect(record: Record, prefix: str, arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> None:
    """Sorts the fields of a record into arrays and plain values."""
    for field in dataclasses.fields(record):  # pyright: ignore
        name, value = prefix + field.name, getattr(record, field.name)
        if isinstance(value, Record):
            _collect(value, f"{name}.", arrays, plain)
        elif value is None:
            continue
        elif field.metadata["dtype"] is bytes:
            arrays[name] = np.frombuffer(value, np.uint8)
        elif field.metadata["kind"] == "leaf" or field.metadata["shape"]:
            arrays[name] = np.asarray(value)
        elif field.name != "hooks":
            plain[name] = value


def _checksum(arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> str:
    digest = hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def read_model(path: str | PathLike[str]) -> Model:
    """Reads a file that `save_model` wrote.

    Raises:
        MjcfError: the file cannot be read, is damaged, or is of another version.
    """
    name = fspath(path)
    try:
        return _read(name)
    except MjcfError:
        raise
    except OSError as error:
        raise MjcfError(f"cannot read the file: {error}", file=name) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise MjcfError(f"not a saved model, or damaged: {error}", file=name) from None


def _read(path: str) -> Model:
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
            raise MjcfError(f"the file unpacks to more than {_MAX_BYTES} bytes", file=path)
    with np.load(path, allow_pickle=False) as stored:
        header = json.loads(stored[_HEADER].tobytes())
        if header["format"] != FORMAT:
            raise MjcfError(
                f"the file has format {header['format']}, this version reads {FORMAT}: save the model again",
                file=path,
            )
        arrays = {name: stored[name] for name in stored.files if name != _HEADER}
    plain = header["plain"]
    if _checksum(arrays, plain) != header["checksum"]:
        raise MjcfError("the file is damaged: its checksum is wrong", file=path)
    fields: dict[str, Any] = {}
    for name, value in {**arrays, **plain}.items():
        *records, last = name.split(".")
        place = fields
        for record in records:
            place = place.setdefault(record, {})
        place[last] = value
    for field in dataclasses.fields(Model):
        if field.metadata["dtype"] is bytes:
            fields[field.name] = arrays[field.name].tobytes()
        elif field.metadata["dtype"] is tuple and field.name in plain:  # JSON has only lists
            fields[field.name] = frozen(plain[field.name])
    return with_voxels(from_fields(fields))
