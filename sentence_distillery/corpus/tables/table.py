"""A file as a table of Arrow, with all of its columns, some rows in memory at a time.

Fields of .csv and .tsv are texts. A column of JSON has the type of its values: text, true and false, whole numbers or
numbers; a column of several types, of lists or of objects is JSON in a text. Parquet and Feather keep their types.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sentence_distillery.corpus.tables.delimited import column_names
from sentence_distillery.corpus.tables.formats import (
    ARROW,
    BATCH_ROWS,
    COLUMN,
    WHOLE,
    Row,
    arrow_of,
    check_columns,
    delimited_table,
    read_rows,
    text_of,
)
from sentence_distillery.corpus.tables.reading import Reading, check_options, files_to_read, read_texts
from sentence_distillery.io.errors import InputError
from sentence_distillery.io.unicode import whole_surrogates

BATCH_CHARACTERS = 2**25


@dataclass(frozen=True)
class Table:
    """A file as a table of Arrow."""

    schema: pa.Schema
    column: str  # that has the text
    batches: Iterator[pa.RecordBatch]  # the rows, some at a time

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> "Table":
        """Make a table of texts alone, in the column `text`."""
        schema = pa.schema([(COLUMN, pa.string())])
        return cls(schema, COLUMN, _record_batches(({COLUMN: text} for text in texts), schema))


@contextmanager
def open_table(path: Path, reading: Reading) -> Iterator[Table]:
    """Open a file with all of its columns; plain text has its lines in the column `text`.

    Raises InputError if the file cannot be read, has no such column, or that column is not text; also while the batches
    are read.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory; give a file.")

    # Each kind gives batches of one schema, so that a writer after it knows no format.
    ((_, format),) = files_to_read([path], reading)
    check_options(reading, {format})
    if format in (*WHOLE, "conllu"):
        yield Table.of_texts(text for text, _ in read_texts(path, format, reading, by_line=True))
    elif format in ARROW:
        with arrow_of(path) as (schema, batches):
            check_columns(path, {reading.column}, schema.names)
            _check_is_text(path, schema.field(reading.column))

            # Arrow allows two columns of one name and columns without one; a file that is written from them would not.
            named = pa.schema(
                [field.with_name(name) for field, name in zip(schema, column_names(schema.names), strict=True)]
            )
            yield Table(
                named,
                reading.column,
                (pa.RecordBatch.from_arrays(batch.columns, schema=named) for batch in batches(None)),
            )
    elif format in ("csv", "tsv"):
        names, rows = delimited_table(path, format, {reading.column}, reading.quoting)
        schema = pa.schema([(name, pa.string()) for name in names])
        yield Table(schema, reading.column, _record_batches(rows, schema))
    else:
        schema = _schema_of_json(path, format, reading.column)
        rows = (row for _, row in read_rows(path, format, {reading.column}))
        yield Table(schema, reading.column, _record_batches(rows, schema))


def _check_is_text(path: Path, field: pa.Field) -> None:
    type = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if not (
        pa.types.is_string(type)
        or pa.types.is_large_string(type)
        or pa.types.is_string_view(type)
        or pa.types.is_null(type)
    ):
        raise InputError(f"{path}: column '{field.name}' holds {field.type}, expected text; name another column.")


def _schema_of_json(path: Path, format: str, column: str) -> pa.Schema:
    """Return the columns of JSON and their types; the file is read to its end for that."""
    kinds: dict[str, set[str]] = {}
    for place, row in read_rows(path, format, {column}):
        text_of(place, row, column)
        for name, value in row.items():
            kinds.setdefault(name, set()).add(_kind(value))
    return pa.schema([(name, _type(found)) for name, found in (kinds or {column: set()}).items()])


def _kind(value: object) -> str:
    """Tell what a value of JSON needs; a whole number above 2 ** 53 has no equal among floating-point numbers."""
    if isinstance(value, bool) or value is None:
        return "null" if value is None else "bool"
    if isinstance(value, int):
        return "int" if abs(value) <= 2**53 else "long" if -(2**63) <= value < 2**63 else "other"
    return {str: "str", float: "float"}.get(type(value), "other")


def _type(kinds: set[str]) -> pa.DataType:
    given = kinds - {"null"}
    for allowed, type in (({"bool"}, pa.bool_()), ({"int", "long"}, pa.int64()), ({"int", "float"}, pa.float64())):
        if given and given <= allowed:
            return type
    return pa.string()


def _record_batches(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Put rows into batches of BATCH_ROWS, fewer if they have BATCH_CHARACTERS."""
    for group in _groups(rows):
        columns = [_column([row.get(field.name) for row in group], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(group) == BATCH_ROWS or size >= BATCH_CHARACTERS:
            yield group
            group, size = [], 0

    # The rest is a batch, too.
    if group:
        yield group


def _column(values: list[Any], type: pa.DataType) -> pa.Array:
    """Make a column; in one of texts other values are written as JSON."""
    if not pa.types.is_string(type):
        return pa.array(values, type)
    texts = [None if value is None else whole_surrogates(_text(value)) for value in values]
    if None in texts:
        return pa.array(texts, type)
    content = [text.encode() for text in texts if text is not None]
    bounds = np.cumsum([0, *map(len, content)], dtype=np.int32)
    # Not pa.array, which imports pandas: that takes longer than to encode some thousand texts.
    return pa.StringArray.from_buffers(len(content), pa.py_buffer(bounds), pa.py_buffer(b"".join(content)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
