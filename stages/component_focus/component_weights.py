"""Stage `component_weights@{encoder}`: the weight of the component learnt, for an encoder as it is (beyond paper 3)."""

import logging
import sys
from dataclasses import asdict
from functools import partial

from sentence_distillery.component_focus.cells import CELLS, LEARNT, benchmarks_of
from sentence_distillery.component_focus.frozen_weights import embed_with, learn_all
from sentence_distillery.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.encoders.transformer import AbsentModelError, load_encoder
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.syntax.trees import read_trees
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    (name,) = sys.argv[1:]
    with stage(f"component_weights@{name}", unit="weights") as (params, counters):
        absent, learnt = None, {}
        try:
            encoder = PairEncoder(load_encoder(params.encoders[name]), Pooling(params.component_training.pooling))
            embed, trees = partial(embed_with, encoder), read_trees()
            tasks = benchmarks_of(params.component_focus.tasks)
            learnt = {task: learn_all(task, embed, trees, counters) for task in tasks}
        except AbsentModelError as error:
            log.warning("%s is left out: %s", name, error)
            absent = "weights not available here"
            counters.drop(absent)
        counters.keep(sum(map(len, learnt.values())))
        found = {task: [asdict(each) for each in all] for task, all in learnt.items()}
        write_json(CELLS / f"{name}-learnt" / LEARNT, {"absent": absent, "learnt": found})


if __name__ == "__main__":
    main()
