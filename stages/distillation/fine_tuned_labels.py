"""Stage `fine_tuned_labels`: the corpus embedded by the teachers that people's scores have tuned, for the student `gold`.

As `soft_labels`, with the encoders of stage `fine_tuned_teacher` (sentence_distillery/distillation/fine_tuned_teacher.py).
"""

from pathlib import Path

from sentence_distillery.distillation.soft_labels import label
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from stages.params import Params
from stages.stage import stage

FINE_TUNED_TEACHER = Path("models/fine_tuned_teacher")  # a directory for each teacher, 0, 1, ...
FINE_TUNED_LABELS = Path("data/fine_tuned_labels")
SHARDS = Path("data/checkpoints/fine_tuned_labels")
VARIANT = "variant.json"  # why there is none, or null


def tuned_teachers(params: Params) -> list[Teacher]:
    """The teachers of the run as they are after `fine_tuned_teacher`."""
    lengths = [teacher.maximum_length for teacher in (params.teacher, *params.soft_labels.additional_teachers)]
    return [
        Teacher(reference=str(FINE_TUNED_TEACHER / str(number)), revision=None, sha256=None, maximum_length=length)
        for number, length in enumerate(lengths)
    ]


def main() -> None:
    with (
        stage("fine_tuned_labels", unit="sentences") as (params, counters),
        atomic_directory(FINE_TUNED_LABELS) as target,
    ):
        absent = read_json(FINE_TUNED_TEACHER / VARIANT)["absent"]
        if absent is None:
            precision = params.fine_tuned_teacher.precision
            label(tuned_teachers(params), params.soft_labels, precision, params.shards, counters, target, SHARDS)
        write_json(target / VARIANT, {"absent": absent})


if __name__ == "__main__":
    main()
