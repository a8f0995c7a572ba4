"""Stage `combinations@{encoder}-{pooling}`: paper 2's table 4, logistic regression on six combinations of the vectors.

With `combinations.frozen` the heads learn alone, on the vectors of the encoder as it is; else each combination trains
the encoder too, as in the paper.
"""

import sys
from dataclasses import asdict
from typing import Any

from sentence_distillery.io.artifacts import write_json
from sentence_distillery.pairs.cells import STARTS, TABLE_4, absent_reason, load_start, read_vectors, task_of, train
from sentence_distillery.pairs.data import load_material
from sentence_distillery.pairs.heads import Combination, LogisticHead
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.pairs.training import PairModel
from stages.stage import stage


def main() -> None:
    name, pooling = sys.argv[1:]
    cell = f"{name}-{pooling}"
    with stage(f"combinations@{cell}", unit="combinations") as (params, counters):
        origin = STARTS / cell
        material = load_material()
        reason = absent_reason(origin)
        learning = params.metric_learning
        if params.combinations.frozen:
            learning = learning.model_copy(update={"head_epochs": learning.epochs})
        folds = Folds(params.pairs.folds, params.pairs.seed)
        found: dict[str, list[dict[str, Any]]] = {}
        for place, combination in enumerate([] if reason else Combination):
            found[combination.value] = []
            for seed in params.pairs.seeds:
                encoder = load_start(origin, params.encoders[name])
                model = PairModel(encoder, LogisticHead(encoder.dimension, combination, seed))
                task, vectors = task_of(encoder, material, joined=False), read_vectors(origin, material)
                one = train(model, task, "logistic", learning, vectors, seed, folds, f"{cell}-table-4-{place}")
                found[combination.value].append(asdict(one))
            counters.keep()
        facts = {"encoder": name, "start": cell.removeprefix(f"{name}-"), "data": material.sha256, "absent": reason}
        write_json(TABLE_4 / f"{cell}.json", {**facts, "frozen": params.combinations.frozen, "combinations": found})


if __name__ == "__main__":
    main()
