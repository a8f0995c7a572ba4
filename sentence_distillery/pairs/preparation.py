"""Stage `pair_data`: the pairs that the cells of the matrix learn from and are tested on.

The overlap guard is here, so that it holds for every cell: a pair of train that stands in a test split which any cell
reports, in either order, is removed and counted. (Of MRPC train 14 pairs are in MRPC test too, and 127 in STS-B test.)
Of what is left, a share of either label is for validation: nothing is trained on it.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import PairSet, load_pairs, present
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.pairs.data import (
    PAIR_SCHEMA,
    RELATED_SCHEMA,
    LabelledPairs,
    labelled,
    read_pairs,
)


def read_splits(dataset: str) -> tuple[LabelledPairs, LabelledPairs]:
    """Train and test of a benchmark set, or of a directory that a user brings; raises InputError."""
    if Path(dataset).is_dir():
        return read_pairs(Path(dataset) / "train.csv"), read_pairs(Path(dataset) / "test.csv")
    if "/" in dataset:
        raise InputError(f"pairs.dataset = {dataset} is no directory; make it one with train.csv and test.csv in it.")
    train, test = (load_pairs(dataset, split) for split in ("train", "test"))
    return _from_set(train), _from_set(test)


def _from_set(pairs: PairSet) -> LabelledPairs:
    if pairs.labels is None or not set(pairs.labels) <= {"0", "1"}:
        raise InputError(
            f"pairs.dataset = {pairs.name}, which is not labelled 0 and 1; take mrpc or samples_paraphrase, or name a "
            "directory with your own train.csv and test.csv."
        )
    return labelled(pairs.sentences1, pairs.sentences2, pairs.labels, f"{pairs.name} {pairs.split}")


def validation_rows(labels: NDArray[np.int8], share: float, seed: int) -> NDArray[np.bool_]:
    """Which pairs are for validation: `share` of either label, drawn at random, at least two of each; raises InputError where
    that leaves none to train on."""
    validation = np.zeros(len(labels), dtype=bool)
    generator = np.random.default_rng(seed)
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(labels == label))
        count = max(round(share * len(rows)), 2)
        if len(rows) <= count:
            raise InputError(
                f"pairs.dataset: of label {label} there are {len(rows)} training pairs that no test set has, and "
                f"{count} are for validation, which leaves none to train on; give more of them."
            )
        validation[rows[:count]] = True
    return validation


def related_pairs(names: list[str], counters: Counters) -> dict[str, PairSet]:
    """The test splits of the sets that are here; which are not is noted."""
    here = {name: load_pairs(name, "test") for name in present(names, "pairs.also")}
    for name, pairs in here.items():
        if pairs.scores is None:
            raise InputError(f"pairs.also has {name}, whose pairs have no scores; take it out.")
    counters.details["absent"] = ", ".join(name for name in names if name not in here) or "none"
    return here


def _table(splits: dict[str, LabelledPairs]) -> pa.Table:
    parts = [
        pa.table([[name] * len(pairs), pairs.sentences1, pairs.sentences2, pairs.labels], schema=PAIR_SCHEMA)
        for name, pairs in splits.items()
    ]
    return pa.concat_tables(parts).combine_chunks()


def _related_table(related: dict[str, PairSet]) -> pa.Table:
    parts = [
        pa.table([[name] * len(pairs.sentences1), pairs.sentences1, pairs.sentences2, pairs.scores], RELATED_SCHEMA)
        for name, pairs in related.items()
    ]
    return pa.concat_tables([RELATED_SCHEMA.empty_table(), *parts]).combine_chunks()
