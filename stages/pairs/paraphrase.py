"""The stage `paraphrase@{encoder}-{start}-{strategy}`: train and test one bi-encoder of paper 2's matrix.

Reads data/pairs and models/pairs/starts/<encoder>-<start>, trains with each seed, and chooses the threshold on the
validation split. Writes the model and result.json to models/pairs/cells/<cell>.
"""

import sys

from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.pairs.cells import Plan, write_result, write_unavailable
from sentence_distillery.pairs.data import load_pair_data
from sentence_distillery.pairs.export import write_model
from sentence_distillery.pairs.options import Combination
from sentence_distillery.pairs.starts import Start
from sentence_distillery.pairs.strategies import learning_of, train_bi_encoder
from sentence_distillery.pairs.thresholds import Folds
from stages import paths
from stages.stage import stage


def main() -> None:
    name, origin, strategy = sys.argv[1:]
    cell = f"{name}-{origin}-{strategy}"
    with (
        stage(f"paraphrase@{cell}", unit="pairs") as (params, counters),
        atomic_directory(paths.PARAPHRASE_CELLS / cell) as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        start = Start(paths.STARTS / f"{name}-{origin}", params.encoders[name])
        about = {"encoder": name, "start": origin, "strategy": strategy, "data": data.sha256}
        if unavailable := start.why_unavailable():
            write_unavailable(directory, about, unavailable)
            counters.drop(unavailable.reason, len(data.splits["train"]))
            return
        learning = learning_of(strategy, params.metric_learning, params.modern_learning)
        folds = Folds(params.pairs.folds, params.pairs.seed)
        plan = Plan(strategy, learning, folds, paths.PAIR_CHECKPOINTS, f"{name}-{origin}")
        runs = train_bi_encoder(start, plan, params.pairs.seeds, data, Combination(params.pairs.combination))
        write_model(runs.best, {**about, "threshold": runs.best_score.threshold}, directory)
        write_result(directory, about, runs)
        counters.keep(len(data.splits["train"]))


if __name__ == "__main__":
    main()
