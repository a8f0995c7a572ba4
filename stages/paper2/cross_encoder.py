"""The stage `cross_encoder@{encoder}-{pooling}-{recipe}`: fine-tune a cross-encoder (paper 2, section 3.3).

Reads data/pairs, models/pairs/starts/<encoder>-<pooling> and, for the recipe `intermediate`, data/benchmarks. Writes
models/pairs/starts/<cell>: the cell (papers/grid/cell.py), its best model, and a start of bi-encoders.
"""

import sys
from functools import partial

from reproductions.grid.axes import Place
from reproductions.grid.cell import write_cell
from reproductions.grid.run import run
from reproductions.paper2.pairs.cells import CROSSED, PairExperiment
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.export import write_model
from reproductions.paper2.pairs.intermediate import IntermediateTask
from reproductions.paper2.pairs.starts import Start, write_start
from reproductions.paper2.pairs.thresholds import Folds
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory
from stages import paths
from stages.stage import stage


def main() -> None:
    name, pooling, recipe = sys.argv[1:]
    place = Place(encoder=name, start=f"{pooling}-{recipe}", strategy=CROSSED)
    cell = f"{name}-{pooling}-{recipe}"
    with (
        stage(f"cross_encoder@{cell}", unit="pairs") as (params, counters),
        atomic_directory(paths.STARTS / cell) as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        task = IntermediateTask(params.intermediate, BenchmarkData(paths.BENCHMARKS))
        learning = params.metric_learning if recipe == "combined" else params.modern_learning
        checkpoint = paths.PAIR_CHECKPOINTS / place.name
        experiment = PairExperiment(
            Start(paths.STARTS / f"{name}-{pooling}", params.encoders[name]),
            CROSSED,
            learning,
            Folds(params.pairs.folds, params.pairs.seed),
            data,
            checkpoint,
            first=partial(task.learn, data, learning, checkpoint, counters) if recipe == "intermediate" else None,
        )
        missing = task.why_unavailable() if recipe == "intermediate" else None
        made = run(place, partial(experiment.there, missing), params.pairs.seeds, "validation", data.sha256)
        write_cell(directory, made.cell)
        if unavailable := made.cell.unavailable:
            write_start(directory, unavailable, data.sentences, tuned=True)
            counters.skip(unavailable)
        if made.best:
            model, chosen = made.best
            facts = {"threshold": chosen.figures["threshold"], "both_orders": learning.both_orders}
            write_model(model, {**place, "data": data.sha256, **facts}, directory)
            write_start(directory, model.encoder, data.sentences, tuned=True)
            counters.keep(len(data.splits["train"]))


if __name__ == "__main__":
    main()
