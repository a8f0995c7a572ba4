"""The benchmark sets as one format, and how to read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.evaluation.protocols.ranking import Judgements
from sentence_distillery.evaluation.sets.records import EVERY_SPLIT
from sentence_distillery.evaluation.sets.records import Kind as Kind
from sentence_distillery.evaluation.sets.records import TaskType as TaskType
from sentence_distillery.io.artifacts import InputError, read_json, read_table
from sentence_distillery.io.unavailable import Unavailable

PROVENANCE = "provenance.json"
FINGERPRINTS = "evaluation_fingerprints.parquet"

Split = Literal["train", "dev", "test"]


def _texts(*names: str) -> pa.Schema:
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])


PAIRS = pa.schema([*_texts("split", "sentence1", "sentence2"), ("score", pa.float32()), ("label", pa.string())])
DOCUMENTS = _texts("split", "text", "label")
QUERIES = _texts("split", "id", "text")
PASSAGES = QUERIES  # the documents that are searched; EVERY_SPLIT for those of all splits
JUDGEMENTS = pa.schema([*_texts("split", "query", "document"), pa.field("grade", pa.int32(), nullable=False)])
# As corpus.schema has it, which is not imported: a reader of pairs does not depend on how a corpus is cleaned.
EVALUATION_FINGERPRINTS = pa.schema([pa.field("fingerprint", pa.uint64(), nullable=False)])


@dataclass(frozen=True)
class PairSet:
    """One split of sentence or word pairs.

    Attributes:
        name: The name of the set, such as "stsb".
        split: "train", "dev" or "test".
        sentences1: The first text of each pair.
        sentences2: The second text of each pair, as many.
        scores: (pairs,) float32, human ratings on `scale`, or None.
        labels: One label for each pair, "1" for a paraphrase and "0" for another pair, or None.
        scale: The lowest and the highest possible score, or None without scores.

    Example:
        >>> pairs = PairSet("mine", "test", ["A cat.", "A dog."], ["A kitten.", "A tree."], None, ["1", "0"], None)
        >>> pairs.take(np.array([1])).sentences2
        ['A tree.']
    """

    name: str
    split: str
    sentences1: list[str]
    sentences2: list[str]
    scores: NDArray[np.float32] | None
    labels: list[str] | None
    scale: tuple[float, float] | None

    def take(self, rows: NDArray[np.int64]) -> "PairSet":
        """Return the pairs at some rows, (taken,) int64, in that order."""
        left, right = ([side[row] for row in rows] for side in (self.sentences1, self.sentences2))
        scores = None if self.scores is None else self.scores[rows]
        labels = None if self.labels is None else [self.labels[row] for row in rows]
        return PairSet(self.name, self.split, left, right, scores, labels, self.scale)

    def unit_scores(self) -> NDArray[np.float32]:
        """Map the scores from `scale` to [0, 1], (pairs,) float32; raises InputError if the set has none."""
        if self.scores is None or self.scale is None:
            raise InputError(f"Benchmark set '{self.name}' has no scores; use a set with scores, such as stsb or sick.")
        low, high = self.scale
        return ((self.scores - low) / (high - low)).astype(np.float32)


@dataclass(frozen=True)
class DocumentSet:
    """One split of labelled documents: the name of the set, "train", "dev" or "test", the texts, a label for each.

    Example:
        >>> DocumentSet("mine", "test", ["The gale closed the port."], ["weather"]).labels
        ['weather']
    """

    name: str
    split: str
    texts: list[str]
    labels: list[str]

    def take(self, rows: NDArray[np.int64]) -> "DocumentSet":
        """Return the documents at some rows, (taken,) int64, in that order."""
        texts, labels = ([column[row] for row in rows] for column in (self.texts, self.labels))
        return DocumentSet(self.name, self.split, texts, labels)


@dataclass(frozen=True, eq=False)
class QuerySet:
    """One split of queries and the documents that answer them, for retrieval or reranking.

    Attributes:
        name: The name of the set.
        split: The split of the queries, "train", "dev" or "test".
        queries: The texts of the queries.
        documents: The texts of the documents.
        ids: The id of each document, which decides between documents of the same cosine.
        judgements: The documents that answer each query, by their places in `queries` and `documents`.
        judged_only: Whether only the judged documents of a query are its candidates (reranking), or all (retrieval).

    Example:
        >>> answer = Judgements(np.array([0]), np.array([1]), np.array([1]))
        >>> documents = ["A dog.", "The port is shut."]
        >>> queries = QuerySet("mine", "test", ["closed ports"], documents, ["a", "b"], answer)
        >>> queries.documents[queries.judgements.document[0]]
        'The port is shut.'
    """

    name: str
    split: str
    queries: list[str]
    documents: list[str]
    ids: list[str]
    judgements: Judgements
    judged_only: bool = False


def files(name: str, kind: Kind) -> tuple[str, ...]:
    """Return the names of a set's files: one, or those of queries, documents and judgements.

    >>> files("stsb", "pairs"), len(files("scifact", "queries"))
    (('stsb.parquet',), 3)
    """
    if kind != "queries":
        return (f"{name}.parquet",)
    return tuple(f"{name}.{part}.parquet" for part in ("queries", "documents", "judgements"))


@dataclass(frozen=True)
class BenchmarkData:
    """Read the benchmark sets that `assembly.write_benchmarks` wrote to a directory.

    A method that reads raises InputError, with file and remedy, if the file is missing or damaged, the set is absent or
    of another kind, or has no such split.

    Example:
        >>> data = BenchmarkData(Path("data/benchmarks"))
        >>> data.available("pairs")
        ['lee', 'samples', 'samples_paraphrase']
        >>> data.pairs("samples", "test").scale, data.splits("samples"), data.task("samples")
        ((1, 5), ['train', 'dev', 'test'], ('sts', ()))
    """

    directory: Path

    def provenance(self) -> Any:
        """Read the content of provenance.json: "sets" and "absent" by name, and "pair_sets".

        Of a set it has the kind, the rows of each split, the scale and the source.
        """
        path = self.directory / PROVENANCE
        if not path.exists():
            raise InputError(
                f"{path} cannot be read: it does not exist, so {self.directory} has no benchmark sets. Write them "
                "with sentence_distillery.evaluation.sets.assembly.write_benchmarks.",
                path,
            )

        # What the file says decides how a set is scored, so it has to fit its schema.
        from sentence_distillery.evaluation.sets.provenance import Provenance  # needs pydantic

        return read_json(path, Provenance)

    def available(self, kind: Kind | None = None) -> list[str]:
        """List the sets that are present, in the order of the parameters, or those of one kind."""
        sets = self.provenance()["sets"]
        return [name for name, entry in sets.items() if kind in (None, entry["kind"])]

    def present(self, names: Sequence[str], where: str) -> list[str]:
        """List those of some sets of pairs that are present; an error about an unknown one names the parameter `where`.

        Example:
            >>> BenchmarkData(Path("data/benchmarks")).present(["stsb", "samples"], "pairs.also")
            ['samples']
        """
        known = self.provenance()["pair_sets"]
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"{where} contains '{unknown[0]}'; the known sets of pairs are {', '.join(known)}.")

        # Known but not brought: left out, and reported by whoever asks.
        here = self.available("pairs")
        return [name for name in names if name in here]

    def why_unavailable(self, name: str, where: str) -> Unavailable | None:
        """Say why a set of pairs cannot be read, or return None if it is present; the parameter `where` names it."""
        return None if self.present([name], where) else Unavailable(f"the set {name} is absent")

    def splits(self, name: str) -> list[str]:
        """List the splits of a set: some of "train", "dev" and "test"."""
        return list(self.provenance()["sets"][name]["rows"])

    def pairs(self, name: str, split: Split) -> PairSet:
        """Read one split of a set of kind pairs or words, with the scores or the labels that it has."""
        entry, rows = self._read(name, split, PAIRS, ("pairs", "words"))
        scores, labels = rows["score"], rows["label"]

        # A set has scores or labels; the column of the other is empty.
        return PairSet(
            name,
            split,
            rows["sentence1"].to_pylist(),
            rows["sentence2"].to_pylist(),
            None if scores.null_count else scores.to_numpy(),
            None if labels.null_count else labels.to_pylist(),
            (entry["scale"][0], entry["scale"][1]) if entry["scale"] else None,
        )

    def documents(self, name: str, split: Split) -> DocumentSet:
        """Read one split of a set of kind documents, each with its label."""
        _, rows = self._read(name, split, DOCUMENTS, ("documents",))
        return DocumentSet(name, split, rows["text"].to_pylist(), rows["label"].to_pylist())

    def task(self, name: str) -> tuple[TaskType, tuple[str, ...]]:
        """Return how an encoder is scored on a set: the type of task, and protocols other than MTEB's, if it has some.

        Sets of versions without tasks are scored as before: pairs by correlation, documents by the SGD classifier.
        """
        entry = self._entry(name)
        if "task" in entry:
            return entry["task"], tuple(entry["protocols"])
        return ("classification", ("sgd",)) if entry["kind"] == "documents" else ("sts", ())

    def own(self) -> list[str]:
        """List the sets with the user's own labels, in the order of the parameters."""
        return [name for name, entry in self.provenance()["sets"].items() if entry.get("own", False)]

    def scored(self, name: str) -> bool:
        """Tell whether the stage `evaluate` scores a set; others are read for other purposes."""
        return bool(self._entry(name).get("scored", True))

    def queries(self, name: str, split: Split) -> QuerySet:
        """Read one split of queries, the documents of this split and of all splits, and the judgements.

        Example:
            >>> queries = BenchmarkData(Path("data/benchmarks")).queries("faq", "test")
            >>> queries.queries, [queries.documents[row] for row in queries.judgements.document]
            (['Is the port closed?'], ['The storm closed the port.'])
        """
        self._check(name, split, ("queries",))
        tables = [
            read_table(self.directory / file, schema)
            for file, schema in zip(files(name, "queries"), (QUERIES, PASSAGES, JUDGEMENTS), strict=True)
        ]

        # Documents of EVERY_SPLIT are searched by the queries of each split.
        searched = pa.array([split, EVERY_SPLIT])
        queries, passages, judged = (table.filter(pc.is_in(table["split"], searched)) for table in tables)
        ids = passages["id"].to_pylist()
        rows, places = ({name: row for row, name in enumerate(names)} for names in (queries["id"].to_pylist(), ids))
        judgements = Judgements(
            np.array([rows[query] for query in judged["query"].to_pylist()], dtype=np.int64),
            np.array([places[document] for document in judged["document"].to_pylist()], dtype=np.int64),
            judged["grade"].to_numpy().astype(np.int64),
        )
        texts = queries["text"].to_pylist(), passages["text"].to_pylist()
        return QuerySet(name, split, *texts, ids, judgements, self.task(name)[0] == "reranking")

    def fingerprints(self) -> NDArray[np.uint64]:
        """Read the fingerprints of all texts of dev and test splits, (texts,) uint64, each different."""
        table = read_table(self.directory / FINGERPRINTS, EVALUATION_FINGERPRINTS)
        marks: NDArray[np.uint64] = table["fingerprint"].to_numpy()
        return marks

    def _read(
        self, name: str, split: str, schema: pa.Schema, kinds: tuple[Kind, ...]
    ) -> tuple[dict[str, Any], pa.Table]:
        """Read the provenance of a set and the rows of one split."""
        entry = self._check(name, split, kinds)
        table = read_table(self.directory / f"{name}.parquet", schema)
        return entry, table.filter(pc.equal(table["split"], split))

    def _check(self, name: str, split: str, kinds: tuple[Kind, ...]) -> dict[str, Any]:
        """Return the provenance of a set; raises InputError if it has no such split, or is of another kind."""
        entry = self._entry(name)
        if entry["kind"] not in kinds:
            raise InputError(f"Benchmark set '{name}' holds {entry['kind']}, not {' or '.join(kinds)}.")
        if split not in entry["rows"]:
            raise InputError(f"Benchmark set '{name}' has no split '{split}' (it has {', '.join(entry['rows'])}).")
        return entry

    def _entry(self, name: str) -> dict[str, Any]:
        """Return the provenance of a set; raises InputError with the remedy if it is absent or unknown."""
        provenance = self.provenance()
        if name in provenance["absent"]:
            raise InputError(f"Benchmark set '{name}' is absent: {provenance['absent'][name]}.")

        # Neither present nor absent: the set was never asked for.
        entry = provenance["sets"].get(name)
        if entry is None:
            raise InputError(
                f"{self.directory / PROVENANCE} has no set '{name}' (it has {', '.join(provenance['sets'])}); "
                "add it to benchmarks.sets and write the sets again.",
                self.directory / PROVENANCE,
            )
        found: dict[str, Any] = entry
        return found
