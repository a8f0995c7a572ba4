"""Rows of benchmark files, with their place (file and line).

Nothing is repaired: a row that does not fit raises BadDataError. Quotes are read as each format means them: in
comma-separated files they enclose a field, in tab-separated ones they are characters like any other.
"""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

EVERY_SPLIT = "all"
Kind = Literal["pairs", "words", "documents", "queries"]  # of the rows of a set
TaskType = Literal["sts", "pair_classification", "classification", "clustering", "retrieval", "reranking"]
LARGEST_SCORE = 1e38  # so that float32 has the difference of two scores
SCORES = f"-{LARGEST_SCORE:g} to {LARGEST_SCORE:g}"


def is_scale(low: float, high: float) -> bool:
    """Tell whether scores can be from `low` to `high`: finite, the lower one first, and not too large for float32.

    >>> is_scale(0.0, 5.0), is_scale(5.0, 0.0), is_scale(0.0, float("inf"))
    (True, False, False)
    """
    return -LARGEST_SCORE <= low < high <= LARGEST_SCORE


class BadDataError(ValueError):
    """A row, a column or a count that does not fit; the message has value and place, the caller adds the remedy."""


class Pair(NamedTuple):
    place: str
    split: str
    sentence1: str
    sentence2: str
    score: float | None = None
    label: str | None = None


class Document(NamedTuple):
    place: str
    split: str
    text: str
    label: str


class Query(NamedTuple):
    place: str
    split: str
    id: str
    text: str


class Passage(NamedTuple):
    """A document that is searched, by the queries of one split or of EVERY_SPLIT."""

    place: str
    split: str
    id: str
    text: str


class Judgement(NamedTuple):
    place: str
    split: str
    query: str
    document: str
    grade: int


Row = Pair | Document | Query | Passage | Judgement


def records(
    path: Path, columns: Iterable[str], delimiter: str = ",", header: bool = True, comment: str | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, field by column) for each row that does not start with `comment`.

    `columns` must be in the header, or name all fields if there is none. Raises BadDataError with file and line for a
    missing column, a wrong number of fields, a stray quote, or bytes that are not UTF-8.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        # Quotes enclose fields in comma-separated files alone.
        reader = csv.reader(
            file, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL, strict=True
        )
        try:
            names = next(reader, []) if header else list(columns)
            for missing in sorted(set(columns) - set(names)):
                raise BadDataError(f"{path}, line 1: no column '{missing}' (it has {', '.join(names) or 'none'}).")
            for fields in reader:
                if comment and fields and fields[0].startswith(comment):
                    continue
                place = f"{path}, line {reader.line_num}"
                if len(fields) != len(names):
                    raise BadDataError(f"{place}: {len(fields)} fields, expected {len(names)} ({', '.join(names)}).")
                yield place, dict(zip(names, fields, strict=True))
        except csv.Error as error:
            raise BadDataError(f"{path}, near line {reader.line_num + 1}: {error}.") from error
        except UnicodeDecodeError as error:
            raise BadDataError(f"{path}, line {_undecodable(path)}: {error}.") from error


def lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield (place, line) for each line of a text file, without its end; only LF and CR LF end a line.

    Raises BadDataError with file and line for bytes that are not in the encoding.
    """
    for number, line in enumerate(path.read_bytes().removesuffix(b"\n").split(b"\n"), start=1):
        place = f"{path}, line {number}"
        try:
            yield place, line.removesuffix(b"\r").decode(encoding)
        except UnicodeDecodeError as error:
            raise BadDataError(f"{place}: {error}.") from error


def parallel_lines(*paths: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (place in the first file, a line of each) for files of parallel lines; raises BadDataError if one ends."""
    columns = [list(lines(path)) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            raise BadDataError(f"{path} has {len(column)} lines, {paths[0]} has {len(columns[0])}.")
    for row in zip(*columns, strict=True):
        yield row[0][0], [line for _, line in row]


def whole(text: str, place: str) -> int:
    """Convert `text` to a whole number of 0 or more; raises BadDataError."""
    if not text.isdecimal():
        raise BadDataError(f"{place}: {text!r} is not a whole number of 0 or more.")
    return int(text)


def drawn(texts: Sequence[str], count: int, seed: int) -> list[bool]:
    """Draw `count` of the texts for a test split, the same ones in any order and with any version of the library.

    They are the ones whose keyed hash is smallest. Equal texts are in one split, unless the last one drawn is among
    them.
    """
    key = str(seed).encode()
    marks = [hashlib.blake2b(text.encode(), digest_size=16, key=key).digest() for text in texts]
    chosen = set(sorted(range(len(texts)), key=marks.__getitem__)[:count])
    return [row in chosen for row in range(len(texts))]


def _undecodable(path: Path) -> int:
    """Find the first line that is not UTF-8, since a text file is decoded ahead of the row that is read."""
    with path.open("rb") as file:
        return next(number for number, line in enumerate(file, 1) if line.decode("utf-8", "replace").encode() != line)


def number(text: str, place: str) -> float:
    """Convert `text` to a number; raises BadDataError."""
    try:
        return float(text)
    except ValueError:
        raise BadDataError(f"{place}: score {text!r} is not a number.") from None
