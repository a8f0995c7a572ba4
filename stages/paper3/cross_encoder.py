"""Train an encoder of paper 3 as a cross-encoder: `python -m stages.paper3.cross_encoder minilm-l3 stsb sick`.

Reads data/benchmarks. Trains on each task with every seed of `component_training.seeds`, whose checkpoints stay, and
keeps the figures in reports/runs/component_focus, where the page of paper 3 shows them.
"""

import argparse
import datetime
import logging
import shlex
import sys

from reproductions.paper3.component_focus.cells import Inputs, task_pairs
from reproductions.paper3.cross_encoder import CrossEncoder, rows
from reproductions.saved_matrix import keep_cells
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.counters import Counters
from stages import paths
from stages.params import Params
from stages.stage import stage

log = logging.getLogger("stages")


def scored(encoder: str, task: str, params: Params, counters: Counters) -> list[Result]:
    """Train on a task with every seed, and return the figures."""
    pairs = task_pairs(task, Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS), counters)
    options, checkpoint = params.component_training, paths.COMPONENT_CHECKPOINTS / f"{encoder}-{task}-cross-encoder"
    model = CrossEncoder(params.encoders[encoder], pairs, options, params.modern_learning, checkpoint)
    return rows(encoder, task, [model.predicted(seed) for seed in options.seeds], pairs["test"].unit_scores())


def main() -> None:
    parser = argparse.ArgumentParser(description="Train an encoder of paper 3 as a cross-encoder.")
    parser.add_argument("encoder", help="a name of section `encoders`")
    parser.add_argument("tasks", nargs="+", help="sets of rated pairs with train, dev and test")
    given = parser.parse_args()
    with stage("component_focus_cross_encoder", unit="tasks") as (params, counters):
        precision = f"component_training.precision={params.component_training.precision}"
        command = f"{shlex.join(['python', '-m', 'stages.paper3.cross_encoder', *sys.argv[1:]])}, {precision}"
        for task in given.tasks:
            found = scored(given.encoder, task, params, counters)
            date = datetime.date.today().isoformat()
            target = keep_cells(found, [task], paths.COMPONENT_RUNS, command, date)
            log.info("%s on %s: %d figures in %s", given.encoder, task, len(found), target)
            counters.keep()


if __name__ == "__main__":
    main()
