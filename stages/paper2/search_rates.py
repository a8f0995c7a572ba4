"""Search the learning rate of a strategy of paper 2: `python -m stages.paper2.search_rates minilm-l3 mean pair 0.01`.

Reads data/pairs and models/pairs/starts/<encoder>-<pooling>, which the stages pair_data and pair_embeddings write.
Trains a model at each rate with the first of `pairs.seeds`; one that was trained before comes from its checkpoint.
Keeps the figures in reports/runs/paraphrase/rates.
"""

import argparse
import datetime
import logging
import shlex
import sys

from reproductions.paper2 import rate_search, rates
from reproductions.paper2.cell import PairCell
from reproductions.paper2.pairs.cells import CROSSED, PairExperiment
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.starts import Start
from reproductions.paper2.pairs.thresholds import Folds
from reproductions.paper2.section import RATES
from reproductions.saved_matrix import comment_of
from sentence_distillery.evaluation.results import read_results, write_results
from sentence_distillery.runtime.machine import machine
from stages import paths
from stages.params import Params
from stages.stage import stage

log = logging.getLogger("stages")


def arguments() -> argparse.Namespace:
    """Read the cell and the rates from the command line."""
    parser = argparse.ArgumentParser(description="Search the learning rate of a strategy of paper 2.")
    parser.add_argument("encoder", help="a name of section `encoders`")
    parser.add_argument("pooling", choices=["mean", "max", "cls"])
    parser.add_argument("strategy", choices=["siamese", "triplet", "logistic", CROSSED])
    parser.add_argument("rates", type=float, nargs="+")
    return parser.parse_args()


def experiment(given: argparse.Namespace, params: Params, rate: float) -> PairExperiment:
    """Build the models of a cell at a learning rate."""
    start = Start(paths.STARTS / f"{given.encoder}-{given.pooling}", params.encoders[given.encoder])
    learning = params.metric_learning.model_copy(update={f"{given.strategy}_learning_rate": rate})
    name = f"{given.encoder}-{given.pooling}-{given.strategy}-rate-{rate:g}"
    return PairExperiment(
        start,
        given.strategy,
        learning,
        Folds(params.pairs.folds, params.pairs.seed),
        load_pair_data(paths.PAIRS),
        paths.PAIR_CHECKPOINTS / name,
        Combination.FIRST if given.strategy == CROSSED else Combination(params.pairs.combination),
    )


def main() -> None:
    given = arguments()
    command = shlex.join(["python", "-m", "stages.paper2.search_rates", *sys.argv[1:]])
    with stage("search_rates", unit="rates") as (params, counters):
        data, seed = load_pair_data(paths.PAIRS), params.pairs.seeds[0]
        found = []
        for rate in given.rates:
            found.append(rate_search.tried(lambda rate: experiment(given, params, rate), rate, seed))
            log.info("%s at %g: %s on the validation pairs", given.strategy, rate, found[-1].validation)
            counters.keep()
        start = "combined" if given.strategy == CROSSED else ""
        cell = PairCell(given.encoder, given.pooling, start, given.strategy)
        counts = (len(data.splits["validation"].labels), len(data.splits["test"].labels))
        target = paths.PARAPHRASE_RUNS / RATES / f"{params.pairs.dataset}.csv"
        kept, former = (read_results(target), comment_of(target)) if target.exists() else ([], "")
        precision = params.metric_learning.precision
        about = f"{command}; metric_learning.precision={precision}; {datetime.date.today().isoformat()}; {machine()}"
        rows = rates.merged(kept, list(rates.rows(cell, params.pairs.dataset, found, counts)))
        write_results(target, rows, " | ".join(part for part in (about, former) if part))


if __name__ == "__main__":
    main()
