"""Labelled pairs: read from a file that a user brings, and handed from `pair_data` to the cells of the matrix.

A file is .csv or .tsv (no quoting there), UTF-8, with the columns sentence1, sentence2 and label: 1 for a paraphrase, 0
for none.

data/pairs/pairs.parquet     split (train, validation, test), sentence1, sentence2, label (int8)
data/pairs/related.parquet   set, sentence1, sentence2, score: what encoders are scored on besides
data/pairs/pairs.json        dataset, pairs by split, what was removed from train and why
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sentence_distillery.benchmarks.readers import BadDataError, records
from sentence_distillery.io.artifacts import InputError, read_table

PAIRS = Path("data/pairs")
TABLE = "pairs.parquet"
RELATED = "related.parquet"
ABOUT = "pairs.json"
SPLITS = ("train", "validation", "test")
PAIR_SCHEMA = pa.schema(
    [("split", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.int8())]
)
RELATED_SCHEMA = pa.schema(
    [("set", pa.string()), ("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float32())]
)


@dataclass(frozen=True)
class LabelledPairs:
    """`labels` (pairs,) int8: 1 for a paraphrase, 0 for none."""

    sentences1: list[str]
    sentences2: list[str]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> "LabelledPairs":
        return LabelledPairs([self.sentences1[r] for r in rows], [self.sentences2[r] for r in rows], self.labels[rows])


def labelled(sentences1: list[str], sentences2: list[str], labels: Sequence[str], where: str) -> LabelledPairs:
    """Pairs of which both labels occur; raises InputError otherwise. `where` names the file or set."""
    found = LabelledPairs(sentences1, sentences2, np.array([int(label) for label in labels], dtype=np.int8))
    only = set(found.labels.tolist())
    if len(only) < 2:
        what = f"every label is {only.pop()}" if only else "there is no pair"
        raise InputError(f"{where}: {what}; give it pairs of label 1 and of label 0, so that there is a difference.")
    return found


def read_pairs(path: Path) -> LabelledPairs:
    """The pairs of a file; raises InputError with the file, the line and the remedy."""
    sentences1, sentences2, labels = _read(path, ("sentence1", "sentence2", "label"))
    return labelled(sentences1, sentences2, labels, str(path))


def read_unlabelled(path: Path) -> tuple[list[str], list[str]]:
    """The sentences of a file whose labels, if any, do not matter; raises as `read_pairs`."""
    sentences1, sentences2 = _read(path, ("sentence1", "sentence2"))
    if not sentences1:
        raise InputError(f"{path} holds no pair; give it a line for each.")
    return sentences1, sentences2


def _read(path: Path, columns: tuple[str, ...]) -> list[list[str]]:
    remedy = f"Make it a UTF-8 .csv or .tsv file with the columns {', '.join(columns)}"
    if path.suffix not in (".csv", ".tsv"):
        raise InputError(f"{path} ends with neither .csv nor .tsv. {remedy}.")
    rows = []
    try:
        for place, row in records(path, columns, delimiter="\t" if path.suffix == ".tsv" else ","):
            for column in columns[:2]:
                if not row[column].strip():
                    raise InputError(f"{place}: {column} is empty; give both sentences, or remove the row.")
            if "label" in columns and row["label"] not in ("0", "1"):
                raise InputError(f"{place}: label {row['label']!r} is neither 0 nor 1; write 1 for a paraphrase.")
            rows.append([row[column] for column in columns])
    except BadDataError as error:
        raise InputError(f"{error} {remedy}; `iconv -f WINDOWS-1252 -t UTF-8` converts other text.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. {remedy}.") from error
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in columns]


@dataclass(frozen=True)
class Split:
    """Pairs as rows (pairs, 2) of `Material.sentences`, and their labels (pairs,) int8."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Related:
    """Pairs with a score from people: rows (pairs, 2), scores (pairs,) float32."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True)
class Material:
    """What a cell works on: each sentence once, and the splits over them; `sha256` is of all of it."""

    sentences: list[str]
    splits: dict[str, Split]
    related: dict[str, Related]
    sha256: str


def load_material(directory: Path = PAIRS) -> Material:
    """Read what `pair_data` wrote; raises InputError where it is missing or altered."""
    pairs = read_table(directory / TABLE, PAIR_SCHEMA)
    related = read_table(directory / RELATED, RELATED_SCHEMA)
    texts = [column.to_pylist() for table in (pairs, related) for column in (table["sentence1"], table["sentence2"])]
    place = {text: row for row, text in enumerate(dict.fromkeys(text for column in texts for text in column))}
    rows = [np.array([place[text] for text in column], dtype=np.int64) for column in texts]
    splits = {}
    for name in SPLITS:
        chosen = pc.equal(pairs["split"], name).to_numpy()
        splits[name] = Split(np.stack(rows[:2], axis=1)[chosen], pairs["label"].to_numpy()[chosen])
    sets = related["set"].to_pylist()
    scored = {}
    for name in dict.fromkeys(sets):
        chosen = np.array([other == name for other in sets])
        scored[name] = Related(np.stack(rows[2:], axis=1)[chosen], related["score"].to_numpy()[chosen])
    digest = hashlib.sha256()
    for file in (TABLE, RELATED):
        digest.update((directory / file).read_bytes())
    return Material(list(place), splits, scored, digest.hexdigest())
