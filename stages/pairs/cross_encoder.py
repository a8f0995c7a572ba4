"""The stage `cross_encoder@{encoder}-{pooling}-{recipe}`: fine-tune a cross-encoder (paper 2, section 3.3).

Reads data/pairs, models/pairs/starts/<encoder>-<pooling> and, for the recipe `intermediate`, data/benchmarks. Writes
the model, its result.json, and models/pairs/starts/<cell>, from which bi-encoders can be trained.
"""

import sys

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.pairs.cells import Plan, write_result, write_unavailable
from sentence_distillery.pairs.cross_encoder import tune_cross_encoder, why_unavailable
from sentence_distillery.pairs.data import load_pair_data
from sentence_distillery.pairs.export import write_model
from sentence_distillery.pairs.intermediate import IntermediateTask
from sentence_distillery.pairs.starts import Start, write_start, write_unavailable_start
from sentence_distillery.pairs.thresholds import Folds
from stages import paths
from stages.stage import stage


def main() -> None:
    name, pooling, recipe = sys.argv[1:]
    cell = f"{name}-{pooling}-{recipe}"
    with (
        stage(f"cross_encoder@{cell}", unit="pairs") as (params, counters),
        atomic_directory(paths.STARTS / cell) as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        start = Start(paths.STARTS / f"{name}-{pooling}", params.encoders[name])
        task = IntermediateTask(params.intermediate, BenchmarkData(paths.BENCHMARKS))
        first = task if recipe == "intermediate" else None
        about = {"encoder": name, "start": f"{pooling}-{recipe}", "strategy": "pair", "data": data.sha256}
        if unavailable := why_unavailable(start, first):
            write_unavailable_start(directory, unavailable, tuned=True)
            write_unavailable(directory, about, unavailable)
            counters.drop(unavailable.reason, len(data.splits["train"]))
            return
        learning = params.metric_learning if recipe == "combined" else params.modern_learning
        folds = Folds(params.pairs.folds, params.pairs.seed)
        plan = Plan("pair", learning, folds, paths.PAIR_CHECKPOINTS, cell)
        runs = tune_cross_encoder(start, plan, params.pairs.seeds, data, first, counters)
        facts = {"threshold": runs.best_score.threshold, "both_orders": learning.both_orders}
        write_model(runs.best, {**about, **facts}, directory)
        encoder = runs.best.encoder
        write_start(directory, encoder, encoder.embed(encoder.tokens(data.sentences)), {"tuned": True})
        write_result(directory, about, runs)
        counters.keep(len(data.splits["train"]))


if __name__ == "__main__":
    main()
