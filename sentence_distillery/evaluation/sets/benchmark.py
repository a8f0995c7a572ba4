"""Define a benchmark set: its files, their sources, and the tables made of them.

The counts of rows are those of the published sets. A set that differs in one row is another set, and its scores could
not be compared with published ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path
from typing import Literal

import pyarrow as pa

from sentence_distillery.evaluation.sets.data import (
    DOCUMENTS,
    JUDGEMENTS,
    PAIRS,
    PASSAGES,
    QUERIES,
    Kind,
    TaskType,
    files,
)
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

Origin = Literal["package", "samples", "external", "own"]
MainMetric = Literal["pearson", "spearman", "accuracy", "f1", "ap", "v_measure", "ndcg_at_10", "map"]


@dataclass(frozen=True)
class Sources:
    """Directories of benchmark sets, each with the remedy for a missing or wrong file."""

    external: Path  # <set>/<file>, as `make benchmarks` of the repository brings them
    samples: Path  # pairs.csv and reviews.csv of this project
    external_remedy: str = "add its files, or let `make benchmarks` of the repository download them"
    samples_remedy: str = "restore it from the project's repository"


@dataclass(frozen=True)
class Table:
    """A set in the form that it is scored in: one <name>.parquet, or three for kind "queries"."""

    name: str  # of the file, and of the set in results
    kind: Kind  # of the rows; a set of pairs or words is scored by correlation if it has a scale
    read: Callable[[Path], Iterable[Row]]  # yields the rows, given the directory of the set's files
    # their number in each split, that of the queries for kind "queries". "dev" and "test" are never trained on
    rows: Mapping[str, int]
    scale: tuple[float, float] | None = None  # the lowest and the highest score, if the rows have scores
    labels: tuple[str, ...] = ()  # the labels, if the rows have any
    main_metric: MainMetric = "spearman"  # the one figure that stands for the set
    task: TaskType = "sts"  # how an encoder is scored on it
    protocols: tuple[str, ...] = ()  # names of protocols of `evaluation.tasks.TASKS`; empty for those that MTEB has
    # whether an encoder may be trained on the split "train"; if not, no split may be in a training corpus
    trainable: bool = True
    scored: bool = True  # whether the stage `evaluate` scores it. A set that is asked for by name is scored anyway
    # number of documents that each split searches; those of EVERY_SPLIT are searched by all
    passages: Mapping[str, int] = field(default_factory=dict)
    judgements: Mapping[str, int] = field(default_factory=dict)  # their number in each split

    @property
    def parts(self) -> dict[type[Row], tuple[str, pa.Schema, Mapping[str, int]]]:
        """The file, the schema and the rows by split of each kind of row."""
        names = files(self.name, self.kind)
        if self.kind != "queries":
            row, schema = (Document, DOCUMENTS) if self.kind == "documents" else (Pair, PAIRS)
            return {row: (names[0], schema, self.rows)}
        return {
            Query: (names[0], QUERIES, self.rows),
            Passage: (names[1], PASSAGES, self.passages),
            Judgement: (names[2], JUDGEMENTS, self.judgements),
        }


@dataclass(frozen=True)
class PinnedFile:
    """A file of an external set, the SHA-256 that it must have, and the address of its public home.

    The bytes at `home` have the SHA-256, so a moved branch or another edition is noticed, never read. None says that no
    public file has these bytes: the set was packed or rebuilt, and the user has to bring it.
    """

    name: str
    sha256: str
    home: str | None


@dataclass(frozen=True)
class Benchmark:
    """A set of texts."""

    name: str  # of its entry in sets.toml, the directory of its files, and the entry in `benchmarks.sets`
    title: str  # as tables and charts name it
    source: str  # which edition it is
    licence: str  # as its owners state it
    citation: str  # the work to cite, empty if there is none
    # "package": gensim has it; "samples": this project; "external": the user brings it, or it is absent; "own": the
    # user's own labels
    origin: Origin = "external"
    files: tuple[str, ...] = ()  # what the tables are read from
    tables: tuple[Table, ...] = ()  # what it becomes; none if no text of it is scored on
    pins: tuple[PinnedFile, ...] = ()  # the files of an external set, those that are not read too
    suite: str = ""  # the kind of task for which encoders are compared on it, if they are

    @property
    def external(self) -> bool:
        return self.origin == "external"

    def place(self, sources: Sources) -> tuple[Path, str]:
        """Return the directory of the set's files, and what to do if a file is missing or wrong."""
        match self.origin:
            case "package":
                return gensim_directory(), "reinstall gensim: `pip install --force-reinstall gensim`"
            case "samples":
                return sources.samples, sources.samples_remedy
            case "external":
                return sources.external / self.name, sources.external_remedy
            case "own":
                return Path(), "correct the file, or benchmarks.own, which names it"


def gensim_directory() -> Path:
    """Return the directory of the sets that come with gensim."""
    return Path(str(distribution("gensim").locate_file("gensim/test/test_data")))


def build_parts(table: Table, directory: Path) -> dict[str, pa.Table]:
    """Read and check a set from the directory of its files.

    Returns a table for each file. Raises BadDataError for the first row or count that is not as `table` says.
    """
    rows: dict[type[Row], list[Row]] = {kind: [] for kind in table.parts}
    for row in table.read(directory):
        rows[type(row)].append(_checked(row, table))

    # A set that differs in one row is another set, so the counts are exact.
    for kind, (file, _, expected) in table.parts.items():
        _check_counts(rows[kind], expected, f"of {Path(file).stem}", directory)
    if table.kind == "queries":
        _check_ids(rows)
    return {
        file: pa.Table.from_pylist([row._asdict() for row in rows[kind]], schema)  # all columns but the place
        for kind, (file, schema, _) in table.parts.items()
    }


def _check_counts(rows: Sequence[Row], expected: Mapping[str, int], what: str, directory: Path) -> None:
    counts = Counter(row.split for row in rows)
    for split, count in expected.items():
        if counts[split] != count:
            raise BadDataError(f"{directory}: split '{split}' {what} has {counts[split]} rows, expected {count}.")


def _check_ids(rows: Mapping[type[Row], Sequence[Row]]) -> None:
    """Raise BadDataError if an id is there twice, or a judgement is not of a query and a document of its split."""
    ids: set[tuple[type[Row], str, str]] = set()
    for row in (*rows[Query], *rows[Passage]):
        assert isinstance(row, Query | Passage)
        if (type(row), row.split, row.id) in ids:
            raise BadDataError(f"{row.place}: the id {row.id!r} is in split '{row.split}' twice.")
        ids.add((type(row), row.split, row.id))

    # A judgement of an unknown document would count as a document that nobody can find.
    for row in rows[Judgement]:
        assert isinstance(row, Judgement)
        if (Query, row.split, row.query) not in ids:
            raise BadDataError(f"{row.place}: split '{row.split}' has no query {row.query!r}.")
        if not ids & {(Passage, row.split, row.document), (Passage, EVERY_SPLIT, row.document)}:
            raise BadDataError(f"{row.place}: split '{row.split}' has no document {row.document!r}.")


def _checked(row: Row, table: Table) -> Row:
    _, _, splits = table.parts[type(row)]
    if row.split not in splits:
        raise BadDataError(f"{row.place}: unknown split '{row.split}'; known splits: {', '.join(splits)}.")
    match row:
        case Pair():
            texts, label = [row.sentence1, row.sentence2], row.label
        case Document():
            texts, label = [row.text], row.label
        case Query():
            texts, label = [row.text], None
        case _:  # published collections have documents without a text
            texts, label = [], None

    # A blank text has a zero vector in every encoder, which would lower all figures alike.
    if not all(text.strip() for text in texts):
        raise BadDataError(f"{row.place}: a blank text.")
    if (label is not None or table.labels) and label not in table.labels:
        raise BadDataError(f"{row.place}: unknown label {label!r}; known labels: {', '.join(table.labels)}.")
    if isinstance(row, Pair) and table.scale is not None:
        low, high = table.scale
        if row.score is None or not math.isfinite(row.score) or not low <= row.score <= high:
            raise BadDataError(f"{row.place}: score {row.score} is outside {low}-{high}.")
    return row
