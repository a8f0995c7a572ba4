"""The stage `fine_tuned_student`: distil a student from the fine-tuned teachers and fine-tune it on human ratings.

Reads data/corpus/sentences, data/fine_tuned_labels, data/benchmarks and the config of models/student. Trains a student,
with an MLP head if `mlp_head.enabled`, and fine-tunes it on STS-B train. Writes models/fine_tuned_student; its
variant.json has null, or the reason why this run has none.
"""

from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import VARIANT
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.io.unavailable import read_unavailable, to_json
from stages import paths
from stages.stage import stage


def main() -> None:
    with (
        stage("fine_tuned_student", unit="pairs") as (params, counters),
        atomic_directory(paths.FINE_TUNED_STUDENT) as directory,
    ):
        unavailable = read_unavailable(paths.FINE_TUNED_LABELS / VARIANT)
        if unavailable is None:
            import torch  # these imports take three seconds

            from reproductions.ablations.fine_tuning import FineTuning, train_fine_tuned
            from sentence_distillery.distillation.student import LabelledCorpus

            torch.set_num_threads(1)  # more threads only wait for each other, and change the last bits
            corpus = LabelledCorpus(paths.SENTENCES, paths.FINE_TUNED_LABELS)
            options = FineTuning(params.student, params.mlp_head, params.fine_tuned_student)
            checkpoints = paths.MODEL_CHECKPOINTS / "fine_tuned_student"
            data = BenchmarkData(paths.BENCHMARKS)
            encoder = train_fine_tuned(options, corpus, data, checkpoints, counters)
            config = read_json(paths.STUDENT / CONFIG, StudentConfig)
            made_from = {name: config[name] for name in ("profile", "language", "sentences", "epochs", "seed")}
            made_from |= {"teacher": corpus.teacher, "gold_pairs": counters.kept}
            described = write_model(encoder, made_from, directory)
            write_card("model_card.md", described | {"path": paths.FINE_TUNED_STUDENT}, directory)
        counters.skip(unavailable)
        write_json(directory / VARIANT, to_json(unavailable))


if __name__ == "__main__":
    main()
