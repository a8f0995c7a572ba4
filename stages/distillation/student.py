"""The stage `student`: train a student on the teacher's soft labels and save it as a sentence-transformers model.

Reads data/corpus/sentences, data/soft_labels and data/benchmarks. Writes models/student, and reports/curves/student.csv
with the losses and dev scores of each epoch. If section `size` limits the size, the student is made as small, and
reports/curves/student_size.csv has what was tried.
"""

from sentence_distillery.distillation.export import export
from sentence_distillery.distillation.sizing import made_to_size, write_trials
from sentence_distillery.distillation.student import LabelledCorpus, card, development_pairs, train_static, write_curve
from sentence_distillery.evaluation.sets.data import BenchmarkData
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "student.safetensors"
CURVE = paths.CURVES / "student.csv"
SIZES = paths.CURVES / "student_size.csv"


def main() -> None:
    with stage("student", unit="sentences", largest="student.batch_size") as (params, counters):
        corpus = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)
        development = development_pairs(BenchmarkData(paths.BENCHMARKS))
        trained = train_static(params.student, corpus, counters, CHECKPOINT, development)
        trained.refuse_collapsed("student")
        write_curve(CURVE, trained.curve)
        if development:
            counters.details["development"] = f"{development.name}/{development.split}"
        made_from = card(
            params.name,
            params.clean.language,
            params.student.seed,
            len(trained.curve),
            corpus.teacher,
            counters.kept,
            params.student.start_from,
            corpus.digest(),
        )
        encoder = trained.with_channel(params.student.lexical_dimension, params.clean.language)
        encoder, trials = made_to_size(encoder, params.size, *corpus.texts())
        write_trials(SIZES, trials)
        export(encoder, made_from, paths.STUDENT)
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
