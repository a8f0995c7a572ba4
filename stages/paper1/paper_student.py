"""The stage `paper_student`: train paper 1's student, a baseline in its tables.

Reads data/corpus/sentences, data/soft_labels, models/refined and data/benchmarks. Trains a linear layer over the means
of this run's refined vectors on the soft labels of our student. `teacher` and `refine` in its config.json name the
teacher and the settings of the vectors, which may differ from the paper's. Writes models/paper_student, and
reports/curves/paper_student.csv with the loss and dev scores of each epoch, the paper's figure 5.
"""

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.student import train_paper
from sentence_distillery.distillation.export import export
from sentence_distillery.distillation.student import LabelledCorpus, card, development_pairs, write_curve
from sentence_distillery.evaluation.sets.data import BenchmarkData
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "paper_student.safetensors"
CURVE = paths.CURVES / "paper_student.csv"


def main() -> None:
    with stage("paper_student", unit="sentences", largest="paper_student.batch_size") as (params, counters):
        corpus = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)
        refined = WordVectors.load(paths.REFINED)
        development = development_pairs(BenchmarkData(paths.BENCHMARKS))
        trained = train_paper(params.paper_student, refined, corpus, counters, CHECKPOINT, development)
        trained.refuse_collapsed("paper's student")
        write_curve(CURVE, trained.curve)
        made_from = card(
            params.name,
            params.clean.language,
            params.paper_student.seed,
            len(trained.curve),
            corpus.teacher,
            counters.kept,
        )
        export(trained.encoder, made_from | {"refined": params.refine.objective}, paths.PAPER_STUDENT)
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
