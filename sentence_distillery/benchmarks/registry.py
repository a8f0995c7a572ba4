"""The benchmark sets, and what each must look like: rows by split, score scale, labels.

The counts are those of the published sets. A set that differs in one row is a different set, and its scores cannot be
compared with published ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Literal

import pyarrow as pa

from sentence_distillery.benchmarks import external, readers
from sentence_distillery.benchmarks.data import DOCUMENTS, PAIRS, Kind
from sentence_distillery.benchmarks.readers import BadDataError, Document, Pair

GENSIM = distribution("gensim")
GENSIM_DIRECTORY = Path(str(GENSIM.locate_file("gensim/test/test_data")))

BINARY = ("0", "1")
ENTAILMENT = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")


Origin = Literal["package", "samples", "external"]


@dataclass(frozen=True)
class Sources:
    """Directories that benchmark sets are read from, and what to do if a file there is missing or wrong."""

    external: Path  # <set>/<file>, as `sentence_distillery.benchmarks.download` fetches them
    samples: Path  # pairs.csv and reviews.csv of this project
    external_remedy: str = "bring its files, or fetch them with sentence_distillery.benchmarks.download"
    samples_remedy: str = "restore it from the project's repository"


@dataclass(frozen=True)
class TableSpec:
    """One <name>.parquet: its rows by split, the scale of its scores or None, its labels if any."""

    name: str
    kind: Kind
    read: Callable[[Path], Iterable[Pair | Document]]
    rows: Mapping[str, int]
    scale: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return DOCUMENTS if self.kind == "documents" else PAIRS


@dataclass(frozen=True)
class Benchmark:
    """A set: the files that it is read from, and the tables that it becomes; `external` sets may be absent."""

    name: str
    source: str
    licence: str
    origin: Origin
    files: tuple[str, ...]
    tables: tuple[TableSpec, ...]

    @property
    def external(self) -> bool:
        return self.origin == "external"

    def directory(self, sources: Sources) -> Path:
        """Return the directory of the set's files."""
        match self.origin:
            case "package":
                return GENSIM_DIRECTORY
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


def _external(name: str, source: str, files: tuple[str, ...], table: TableSpec) -> Benchmark:
    return Benchmark(name, source, external.licence(name), "external", files, (table,))


def _packaged(name: str, licence: str, files: tuple[str, ...], table: TableSpec) -> Benchmark:
    source = f"gensim {GENSIM.version}, gensim/test/test_data"
    return Benchmark(name, source, licence, "package", files, (table,))


_SETS = (
    _packaged(
        "lee",
        "none stated; Lee, Pincombe and Welsh 2005",
        ("lee.cor", "similarities0-1.txt"),
        TableSpec("lee", "pairs", readers.read_lee, {"test": 1225}, scale=(1, 5)),
    ),
    _packaged(
        "wordsim353",
        "CC BY 4.0; Finkelstein et al. 2002",
        ("wordsim353.tsv",),
        TableSpec("wordsim353", "words", readers.read_wordsim353, {"test": 353}, scale=(0, 10)),
    ),
    _packaged(
        "simlex999",
        "none stated; Hill, Reichart and Korhonen 2015",
        ("simlex999.txt",),
        TableSpec("simlex999", "words", readers.read_simlex999, {"test": 999}, scale=(0, 10)),
    ),
    Benchmark(
        "samples",
        "written for this project",
        "Apache-2.0",
        "samples",
        ("pairs.csv", "reviews.csv"),
        (
            TableSpec(
                "samples",
                "pairs",
                readers.read_sample_pairs,
                {"train": 125, "dev": 62, "test": 84},
                scale=(1, 5),
                labels=ENTAILMENT,
            ),
            TableSpec(
                "samples_paraphrase",
                "pairs",
                readers.read_sample_paraphrases,
                {"train": 125, "dev": 62, "test": 84},
                labels=BINARY,
            ),
            TableSpec(
                "samples_reviews",
                "documents",
                readers.read_sample_reviews,
                {"train": 120, "test": 92},
                labels=BINARY,
            ),
        ),
    ),
    _external(
        "stsb",
        "STS Benchmark (Cer et al. 2017), English",
        ("stsb-en-train.csv", "stsb-en-dev.csv", "stsb-en-test.csv"),
        TableSpec("stsb", "pairs", readers.read_stsb, {"train": 5749, "dev": 1500, "test": 1379}, scale=(0, 5)),
    ),
    _external(
        "sick",
        "SICK (Marelli et al. 2014), SemEval-2014 task 1",
        ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
        TableSpec(
            "sick",
            "pairs",
            readers.read_sick,
            {"train": 4500, "dev": 500, "test": 4927},
            scale=(1, 5),
            labels=ENTAILMENT,
        ),
    ),
    _external(
        "mrpc",
        "Microsoft Research Paraphrase Corpus (Dolan and Brockett 2005), tokenised as in SentEval",
        ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        TableSpec("mrpc", "pairs", readers.read_mrpc, {"train": 4076, "test": 1725}, labels=BINARY),
    ),
    _external(
        "imdb",
        "ACL IMDB v1.0 (Maas et al. 2011)",
        ("imdb_train.parquet", "imdb_test.parquet"),
        TableSpec("imdb", "documents", readers.read_imdb, {"train": 25000, "test": 25000}, labels=BINARY),
    ),
)
BENCHMARKS = {benchmark.name: benchmark for benchmark in _SETS}


def build(spec: TableSpec, directory: Path) -> pa.Table:
    """Read and check one table from the directory of its set.

    Returns a table of `spec.schema`. Raises BadDataError for the first row or count that is not as `spec` says.
    """
    rows = [_checked(row, spec) for row in spec.read(directory)]
    counts = Counter(row.split for row in rows)
    for split, expected in spec.rows.items():
        if counts[split] != expected:
            raise BadDataError(
                f"{directory}: split '{split}' of {spec.name} has {counts[split]} rows, expected {expected}."
            )
    columns = list(zip(*rows, strict=True))[1:]  # all but the place
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, spec.schema, strict=True)], spec.schema
    )


def _checked(row: Pair | Document, spec: TableSpec) -> Pair | Document:
    if row.split not in spec.rows:
        raise BadDataError(f"{row.place}: unknown split '{row.split}'; known splits: {', '.join(spec.rows)}.")
    texts = (row.sentence1, row.sentence2) if isinstance(row, Pair) else (row.text,)
    if not all(text.strip() for text in texts):
        raise BadDataError(f"{row.place}: a blank text.")
    if (row.label is not None or spec.labels) and row.label not in spec.labels:
        raise BadDataError(f"{row.place}: unknown label {row.label!r}; known labels: {', '.join(spec.labels)}.")
    if isinstance(row, Pair) and spec.scale is not None:
        low, high = spec.scale
        if row.score is None or not math.isfinite(row.score) or not low <= row.score <= high:
            raise BadDataError(f"{row.place}: score {row.score} is outside {low}-{high}.")
    return row
