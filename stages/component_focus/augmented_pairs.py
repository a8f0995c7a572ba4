"""Stage `augmented_pairs`: more pairs for a task of paper 3's grid, scored by a teacher (augmented SBERT)."""

import argparse
import logging
from typing import Any

from sentence_distillery.component_focus.augmentation import scored, why_absent
from sentence_distillery.component_focus.cells import AUGMENTED_ABOUT, AUGMENTED_PAIRS, AUGMENTED_TABLE, TRAINING
from sentence_distillery.encoders.transformer import AbsentModelError
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_table
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairs scored by a teacher, beside those of a task's train split.")
    parser.add_argument("task", help="one of component_focus.tasks; pairs are made for one +augmented")
    task: str = parser.parse_args().task
    with (
        stage(f"augmented_pairs@{task}", unit="pairs") as (params, counters),
        atomic_directory(AUGMENTED_PAIRS / task) as target,
    ):
        reason, table = why_absent(task, params), TRAINING.empty_table()
        about: dict[str, Any] = {}
        if not reason:
            try:
                table, about = scored(task, params, counters)
            except AbsentModelError as error:
                log.warning("%s has no silver pairs: %s", task, error)
                reason = "weights of the teacher not available here"
        write_table(target / AUGMENTED_TABLE, table)
        write_json(target / AUGMENTED_ABOUT, {"absent": reason or None} | about)


if __name__ == "__main__":
    main()
