"""Stage `soft_labels`: the corpus and its words embedded by the teachers (sentence_distillery/distillation/soft_labels.py)."""

from pathlib import Path

from sentence_distillery.distillation.soft_labels import SOFT_LABELS, label
from sentence_distillery.io.artifacts import atomic_directory
from stages.stage import stage

SHARDS = Path("data/checkpoints/soft_labels")


def main() -> None:
    with stage("soft_labels", unit="sentences") as (params, counters), atomic_directory(SOFT_LABELS) as target:
        teachers = [params.teacher, *params.soft_labels.additional_teachers]
        settings = params.soft_labels
        label(teachers, settings, settings.precision, params.shards, counters, target, SHARDS)


if __name__ == "__main__":
    main()
