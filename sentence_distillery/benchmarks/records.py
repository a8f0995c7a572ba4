"""Rows of benchmark files, with their place (file and line).

Nothing is repaired: a row that does not fit raises BadDataError. Quotes are read as each format means them: in
comma-separated files they enclose a field, in tab-separated ones they are characters like any other.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

TRAIN_DEV_TEST = ("train", "dev", "test")


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


def records(
    path: Path, columns: Iterable[str], delimiter: str = ",", header: bool = True, comment: str | None = None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, field by column) for each row that does not start with `comment`.

    `columns` must be in the header, or name all fields if the file has no header.

    Raises BadDataError with file and line for a missing column, a wrong number of fields, a stray quote, or bytes that
    are not UTF-8.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        if delimiter == "\t":
            reader = csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        else:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
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


def word_pairs(path: Path) -> Iterator[Pair]:
    """Read tab-separated word 1, word 2, score, after comment lines that start with '#'."""
    for place, row in records(path, ("word1", "word2", "score"), delimiter="\t", header=False, comment="#"):
        yield Pair(place, "test", row["word1"], row["word2"], number(row["score"], place))
