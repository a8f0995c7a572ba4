"""Read a user's files: texts, lines and tables. Every command and stage that takes files reads them here.

    .txt                               an article, or a text in each line
    .md                                an article in Markdown, or a text in each block
    .csv .tsv                          rows; the first line names the columns (delimited.py)
    .json .jsonl .ndjson               an object per line, or one array of objects
    .parquet .pq .feather .arrow .ipc  tables of Arrow, whose columns keep their types (table.py)
    .conllu                            a treebank, a sentence per row in the column `text`

All but Parquet and Feather may be compressed, as in .csv.gz and .jsonl.zst (decoding.py).

Whatever a directory holds, memory is bounded: only regular files are opened, a file that is one article or one array of
JSON has at most LARGEST_ARTICLE bytes, and a line of any other at most LONGEST_LINE.
"""

import csv
import logging
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sentence_distillery.corpus.schema import DROPPED_FILE, HELD_OUT_FILE
from sentence_distillery.corpus.tables.decoding import (
    COMPRESSED,
    HEAD,
    cannot_read,
    decoded_head,
    opened,
    refuse_binary,
    without_compression,
)
from sentence_distillery.corpus.tables.formats import (
    ARROW,
    COLUMN,
    SUFFIXES,
    WHOLE,
    Row,
    check_is_file,
    format_of,
    plain_texts,
    read_rows,
    text_of,
)
from sentence_distillery.io.errors import InputError
from sentence_distillery.io.places import is_there

HIDDEN_FILES = "hidden files ignored"
LOST_LINKS = "links that lead nowhere ignored"
SPECIAL_FILES = "pipes, devices and the like ignored"
BESIDE_PARTS = {DROPPED_FILE: "lists of dropped texts ignored", HELD_OUT_FILE: "held-out texts ignored"}
DESCRIPTIONS = "descriptions of a dataset ignored"
_DESCRIPTIONS = ("README.md", "dataset_info.json", "dataset_dict.json", "state.json")  # Hugging Face's, beside tables
READ_AS = {"lines": "text", "csv": "csv", "tsv": "tsv", "json": "jsonl", "parquet": "parquet", "feather": "feather"}

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """How to read files; each file decides an attribute that is None."""

    text_column: str | None = None  # the column of the text, in files with columns; None is `text`
    read_as: str | None = None  # a key of READ_AS, whatever the suffix says
    quoting: bool | None = None  # whether quotation marks enclose the fields of .csv and .tsv

    def __post_init__(self) -> None:
        if self.read_as is not None and self.read_as not in READ_AS:
            raise InputError(f"read_as = {self.read_as!r} is not a format; use {', '.join(READ_AS)}.")

    @property
    def column(self) -> str:
        """The column of the text."""
        return self.text_column or COLUMN


def files_in(path: Path, ignored: Counter[str] | None = None) -> list[Path]:
    """List the files below a directory, sorted by name, or the file itself.

    `ignored` counts, by reason, what is left out of a directory: hidden files, those in hidden directories and what
    macOS and Office leave beside files; links that lead nowhere; pipes and devices; what a crawl or `clean` left out;
    and what describes the tables of a dataset.
    """
    if not path.is_dir():
        return [path]
    ignored = Counter() if ignored is None else ignored

    # What is left out is counted, so that nobody looks for it.
    files = []
    for file in _below(path):
        if reason := _ignored_as(file, file.relative_to(path).parts):
            ignored[reason] += 1
        else:
            files.append(file)
    return sorted(files)


def _below(directory: Path) -> Iterator[Path]:
    """Yield what is below a directory and is not one; links are followed, but to none a second time, nor upwards."""
    known = set(map(str, directory.resolve().parents))
    for folder, folders, names in os.walk(directory, onerror=_raise, followlinks=True):
        if (real := os.path.realpath(folder)) in known:
            folders.clear()
            continue
        known.add(real)
        folders.sort(key=lambda name: (Path(folder, name).is_symlink(), name))
        yield from (Path(folder, name) for name in names)


def _raise(error: OSError) -> None:
    raise cannot_read(Path(error.filename), error) from error


def _ignored_as(file: Path, parts: Sequence[str]) -> str | None:
    if file.is_file():
        if file.name in BESIDE_PARTS and any(file.parent.glob("part-*.parquet")):
            return BESIDE_PARTS[file.name]
        if file.name in _DESCRIPTIONS and any(table.suffix in (".arrow", ".parquet") for table in _below(file.parent)):
            return DESCRIPTIONS
        hidden = any(part.startswith((".", "~$")) or part == "__MACOSX" for part in parts)
        return HIDDEN_FILES if hidden else None
    return SPECIAL_FILES if file.exists() else LOST_LINKS


def files_to_read(paths: Iterable[Path], reading: Reading) -> list[tuple[Path, str]]:
    """List the files to read, those of a directory as far as their format is known, and the format of each.

    Raises InputError if a path does not exist, a directory has no file to read, a file is not text, or looks like a
    table and has no suffix that says so.
    """
    return [(file, _format_to_read(file, reading)) for path in paths for file in _readable(path, reading)]


def check_options(reading: Reading, formats: Collection[str]) -> None:
    """Raise InputError for an option that applies to none of the formats."""
    if reading.text_column is not None and not set(formats) - {*WHOLE, "conllu"}:
        raise InputError(
            f"--text-column {reading.text_column} (in Python text_column) does not apply to texts without columns; "
            "leave it out."
        )
    if reading.quoting is not None and not set(formats) & {"csv", "tsv"}:
        raise InputError("--quoting (in Python quoting) applies to .csv and .tsv alone; leave it out.")


def _readable(path: Path, reading: Reading) -> list[Path]:
    if not is_there(path):
        raise InputError(f"{path} does not exist; give a file or a directory with {', '.join(SUFFIXES)}.")
    if not path.is_dir():
        return [path]
    ignored: Counter[str] = Counter()
    files = [file for file in files_in(path, ignored) if reading.read_as or format_of(file)]
    for name in (name for name, reason in BESIDE_PARTS.items() if ignored[reason]):
        log.info("%s beside part-*.parquet in %s has what was dropped or held out, and is not read", name, path)
    if ignored[DESCRIPTIONS]:
        log.info("%s: %d %s", path, ignored[DESCRIPTIONS], DESCRIPTIONS)
    if not files:
        raise InputError(f"{path} has no file of a known format; use {', '.join(SUFFIXES)}.")
    return files


def _format_to_read(path: Path, reading: Reading) -> str:
    """Return the format of a file; one of another suffix is text, unless it looks like something else."""
    check_is_file(path)
    if reading.read_as is not None:
        return READ_AS[reading.read_as]
    format = format_of(path)
    if format not in (None, "text"):
        return format or ""
    if path.suffix.lower() in COMPRESSED and SUFFIXES.get(without_compression(path)) in ARROW:
        raise InputError(f"{path} is compressed once more than its kind is; unpack it.")

    # A table without its suffix would be read as lines of text, header and all.
    with opened(path) as stream:
        head = stream.read(HEAD)
    refuse_binary(path, head)
    if (kind := looks_like(decoded_head(head), reading.column)) is not None:
        raise InputError(
            f"{path} looks like {kind}, but its name does not say so. Say how to read it: --read-as "
            f"{kind.split()[0].lower()}, or --read-as lines if each line is a text (in Python read_as)."
        )
    return "text"


def looks_like(head: str, column: str) -> str | None:
    """Tell which table the beginning of a text looks like; `column` is that of the text, which a header would have.

    >>> looks_like("id,text\n1,The storm\n", "text"), looks_like("Well, no.\nOh, yes.\n", "text")
    ('CSV', None)
    """
    if re.match(r'\s*\[?\s*\{\s*"(?:[^"\\]|\\.)*"\s*:', head):
        return "JSON"
    lines = [line for line in re.split("\r\n|\n|\r", head)[:-1] if line.strip()]  # the last one may be cut off
    lines = [line for line in lines if not line.startswith("#")][:20]
    if len(lines) < 2:
        return None

    # Text may have commas in every line, but hardly tabs.
    if all("\t" in line.strip() for line in lines):
        return "TSV"
    return next(
        (kind for mark, kind in ((",", "CSV"), (";", "CSV with semicolons")) if _is_table(lines, mark, column)), None
    )


def _is_table(lines: list[str], mark: str, column: str) -> bool:
    """Tell whether lines are rows below a header: names without a blank around them, and as many fields everywhere."""
    names, *rows = csv.reader(lines, delimiter=mark)
    if len(names) < 2 or any(name != name.strip() or not re.fullmatch(r"[\w .:/()-]{0,40}", name) for name in names):
        return False
    return column in names or {len(row) for row in rows[:-1] or rows} == {len(names)}


def read_texts(path: Path, format: str, reading: Reading, by_line: bool) -> Iterator[tuple[str, Row]]:
    """Yield the texts of a file, "" if a row has none, each with the columns of its row; plain text has no columns.

    `by_line` says whether each line of plain text is a text, or the whole file is one. Raises InputError if the file
    cannot be read or has no such column, or a value in it is not text.
    """
    if format in WHOLE:
        by_line = by_line or reading.read_as == "lines"
        yield from ((text, {}) for text in plain_texts(path, format, by_line))
        return
    column = COLUMN if format == "conllu" else reading.column
    for place, row in read_rows(path, format, {column}, reading.quoting, others=True):
        yield text_of(place, row, column), row
