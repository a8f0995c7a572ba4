"""The stage `fine_tuned_teacher`: fine-tune the teachers on the human ratings of STS-B train.

Reads data/benchmarks and the teachers' weights. Writes models/fine_tuned_teacher: an encoder for each teacher, 0, 1,
..., and variant.json, which has null or the reason why this run has none.
"""

from sentence_distillery.encoder.static_encoder import VARIANT
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import Unavailable, to_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with (
        stage("fine_tuned_teacher", unit="pairs") as (params, counters),
        atomic_directory(paths.FINE_TUNED_TEACHER) as directory,
    ):
        data = BenchmarkData(paths.BENCHMARKS)
        unavailable = params.fine_tuned_teacher.switched_off() or params.fine_tuned_student.switched_off()
        if unavailable is None and "stsb" not in data.available("pairs"):
            unavailable = Unavailable("STS-B is absent from this run")
        if unavailable is None:
            from reproductions.ablations.fine_tuned_teacher import tune_teachers  # three seconds

            teachers = [params.teacher, *params.soft_labels.additional_teachers]
            checkpoints = paths.FINE_TUNED_TEACHER_CHECKPOINTS
            unavailable = tune_teachers(teachers, params.fine_tuned_teacher, data, directory, checkpoints, counters)
        counters.skip(unavailable)
        write_json(directory / VARIANT, to_json(unavailable))


if __name__ == "__main__":
    main()
