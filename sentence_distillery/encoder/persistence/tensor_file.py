"""Files of weights: their tensors as views of memory, and the digests by which a damaged file is noticed.

A file below MAPPED bytes is read, and compared with the SHA-256 in config.json. A larger one is mapped: the system
reads its pages when they are needed, and processes share them; but if another process cuts it short, this one is
killed (SIGBUS), so replace such a file, do not write into it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from sentence_distillery.encoder.layers import Shapes
from sentence_distillery.encoder.persistence.files import MAPPED, WeightFile
from sentence_distillery.encoder.persistence.json_files import REMEDY, check_file
from sentence_distillery.encoder.persistence.names import CONFIG, SHA256
from sentence_distillery.io.checksums import check_file as compare
from sentence_distillery.io.errors import InputError

STORED: Final = ("F32", "F16", "I8", "I32")  # the types of tables and layers
_TYPES: Final = {name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}") for name in (*STORED, "F64", "I16", "I64")}
NUMBERS: Final = tuple(_TYPES)
_START: Final = 8  # bytes with the length of the header
_METADATA: Final = "__metadata__"


class TensorFile:
    """A safetensors file, read or mapped.

    Attributes:
        path: The file.

    Raises:
        InputError: If it is missing, is not a file, or has no valid header.
    """

    def __init__(self, file: WeightFile) -> None:
        self.path = file.path
        self._file = file
        check_file(self.path)
        self._start, self._header = self._checked_header()

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
        begin, end = (len(self._start) + offset for offset in entry["data_offsets"])
        flat = np.frombuffer(self._data[begin:end], _TYPES[entry["dtype"]])
        try:
            return flat.reshape(entry["shape"])
        except ValueError as error:  # a large number and a 0, which a header may have
            shape = tuple(entry["shape"])
            raise InputError(f"{self.path}: tensor '{name}' has shape {shape}, without a value. {REMEDY}") from error

    @cached_property
    def _data(self) -> memoryview:
        data = self._mapped() if self._file.content is None else self._file.content

        # Another process may have replaced the file since its header was read.
        ends = [len(self._start) + self._header[name]["data_offsets"][1] for name in self.names]
        if data[: len(self._start)] != self._start or len(data) < max(ends, default=0):
            raise InputError(f"{self.path} changed while it was read. {REMEDY}")
        return data

    def _mapped(self) -> memoryview:
        import mmap  # few models are so large

        if self.path.stat().st_size < MAPPED:
            raise InputError(f"{self.path} cannot be read to its end. {REMEDY}")
        with self.path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def _checked_header(self) -> tuple[bytes, Mapping[str, Any]]:
        """Return the start of the file and its header, which `safetensors` has checked."""
        try:
            with safe_open(self.path, framework="numpy"):
                return _header_of(self.path)
        except (OSError, SafetensorError) as error:
            raise InputError(
                f"{self.path} is not a readable safetensors file ({error}). Pickled models (.bin, .pt, .pkl) are "
                f"refused: convert them to safetensors. {REMEDY}"
            ) from error


def _header_of(path: Path) -> tuple[bytes, dict[str, Any]]:
    """Read a file up to its first tensor, and parse the header in it."""
    with path.open("rb") as file:
        length = file.read(_START)
        text = file.read(int.from_bytes(length, "little"))
    header: dict[str, Any] = json.loads(text)
    return length + text, header


class Digests:
    """Opens files of weights, and compares them with the SHA-256 that config.json has of them.

    Args:
        directory: The model's.
        known: The entry of config.json; None: nothing is compared.
        begun: A file that threads read already.
    """

    def __init__(self, directory: Path, known: object, begun: WeightFile | None = None) -> None:
        self._directory = directory
        self._known = known
        self._begun = begun
        self._opened: list[WeightFile] = []

    def open(self, path: Path) -> TensorFile:
        """Open a file, and begin to hash it if it is compared and not mapped."""
        file = self._begun
        if file is None or file.path != path:
            file = WeightFile(path, hashed=self._known is not None)
        self._opened.append(file)
        return TensorFile(file)

    def check(self) -> None:
        """Raise InputError if a file is not the one that was saved."""
        if self._known is None:
            return
        known = [*self._known.values()] if isinstance(self._known, dict) else []
        for file in self._opened:
            if (found := file.sha256) and found not in known:  # in any folder: another library may have put it in one
                raise InputError(
                    f"{file.path} has SHA-256 {found}, but {self._directory / CONFIG} does not list it under "
                    f"{SHA256}: the file is damaged, or belongs to another model. {REMEDY}"
                )
