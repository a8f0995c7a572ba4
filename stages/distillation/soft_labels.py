"""The stage `soft_labels`: embed the corpus and its words with the teachers.

Reads data/corpus/sentences, writes data/soft_labels. Keeps the embedding of each text in data/checkpoints/soft_labels,
which DVC does not track: neither `dvc repro` nor `dvc exp run` empties it.
"""

from sentence_distillery.distillation.soft_labels import LabelDirectories, label
from sentence_distillery.io.artifacts import atomic_directory
from stages import paths
from stages.stage import stage


def main() -> None:
    with (
        stage("soft_labels", unit="sentences", largest="soft_labels.batch_tokens") as (params, counters),
        atomic_directory(paths.SOFT_LABELS) as target,
    ):
        teachers = [params.teacher, *params.soft_labels.additional_teachers]
        directories = LabelDirectories(paths.SENTENCES, target, paths.KEPT_LABELS)
        label(teachers, params.soft_labels, params.shards, directories, counters)


if __name__ == "__main__":
    main()
