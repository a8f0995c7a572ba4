"""Rows of each format, and the texts of files that have no rows.

Every reader yields `(place, row)`: the place names the file and the row for messages and URLs, and the row is a dict of
the file's own columns; NaN is None. A file that cannot be read raises InputError; a row is never skipped here.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.corpus.tables.decoding import (
    COMPRESSED,
    RESTORE,
    STREAM,
    binary_kind,
    cannot_read,
    decoded,
    decoded_lines,
    opened,
    refuse_binary,
    without_compression,
)
from sentence_distillery.corpus.tables.delimited import column_names, delimited_rows
from sentence_distillery.io.errors import InputError, option, refuse_pointer
from sentence_distillery.io.unicode import whole_surrogates

Row = dict[str, Any]
BATCH_ROWS = 500
SHOWN = 60  # characters of a refused value
NAMES = 300  # characters of the columns that are listed
LARGEST_ARTICLE = 1_000_000_000  # bytes
CONLLU_TEXT = "# text = "
SUFFIXES = {
    ".txt": "text",
    ".md": "markdown",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".conllu": "conllu",
}
WHOLE = ("text", "markdown")  # a file is one article; the others have rows and columns
ARROW = ("parquet", "feather")  # compressed within, if at all
COLUMN = "text"  # the column of the text, if none is named
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a pair, perhaps
_FRONT_MATTER = re.compile(r"---\r?\n(?=[\w-]+:).*?\n(?:---|\.\.\.)\s*?(?:\n|\Z)", re.DOTALL)
_TOO_LARGE = (
    f"bytes, too many for one article or array ({LARGEST_ARTICLE:,} at most); use a format with one article per "
    "line or row, such as .jsonl, .csv or .parquet."
)


def format_of(path: Path) -> str | None:
    """Return the format that a file's suffix names, in any case and perhaps before .gz or .zst, or None.

    Example:
        >>> format_of(Path("News.JSONL.gz")), format_of(Path("news.dat"))
        ('jsonl', None)
    """
    format = SUFFIXES.get(without_compression(path))
    return None if format in ARROW and path.suffix.lower() in COMPRESSED else format


def read_rows(
    path: Path, format: str, names: Iterable[str], quoting: bool | None = None, others: bool = False
) -> Iterator[tuple[str, Row]]:
    """Yield the place and the row of each row of one file, which must have the columns `names`.

    `format` is one of SUFFIXES. `quoting` says whether quotation marks enclose the fields of .csv and .tsv; None: the
    file decides. `others` says whether all other columns of Parquet and Feather with plain values are read, too. Raises
    InputError if the file cannot be read or lacks a column.
    """
    check_is_file(path)
    try:
        for place, row in _rows(path, format, set(names), quoting, others):
            yield whole_surrogates(place), {name: None if value != value else value for name, value in row.items()}
    except OSError as error:
        raise cannot_read(path, error) from error


def _rows(path: Path, format: str, names: set[str], quoting: bool | None, others: bool) -> Iterator[tuple[str, Row]]:
    if format in _READERS:
        return _READERS[format](path, names)
    rows = _read_arrow(path, names, others) if format in ARROW else delimited_table(path, format, names, quoting)[1]
    return ((f"{path}#{number}", row) for number, row in enumerate(rows, start=1))


def check_is_file(path: Path) -> None:
    """Raise InputError for what is there and no file, or a pointer of Git LFS."""
    if not path.is_file() and path.exists():
        kinds = {"a directory": path.is_dir, "a named pipe": path.is_fifo, "a socket": path.is_socket}
        kind = next((name for name, test in kinds.items() if test()), "a device")
        raise InputError(f"{path} is {kind}, not a file. {RESTORE}")
    refuse_pointer(path)


def plain_texts(path: Path, format: str, by_line: bool) -> Iterator[str]:
    if by_line and format == "text":
        yield from (line.rstrip("\r\n") for line in decoded_lines(path))
        return
    for _, row in _READERS[format](path, set()):
        blocks = row["text"].split("\n\n") if by_line else [row["text"]]
        yield from (block for block in blocks if block.strip() or not by_line)


def text_of(place: str, row: Row, column: str) -> str:
    value = row.get(column)
    if value is not None and not isinstance(value, str):
        shown = repr(value) if len(repr(value)) <= SHOWN else f"{repr(value)[:SHOWN]}..."
        raise InputError(
            f"{place}: column '{column}' holds {shown} ({type(value).__name__}), expected text; name another column."
        )
    return value or ""


def _read_text(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    if (size := path.stat().st_size) > LARGEST_ARTICLE:
        raise InputError(f"{path} has {size:,} {_TOO_LARGE}")
    with opened(path) as stream:
        content = stream.read(LARGEST_ARTICLE + 1)

    # A packed file says its size only when it is unpacked.
    if len(content) > LARGEST_ARTICLE:
        raise InputError(f"{path} has more than {LARGEST_ARTICLE:,} {_TOO_LARGE}")
    refuse_binary(path, content[:100])
    yield str(path), {"text": decoded(content, path)}


def _read_markdown(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield the text of headings, paragraphs, list items and table cells, a block each; no code, HTML or metadata."""
    from markdown_it import MarkdownIt  # few corpora need it

    for place, row in _read_text(path, names):
        tokens = MarkdownIt("commonmark").enable("table").parse(_FRONT_MATTER.sub("", row["text"], 1))
        blocks = [_inline_text(token.children or []) for token in tokens if token.type == "inline"]
        yield place, {"text": "\n\n".join(blocks)}


def _inline_text(tokens: Iterable[Any]) -> str:
    breaks = ("softbreak", "hardbreak")
    return "".join(
        " " if token.type in breaks else "" if token.type == "html_inline" else token.content for token in tokens
    )


def _read_lines(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield one article per line; the fields between its tabs are the columns 1, 2 ..."""
    for number, line in enumerate(decoded_lines(path), start=1):
        row = {str(column): field for column, field in enumerate(line.rstrip("\r\n").split("\t"), start=1)}
        check_columns(path, names, list(row))
        yield f"{path}#{number}", row


def _read_conllu(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield each sentence of a treebank, from its comment `# text = ...`, in the column `text`."""
    check_columns(path, names, [COLUMN])
    for number, line in enumerate(decoded_lines(path), start=1):
        if line.startswith(CONLLU_TEXT):
            yield f"{path}#{number}", {COLUMN: line.removeprefix(CONLLU_TEXT).rstrip("\r\n")}


def _read_json(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield the objects of a file; a key may be absent from some, but a named column must occur in one."""
    seen: dict[str, None] = {}
    for number, where, row in _json_values(path):
        if not isinstance(row, dict):
            raise InputError(f"{path}, {where} holds a {type(row).__name__}, expected an object with columns.")
        seen.update(dict.fromkeys(row))
        yield f"{path}#{number}", row
    if seen:
        check_columns(path, names, list(seen))


def _json_values(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield number, place and value of each line, or of each value of the array that the file is."""
    start = next((line for line in decoded_lines(path) if line.strip()), "")
    if start.lstrip().startswith("["):
        for number, value in enumerate(_json(path, 1, _whole(path)), start=1):
            yield number, f"row {number}", value
        return
    for number, line in enumerate(decoded_lines(path), start=1):
        if line.strip():  # a blank line is not a row
            yield number, f"line {number}", _json(path, number, line)


def _whole(path: Path) -> str:
    """Return the text of a file that is one array of JSON."""
    parts, size = [], 0
    for line in decoded_lines(path):
        parts.append(line)
        size += len(line)
        if size > LARGEST_ARTICLE:
            raise InputError(f"{path} has more than {LARGEST_ARTICLE:,} {_TOO_LARGE}")
    return "".join(parts)


def _json(path: Path, number: int, text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
        return json.loads(whole_surrogates(json.dumps(value, ensure_ascii=False))) if _SURROGATE.search(text) else value
    except (ValueError, RecursionError) as error:
        remedy = "Write an object per line, or one array of objects." if text.strip() == "{" else RESTORE
        raise InputError(f"{path}, line {number} is not JSON ({error}). {remedy}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        name = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"an object has the name '{name}' twice")
    return row


def delimited_table(path: Path, kind: str, names: set[str], quoting: bool | None) -> tuple[list[str], Iterator[Row]]:
    """Open a .csv or .tsv file that has the named columns; return the names of all, and the rows."""
    header, records = delimited_rows(path, kind, quoting)
    check_columns(path, names, header)
    columns = column_names(header)
    return columns, (dict(zip(columns, fields, strict=True)) for _, fields in records)


def _read_arrow(path: Path, names: set[str], others: bool) -> Iterator[Row]:
    """Yield the rows of Parquet and Feather, with the named columns, and with all others that have plain values."""
    with arrow_of(path) as (schema, batches):
        check_columns(path, names, schema.names)

        # Nested and binary columns say nothing to a reader of texts.
        plain = [
            field.name
            for field in schema
            if field.name in names or (others and schema.names.count(field.name) == 1 and _is_plain(field.type))
        ]
        for batch in batches(plain):
            yield from _batch_rows(batch)


def _is_plain(type: pa.DataType) -> bool:
    return not (pa.types.is_nested(type) or pa.types.is_binary(type) or pa.types.is_large_binary(type))


@contextmanager
def arrow_of(path: Path) -> Iterator[tuple[pa.Schema, Callable[[list[str] | None], Iterator[pa.RecordBatch]]]]:
    """Open a table of Arrow; yield its schema, and a function that returns batches of some or all columns."""
    try:
        with path.open("rb") as stream:
            head = stream.read(16)

        # By its first bytes: both formats come under either suffix.
        if head.startswith(b"ARROW1"):
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as feather:
                numbers = range(feather.num_record_batches)
                yield feather.schema, lambda names: _arrow_batches(map(feather.get_batch, numbers), names)
        elif head.startswith(STREAM):
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                yield stream.schema, partial(_arrow_batches, stream)
        else:
            _check_is_parquet(path, head)
            with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
                yield parquet.schema_arrow, lambda names: parquet.iter_batches(BATCH_ROWS, columns=names)
    except (ValueError, pa.ArrowException) as error:
        raise cannot_read(path, error) from error


def _check_is_parquet(path: Path, head: bytes) -> None:
    """Raise InputError for a file of another kind, whose name says that it is Parquet or Feather."""
    if head and not head.startswith(b"PAR"):
        kind = binary_kind(head) or "neither Parquet nor Feather; give it the suffix of what it is, or restore it"
        raise InputError(f"{path} cannot be read: it is {kind}.")


def _arrow_batches(batches: Iterable[pa.RecordBatch], names: list[str] | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        batch.validate(full=True)  # else a damaged offset ends the process
        for start in range(0, len(batch), BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            yield part if names is None else part.select(names)


def _batch_rows(batch: pa.RecordBatch) -> list[Row]:
    """Return the rows of a batch; dates and times beyond Python's range or precision come as text."""
    try:
        return list(batch.to_pylist())
    except (OverflowError, ValueError):
        columns = [
            column.cast(pa.string()) if pa.types.is_temporal(column.type) else column for column in batch.columns
        ]
        return list(pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist())


# Each row or file names its columns.
NAMED = {suffix for suffix, format in SUFFIXES.items() if format in ("jsonl", *ARROW)}
_READERS: dict[str, Callable[[Path, set[str]], Iterator[tuple[str, Row]]]] = {
    "text": _read_text,
    "lines": _read_lines,
    "conllu": _read_conllu,
    "jsonl": _read_json,
    "markdown": _read_markdown,
}


class NoColumnError(InputError):
    """A table lacks a column."""

    def __init__(self, path: Path, missing: str, present: Sequence[str], remedy: str) -> None:
        if not NAMED.intersection(path.suffixes):
            remedy += ". The first line of .csv and .tsv has to name the columns"
        super().__init__(f"{path} has no column '{missing}' (it has {_listed(present)}); name {remedy}.")
        self.missing, self.present = missing, present


def check_columns(path: Path, names: set[str], present: Sequence[str]) -> None:
    """Raise NoColumnError if a column is missing, InputError if there are two of its name."""
    if missing := sorted(names - set(present)):
        remedy = option("text_column", params="`columns` in params.yaml")
        raise NoColumnError(path, missing[0], present, f"the right one by {remedy}")
    if twice := sorted(name for name in names if present.count(name) > 1):
        raise InputError(f"{path} has the column '{twice[0]}' {present.count(twice[0])} times; rename all but one.")


def _listed(names: Sequence[str]) -> str:
    text = ", ".join(sorted(names)) or "none"
    return text if len(text) <= NAMES else f"{text[:NAMES]}..."
