"""Read pairs of sentences with human ratings from a table of the user's."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sentence_distillery.corpus.tables.formats import WHOLE, NoColumnError, Row, read_rows
from sentence_distillery.corpus.tables.reading import Reading, check_options, files_to_read
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.evaluation.sets.records import LARGEST_SCORE, SCORES, is_scale
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.errors import option

PAIR_COLUMNS = ("sentence1", "sentence2", "score")
REMEDY = "both sentences' columns and the score's by --pair-columns"


def read_rated_pairs(
    path: Path, reading: Reading, columns: Sequence[str] = PAIR_COLUMNS, scale: Sequence[float] | None = None
) -> PairSet:
    """Read the pairs of a table by the columns of both sentences and of the score; the set has the name of the file.

    `scale` is the lowest and the highest possible score; None takes those in the file. Raises InputError if the file
    cannot be read, a sentence is empty, a score is not a finite number, or all scores are equal and there is no scale.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory; give files of pairs.")
    ((_, format),) = files_to_read([path], reading)
    check_options(reading, {format})
    if format in (*WHOLE, "conllu"):
        raise InputError(f"{path} has no columns; give a table with {', '.join(columns)}, such as .csv or .parquet.")

    # Row by row, so that an error names the row.
    rated = []
    for number, row in enumerate(_rows(path, format, columns, reading.quoting), start=1):
        if number == 1 and (absent := [name for name in columns if name not in row]):  # of JSON, read row by row
            raise NoColumnError(path, absent[0], list(row), REMEDY)
        place = f"{path}, row {number}"
        sentences = [_sentence(row.get(name), name, place) for name in columns[:2]]
        rated.append((*sentences, _score(row.get(columns[2]), place)))
    if not rated:
        raise InputError(f"{path} has no pairs; give at least two.")
    left, right, scores = map(list, zip(*rated, strict=True))

    # Without a scale the scores themselves bound it, which changes the MAE alone.
    low, high = scale or (min(scores), max(scores))
    if not is_scale(low, high):
        raise InputError(
            f"{path}: {low:g} to {high:g} is not a scale; give {option('scale')} with the lowest and highest score, "
            f"within {SCORES}."
        )
    return PairSet(path.stem, "test", left, right, np.array(scores, np.float32), None, (low, high))


def _rows(path: Path, format: str, columns: Sequence[str], quoting: bool | None) -> Iterator[Row]:
    try:
        yield from (row for _, row in read_rows(path, format, columns, quoting))
    except NoColumnError as error:
        raise NoColumnError(path, error.missing, error.present, REMEDY) from None


def _sentence(value: object, column: str, place: str) -> str:
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{place}: {column} is empty; give both sentences, or leave the row out.")
    if not isinstance(value, str):
        raise InputError(f"{place}: {column} is {value!r}, not text; name another column.")
    return value


def _score(value: object, place: str) -> float:
    """Convert a score; raises InputError, naming the row, if it is absent or not a finite number."""
    if value is None or value == "":
        raise InputError(f"{place}: the score is absent; rate the pair, or leave the row out.")

    # True is a number for Python, but no rating.
    try:
        score = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score) or "_" in str(value):  # 1_0 is 10 for Python
        raise InputError(f"{place}: the score {value!r} is not a finite number; correct it, or leave the row out.")
    if abs(score) > LARGEST_SCORE:
        raise InputError(f"{place}: the score {value!r} is outside {SCORES}; correct it, or leave the row out.")
    return score
