"""Stage `gold`: a student that people's scores have tuned, a variant of its own beside the one that never saw any."""

import torch

from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.distillation.fine_tuning import trained
from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.encoder.static_encoder import CONFIG, FINE_TUNED_STUDENT, STUDENT, VARIANT, StaticEncoder
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from stages.distillation.fine_tuned_labels import FINE_TUNED_LABELS
from stages.stage import stage


def main() -> None:
    with (
        stage("fine_tuned_student", unit="pairs") as (params, counters),
        atomic_directory(FINE_TUNED_STUDENT) as directory,
    ):
        torch.set_num_threads(1)  # more of them only wait for each other, and change the last bits
        found = trained(params.student, params.mlp_head, params.fine_tuned_student, counters)
        if isinstance(found, StaticEncoder):
            config = read_json(STUDENT / CONFIG)
            made_from = {name: config[name] for name in ("profile", "language", "sentences", "epochs", "seed")}
            made_from |= {"teacher": read_json(FINE_TUNED_LABELS / TEACHER), "gold_pairs": counters.kept}
            described = write_model(found, made_from, directory)
            write_card("model_card.md", described | {"path": FINE_TUNED_STUDENT}, directory)
        write_json(directory / VARIANT, {"absent": found if isinstance(found, str) else None})


if __name__ == "__main__":
    main()
