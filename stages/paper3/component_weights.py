"""The stage `component_weights@{encoder}`: learn the weight of the component for a frozen encoder.

Reads data/benchmarks and data/trees, learns the weights on the train split of each task, and writes
data/component_focus/<encoder>-learnt/learnt.json: the weights by task, or the reason why there are none.
"""

import logging
import sys
from dataclasses import asdict
from functools import partial

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper3.component_focus.cells import LEARNT, Inputs, analysed, benchmarks_of
from reproductions.paper3.component_focus.frozen_weights import embed_with, learn_all
from reproductions.paper3.syntax.trees import read_trees
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.io.unavailable import to_json
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError, load_encoder
from stages import paths
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    (name,) = sys.argv[1:]
    with stage(f"component_weights@{name}", unit="weights") as (params, counters):
        unavailable, learnt = None, {}
        inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
        try:
            encoder = PairEncoder(load_encoder(params.encoders[name]), Pooling(params.component_training.pooling))
            embed = partial(embed_with, encoder)
            trees = analysed(read_trees(paths.TREES), params.component_training.prepositional_objects)
            tasks = benchmarks_of(params.component_focus.tasks, inputs.benchmarks)
            learnt = {task: learn_all(task, embed, trees, inputs, counters) for task in tasks}
        except AbsentModelError as error:
            log.warning("%s is left out: %s", name, error)
            unavailable = NO_WEIGHTS
            counters.drop(unavailable.reason)
        counters.keep(sum(map(len, learnt.values())))
        by_task = {task: [asdict(each) for each in every] for task, every in learnt.items()}
        write_json(paths.COMPONENT_FOCUS / f"{name}-learnt" / LEARNT, to_json(unavailable) | {"learnt": by_task})


if __name__ == "__main__":
    main()
