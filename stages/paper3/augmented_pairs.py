"""The stage `augmented_pairs@{task}`: more training pairs for a task of paper 3's grid, scored by a fine-tuned teacher.

Reads data/benchmarks and fine-tunes the teacher on the task's train split with each seed. The teacher scores new pairs
of its sentences, and a share of its scores is mixed into the human ratings. Writes data/augmented_pairs/<task>:
pairs.parquet, and augmented.json, which has null or the reason why the task has no pairs.
"""

import argparse
import logging
from typing import Any

import pyarrow as pa

from reproductions.grid.axes import Place
from reproductions.paper3.component_focus.cells import (
    AUGMENTED_ABOUT,
    AUGMENTED_TABLE,
    TRAINING,
    WITH_AUGMENTED,
    Inputs,
)
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.unavailable import Unavailable, to_json
from stages import paths
from stages.params import Params
from stages.stage import stage

log = logging.getLogger("stages")


def augmented(task: str, params: Params, counters: Counters) -> tuple[pa.Table, dict[str, Any]] | Unavailable:
    """Return a task's pairs with their scores and labels, or the reason why it has none."""
    if WITH_AUGMENTED not in task:
        return Unavailable("a task without +augmented")
    name, options = params.augmented_pairs.teacher, params.component_training
    if switched_off := options.switched_off():
        return switched_off
    from reproductions.paper3.component_focus.augmentation import augment  # these take three seconds
    from reproductions.paper3.component_focus.training import experiment
    from sentence_distillery.teachers.transformer import AbsentModelError

    inputs = Inputs(BenchmarkData(paths.BENCHMARKS), paths.AUGMENTED_PAIRS)
    place = Place(encoder=name, task=task.removesuffix(WITH_AUGMENTED), weight=0.0)
    checkpoint = paths.COMPONENT_CHECKPOINTS / place.name
    try:
        teacher = experiment(params.encoders[name], place["task"], 0.0, options, inputs, {}, checkpoint, counters)
    except AbsentModelError as error:
        log.warning("%s has no augmented pairs: %s", task, error)
        return Unavailable("weights of the teacher not available here")
    return teacher if isinstance(teacher, Unavailable) else augment(teacher, params.augmented_pairs, counters)


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairs scored by a teacher, for a task of paper 3's grid.")
    parser.add_argument("task", help="one of component_focus.tasks; only a task with +augmented gets pairs")
    task: str = parser.parse_args().task
    with (
        stage(f"augmented_pairs@{task}", unit="pairs") as (params, counters),
        atomic_directory(paths.AUGMENTED_PAIRS / task) as target,
    ):
        made = augmented(task, params, counters)
        unavailable = made if isinstance(made, Unavailable) else None
        table, about = (TRAINING.empty_table(), {}) if isinstance(made, Unavailable) else made
        write_table(target / AUGMENTED_TABLE, table)
        counters.skip(unavailable)
        write_json(target / AUGMENTED_ABOUT, to_json(unavailable) | about)


if __name__ == "__main__":
    main()
