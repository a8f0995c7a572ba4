"""The stage `paraphrase@{encoder}-{start}-{strategy}`: train and test one bi-encoder of paper 2's matrix.

Reads data/pairs and models/pairs/starts/<encoder>-<start>, trains with each seed, and chooses the threshold on the
validation split. Writes the cell (papers/grid/cell.py) and its best model to models/pairs/cells/<cell>.
"""

import sys

from reproductions.grid.axes import Place
from reproductions.grid.cell import write_cell
from reproductions.grid.run import run
from reproductions.paper2.pairs.cells import PairExperiment, learning_of
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.export import write_model
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.starts import Start
from reproductions.paper2.pairs.thresholds import Folds
from sentence_distillery.io.artifacts import atomic_directory
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
