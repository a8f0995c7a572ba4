"""Stage `paraphrase@{encoder}-{start}-{strategy}`: one cell of paper 2's matrix, each sentence encoded alone."""

import sys

from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.pairs.cells import (
    CELLS,
    STARTS,
    Outcome,
    absent_reason,
    as_it_stands,
    over_seeds,
    task_of,
    write_absent,
    write_result,
)
from sentence_distillery.pairs.data import load_material
from sentence_distillery.pairs.export import write_model
from sentence_distillery.pairs.strategies import learning_of, learnt
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.pairs.training import PairModel
from stages.stage import stage


def main() -> None:
    name, start, strategy = sys.argv[1:]
    cell = f"{name}-{start}-{strategy}"
    with (
        stage(f"paraphrase@{cell}", unit="pairs") as (params, counters),
        atomic_directory(CELLS / cell) as directory,
    ):
        material = load_material()
        about = {"encoder": name, "start": start, "strategy": strategy, "data": material.sha256}
        if reason := absent_reason(STARTS / f"{name}-{start}"):
            write_absent(directory, about, reason)
            counters.drop(reason, len(material.splits["train"]))
            return

        def judge(model: PairModel) -> Outcome:
            task, folds = task_of(model.encoder, material, joined=False), Folds(params.pairs.folds, params.pairs.seed)
            return as_it_stands(model, task, learning_of(strategy, params), folds)

        seeds = over_seeds(learnt(name, start, strategy, params, material), judge)
        write_model(seeds.best, {**about, "threshold": seeds.found.threshold}, directory)
        write_result(directory, about, seeds)
        counters.keep(len(material.splits["train"]))


if __name__ == "__main__":
    main()
