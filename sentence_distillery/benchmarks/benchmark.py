"""What a benchmark set is: its files, where they come from, and the tables that they become.

The counts of rows are those of the published sets. A set that differs in one row is another set, and its scores could
not be compared with published ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Literal

import pyarrow as pa

from sentence_distillery.benchmarks.data import DOCUMENTS, PAIRS, Kind
from sentence_distillery.benchmarks.records import BadDataError, Document, Pair

GITHUB = "https://raw.githubusercontent.com"
BINARY = ("0", "1")
ENTAILMENT = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")

Origin = Literal["package", "samples", "external"]
MainMetric = Literal["pearson", "spearman", "accuracy", "f1"]


@dataclass(frozen=True)
class Sources:
    """Directories that benchmark sets are read from, and what to do if a file there is missing or wrong."""

    external: Path  # <set>/<file>, as `sentence_distillery.benchmarks.download` brings them
    samples: Path  # pairs.csv and reviews.csv of this project
    external_remedy: str = "bring its files, or fetch them with sentence_distillery.benchmarks.download"
    samples_remedy: str = "restore it from the project's repository"


@dataclass(frozen=True)
class Table:
    """One <name>.parquet.

    Attributes:
        name: Of the file, and of the set in results.
        kind: Of the rows; a set of pairs or words is scored by correlation if it has a scale.
        read: Yields the rows, given the directory of the set's files.
        rows: Their number in each split. A split "train" may be trained on, "dev" and "test" never.
        scale: The lowest and the highest score, if the rows have scores.
        labels: The labels, if the rows have any.
        main_metric: The one figure that stands for the set.
    """

    name: str
    kind: Kind
    read: Callable[[Path], Iterable[Pair | Document]]
    rows: Mapping[str, int]
    scale: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()
    main_metric: MainMetric = "spearman"

    @property
    def schema(self) -> pa.Schema:
        return DOCUMENTS if self.kind == "documents" else PAIRS


@dataclass(frozen=True)
class PinnedFile:
    """A file of an external set, the SHA-256 that it must have, and the address of its public home.

    The bytes at `home` have the SHA-256, so a moved branch or another edition is noticed, never read. None says that no
    public file has these bytes: the set was packed or rebuilt, and the user has to bring it.
    """

    name: str
    sha256: str
    home: str | None


def pinned(*files: tuple[str, str | None, str]) -> tuple[PinnedFile, ...]:
    """Describe files, each by its name, the directory of its home and its SHA-256."""
    return tuple(PinnedFile(name, sha256, f"{base}/{name}" if base else None) for name, base, sha256 in files)


@dataclass(frozen=True)
class Benchmark:
    """A set of texts.

    Attributes:
        name: Of the module, the directory of its files, and the entry in `benchmarks.sets`.
        title: As tables and charts name it.
        source: Which edition it is.
        licence: As its owners state it.
        citation: The work to cite, empty if there is none.
        origin: "package": gensim has it; "samples": this project; "external": the user brings it, or it is absent.
        files: What the tables are read from.
        tables: What it becomes; none if no text of it is scored on.
        pins: The files of an external set, those that are not read too.
    """

    name: str
    title: str
    source: str
    licence: str
    citation: str
    origin: Origin
    files: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pins: tuple[PinnedFile, ...] = ()

    @property
    def external(self) -> bool:
        return self.origin == "external"

    def checksum(self, file: str) -> str:
        """Return the pinned SHA-256 of a file."""
        return next(pin.sha256 for pin in self.pins if pin.name == file)

    def directory(self, sources: Sources) -> Path:
        """Return the directory of the set's files."""
        match self.origin:
            case "package":
                return gensim_directory()
            case "samples":
                return sources.samples
            case "external":
                return sources.external / self.name

    def remedy(self, sources: Sources) -> str:
        """Say what to do if a file is missing or wrong."""
        match self.origin:
            case "package":
                return "reinstall gensim: `pip install --force-reinstall gensim`"
            case "samples":
                return sources.samples_remedy
            case "external":
                return sources.external_remedy


def gensim_directory() -> Path:
    """Return the directory of the sets that come with gensim."""
    return Path(str(distribution("gensim").locate_file("gensim/test/test_data")))


def packaged() -> str:
    """Return the source of a set that comes with gensim."""
    return f"gensim {distribution('gensim').version}, gensim/test/test_data"


def build(table: Table, directory: Path) -> pa.Table:
    """Read and check one table from the directory of its set.

    Returns a table of `table.schema`. Raises BadDataError for the first row or count that is not as `table` says.
    """
    rows = [_checked(row, table) for row in table.read(directory)]
    counts = Counter(row.split for row in rows)
    for split, expected in table.rows.items():
        if counts[split] != expected:
            raise BadDataError(
                f"{directory}: split '{split}' of {table.name} has {counts[split]} rows, expected {expected}."
            )
    columns = list(zip(*rows, strict=True))[1:]  # all but the place
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, table.schema, strict=True)], table.schema
    )


def _checked(row: Pair | Document, table: Table) -> Pair | Document:
    if row.split not in table.rows:
        raise BadDataError(f"{row.place}: unknown split '{row.split}'; known splits: {', '.join(table.rows)}.")
    texts = (row.sentence1, row.sentence2) if isinstance(row, Pair) else (row.text,)
    if not all(text.strip() for text in texts):
        raise BadDataError(f"{row.place}: a blank text.")
    if (row.label is not None or table.labels) and row.label not in table.labels:
        raise BadDataError(f"{row.place}: unknown label {row.label!r}; known labels: {', '.join(table.labels)}.")
    if isinstance(row, Pair) and table.scale is not None:
        low, high = table.scale
        if row.score is None or not math.isfinite(row.score) or not low <= row.score <= high:
            raise BadDataError(f"{row.place}: score {row.score} is outside {low}-{high}.")
    return row
