"""Labelled pairs: read from a user's file, and from the directory that prepared pairs are in.

A user's file is .csv or .tsv (without quoting), UTF-8, with the columns sentence1, sentence2 and label: 1 for a
paraphrase, else 0. A directory of prepared pairs (reproductions/paper2/pairs/preparation.py) holds:

    pairs.parquet     split (train, validation, test), sentence1, sentence2, label (int8)
    related.parquet   set, sentence1, sentence2, score: further test sets, with human ratings
    pairs.json        dataset, pairs by split, and the pairs that were removed from train, by reason
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from sentence_distillery.evaluation.sets.records import BadDataError, records
from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.contents import Content, Natural

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


class About(Content):
    """The content of pairs.json about prepared pairs."""

    dataset: str
    pairs: dict[str, Natural]
    removed: dict[str, Natural]
    also: list[str] = Field(default=[])


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs of sentences with `labels` (pairs,) int8: 1 for a paraphrase, else 0."""

    sentences1: list[str]
    sentences2: list[str]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> "LabelledPairs":
        """Return the pairs at `rows`, (count,), in that order."""
        return LabelledPairs([self.sentences1[r] for r in rows], [self.sentences2[r] for r in rows], self.labels[rows])


def labelled(sentences1: list[str], sentences2: list[str], labels: Sequence[str], where: str) -> LabelledPairs:
    """Return pairs in which both labels occur; raises InputError if one does not. `where` names the file or set."""
    pairs = LabelledPairs(sentences1, sentences2, np.array([int(label) for label in labels], dtype=np.int8))
    only = set(pairs.labels.tolist())
    if len(only) < 2:
        what = f"every label is {only.pop()}" if only else "there are no pairs"
        raise InputError(f"{where}: {what}; add pairs, so that both labels 0 and 1 occur.")
    return pairs


def read_pairs(path: Path) -> LabelledPairs:
    """Read the labelled pairs of a .csv or .tsv file.

    Args:
        path: a file with the columns sentence1, sentence2 and label.

    Raises:
        InputError: the file cannot be read or a row does not fit; the message has the file, the line and the remedy.
    """
    sentences1, sentences2, labels = _read(path, ("sentence1", "sentence2", "label"))
    return labelled(sentences1, sentences2, labels, str(path))


def read_unlabelled(path: Path) -> tuple[list[str], list[str]]:
    """Read the first and the second sentences of a file, whose labels do not matter; raises as `read_pairs`."""
    sentences1, sentences2 = _read(path, ("sentence1", "sentence2"))
    if not sentences1:
        raise InputError(f"{path} has no pairs; write one pair per line.")
    return sentences1, sentences2


def _read(path: Path, columns: tuple[str, ...]) -> list[list[str]]:
    """Read these columns of a file; raises InputError for a row that does not fit."""
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
    """Pairs as rows (pairs, 2) int64 of `PairData.sentences`, and their labels (pairs,) int8."""

    rows: NDArray[np.int64]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class RatedPairs:
    """Pairs with human ratings: rows (pairs, 2) int64 of `PairData.sentences`, scores (pairs,) float32."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True)
class PairData:
    """The prepared pairs: each sentence once, the splits over them, further rated sets, and the SHA-256 of all."""

    sentences: list[str]
    splits: dict[str, Split]
    related: dict[str, RatedPairs]
    sha256: str


def load_pair_data(directory: Path) -> PairData:
    """Read a directory of prepared pairs.

    Args:
        directory: a directory that `preparation.PreparedPairs.write` wrote.

    Raises:
        InputError: a file is missing or damaged.

    >>> load_pair_data(Path("data/pairs")).splits["test"].rows.shape         # doctest: +SKIP
    (84, 2)
    """
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
        scored[name] = RatedPairs(np.stack(rows[2:], axis=1)[chosen], related["score"].to_numpy()[chosen])
    digest = hashlib.sha256()
    for file in (TABLE, RELATED):
        digest.update((directory / file).read_bytes())
    return PairData(list(place), splits, scored, digest.hexdigest())
