"""Stage `fine_tuned_teacher`: the teachers of the run tuned on people's scores, those of STS-B train, for the student `gold`."""

from sentence_distillery.distillation.fine_tuned_teacher import tune_into, why_absent
from sentence_distillery.io.artifacts import atomic_directory, write_json
from stages.distillation.fine_tuned_labels import FINE_TUNED_TEACHER, VARIANT
from stages.stage import stage


def main() -> None:
    with (
        stage("fine_tuned_teacher", unit="pairs") as (params, counters),
        atomic_directory(FINE_TUNED_TEACHER) as directory,
    ):
        reason = why_absent(params) or tune_into(directory, params, counters)
        write_json(directory / VARIANT, {"absent": reason})


if __name__ == "__main__":
    main()
