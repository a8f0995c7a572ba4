"""The stage `fine_tuned_labels`: embed the corpus with the fine-tuned teachers, for the fine-tuned student.

Reads data/corpus/sentences and models/fine_tuned_teacher, and embeds as the stage `soft_labels` does. Writes
data/fine_tuned_labels; its variant.json has null, or the reason why this run has no labels.
"""

from sentence_distillery.encoder.static_encoder import VARIANT
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.io.unavailable import read_unavailable, to_json
from sentence_distillery.teachers.options import AnyTeacher, Teacher, transformer
from stages import paths
from stages.stage import stage


def tuned_teachers(teachers: list[AnyTeacher]) -> list[Teacher]:
    """Return the teachers that the stage `fine_tuned_teacher` wrote."""
    return [
        Teacher(
            reference=str(paths.FINE_TUNED_TEACHER / str(number)), maximum_length=transformer(teacher).maximum_length
        )
        for number, teacher in enumerate(teachers)
    ]


def main() -> None:
    with (
        stage("fine_tuned_labels", unit="sentences", largest="soft_labels.batch_tokens") as (params, counters),
        atomic_directory(paths.FINE_TUNED_LABELS) as target,
    ):
        unavailable = read_unavailable(paths.FINE_TUNED_TEACHER / VARIANT)
        if unavailable is None:
            from sentence_distillery.distillation.soft_labels import LabelDirectories, label  # three seconds

            teachers = [params.teacher, *params.soft_labels.additional_teachers]
            settings = params.soft_labels.model_copy(update={"precision": params.fine_tuned_teacher.precision})
            directories = LabelDirectories(paths.SENTENCES, target, paths.KEPT_FINE_TUNED_LABELS)
            label(tuned_teachers(teachers), settings, params.shards, directories, counters)
        counters.skip(unavailable)
        write_json(target / VARIANT, to_json(unavailable))


if __name__ == "__main__":
    main()
