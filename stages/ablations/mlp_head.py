"""The stage `mlp_head`: train a variant of the student with an MLP head.

Reads models/student, data/corpus/sentences, data/soft_labels and data/benchmarks. Trains a hidden layer after the
student's sum on the same soft labels. Writes models/mlp_head; its variant.json has null, or the reason why this run has
none.
"""

import torch

from reproductions.ablations.mlp_head import train_mlp_head
from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.distillation.student import LabelledCorpus, development_pairs
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.io.unavailable import to_json
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "mlp_head.safetensors"


def main() -> None:
    with (
        stage("mlp_head", unit="sentences", largest="mlp_head.batch_size") as (params, counters),
        atomic_directory(paths.MLP_HEAD) as directory,
    ):
        torch.set_num_threads(1)  # on a shared machine, more threads wait for each other five times as long
        unavailable = params.mlp_head.switched_off()
        if unavailable is None:
            student = StaticEncoder.load(paths.STUDENT)
            corpus = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)
            development = development_pairs(BenchmarkData(paths.BENCHMARKS))
            encoder = train_mlp_head(student, params.mlp_head, corpus, counters, CHECKPOINT, development)
            config = read_json(paths.STUDENT / CONFIG, StudentConfig)
            made_from = {name: config[name] for name in ("profile", "language", "teacher", "sentences")}
            made_from |= {"epochs": params.mlp_head.epochs, "seed": params.mlp_head.seed}
            described = write_model(encoder, made_from, directory)
            write_card("model_card.md", described | {"path": paths.MLP_HEAD}, directory)
        counters.skip(unavailable)
        write_json(directory / VARIANT, to_json(unavailable))
    CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
