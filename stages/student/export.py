"""A student as others load it: `SentenceTransformer("models/student")`.

modules.json, config_sentence_transformers.json   which modules, in which order
model.safetensors, tokenizer.json                 token vectors, and the text's way to them
1_Dense/                                          the linear layer (kind: paper)
config.json, README.md                            what it was made from, and the model card
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from jinja2 import Environment, PackageLoader, StrictUndefined
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from stages.artifacts import atomic_directory, write_json
from stages.student.encoder import CONFIG, STUDENT, StaticEncoder


def export(encoder: StaticEncoder, card: Mapping[str, object], directory: Path = STUDENT) -> None:
    """Replace `directory` by `encoder`; `card`, what it was made from, goes to config.json and README.md."""
    config = {
        "kind": "static" if encoder.linear is None else "paper",
        "dimension": encoder.dimension,
        "token_dimension": int(encoder.table.shape[1]),
        "vocabulary": len(encoder.table),
        **card,
    }
    with atomic_directory(directory) as partial:
        _sentence_transformer(encoder).save(str(partial), create_model_card=False)
        write_json(partial / CONFIG, config)
        templates = Environment(
            loader=PackageLoader("stages.student"), undefined=StrictUndefined, trim_blocks=True, autoescape=False
        )
        text = templates.get_template("model_card.md").render(config)
        (partial / "README.md").write_text(text, encoding="utf-8")


def _sentence_transformer(encoder: StaticEncoder) -> SentenceTransformer:
    modules: list[torch.nn.Module] = [StaticEmbedding(encoder.tokenizer, embedding_weights=encoder.table.copy())]
    if encoder.linear is not None:
        weight, bias = (torch.from_numpy(array.copy()) for array in encoder.linear)
        dense = Dense(weight.shape[1], weight.shape[0], activation_function=torch.nn.Identity())
        dense.load_state_dict({"linear.weight": weight, "linear.bias": bias})
        modules.append(dense)
    return SentenceTransformer(modules=[*modules, Normalize()], device="cpu")
