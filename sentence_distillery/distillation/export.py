"""A student as others load it: sentence-transformers, model2vec and the project's own encoder read the same directory.

modules.json, config_sentence_transformers.json   which modules, in which order
model.safetensors, tokenizer.json                 token vectors, and the text's way to them
1_Dense/, 2_Dense/                                the layers behind the mean (kinds paper and deep), which model2vec
                                                  does not know
config.json, README.md                            what it was made from, model2vec's settings, and the model card
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from sentence_distillery.encoder.static_encoder import (
    CONFIG,
    DENSE,
    NARROW,
    TABLE,
    TOKENIZER,
    WEIGHTS,
    StaticEncoder,
)
from sentence_distillery.io.artifacts import atomic_directory, write_json, write_tensors
from sentence_distillery.io.ragged import Floats

VARIANT = "variant.json"  # in the directory of a variant: why this run has none, or null
MODULES = "sentence_transformers.models."  # names of every version since 3
SENTENCE_TRANSFORMERS = {
    "model_type": "SentenceTransformer",
    "prompts": {"query": "", "document": ""},
    "default_prompt_name": None,
    "similarity_fn_name": "cosine",
}


def export(encoder: StaticEncoder, card: Mapping[str, object], directory: Path) -> None:
    """Write a student and its model card as a directory that other libraries load.

    Args:
        encoder: the student.
        card: what it was made from, for config.json and README.md.
        directory: where to; it is replaced.

    Raises:
        InputError: the directory cannot be written.
    """
    with atomic_directory(directory) as partial:
        config = write_model(encoder, card, partial)
        write_card("model_card.md", config, partial)


def write_model(encoder: StaticEncoder, card: Mapping[str, object], directory: Path) -> dict[str, object]:
    """Write all but the model card into `directory`; return what config.json says.

    The same encoder always gives the same bytes.
    """
    config: dict[str, object] = {
        "kind": encoder.kind,
        "dimension": encoder.dimension,
        "token_dimension": int(encoder.stored.shape[1]),
        "vocabulary": len(encoder.stored),
        "embedding_dtype": encoder.stored.dtype.name,
        "step": encoder.step,
        "units": 0 if encoder.hidden is None else encoder.hidden[0].shape[1],
        "normalize": True,  # model2vec's name for unit length
        "max_length": None,  # tokens; model2vec's default is 512
        **card,
    }
    write_json(directory / CONFIG, config)
    write_json(directory / "config_sentence_transformers.json", SENTENCE_TRANSFORMERS)
    write_tensors(directory / WEIGHTS, {TABLE: encoder.stored})
    (directory / TOKENIZER).write_text(encoder.tokenizer.to_str(pretty=False), encoding="utf-8")
    layers = _write_layers(encoder, directory)
    modules = [
        ("StaticEmbedding", ""),
        *(("Dense", layer) for layer in layers),
        ("Normalize", f"{len(layers) + 1}_Normalize"),
    ]
    rows = [{"idx": i, "name": str(i), "path": path, "type": MODULES + name} for i, (name, path) in enumerate(modules)]
    write_json(directory / "modules.json", rows)
    return config


def _write_layers(encoder: StaticEncoder, directory: Path) -> list[str]:
    """Write the layers behind the mean as modules of sentence-transformers; return their folders.

    These know no sum of a layer's input and output. Since s = relu(s) - relu(-s), two layers say the same:
    s + relu(s A) B = relu(s [I, -I, A]) [I, -I, B], the second one's blocks below each other.
    """
    if encoder.linear is not None:
        _write_dense(encoder.linear[0], directory / DENSE, "linear.Identity", encoder.linear[1])
        return [DENSE]
    if encoder.hidden is None:
        return []
    widen, narrow = encoder.hidden
    same = np.eye(encoder.dimension, dtype=np.float32)
    _write_dense(np.concatenate([same, -same, widen.T]), directory / DENSE, "activation.ReLU")
    _write_dense(np.concatenate([same, -same, narrow.T], axis=1), directory / NARROW, "linear.Identity")
    return [DENSE, NARROW]


def _write_dense(weight: Floats, directory: Path, activation: str, bias: Floats | None = None) -> None:
    """Write a Dense module of sentence-transformers; `weight` (output, input)."""
    output, width = weight.shape
    config = {"in_features": width, "out_features": output, "bias": bias is not None}
    write_json(directory / CONFIG, {**config, "activation_function": f"torch.nn.modules.{activation}"})
    write_tensors(directory / WEIGHTS, {"linear.weight": weight} | ({} if bias is None else {"linear.bias": bias}))


def write_card(template: str, values: Mapping[str, object], directory: Path) -> None:
    """Write README.md from a template in distillation/templates."""
    templates = Environment(
        loader=PackageLoader("sentence_distillery.distillation"),
        undefined=StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    text = templates.get_template(template).render(values)
    (directory / "README.md").write_text(text, encoding="utf-8")
