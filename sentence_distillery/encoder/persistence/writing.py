"""A model as others load it: sentence-transformers, model2vec and this library read the same directory.

modules.json, config_sentence_transformers.json   which modules, in which order
model.safetensors, tokenizer.json                 token vectors, and the text's way to them
1_Dense/, 2_Dense/                                the layers after the mean (kinds paper and deep), which model2vec
                                                  doesn't know
config.json                                       what it was made from, and model2vec's settings

Only this library computes a lexical channel, which is two tensors more in model.safetensors: others load the token
vectors, the dimensions before those of the channel.

A table in float16 or int8 comes with a factor of 1 for each token. sentence-transformers multiplies by these factors
in float32 (from 6.2 on; others leave them out), and so its vectors are neither in half precision nor NaN: in float16
the least length that it divides by, 1e-12, is 0, and a text without a word gives 0 / 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sentence_distillery.encoder.lexical import LexicalChannel, Weight, weight_of_long
from sentence_distillery.encoder.persistence.dense import DenseFolders, write_weights
from sentence_distillery.encoder.persistence.names import (
    CARD,
    CONFIG,
    FACTORS,
    IDF,
    MODULES,
    SETTINGS,
    SHA256,
    STEMS,
    TABLE,
    TEXT_RULES,
    TOKENIZER,
    WEIGHTS,
)
from sentence_distillery.encoder.persistence.tensor_file import Digests
from sentence_distillery.io.artifacts import InputError, Tensors, atomic_directory, check_target, write_json

if TYPE_CHECKING:
    from sentence_distillery.encoder.static_encoder import StaticEncoder

MODULE_TYPES = "sentence_transformers.models."  # names of every version since 3
SENTENCE_TRANSFORMERS: dict[str, Any] = {
    "model_type": "SentenceTransformer",
    "similarity_fn_name": "cosine",
}
_OF_A_MODEL = frozenset({CONFIG, MODULES, SETTINGS, TOKENIZER, WEIGHTS, CARD, ".gitattributes"})


def save_model(encoder: "StaticEncoder", directory: Path, card: str | None) -> None:
    """Write `encoder` and a model card to a new or empty directory, or in place of another model, all or nothing.

    Raises:
        InputError: If the directory holds anything other than a model, or cannot be written.
    """
    refuse_other_content(directory)
    whole = encoder.truncate_dim is None and encoder.kind != "lexical"
    made_from = encoder.made_from if whole else encoder.model.origin
    with atomic_directory(directory) as partial:
        write_model(encoder, made_from, partial)
        if card is not None:
            (partial / CARD).write_text(card, encoding="utf-8")


def refuse_other_content(directory: Path) -> None:
    """Raise InputError if the directory holds anything other than a model."""
    refuse_all_but(directory, _is_of_a_model, "a model")


def _is_of_a_model(entry: Path) -> bool:
    """Tell whether a file or a folder is of a model; what other libraries put beside one counts as its own."""
    module = entry.is_dir() and entry.name[:1].isdigit()  # 1_Dense, 2_Normalize, 0_StaticEmbedding
    return module or entry.name in _OF_A_MODEL


def refuse_all_but(directory: Path, is_own: Callable[[Path], bool], kind: str) -> None:
    """Raise InputError if a directory holds anything that is not of a model of this kind: it is replaced as a whole.

    A path that cannot be a directory is refused, too.
    """
    check_target(directory)
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError(f"{directory} is a file; name a directory to save the model in.")
    for entry in sorted(directory.iterdir()):
        if not is_own(entry):
            raise InputError(
                f"{directory} holds '{entry.name}', which is not part of {kind}, and saving replaces the whole "
                "directory. Name a new directory, or an empty one."
            )


def write_model(encoder: "StaticEncoder", card: Mapping[str, object], directory: Path) -> dict[str, object]:
    """Write all but the model card, the same bytes for the same encoder; returns the content of config.json."""
    table, kind, dimension, cut = encoder.stored, encoder.kind, encoder.full_dimension, encoder.truncate_dim
    weight, searches, lexical = encoder.lexical_weight, encoder.search_weight, encoder.lexical

    # Columns that are cut off are not written: without a layer after the sum nothing needs them.
    if kind in ("static", "lexical") and cut is not None and cut <= encoder.token_dimension:
        table, kind, dimension, cut = table[:, :cut], "static", cut, None
        weight = searches = 0.0
    config: dict[str, object] = {
        "kind": kind,
        "dimension": dimension,
        "token_dimension": int(table.shape[1]),
        "vocabulary": len(table),
        "embedding_dtype": table.dtype.name,
        "step": encoder.step,
        "units": 0 if encoder.hidden is None else int(encoder.hidden[0].shape[1]),
        "normalize": True,  # model2vec's name for unit length
        "max_length": None if encoder.rules is None else encoder.rules.max_length,  # tokens; model2vec's default is 512
        **({} if encoder.rules is None else {TEXT_RULES: asdict(encoder.rules)}),
        **({} if lexical is None else {"lexical": _described(lexical, weight, searches)}),
        **card,
    }
    write_json(directory / CONFIG, config)  # also for the mode of its file

    # Files for sentence-transformers, which reads prompts and dimensions from here and not from config.json.
    prompts = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
    settings = SENTENCE_TRANSFORMERS | prompts | ({} if cut is None else {"truncate_dim": cut})
    write_json(directory / SETTINGS, settings)
    tensors: Tensors = {TABLE: table}

    # With factors of 1 it multiplies in float32. In float16 a text without a word would be 0 / 0.
    if table.dtype != np.float32:
        tensors[FACTORS] = np.ones(len(table), dtype=np.float16 if table.dtype == np.float16 else np.float32)
    if lexical is not None:
        tensors |= {STEMS: lexical.stems, IDF: lexical.idf}
    write_weights(directory, tensors)
    (directory / TOKENIZER).write_text(encoder.tokenizer.to_str(pretty=False), encoding="utf-8")
    dense = DenseFolders(directory, [], Digests(directory, None))
    if encoder.model.layer is not None:
        encoder.model.layer.save(dense)
    _write_modules(dense.folders, directory / MODULES)
    weights = [WEIGHTS, *(f"{folder}/{WEIGHTS}" for folder in dense.folders)]

    # The digests are known once the files are there, so config.json is written a second time.
    config[SHA256] = {name: sha256((directory / name).read_bytes()).hexdigest() for name in weights}
    write_json(directory / CONFIG, config)
    return config


def _described(lexical: LexicalChannel, weight: Weight, searches: float) -> dict[str, object]:
    """Describe a channel; the weight of searches is written where it is not that of long texts."""
    own = {} if searches == weight_of_long(weight) else {"search_weight": searches}
    return {"dimension": lexical.dimension, "weight": weight, **own}


def _write_modules(denses: list[str], target: Path) -> None:
    modules = [
        ("StaticEmbedding", ""),
        *(("Dense", folder) for folder in denses),
        ("Normalize", f"{len(denses) + 1}_Normalize"),
    ]
    rows = [
        {"idx": index, "name": str(index), "path": path, "type": MODULE_TYPES + name}
        for index, (name, path) in enumerate(modules)
    ]
    write_json(target, rows)
