"""A teacher that is a file: vectors of texts that were made elsewhere, such as by an API.

    text                            vector              a Parquet file; its texts are sentences and words
    The storm closed the port.      [0.12, -0.4, ...]
    storm                           [0.31, 0.02, ...]

A text is looked up as it stands, but for blanks at its ends and in a row. It has no vector if the file does not have
it: its row is zero, which no encoder gives, and whoever reads the rows leaves it out and counts it.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sentence_distillery.io import checksums
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import RESTORE, one_line
from sentence_distillery.io.options import Precision
from sentence_distillery.io.ragged import Floats, of_any_length
from sentence_distillery.teachers.options import TeacherError, VectorTeacher, check_pinned

COLUMNS = ("text", "vector")
BATCH = 10_000  # rows of the file in memory, next to those that are kept
SAME = 0.99  # least cosine of two vectors of one text; an API's calls differ in the last digits
SHOWN = 60  # characters of a text in a message

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class VectorTable:
    """Vectors by text: (texts, dimension) float16 of unit length, as soft labels have it, and the row of each text."""

    reference: str
    sha256: str
    rows: dict[str, int] = field(repr=False)
    table: NDArray[np.float16] = field(repr=False)
    maximum_length: None = None

    @property
    def fingerprint(self) -> str:
        """The hash of the file."""
        return self.sha256

    @property
    def dimension(self) -> int:
        """The dimension of a vector."""
        return int(self.table.shape[1])

    def vectors(self, texts: list[str], batch_tokens: int, precision: Precision) -> Floats:
        """Look up texts, (texts, dimension) float32; a text that the file lacks is a zero row."""
        found = np.array([self.rows.get(_key(text), -1) for text in texts], dtype=np.int64)
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        result[found >= 0] = self.table[found[found >= 0]]
        return result

    def absent(self, texts: Iterable[str]) -> list[str]:
        """List the texts that the file does not have."""
        return [text for text in texts if _key(text) not in self.rows]


def _key(text: str) -> str:
    return " ".join(text.split())


def load_vectors(teacher: VectorTeacher) -> VectorTable:
    """Read a file of vectors; if it has a text twice, the first vector counts, and the other may differ by rounding.

    Raises InputError if it is not Parquet with these columns, a vector is null, of another length or not finite, or a
    text has two different vectors; TeacherError if it is not there, or another SHA-256 is pinned.
    """
    sha256 = check_vectors(teacher)
    rows: dict[str, int] = {}
    parts: list[NDArray[np.float16]] = []
    repeated: list[tuple[int, int]] = []  # rows of the same text
    total = 0

    # In parts, as half precision: a file of doubles may not fit in memory.
    with _reading(teacher.vectors), pq.ParquetFile(teacher.vectors, page_checksum_verification=True) as file:
        for batch in file.iter_batches(BATCH, columns=list(COLUMNS)):
            if not len(batch):
                continue
            texts = batch["text"].to_pylist()
            part = _array(batch["vector"], texts, f"{teacher.vectors}, rows from {total + 1:,}")
            if parts and part.shape[1] != parts[0].shape[1]:
                raise InputError(
                    f"{teacher.vectors} has vectors of {parts[0].shape[1]} and of {part.shape[1]} numbers."
                )
            for place, text in enumerate(texts, start=total):
                if text is None:
                    raise InputError(f"{teacher.vectors}, row {place + 1:,}: the text is null; leave the row out.")

                # Repetitions are compared after the whole table is there, in one product each.
                if (first := rows.setdefault(_key(text), place)) != place:
                    repeated.append((first, place))
            parts.append(part)
            total += len(texts)
    if not rows:
        raise InputError(f"{teacher.vectors} has no rows; write a text and its vector in each row.")
    table = np.concatenate(parts)
    if repeated:
        _refuse_conflicts(teacher.vectors, table, np.array(repeated))
        log.info("%s repeats %s texts; the first vector of each is used", teacher.vectors, f"{len(repeated):,}")
    return VectorTable(teacher.vectors, sha256, rows, table)


def _refuse_conflicts(file: str, table: NDArray[np.float16], repeated: NDArray[np.int64]) -> None:
    """Raise InputError if the two rows of a text have different vectors."""
    for start in range(0, len(repeated), BATCH):
        pairs = repeated[start : start + BATCH]
        first, second = table[pairs.T].astype(np.float32)
        different = np.einsum("nd,nd->n", first, second) < SAME
        if different.any():
            one, other = pairs[different.argmax()] + 1
            raise InputError(f"{file}: rows {one:,} and {other:,} have one text and different vectors; keep one.")


def check_vectors(teacher: VectorTeacher) -> str:
    """Return the SHA-256 of a file of vectors; raises InputError and TeacherError as `load_vectors`, by its schema."""
    path = Path(teacher.vectors)
    if not path.is_file():
        raise TeacherError(
            f"{path} is not a file; name a Parquet file with the columns text and vector.", str(path), "vectors"
        )
    with _reading(str(path)):
        schema = pq.read_schema(path)
    if missing := [name for name in COLUMNS if name not in schema.names]:
        raise InputError(f"{path} has no column '{missing[0]}' (it has {', '.join(schema.names)}); rename a column.")
    if twice := [name for name in COLUMNS if schema.names.count(name) > 1]:
        raise InputError(
            f"{path} has the column '{twice[0]}' {schema.names.count(twice[0])} times; rename or remove all but one."
        )

    # Types are compared here, so that later code may take texts and numbers for granted.
    text, vector = (schema.field(name).type for name in COLUMNS)
    if not (pa.types.is_string(text) or pa.types.is_large_string(text)):
        raise InputError(f"{path}: the column 'text' holds {text}, expected strings.")
    lists = pa.types.is_list(vector) or pa.types.is_large_list(vector) or pa.types.is_fixed_size_list(vector)
    if not lists or not pa.types.is_floating(vector.value_type):
        raise InputError(f"{path}: the column 'vector' holds {vector}, expected lists of floating-point numbers.")
    sha256 = checksums.sha256(path)
    check_pinned(teacher, sha256, f"{path} has", "Restore the file")
    return sha256


@contextmanager
def _reading(file: str) -> Iterator[None]:
    """Raise InputError, naming the file, for an error of Arrow."""
    try:
        yield
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise InputError(f"{file} cannot be read as Parquet: {one_line(error)}. {RESTORE}") from error


def _array(column: pa.Array, texts: list[str | None], place: str) -> NDArray[np.float16]:
    """Turn lists of equal length into (rows, dimension) float16 of unit length; InputError names a wrong one."""

    def shown(row: int) -> str:
        text = texts[row]
        if text and len(text) > SHOWN:
            text = f"{text[:SHOWN]}..."
        return f"{place}: the vector of {text!r}"

    absent = column.is_null().to_numpy(zero_copy_only=False)
    if absent.any():
        raise InputError(f"{shown(int(absent.argmax()))} is null; leave the row out.")
    lengths = pc.list_value_length(column).to_numpy()
    if lengths[0] == 0:
        raise InputError(f"{shown(0)} has 0 numbers; leave the row out.")
    if (lengths != lengths[0]).any():
        row = int((lengths != lengths[0]).argmax())
        raise InputError(f"{shown(row)} has {lengths[row]} numbers, but the first one here has {lengths[0]}.")

    # Checked before they become float16, in which a large number is infinite.
    values = column.flatten().to_numpy(zero_copy_only=False).reshape(len(texts), -1)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise InputError(f"{shown(int(finite.argmin()))} has a number that is not finite.")
    return of_any_length(values).astype(np.float16)
