"""The stage `search_student`: train a variant of the student for search.

Reads models/student, data/corpus/sentences, data/soft_labels and data/benchmarks. Trains the student further on
sentences and passages, and adds a lexical channel. Writes models/search_student; its variant.json has null, or the
reason why this run has none.
"""

from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.io.unavailable import to_json
from stages import paths
from stages.stage import stage

CHECKPOINT = paths.MODEL_CHECKPOINTS / "search_student.safetensors"


def main() -> None:
    with stage("search_student", unit="texts") as (params, counters), atomic_directory(paths.SEARCH_STUDENT) as target:
        options = params.search_student
        unavailable = options.switched_off()
        if unavailable is None:
            import torch  # these imports take three seconds

            from sentence_distillery.distillation.search_student import train_for_search
            from sentence_distillery.distillation.student import LabelledCorpus, development_pairs

            torch.set_num_threads(1)  # on a shared machine, more threads wait for each other five times as long
            config = read_json(paths.STUDENT / CONFIG, StudentConfig)
            trained = train_for_search(
                StaticEncoder.load(paths.STUDENT),
                options,
                LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS),
                config["language"],
                counters,
                CHECKPOINT,
                development_pairs(BenchmarkData(paths.BENCHMARKS)),
            )
            trained.refuse_collapsed("student for search")
            made_from = {name: config[name] for name in ("profile", "language", "teacher", "sentences")}
            made_from |= {"epochs": options.epochs, "seed": options.seed, "for": "search"}
            described = write_model(trained.encoder, made_from, target)
            write_card("model_card.md", described | {"path": paths.SEARCH_STUDENT}, target)
        counters.skip(unavailable)
        write_json(target / VARIANT, to_json(unavailable))
    CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
