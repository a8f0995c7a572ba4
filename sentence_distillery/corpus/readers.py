"""Read articles from a user's files, row by row.

Text and Markdown (one article per file), lines, CoNLL-U, JSON lines, CSV, TSV and Parquet.

Every reader yields `(place, row)`, where the place names the file and the row for messages and URLs, and the row is a
dict of the file's own columns; NaN is None. A file that cannot be read raises InputError; a row is never skipped here.

Whatever a directory holds, memory is bounded: only regular files are opened, a file that is one article has at most
LARGEST_ARTICLE bytes, and a line of any other at most LONGEST_LINE. UTF-16 is read if a byte order mark says so.
"""

import codecs
import csv
import json
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import option
from sentence_distillery.io.unicode import whole_surrogates

if TYPE_CHECKING:
    from sentence_distillery.corpus.options import Columns  # needs pydantic, which `encode` does not

Row = dict[str, Any]
BATCH_ROWS = 500
LARGEST_ARTICLE = 1_000_000_000  # bytes
LONGEST_LINE = 100_000_000  # characters or bytes; also of a field of CSV, which may have several lines
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
HIDDEN_FILES = "hidden files ignored"
LOST_LINKS = "links that lead nowhere ignored"
SPECIAL_FILES = "pipes, devices and the like ignored"
CONLLU_TEXT = "# text = "


def read_rows(path: Path, format: str, columns: "Columns") -> Iterator[tuple[str, Row]]:
    """Yield the rows of one file; raises InputError if it cannot be read or lacks a column."""
    yield from _rows(path, format, {name for _, name in columns if name})


def read_column(path: Path, column: str) -> Iterator[str]:
    """Yield the text in a column of a table, "" if there is none; raises InputError if it is not text."""
    for place, row in _rows(path, format_of(path) or "", {column}):
        text = row.get(column)
        if text is not None and not isinstance(text, str):
            raise InputError(f"{place}: column '{column}' holds {text!r}, not text; name another column.")
        yield text or ""


def _rows(path: Path, format: str, names: set[str]) -> Iterator[tuple[str, Row]]:
    try:
        if not path.is_file() and path.exists():
            raise InputError(f"{path} is {_kind(path.stat().st_mode)}, not a file. {_RESTORE}")
        for place, row in _READERS[format](path, names):
            yield whole_surrogates(place), {name: None if value != value else value for name, value in row.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}. {_RESTORE}") from error


_RESTORE = "Restore the file, or leave it out."


def _kind(mode: int) -> str:
    kinds = {"a directory": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((name for name, test in kinds.items() if test(mode)), "a device")


def files_in(path: Path, ignored: Counter[str] | None = None) -> list[Path]:
    """List the files below a directory, sorted by name, or the file itself.

    Args:
        path: A directory or a file.
        ignored: Counts, by reason, what is left out of a directory: hidden files, those in hidden directories and what
            macOS and Office leave beside files; links that lead nowhere; pipes and devices.
    """
    if not path.is_dir():
        return [path]
    ignored = Counter() if ignored is None else ignored
    files = []
    for file in path.rglob("*"):
        if reason := _ignored_as(file, file.relative_to(path).parts):
            ignored[reason] += 1
        elif not file.is_dir():
            files.append(file)
    return sorted(files)


def _ignored_as(file: Path, parts: Sequence[str]) -> str | None:
    if file.is_dir() or file.is_file():
        hidden = any(part.startswith((".", "~$")) or part == "__MACOSX" for part in parts)
        return HIDDEN_FILES if hidden and not file.is_dir() else None
    return SPECIAL_FILES if file.exists() else LOST_LINKS


def format_of(path: Path) -> str | None:
    """Return the format that a file's suffix names, in any case, or None."""
    return SUFFIXES.get(path.suffix.lower())


def _read_text(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    if (size := path.stat().st_size) > LARGEST_ARTICLE:
        raise InputError(
            f"{path} has {size:,} bytes, too many for one article ({LARGEST_ARTICLE:,} at most); use a format with "
            "one article per line or row, such as .jsonl, .csv or .parquet."
        )
    content = path.read_bytes()
    try:
        yield str(path), {"text": content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")}
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(f"{path}: byte {error.start}")) from error


def _read_markdown(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield the text of headings, paragraphs, list items and table cells, a block each; code and HTML are left out."""
    from markdown_it import MarkdownIt  # few corpora need it

    for place, row in _read_text(path, names):
        tokens = MarkdownIt("commonmark").enable("table").parse(row["text"])
        blocks = [_inline_text(token.children or []) for token in tokens if token.type == "inline"]
        yield place, {"text": "\n\n".join(blocks)}


def _inline_text(tokens: Iterable[Any]) -> str:
    breaks = ("softbreak", "hardbreak")
    return "".join(
        " " if token.type in breaks else "" if token.type == "html_inline" else token.content for token in tokens
    )


def _read_lines(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield one article per line; the fields between its tabs are the columns 1, 2 ..."""
    for number, line in enumerate(_decoded_lines(path), start=1):
        row = {str(column): field for column, field in enumerate(line.rstrip("\r\n").split("\t"), start=1)}
        _check_columns(path, names, row)
        yield f"{path}#{number}", row


def _read_conllu(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield each sentence of a treebank, from its comment `# text = ...`, in the column `text`."""
    _check_columns(path, names, ["text"])
    for number, line in enumerate(_decoded_lines(path), start=1):
        if line.startswith(CONLLU_TEXT):
            yield f"{path}#{number}", {"text": line.removeprefix(CONLLU_TEXT).rstrip("\r\n")}


def _read_json_lines(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Yield one object per line; a key may be absent from some lines, but a named column must occur in one."""
    seen: dict[str, None] = {}
    number = 0
    for number, line in enumerate(_decoded_lines(path), start=1):
        if not line.strip():
            continue  # a blank line is not a row
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number} is not JSON ({error}). {_RESTORE}") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number} holds a {type(row).__name__}, expected an object with columns.")
        seen.update(dict.fromkeys(row))
        yield f"{path}#{number}", row
    if seen:
        _check_columns(path, names, seen)


def _read_csv(path: Path, names: set[str], delimiter: str = ",") -> Iterator[tuple[str, Row]]:
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.DictReader(_decoded_lines(path), delimiter=delimiter, strict=True)
    try:
        if not reader.fieldnames:
            raise InputError(f"{path} is empty; give a file whose first line names its columns.")
        _check_columns(path, names, reader.fieldnames)
        _check_twice(path, names, reader.fieldnames)
        for number, row in enumerate(reader, start=1):
            if None in row or None in row.values():
                raise InputError(
                    f"{path}, line {reader.line_num}: the row has another number of fields than the header's "
                    f"{len(reader.fieldnames)}; put quotes around fields that hold commas or line ends."
                )
            yield f"{path}#{number}", row
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.reader.line_num} is not CSV ({error}). {_RESTORE}") from error


def _read_parquet(path: Path, names: set[str]) -> Iterator[tuple[str, Row]]:
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        _check_columns(path, names, file.schema_arrow.names)
        _check_twice(path, names, file.schema_arrow.names)
        number = 0
        for batch in file.iter_batches(BATCH_ROWS, columns=sorted(names)):
            for row in _batch_rows(batch):
                number += 1
                yield f"{path}#{number}", row
    except (ValueError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read: {str(error).strip()}. {_RESTORE}") from error


def _batch_rows(batch: pa.RecordBatch) -> list[Row]:
    """Return the rows of a batch; dates and times beyond Python's range or precision come as text."""
    try:
        rows: list[Row] = batch.to_pylist()
    except (OverflowError, ValueError):
        columns = [
            column.cast(pa.string()) if pa.types.is_temporal(column.type) else column for column in batch.columns
        ]
        rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()
    return rows


_READERS: dict[str, Callable[[Path, set[str]], Iterator[tuple[str, Row]]]] = {
    "text": _read_text,
    "lines": _read_lines,
    "conllu": _read_conllu,
    "jsonl": _read_json_lines,
    "csv": _read_csv,
    "tsv": partial(_read_csv, delimiter="\t"),
    "markdown": _read_markdown,
    "parquet": _read_parquet,
}
SUFFIXES = {
    ".txt": "text",
    ".md": "markdown",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".conllu": "conllu",
}
WHOLE = ("text", "markdown")  # a file is one article; the others have rows and columns


def _check_columns(path: Path, names: set[str], present: Iterable[str]) -> None:
    missing = sorted(names - set(present))
    if missing:
        raise InputError(
            f"{path} has no column '{missing[0]}' (it has {', '.join(sorted(present)) or 'none'}); "
            f"name the right one by {option('text_column', params='`columns` in params.yaml')}."
        )


def _check_twice(path: Path, names: set[str], present: Sequence[str]) -> None:
    if twice := sorted(name for name in names if present.count(name) > 1):
        raise InputError(f"{path} has the column '{twice[0]}' {present.count(twice[0])} times; rename all but one.")


def _decoded_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file with their ends, none longer than LONGEST_LINE."""
    with path.open("rb") as file:
        if file.read(2) in UTF_16:
            yield from _wide_lines(path)
            return
        file.seek(0)
        for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1):
            _check_length(path, number, line)
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(_not_utf8(f"{path}, line {number}, byte {error.start}")) from error


def _wide_lines(path: Path) -> Iterator[str]:
    number = 0
    try:
        with path.open(encoding="utf-16", newline="\n") as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), ""), start=1):
                _check_length(path, number, line)
                yield line
    except UnicodeError as error:
        raise InputError(f"{path} is not UTF-16 after line {number}, though it begins as such. {_RESTORE}") from error


def _check_length(path: Path, number: int, line: Sized) -> None:
    if len(line) > LONGEST_LINE:
        raise InputError(f"{path}, line {number} is longer than {LONGEST_LINE:,} bytes or characters. {_RESTORE}")


def _not_utf8(place: str) -> str:
    return f"{place} is not UTF-8. Convert the file, as with `iconv -f WINDOWS-1252 -t UTF-8`."
