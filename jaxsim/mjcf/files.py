"""Where a model's files come from: folders, a dictionary of bytes, or a folder that confines them."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["Files"]


class Files:
    """Opens the files that a model names.

    Args:
        assets: file contents by name; they are looked up before the disk, by their path, else by its last part alone.
        root: if given, only files inside this folder may be opened, whatever symbolic links, absolute paths and
            `..` say.
        packages: folders of the packages that `package://` paths name.
    """

    def __init__(
        self,
        assets: Mapping[str, bytes] | None = None,
        root: str | Path | None = None,
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
    ) -> None:
        for name, data in (assets or {}).items():
            if not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(
                    f"assets: {name!r} is of type {type(data).__name__}; give the bytes of the file"
                )
        self._assets = {_normal(name): bytes(data) for name, data in (assets or {}).items()}
        count = Counter(map(_last, self._assets))
        self._by_last = {_last(name): x for name, x in self._assets.items() if count[_last(name)] == 1}
        self._root = None if root is None else Path(root).resolve()
        self._packages = {name: os.fspath(folder) for name, folder in (packages or {}).items()}

    def find(self, candidates: Iterable[str]) -> str | None:
        """Returns the first of these paths that exists, or None.

        Raises:
            PermissionError: a path exists, but outside the root folder.
        """
        for path in candidates:
            if self._asset(path) is not None or self._allowed(path).is_file():
                return path
        return None

    def read(self, path: str, limit: int) -> bytes:
        """Returns a file's content.

        Raises:
            OSError: the file cannot be read, or lies outside the root folder.
            ValueError: the file is larger than `limit` bytes.
        """
        data = self._asset(path)
        if data is None:
            with self._allowed(path).open("rb") as stream:
                data = stream.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"the file is larger than {limit:,} bytes")
        return data

    def resource_places(self, base: str, name: str) -> tuple[str, ...]:
        """Returns the paths at which a resource may be: `package://package/path` or `file://path`.

        A package whose folder was not given may be any folder of its name beside or above the folder `base`; one
        without a name (`package:///path`) any of these folders.
        """
        scheme, _, rest = name.partition("://")
        if scheme not in ("package", "model", "file"):
            return (name,)
        if scheme == "file":
            return (rest,)
        package, _, path = rest.partition("/")
        if package in self._packages:
            return (posixpath.join(self._packages[package], path),)
        folder = os.path.abspath(base or ".").replace("\\", "/")
        above = [folder, *(str(parent) for parent in Path(folder).parents)]
        return tuple(posixpath.join(parent, rest.lstrip("/")) for parent in above)

    def _asset(self, path: str) -> bytes | None:
        """Looks a path up among the assets: as it is, then by its last part, which C reads without regard to case."""
        for key in (_normal(path), posixpath.basename(path)):
            if key in self._assets:
                return self._assets[key]
        return self._by_last.get(_last(path))

    def _allowed(self, path: str) -> Path:
        if "\0" in path:
            raise FileNotFoundError("a file name cannot hold a zero byte")
        if self._root is None:
            return Path(path)
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self._root):
            raise PermissionError(f"outside the folder {self._root} that confines this model")
        return real


def _normal(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


def _last(path: str) -> str:
    return posixpath.basename(path).lower()
