"""Rows of .csv and .tsv files, every field as the text that stands there.

pyarrow and pandas read such files, too, and are not used here: an id 007 becomes 7 unless each column gets a type, rows
are joined at a quotation mark that is never closed, a second column of the same name wins, and no error says in which
line it is.

**Quotation marks.** In CSV they enclose a field that has a delimiter or a line end in it (RFC 4180). Many files,
mostly TSV, are written without quoting: a mark at the start of a field belongs to the text. Read as quoting, it joins
all rows up to the next field that ends with a mark. So the file as a whole decides (`_is_quoted`):

    a line has another number of delimiters than the first one     quoted: a field encloses a delimiter or a line end
    no field begins with a mark                                    the same either way
    a mark within a field contradicts quoting                      TSV: not quoted; CSV is refused
    an enclosed field has a doubled mark                           quoted
    a row has several lines, each of which is a row by itself      TSV: not quoted; CSV is refused
"""

import csv
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sentence_distillery.corpus.tables import decoding
from sentence_distillery.corpus.tables.decoding import decoded_lines
from sentence_distillery.io.errors import InputError

Record = tuple[int, list[str]]  # the number of its last line, and its fields
MANY_LINES = 10  # of one row, most of which are whole rows by themselves

log = logging.getLogger(__name__)


def delimited_rows(path: Path, kind: str, quoting: bool | None) -> tuple[list[str], Iterator[Record]]:
    """Open a file, and return the names of its columns and an iterator over its rows, without blank lines.

    `kind` is "csv" or "tsv"; CSV has semicolons or tabs between its fields if its first line has no comma. `quoting`
    says whether quotation marks enclose fields; None: the file decides. Raises InputError if the file is empty or
    cannot be read; the iterator, if a row has another number of fields.
    """
    first = next((line for line in decoded_lines(path) if line.strip("\r\n")), None)
    if first is None:
        raise InputError(f"{path} is empty; give a file whose first line names its columns.")
    delimiter = "\t" if kind == "tsv" else next((mark for mark in ",;\t" if mark in first), ",")
    quoted = _is_quoted(path, delimiter) if quoting is None else quoting
    records = _quoted_records(path, delimiter, sure=quoting is True) if quoted else _plain_records(path, delimiter)
    names = next(records)[1]
    return names, _checked(path, names, records, quoted)


def column_names(names: Sequence[str]) -> list[str]:
    """Give columns without a name, and those whose name has been taken, one of their own, as pandas does.

    Example:
        >>> column_names(["text", "", "text"])
        ['text', 'Unnamed: 1', 'text.1']
    """
    taken: Counter[str] = Counter()
    found: list[str] = []
    for place, name in enumerate(names):
        wanted = name or f"Unnamed: {place}"
        unique = wanted

        # A name that is free now may be the name of a later column.
        while unique in found or (unique != wanted and unique in names):
            taken[wanted] += 1
            unique = f"{wanted}.{taken[wanted]}"
        found.append(unique)
    return found


def _checked(path: Path, names: list[str], records: Iterator[Record], quoted: bool) -> Iterator[Record]:
    for line, fields in records:
        if len(fields) != len(names):
            remedy = "put quotes around fields that hold delimiters or line ends" if quoted else "correct the line"
            raise InputError(
                f"{path}, line {line}: the row has {len(fields)} fields, another number of fields than the header's "
                f"{len(names)}; {remedy}."
            )
        yield line, fields


def _plain_records(path: Path, delimiter: str) -> Iterator[Record]:
    for number, line in enumerate(decoded_lines(path), start=1):
        if content := line.rstrip("\r\n"):
            yield number, content.split(delimiter)


def _quoted_records(path: Path, delimiter: str, sure: bool) -> Iterator[Record]:
    """Yield records in which marks enclose fields; unless that is sure, a suspicious one is asked about."""
    width = 0
    for lines, number, fields in _parsed(path, delimiter):
        width = width or len(fields)
        if not sure and len(lines) > 1 and _looks_joined(lines, fields, delimiter, width):
            raise _ambiguous(path, number - len(lines) + 1, number)
        yield number, fields


def _parsed(path: Path, delimiter: str) -> Iterator[tuple[list[str], int, list[str]]]:
    """Yield the lines of each record, the number of the last of them, and the fields; marks enclose fields."""
    csv.field_size_limit(decoding.LONGEST_LINE)
    lines: list[str] = []

    def noted() -> Iterator[str]:
        for line in decoded_lines(path):
            lines.append(line)
            yield line

    # The raw lines of a row are kept until it is complete, for those who look at its quotes.
    reader = csv.reader(noted(), delimiter=delimiter, strict=True)
    try:
        for fields in reader:
            if fields:
                yield lines, reader.line_num, fields
            lines.clear()
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num} is not CSV ({error}). Restore the file; or, if its quotation marks "
            "enclose no fields, give --quoting no (in Python quoting=False)."
        ) from error


def _looks_joined(lines: list[str], fields: list[str], delimiter: str, width: int) -> bool:
    """Tell whether a record of several lines looks like several records."""
    if delimiter == "\t":
        return any("\t" in field and ("\n" in field or "\r" in field) for field in fields)
    whole = sum(line.count(delimiter) == width - 1 for line in lines)
    return width > 1 and len(lines) >= MANY_LINES and whole >= 0.9 * len(lines)


def _ambiguous(path: Path, first: int, last: int) -> InputError:
    return InputError(
        f"{path}, lines {first} to {last} are one row if quotation marks enclose fields, else {last - first + 1}. Say "
        "which: --quoting yes or no (in Python quoting=True or False)."
    )


def _is_quoted(path: Path, delimiter: str) -> bool:
    """Tell whether quotation marks enclose fields, by the whole file; raises InputError if both readings fit."""
    width, marks = None, False
    for line in decoded_lines(path):
        content = line.rstrip("\r\n")
        if not content:
            continue  # no row in either reading
        if width is None and content.startswith('"'):
            return True  # a header in quotes
        if width not in (None, content.count(delimiter)):
            return True

        # Rows of one width without quoting may still hold marks; then both readings are compared.
        width = content.count(delimiter)
        marks = marks or content.startswith('"') or f'{delimiter}"' in content
    return marks and _fits_quoting(path, delimiter, width or 0)


def _fits_quoting(path: Path, delimiter: str, width: int) -> bool:
    """Decide for a file in which each line by itself is a row, and some field begins with a mark."""
    tsv = delimiter == "\t"
    try:
        first, last, doubled = _evidence(path, delimiter, width)
    except InputError:
        if tsv:
            log.info("%s is read without quoting: marks within its fields contradict it", path)
        return not tsv  # CSV is refused when its rows are read

    # No row over several lines, or doubled marks: only a writer that quotes makes these.
    if doubled or first == last:
        return True
    if not tsv or width == 0:
        raise _ambiguous(path, first, last)
    log.info("%s is read without quoting: else lines %d to %d would be one row", path, first, last)
    return False


def _evidence(path: Path, delimiter: str, width: int) -> tuple[int, int, bool]:
    """Read all with quoting; return the first and last line of a row of several, and if an enclosed mark is doubled."""
    first = last = 0
    for lines, number, fields in _parsed(path, delimiter):
        if len(fields) != width + 1:
            raise InputError(f"{path}, line {number}")

        # A field over several lines is one hint, a field that begins with a quotation mark the other.
        if len(lines) > 1:
            first, last = number - len(lines) + 1, number
        elif any(
            raw.startswith('"') and '"' in field for raw, field in zip(lines[0].split(delimiter), fields, strict=True)
        ):
            return 0, 0, True
    return first, last, False
