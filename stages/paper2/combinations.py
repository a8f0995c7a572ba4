"""The stage `combinations@{encoder}-{pooling}`: logistic regression on feature sets (paper 2's table 4).

Reads data/pairs and models/pairs/starts/<encoder>-<pooling>, and writes a cell (papers/grid/cell.py) for each
combination and number of hidden layers to models/pairs/combinations/<encoder>-<pooling>. With `combinations.frozen`
only the heads are trained, on vectors of the frozen encoder; otherwise the encoder, too, as in the paper.
"""

import sys
from itertools import product

from reproductions.grid.axes import Place
from reproductions.grid.cell import write_cell
from reproductions.grid.run import run
from reproductions.paper2.pairs.cells import PairExperiment
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.starts import Start
from reproductions.paper2.pairs.thresholds import Folds
from sentence_distillery.io.artifacts import atomic_directory
from stages import paths
from stages.stage import stage


def main() -> None:
    name, pooling = sys.argv[1:]
    cell = f"{name}-{pooling}"
    with (
        stage(f"combinations@{cell}", unit="combinations") as (params, counters),
        atomic_directory(paths.COMBINATIONS / cell) as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        start = Start(paths.STARTS / cell, params.encoders[name])
        learning, frozen = params.metric_learning, params.combinations.frozen
        if frozen:
            learning = learning.model_copy(update={"head_epochs": learning.epochs})
        folds = Folds(params.pairs.folds, params.pairs.seed)
        heads = product(params.combinations.hidden_layers, Combination)
        for number, (layers, combination) in enumerate(heads, start=1):
            place = Place(encoder=name, start=pooling, strategy=combination.value, frozen=frozen, hidden_layers=layers)
            checkpoint = paths.PAIR_CHECKPOINTS / f"{cell}-table-4-{number}"
            experiment = PairExperiment(start, "logistic", learning, folds, data, checkpoint, combination, layers)
            made = run(place, experiment.there, params.pairs.seeds, data=data.sha256, soup=False)
            write_cell(directory / str(number), made.cell)
            counters.skip(made.cell.unavailable)
            counters.keep(made.cell.unavailable is None)


if __name__ == "__main__":
    main()
