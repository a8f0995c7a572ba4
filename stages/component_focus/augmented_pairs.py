"""The stage `augmented_pairs@{task}`: more training pairs for a task of paper 3's grid, scored by a fine-tuned teacher.

Reads data/benchmarks and fine-tunes the teacher on the task's train split with each seed. The teacher scores new pairs
of its sentences, and a share of its scores is mixed into the human ratings. Writes data/augmented_pairs/<task>:
pairs.parquet, and augmented.json, which has null or the reason why the task has no pairs.
"""

import argparse
import logging
from typing import Any

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.component_focus.augmentation import augment, why_unavailable
from sentence_distillery.component_focus.cells import AUGMENTED_ABOUT, AUGMENTED_TABLE, TRAINING, Inputs
from sentence_distillery.component_focus.training import Training
from sentence_distillery.encoders.transformer import AbsentModelError
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from sentence_distillery.io.unavailable import Unavailable, to_json
from stages import paths
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairs scored by a teacher, for a task of paper 3's grid.")
    parser.add_argument("task", help="one of component_focus.tasks; pairs are made only if it ends in +augmented")
    task: str = parser.parse_args().task
    with (
        stage(f"augmented_pairs@{task}", unit="pairs") as (params, counters),
        atomic_directory(paths.AUGMENTED_PAIRS / task) as target,
    ):
        inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
        teacher, options = params.encoders[params.augmented_pairs.teacher], params.component_training
        unavailable, table = why_unavailable(task, options, inputs.benchmarks), TRAINING.empty_table()
        about: dict[str, Any] = {}
        if unavailable is None:
            try:
                training = Training(teacher, options, paths.COMPONENT_CHECKPOINTS)
                table, about = augment(task, params.augmented_pairs, training, inputs, counters)
            except AbsentModelError as error:
                log.warning("%s has no augmented pairs: %s", task, error)
                unavailable = Unavailable("weights of the teacher not available here")
        write_table(target / AUGMENTED_TABLE, table)
        counters.skip(unavailable)
        write_json(target / AUGMENTED_ABOUT, to_json(unavailable) | about)


if __name__ == "__main__":
    main()
