"""Stage `gold_labels`: the corpus embedded by the teachers that people's scores have tuned, for the student `gold`.

As `soft_labels`, with the encoders of stage `gold_teacher` (stages/pairs/gold_teacher.py).
"""

from pathlib import Path

from stages.artifacts import atomic_directory, read_json, write_json
from stages.params import Params, Teacher
from stages.stage import stage
from stages.teacher.labels import label

GOLD_TEACHER = Path("models/gold_teacher")  # a directory for each teacher, 0, 1, ...
GOLD_LABELS = Path("data/gold_labels")
SHARDS = Path("data/checkpoints/gold_labels")
VARIANT = "variant.json"  # why there is none, or null


def tuned_teachers(params: Params) -> list[Teacher]:
    """The teachers of the run as they are after `gold_teacher`."""
    lengths = [teacher.maximum_length for teacher in (params.teacher, *params.soft_labels.further_teachers)]
    return [
        Teacher(reference=str(GOLD_TEACHER / str(number)), revision=None, sha256=None, maximum_length=length)
        for number, length in enumerate(lengths)
    ]


def main() -> None:
    with stage("gold_labels", unit="sentences") as (params, counters), atomic_directory(GOLD_LABELS) as target:
        absent = read_json(GOLD_TEACHER / VARIANT)["absent"]
        if absent is None:
            precision = params.gold_teacher.precision
            label(tuned_teachers(params), params.soft_labels, precision, params.shards, counters, target, SHARDS)
        write_json(target / VARIANT, {"absent": absent})


if __name__ == "__main__":
    main()
