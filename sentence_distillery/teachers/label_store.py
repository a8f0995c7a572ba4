"""The teacher's vectors of texts, cached between runs: no text is embedded twice, in whichever corpus it stands.

    data/checkpoints/soft_labels/3fa2..-09b1...labels    2,000 texts: a hash of each text, its vector in float16

The first part of a name says what made the vectors: the teacher's files, its maximum length, the precision. The second
is the hash of the content, so a damaged file is known and made again. Vectors are read when they are asked for, and
written as soon as their texts are embedded: an interrupted run goes on from there. A file of which no run has used a
text for KEPT_DAYS is removed.

A text has the same vector in every batch (transformer.py), so cached vectors are equal to new ones.
On a GPU they may differ in the last digit.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.io import checksums
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.functions import FunctionEncoder
from sentence_distillery.teachers.teachers import TextEncoder

AT_ONCE = 2_000  # texts in a file
KEPT_DAYS = 60
SUFFIX = ".labels"
PROBED = ".probe"  # the vector of a text by a function, float32 of unit length
SAME_FUNCTION = 0.999  # least cosine of two vectors of it, which may differ in the last digits of half precision
_KEY = 16  # bytes

Halves = NDArray[np.float16]
Keys = NDArray[np.bytes_]


def _row(dimension: int) -> np.dtype[Any]:
    return np.dtype([("key", f"S{_KEY}"), ("vector", "<f2", (dimension,))])


def keys(texts: Iterable[str]) -> Keys:
    """Return the hash of each text, (texts,)."""
    return np.array([hashlib.blake2b(text.encode(), digest_size=_KEY).digest() for text in texts], f"S{_KEY}")


@dataclass
class LabelStore:
    """The vectors of one teacher."""

    encoder: TextEncoder
    precision: Precision  # of its matrix products
    directory: Path  # of the files, also those of other teachers
    _files: dict[Path, Keys] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for file in sorted(self.directory.glob(f"{self._identity}-*{SUFFIX}")):
            self._open(file)

    @cached_property
    def _identity(self) -> str:
        """A hash of everything besides its text that changes a vector."""
        how = "mean" if self.precision == "float32" else f"mean {self.precision}"
        about = f"{self.encoder.fingerprint} {how} {self.encoder.maximum_length}"
        found = hashlib.sha256(about.encode()).hexdigest()[:16]
        return self._of_probe(found, self.encoder.probe) if isinstance(self.encoder, FunctionEncoder) else found

    def _of_probe(self, name: str, probe: Floats) -> str:
        """Return the identity of the function of this name that gives this vector, (dimension,), or a new one.

        What a method or a closure embeds depends on more than its source, which is all that the name shows.
        """
        for file in sorted(self.directory.glob(f"{name}*{PROBED}")):
            kept = np.fromfile(file, np.float32)
            if kept.shape == probe.shape and kept @ probe >= SAME_FUNCTION:
                os.utime(file)
                return file.stem
        file = self.directory / f"{name}{hashlib.sha256(probe.tobytes()).hexdigest()[:8]}{PROBED}"
        with atomic_file(file) as partial:
            probe.tofile(partial)
        return file.stem

    def _open(self, file: Path) -> None:
        """Read the keys of a file; remove it if it is damaged."""
        row = _row(self.encoder.dimension)
        if file.stem != f"{self._identity}-{checksums.sha256(file)[:32]}" or file.stat().st_size % row.itemsize:
            file.unlink()
        else:
            self._files[file] = np.fromfile(file, row)["key"].copy()

    @cached_property
    def _index(self) -> tuple[Keys, NDArray[np.int64]]:
        """The sorted keys of all files, and the place of each, counted over all files."""
        found = np.concatenate([np.zeros(0, f"S{_KEY}"), *self._files.values()])
        order = np.argsort(found, kind="stable")
        return found[order], order

    def _places(self, wanted: Keys) -> NDArray[np.int64]:
        """Return the place of each key, -1 if no file has it."""
        known, order = self._index
        if not len(known):
            return np.full(len(wanted), -1)
        near = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[near] == wanted, order[near], -1)

    def missing(self, groups: Iterable[Sequence[str]]) -> tuple[list[str], int]:
        """Return the different texts of some groups that have no vector, and the number of those that have one."""
        absent, taken = dict[str, None](), np.zeros(len(self._index[0]), bool)
        for texts in groups:
            places = self._places(keys(texts))
            taken[places[places >= 0]] = True
            absent |= dict.fromkeys(texts[row] for row in np.flatnonzero(places < 0).tolist())

        # A file that a run has used stays for another KEPT_DAYS.
        begin = 0
        for file, rows in self._files.items():
            if taken[begin : begin + len(rows)].any():
                os.utime(file)
            begin += len(rows)
        return list(absent), int(taken.sum())

    def add(self, texts: Sequence[str], vectors: Halves) -> None:
        """Keep the vectors of some texts, (texts, dimension), in a file of their own."""
        rows = np.zeros(len(texts), _row(self.encoder.dimension))
        rows["key"], rows["vector"] = keys(texts), vectors
        content = rows.tobytes()
        file = self.directory / f"{self._identity}-{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}"
        with atomic_file(file) as partial:
            partial.write_bytes(content)
        self._open(file)
        self.__dict__.pop("_index", None)

    def vectors(self, texts: Sequence[str]) -> Halves:
        """Return the vectors of texts that none is missing of, (texts, dimension)."""
        places = self._places(keys(texts))
        assert (places >= 0).all()
        found = np.zeros((len(texts), self.encoder.dimension), np.float16)
        begin = 0
        for file, known in self._files.items():
            here = (places >= begin) & (places < begin + len(known))
            if here.any():  # mapped as long as it is read: a process may have only so many files open
                rows = np.memmap(file, _row(self.encoder.dimension), "r")
                found[here] = rows["vector"][places[here] - begin]
            begin += len(known)
        return found


def forget_old(directory: Path) -> None:
    """Remove the files that no run has used for KEPT_DAYS, and what killed runs have left."""
    oldest = time.time() - KEPT_DAYS * 86_400
    for file in directory.iterdir() if directory.exists() else ():
        halfway = file.name.startswith(".") and file.name.endswith(".partial")
        if halfway or (file.suffix in (SUFFIX, PROBED) and file.stat().st_mtime < oldest):
            file.unlink()
