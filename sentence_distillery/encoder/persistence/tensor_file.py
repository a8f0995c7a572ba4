"""Files of weights: their tensors as views of memory, and the digests by which a damaged file is noticed.

A file below MAPPED bytes is read, and compared with the SHA-256 in config.json. A larger one is mapped: the system
reads its pages when they are needed, and processes share them; but if another process cuts it short, this one is
killed (SIGBUS), so replace such a file, do not write into it.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Collection, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from threading import Thread
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.layers import Shapes
from sentence_distillery.encoder.persistence.json_files import REMEDY, check_file
from sentence_distillery.encoder.persistence.names import CONFIG, SHA256
from sentence_distillery.io.checksums import check_file as compare
from sentence_distillery.io.errors import InputError

MAPPED: Final = 64 * 2**20  # bytes from which a file is mapped
STORED: Final = ("F32", "F16", "I8", "I32")  # the types of tables and layers
_TYPES: Final = {name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}") for name in (*STORED, "F64", "I16", "I64")}
LARGEST_HEADER: Final = 100_000_000  # bytes, as in safetensors
NUMBERS: Final = tuple(_TYPES)
_START: Final = 8  # bytes with the length of the header
_METADATA: Final = "__metadata__"


class TensorFile:
    """A safetensors file, read or mapped.

    Raises:
        InputError: If it is missing, is not a file, or has no valid header.
    """

    def __init__(self, path: Path) -> None:
        check_file(path)
        self.path = path
        self.content = path.read_bytes() if path.exists() and path.stat().st_size < MAPPED else None
        self._header = self._checked_header()

    @property
    def names(self) -> list[str]:
        """The names of its tensors."""
        return [name for name in self._header if name != _METADATA]

    def tensors(self, shapes: Shapes, types: Collection[str] = STORED) -> dict[str, NDArray[Any]]:
        """Return the tensors named in `shapes` as read-only views; None in a shape matches any size.

        Raises:
            InputError: If one is missing, or has another shape or type.
        """
        if missing := sorted(set(shapes) - set(self.names)):
            raise InputError(f"{self.path} has no tensor '{missing[0]}' (it has {', '.join(sorted(self.names))}).")
        for name in shapes:
            if (found_type := self._header[name]["dtype"]) not in types:
                raise InputError(f"{self.path}: tensor '{name}' is {found_type}, expected {', '.join(types)}.")

        # The header was checked, so the views lie within the file.
        found = {name: self._view(name) for name in shapes}
        for name, expected in shapes.items():
            have = found[name].shape
            if len(have) != len(expected) or any(want not in (None, n) for want, n in zip(expected, have, strict=True)):
                raise InputError(f"{self.path}: tensor '{name}' has shape {have}, expected {tuple(expected)}.")
        compare(self.path)
        return found

    def _view(self, name: str) -> NDArray[Any]:
        entry = self._header[name]
        first = _START + int.from_bytes(self._data[:_START], "little")
        begin, end = (first + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(memoryview(self._data)[begin:end], _TYPES[entry["dtype"]])
        return flat.reshape(entry["shape"])

    @cached_property
    def _data(self) -> bytes | mmap.mmap:
        if self.content is not None:
            return self.content
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _checked_header(self) -> Mapping[str, Any]:
        """Return the header, if it is clearly right; otherwise the package `safetensors` decides."""
        try:
            header = _parsed(self._data)
            if _fits(header, self._data):
                return header
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        from safetensors import SafetensorError, safe_open  # it takes longer to import than to load a model

        try:
            with safe_open(self.path, framework="numpy"):
                return _parsed(self._data)
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"{self.path} is not a readable safetensors file ({error}). Pickled models (.bin, .pt, .pkl) are "
                f"refused: convert them to safetensors. {REMEDY}"
            ) from error


def _parsed(data: bytes | mmap.mmap) -> dict[str, Any]:
    size = int.from_bytes(data[:_START], "little")
    if size > LARGEST_HEADER:
        raise ValueError(f"the header has {size:,} bytes")
    header: dict[str, Any] = json.loads(data[_START : _START + size])
    return header


def _fits(header: Mapping[str, Any], data: bytes | mmap.mmap) -> bool:
    """Tell whether the tensors of a header follow one another and fill the file."""
    # As in `safetensors`: no gap, no overlap, nothing behind the last one.
    entries = [entry for name, entry in header.items() if name != _METADATA]
    place = 0
    for entry in sorted(entries, key=lambda entry: tuple(entry["data_offsets"])):
        begin, end = entry["data_offsets"]
        numbers = [*entry["shape"], begin, end]
        if begin != place or any(type(number) is not int or number < 0 for number in numbers):
            return False
        if end - begin != prod(entry["shape"]) * _TYPES[entry["dtype"]].itemsize:
            return False
        place = end
    return len(data) == _START + int.from_bytes(data[:_START], "little") + place


class Digests:
    """Opens files of weights, and compares them with the SHA-256 that config.json has of them."""

    def __init__(self, directory: Path, known: object) -> None:
        self.directory = directory
        self.known = known  # the entry of config.json; None: nothing is compared
        self._hashed: list[_Digest] = []

    def open(self, path: Path) -> TensorFile:
        """Open a file, and begin to hash it if it was read."""
        file = TensorFile(path)
        if file.content is not None and self.known is not None:
            self._hashed.append(_Digest(path, file.content))
        return file

    def check(self) -> None:
        """Raise InputError if a file is not the one that was saved."""
        known = [*self.known.values()] if isinstance(self.known, dict) else []
        for digest in self._hashed:
            digest.join()
            if digest.hex not in known:  # in any folder: another library may have put it in one
                raise InputError(
                    f"{digest.path} has SHA-256 {digest.hex}, but {self.directory / CONFIG} does not list it under "
                    f"{SHA256}: the file is damaged, or belongs to another model. {REMEDY}"
                )


class _Digest(Thread):
    """The SHA-256 of a file, computed while the caller's thread works."""

    def __init__(self, path: Path, content: bytes) -> None:
        super().__init__()
        self.path = path
        self.content = content
        self.hex = ""
        self.start()

    def run(self) -> None:
        """Compute it."""
        from hashlib import sha256

        self.hex = sha256(self.content).hexdigest()
