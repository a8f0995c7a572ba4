"""Prepare the pairs that the cells of paper 2's matrix are trained and tested on.

Decontamination happens here, so that it holds for every cell: a training pair that is in any test split that a cell
reports, in either order, is removed and counted. (Of MRPC train, 14 pairs are in MRPC test too, and 127 in STS-B test.)
Of the remaining pairs, a share of each label is the validation split: nothing is trained on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reproductions.grid.guard import Pairs as AnyPairs
from reproductions.grid.guard import guarded
from reproductions.paper2.pairs.data import (
    ABOUT,
    PAIR_SCHEMA,
    RELATED,
    RELATED_SCHEMA,
    TABLE,
    LabelledPairs,
    labelled,
    read_pairs,
)
from reproductions.paper2.pairs.options import Pairs
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet
from sentence_distillery.io.artifacts import InputError, atomic_directory, write_json, write_table
from sentence_distillery.io.counters import Counters


@dataclass(frozen=True)
class PreparedPairs:
    """The splits of a dataset, and the test splits of further sets, which have human ratings."""

    dataset: str
    splits: dict[str, LabelledPairs]
    related: dict[str, PairSet]

    def write(self, directory: Path, removed: Mapping[str, int]) -> None:
        """Write the pairs for `load_pair_data`; `removed` says how many pairs of train were removed, by reason."""
        sizes = {name: len(pairs) for name, pairs in self.splits.items()}
        with atomic_directory(directory) as target:
            write_table(target / TABLE, _table(self.splits))
            write_table(target / RELATED, _related_table(self.related))
            about = {"dataset": self.dataset, "pairs": sizes, "removed": dict(removed), "also": list(self.related)}
            write_json(target / ABOUT, about)


def prepare(options: Pairs, benchmarks: BenchmarkData, counters: Counters) -> PreparedPairs:
    """Read, decontaminate and split the pairs.

    Args:
        options: the dataset, further sets, the share of the validation split, and the seed that draws it.
        benchmarks: where the sets are.
        counters: gets the pairs that are kept, those that are removed, and the sets that are absent.

    Raises:
        InputError: the dataset is missing or does not fit, or no pair of a label is left to train on.
    """
    train, test = read_splits(options.dataset, benchmarks)
    related = related_pairs(options.also, benchmarks, counters)
    tested: dict[str, AnyPairs] = {options.dataset: test, **related}
    train = guarded(train, {f"{name} test": pairs for name, pairs in tested.items()}, counters)
    validation = validation_rows(train.labels, options.validation_share, options.seed)
    splits = {"train": train.take(np.flatnonzero(~validation)), "validation": train.take(np.flatnonzero(validation))}
    splits["test"] = test
    for name, pairs in splits.items():
        counters.keep(len(pairs))
        counters.details[f"pairs_{name}"] = len(pairs)
    return PreparedPairs(options.dataset, splits, related)


def read_splits(dataset: str, benchmarks: BenchmarkData) -> tuple[LabelledPairs, LabelledPairs]:
    """Read train and test of a benchmark set, or of a directory with train.csv and test.csv; raises InputError."""
    if Path(dataset).is_dir():
        return read_pairs(Path(dataset) / "train.csv"), read_pairs(Path(dataset) / "test.csv")
    if "/" in dataset:
        raise InputError(f"pairs.dataset = {dataset} is not a directory; name one with train.csv and test.csv.")
    return _from_set(benchmarks.pairs(dataset, "train")), _from_set(benchmarks.pairs(dataset, "test"))


def _from_set(pairs: PairSet) -> LabelledPairs:
    """Turn a benchmark set into labelled pairs; raises InputError if its labels are not 0 and 1."""
    if pairs.labels is None or not set(pairs.labels) <= {"0", "1"}:
        raise InputError(
            f"pairs.dataset = {pairs.name}, whose pairs have no labels 0 and 1; use mrpc or samples_paraphrase, or "
            "name a directory with your own train.csv and test.csv."
        )
    return labelled(pairs.sentences1, pairs.sentences2, pairs.labels, f"{pairs.name} {pairs.split}")


def validation_rows(labels: NDArray[np.int8], share: float, seed: int) -> NDArray[np.bool_]:
    """Draw the validation split: `share` of either label at random, at least two pairs of each.

    Returns (pairs,) bool. Raises InputError if no pair of a label is left to train on.
    """
    validation = np.zeros(len(labels), dtype=bool)
    generator = np.random.default_rng(seed)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        count = max(round(share * len(rows)), 2)
        if len(rows) <= count:
            raise InputError(
                f"pairs.dataset has {len(rows)} training pairs of label {label} that no test set has, and validation "
                f"needs {count}, which leaves none to train on; add more."
            )
        validation[rows[:count]] = True
    return validation


def related_pairs(names: list[str], benchmarks: BenchmarkData, counters: Counters) -> dict[str, PairSet]:
    """Read the test splits of the sets that are present, note the others; raises InputError for one without ratings."""
    here = {name: benchmarks.pairs(name, "test") for name in benchmarks.present(names, "pairs.also")}
    for name, pairs in here.items():
        if pairs.scores is None:
            raise InputError(f"pairs.also has {name}, whose pairs have no scores; remove it.")
    counters.details["absent"] = ", ".join(name for name in names if name not in here) or "none"
    return here


def _table(splits: dict[str, LabelledPairs]) -> pa.Table:
    """Return the splits in the columns of PAIR_SCHEMA."""
    parts = [
        pa.table([[name] * len(pairs), pairs.sentences1, pairs.sentences2, pairs.labels], schema=PAIR_SCHEMA)
        for name, pairs in splits.items()
    ]
    return pa.concat_tables(parts).combine_chunks()


def _related_table(related: dict[str, PairSet]) -> pa.Table:
    """Return the further sets in the columns of RELATED_SCHEMA."""
    parts = [
        pa.table([[name] * len(pairs.sentences1), pairs.sentences1, pairs.sentences2, pairs.scores], RELATED_SCHEMA)
        for name, pairs in related.items()
    ]
    return pa.concat_tables([RELATED_SCHEMA.empty_table(), *parts]).combine_chunks()
