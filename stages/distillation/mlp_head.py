"""Stage `deep`: the student with a hidden layer behind its sum, a variant of its own: a deep averaging network."""

import torch

from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.distillation.mlp_head import CHECKPOINT, with_mlp_head
from sentence_distillery.encoder.static_encoder import CONFIG, MLP_HEAD, STUDENT, VARIANT, StaticEncoder
from sentence_distillery.io.artifacts import atomic_directory, read_json, write_json
from stages.stage import stage


def main() -> None:
    with stage("mlp_head", unit="sentences") as (params, counters), atomic_directory(MLP_HEAD) as directory:
        torch.set_num_threads(1)  # on a machine that others use, more of them wait for each other five times as long
        found = with_mlp_head(StaticEncoder.load(STUDENT), params.mlp_head, counters)
        if isinstance(found, StaticEncoder):
            config = read_json(STUDENT / CONFIG)
            made_from = {name: config[name] for name in ("profile", "language", "teacher", "sentences")}
            made_from |= {"epochs": params.mlp_head.epochs, "seed": params.mlp_head.seed}
            write_card("model_card.md", write_model(found, made_from, directory) | {"path": MLP_HEAD}, directory)
        write_json(directory / VARIANT, {"absent": found if isinstance(found, str) else None})
    CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
