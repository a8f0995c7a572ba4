"""The stage `combinations@{encoder}-{pooling}`: logistic regression on six feature sets (paper 2's table 4).

Reads data/pairs and models/pairs/starts/<encoder>-<pooling>, and writes models/pairs/combinations/<cell>.json. With
`combinations.frozen` only the heads are trained, on vectors of the frozen encoder; otherwise each combination also
fine-tunes the encoder, as in the paper.
"""

import sys
from dataclasses import asdict

from sentence_distillery.io.artifacts import write_json
from sentence_distillery.io.unavailable import to_json
from sentence_distillery.pairs.cells import Plan
from sentence_distillery.pairs.data import load_pair_data
from sentence_distillery.pairs.starts import Start
from sentence_distillery.pairs.strategies import compare_combinations
from sentence_distillery.pairs.thresholds import Folds
from stages import paths
from stages.stage import stage


def main() -> None:
    name, pooling = sys.argv[1:]
    cell = f"{name}-{pooling}"
    with stage(f"combinations@{cell}", unit="combinations") as (params, counters):
        data = load_pair_data(paths.PAIRS)
        start = Start(paths.STARTS / cell, params.encoders[name])
        unavailable = start.why_unavailable()
        learning, frozen = params.metric_learning, params.combinations.frozen
        if frozen:
            learning = learning.model_copy(update={"head_epochs": learning.epochs})
        folds = Folds(params.pairs.folds, params.pairs.seed)
        plan = Plan("logistic", learning, folds, paths.PAIR_CHECKPOINTS, cell)
        compared = {} if unavailable else compare_combinations(start, plan, params.pairs.seeds, data)
        counters.keep(len(compared))
        results = {combination.value: list(map(asdict, each)) for combination, each in compared.items()}
        facts = {"encoder": name, "start": pooling, "data": data.sha256, **to_json(unavailable), "frozen": frozen}
        write_json(paths.COMBINATIONS / f"{cell}.json", {**facts, "combinations": results})


if __name__ == "__main__":
    main()
