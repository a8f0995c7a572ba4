"""Sets of the user's own labels, in the form of all others: `benchmarks.own` of params.yaml names their files.

    sts                  pairs of texts with a score         files: test, perhaps dev
    pair_classification  pairs with yes or no                files: test, perhaps dev
    classification       texts with a label                  files: train, test, perhaps dev
    clustering           texts with the group of each        files: test, perhaps dev
    retrieval            queries, documents, and which       files: queries, documents, judgements
                         document answers which query

A file has a row for each, in .csv, .tsv (both with a header), .jsonl or .parquet. Nothing is repaired or left out: a
row that does not fit is an error. The texts of dev and test are taken out of the training text like those of any set;
those of a classifier's train split are not, since they may be all the text that there is.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sentence_distillery.evaluation.sets.benchmark import Benchmark, MainMetric, Table
from sentence_distillery.evaluation.sets.data import Kind
from sentence_distillery.evaluation.sets.options import OwnBenchmark, OwnTask
from sentence_distillery.evaluation.sets.records import (
    EVERY_SPLIT,
    BadDataError,
    Document,
    Judgement,
    Pair,
    Passage,
    Query,
    Row,
    lines,
    number,
    records,
    whole,
)
from sentence_distillery.evaluation.sets.registry import SETS
from sentence_distillery.io.artifacts import InputError

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
BATCH = 1_000  # rows of a Parquet file in memory
KINDS: dict[OwnTask, tuple[Kind, MainMetric]] = {
    "sts": ("pairs", "spearman"),
    "pair_classification": ("pairs", "ap"),
    "classification": ("documents", "accuracy"),
    "clustering": ("documents", "v_measure"),
    "retrieval": ("queries", "ndcg_at_10"),
}
ANSWERS = {  # label of a pair -> as sets of this library have it
    **dict.fromkeys(("1", "1.0", "yes", "true"), "1"),
    **dict.fromkeys(("0", "0.0", "no", "false"), "0"),
}

Fields = tuple[str, dict[str, str]]  # the place of a row, and its fields by name


def own_benchmark(option: OwnBenchmark) -> Benchmark:
    """Describe a set of the user's own labels; its counts and labels are those of the files.

    Args:
        option: Its files and their columns.

    Returns:
        The set, as the registry has others.

    Raises:
        InputError: If the name is that of another set, a file does not exist or is of another kind, or a row cannot be
            read.
    """
    if option.name in SETS:
        raise InputError(f"benchmarks.own: '{option.name}' is the name of a set of this library; choose another one.")
    for part, file in option.files.items():
        _check_file(f"benchmarks.own: '{option.name}' has the file {part} = {file}, which", Path(file))
    read = partial(read_rows, option)
    try:
        found = list(read(Path()))
    except BadDataError as error:
        raise InputError(f"{error} Correct the file, or its entry in benchmarks.own.") from error
    kind, main_metric = KINDS[option.task]
    rows, passages, judgements = (
        dict(Counter(row.split for row in found if isinstance(row, kinds)))
        for kinds in (Pair | Document | Query, Passage, Judgement)
    )
    table = Table(
        option.name,
        kind,
        read,
        rows,
        (option.scale[0], option.scale[1]) if option.scale else None,
        tuple(sorted({row.label for row in found if isinstance(row, Document | Pair) and row.label is not None})),
        main_metric,
        option.task,
        passages=passages,
        judgements=judgements,
    )
    files = tuple(option.files.values())
    return Benchmark(option.name, option.name, ", ".join(files), "your own", "", "own", files, (table,))


def _check_file(what: str, path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{what} is not a file here; correct the path.")
    if path.suffix not in SUFFIXES:
        raise InputError(f"{what} has none of the suffixes {', '.join(SUFFIXES)}; convert it.")


def read_rows(option: OwnBenchmark, directory: Path) -> Iterator[Row]:
    """Yield the rows of all files of a set, which are relative to `directory`.

    Raises BadDataError with file and row if one does not fit, or a file has no rows.
    """
    for part, file in option.files.items():
        path, empty = directory / file, True
        for row in _rows_of(option, part, path):
            empty = False
            yield row
        if empty:
            raise BadDataError(f"{path} has no rows.")


def _rows_of(option: OwnBenchmark, part: str, path: Path) -> Iterator[Row]:
    """Yield the rows of one file; `part` is its key."""
    match part:
        case "queries":
            for place, row in fields_of(path, option.columns, ("id", "text")):
                yield Query(place, "test", row["id"], row["text"])
        case "documents":
            for place, row in fields_of(path, option.columns, ("id", "text")):
                yield Passage(place, EVERY_SPLIT, row["id"], row["text"])
        case "judgements":
            for place, row in fields_of(path, option.columns, ("query", "document", "grade")):
                yield Judgement(place, "test", row["query"], row["document"], whole(row["grade"], place))
        case _ if option.task == "sts":
            for place, row in fields_of(path, option.columns, ("sentence1", "sentence2", "score")):
                yield Pair(place, part, row["sentence1"], row["sentence2"], number(row["score"], place))
        case _ if option.task == "pair_classification":
            for place, row in fields_of(path, option.columns, ("sentence1", "sentence2", "label")):
                yield Pair(place, part, row["sentence1"], row["sentence2"], None, _answer(row["label"], place))
        case _:
            for place, row in fields_of(path, option.columns, ("text", "label")):
                yield Document(place, part, row["text"], row["label"])


def fields_of(path: Path, columns: dict[str, str], names: tuple[str, ...]) -> Iterator[Fields]:
    """Yield (place, value of each named field as text) for the rows of a file.

    Args:
        path: A file with one of SUFFIXES.
        columns: The file's column of each field.
        names: The fields to read.

    Raises:
        BadDataError: If a column is missing, a value is neither a text nor a number, or the file cannot be read.
    """
    wanted = [columns[name] for name in names]
    for place, row in _READERS[path.suffix](path, wanted):
        yield place, {name: _text(row, columns[name], place) for name in names}


def _answer(text: str, place: str) -> str:
    """Return 1 or 0 for yes or no."""
    if (answer := ANSWERS.get(text.strip().lower())) is None:
        raise BadDataError(f"{place}: the label {text!r} is neither yes nor no; write 1 and 0, or yes and no.")
    return answer


def _text(row: dict[str, object], column: str, place: str) -> str:
    value = row.get(column)
    if not isinstance(value, str | int | float):
        raise BadDataError(f"{place}: column '{column}' has {value!r}, which is neither a text nor a number.")
    return str(value)


def _delimited(delimiter: str, path: Path, columns: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    for place, row in records(path, columns, delimiter):
        yield place, dict(row)


def _json_lines(path: Path, columns: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    for place, line in lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise BadDataError(f"{place}: it is not JSON ({error}).") from error
        if not isinstance(row, dict) or (missing := [name for name in columns if name not in row]):
            has = ", ".join(row) if isinstance(row, dict) else type(row).__name__
            lacks = f"no field '{missing[0]}'" if isinstance(row, dict) else "no fields"
            raise BadDataError(f"{place}: {lacks} (it has {has}).")
        yield place, row


def _parquet(path: Path, columns: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    try:
        with pq.ParquetFile(path) as file:
            if missing := [name for name in columns if name not in file.schema_arrow.names]:
                raise BadDataError(f"{path}: no column '{missing[0]}' (it has {', '.join(file.schema_arrow.names)}).")
            batches = file.iter_batches(BATCH, columns=columns)
            for place, row in enumerate((row for batch in batches for row in batch.to_pylist()), start=1):
                yield f"{path}, row {place}", row
    except (OSError, pa.ArrowException) as error:
        raise BadDataError(f"{path} cannot be read: {str(error).strip()}.") from error


_READERS: dict[str, Callable[[Path, list[str]], Iterator[tuple[str, dict[str, object]]]]] = {
    ".csv": partial(_delimited, ","),
    ".tsv": partial(_delimited, "\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
