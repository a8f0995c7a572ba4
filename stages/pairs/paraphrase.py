"""The stage `paraphrase@{encoder}-{start}-{strategy}`: train and test one bi-encoder of paper 2's matrix.

Reads data/pairs and models/pairs/starts/<encoder>-<start>, trains with each seed, and chooses the threshold on the
validation split. Writes the cell (papers/grid/cell.py) and its best model to models/pairs/cells/<cell>.
"""

import sys

from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.pairs.cells import PairExperiment, learning_of
from sentence_distillery.pairs.data import load_pair_data
from sentence_distillery.pairs.export import write_model
from sentence_distillery.pairs.options import Combination
from sentence_distillery.pairs.starts import Start
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.papers.grid.axes import Place
from sentence_distillery.papers.grid.cell import write_cell
from sentence_distillery.papers.grid.run import run
from stages import paths
from stages.stage import stage


def main() -> None:
    place = Place(zip(("encoder", "start", "strategy"), sys.argv[1:], strict=True))
    name, origin, strategy = place.values()
    with (
        stage(f"paraphrase@{place.name}", unit="pairs") as (params, counters),
        atomic_directory(paths.PARAPHRASE_CELLS / place.name) as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        experiment = PairExperiment(
            Start(paths.STARTS / f"{name}-{origin}", params.encoders[name]),
            strategy,
            learning_of(strategy, params.metric_learning, params.modern_learning),
            Folds(params.pairs.folds, params.pairs.seed),
            data,
            paths.PAIR_CHECKPOINTS / place.name,
            Combination(params.pairs.combination),
        )
        seeds = params.pairs.seeds if strategy != "cosine" else []
        made = run(place, experiment.there, seeds, "validation", data.sha256)
        write_cell(directory, made.cell)
        counters.skip(made.cell.unavailable)
        if made.best:
            model, chosen = made.best
            write_model(model, {**place, "data": data.sha256, "threshold": chosen.figures["threshold"]}, directory)
            counters.keep(len(data.splits["train"]))


if __name__ == "__main__":
    main()
