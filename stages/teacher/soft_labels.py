"""Stage `soft_labels`: the corpus and its words embedded by the teachers (stages/teacher/labels.py)."""

from pathlib import Path

from stages.artifacts import atomic_directory
from stages.stage import stage
from stages.teacher.labels import SOFT_LABELS, label

SHARDS = Path("data/checkpoints/soft_labels")


def main() -> None:
    with stage("soft_labels", unit="sentences") as (params, counters), atomic_directory(SOFT_LABELS) as target:
        teachers = [params.teacher, *params.soft_labels.further_teachers]
        settings = params.soft_labels
        label(teachers, settings, settings.precision, params.shards, counters, target, SHARDS)


if __name__ == "__main__":
    main()
