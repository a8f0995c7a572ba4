"""Sets of the user's own labels, in the form of all others: `benchmarks.own` of params.yaml names their files.

`options.NEEDS` says which files and columns each task has: .csv and .tsv with a header, .jsonl or .parquet. Nothing is
repaired or left out: a row that does not fit is an error. The texts of dev and test are taken out of the training text
like those of any set; those of a classifier's train split are not, since they may be all the text that there is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import Benchmark, MainMetric, Table
from sentence_distillery.evaluation.sets.data import Kind
from sentence_distillery.evaluation.sets.options import OwnBenchmark, OwnTask
from sentence_distillery.evaluation.sets.readers import DELIMITERS, ROWS, collection, columns
from sentence_distillery.evaluation.sets.records import (
    EVERY_SPLIT,
    BadDataError,
    Document,
    Judgement,
    Pair,
    Passage,
    Query,
    Row,
)
from sentence_distillery.evaluation.sets.registry import SETS
from sentence_distillery.io.artifacts import InputError

SUFFIXES = (*DELIMITERS, *ROWS)
KINDS: dict[OwnTask, tuple[Kind, MainMetric]] = {
    "sts": ("pairs", "spearman"),
    "pair_classification": ("pairs", "ap"),
    "classification": ("documents", "accuracy"),
    "clustering": ("documents", "v_measure"),
    "retrieval": ("queries", "ndcg_at_10"),
}
PARTS: dict[type[Row], str] = {Query: "queries", Passage: "documents", Judgement: "judgements"}  # of `files`


def own_benchmark(option: OwnBenchmark) -> Benchmark:
    """Describe a set of the user's own labels; its counts and labels are those of the files.

    Raises:
        InputError: If the name is that of another set, a file does not exist or is of another kind, or a row cannot be
            read.
    """
    if option.name in SETS:
        raise InputError(f"benchmarks.own: '{option.name}' is the name of a set of this library; choose another one.")
    for part, file in option.files.items():
        _check_file(f"benchmarks.own: '{option.name}' has the file {part} = {file}, which", Path(file))
    read = reader(option)
    try:
        found = list(read(Path()))
        _check_filled(option, found)
    except BadDataError as error:
        raise InputError(f"{error} Correct the file, or its entry in benchmarks.own.") from error

    # What other sets declare is counted here: the user's files say it.
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


def _check_filled(option: OwnBenchmark, rows: Iterable[Row]) -> None:
    """Raise BadDataError if a file has no rows."""
    parts = {PARTS.get(type(row), row.split) for row in rows}
    for part, file in option.files.items():
        if part not in parts:
            raise BadDataError(f"{Path(file)} has no rows.")


def reader(option: OwnBenchmark) -> Callable[[Path], Iterator[Row]]:
    """Return a function of a directory that reads all rows of a set, whose files are relative to the directory."""
    files = option.files
    if option.task != "retrieval":
        return partial(columns, files=files, columns=option.columns, yes_or_no=option.task == "pair_classification")

    # All queries of the user's set are for the test, and search all documents.
    queries, documents, judgements = (
        {split: files[part]}
        for part, split in (("queries", "test"), ("documents", EVERY_SPLIT), ("judgements", "test"))
    )
    return partial(collection, queries=queries, documents=documents, judgements=judgements, columns=option.columns)
