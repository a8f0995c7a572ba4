"""Stage `pair_data`: the pairs that the cells of the matrix learn from and are tested on."""

import numpy as np

from sentence_distillery.benchmarks.decontamination import Pairs, guarded
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from sentence_distillery.pairs.data import ABOUT, PAIRS, RELATED, TABLE
from sentence_distillery.pairs.preparation import _related_table, _table, read_splits, related_pairs, validation_rows
from stages.stage import stage


def main() -> None:
    with stage("pair_data", unit="pairs") as (params, counters):
        train, test = read_splits(params.pairs.dataset)
        related = related_pairs(params.pairs.also, counters)
        scored: dict[str, Pairs] = {params.pairs.dataset: test, **related}
        train = guarded(train, {f"{name} test": pairs for name, pairs in scored.items()}, counters)
        validation = validation_rows(train.labels, params.pairs.validation_share, params.pairs.seed)
        splits = {
            "train": train.take(np.flatnonzero(~validation)),
            "validation": train.take(np.flatnonzero(validation)),
        }
        splits["test"] = test
        with atomic_directory(PAIRS) as directory:
            write_table(directory / TABLE, _table(splits))
            write_table(directory / RELATED, _related_table(related))
            about = {"dataset": params.pairs.dataset, "pairs": {name: len(pairs) for name, pairs in splits.items()}}
            write_json(directory / ABOUT, {**about, "removed": dict(counters.dropped), "also": list(related)})
        for name, pairs in splits.items():
            counters.keep(len(pairs))
            counters.details[f"pairs_{name}"] = len(pairs)


if __name__ == "__main__":
    main()
