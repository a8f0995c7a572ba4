"""Write and read an encoder that was trained on pairs, in a directory that sentence-transformers loads too.

config.json, model.safetensors, tokenizer.json    as transformers saves them
modules.json, 1_Pooling/                          the pooling
pairs.json                                        how to decide with it: threshold, pooling, head if any
head.safetensors                                  the head's weights, if the score is not the cosine
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper2.pairs.about import ABOUT as ABOUT
from reproductions.paper2.pairs.about import About
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.options import Combination
from reproductions.paper2.pairs.training import PairModel
from sentence_distillery.io.artifacts import InputError, read_json, read_tensors, write_json
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder

HEAD = "head.safetensors"

MODULES = "sentence_transformers.models."  # names of every version since 3
SENTENCE_TRANSFORMERS = {
    "model_type": "SentenceTransformer",
    "prompts": {"query": "", "document": ""},
    "default_prompt_name": None,
    "similarity_fn_name": "cosine",
}


def write_model(model: PairModel, about: Mapping[str, Any], directory: Path) -> None:
    """Write a model.

    Args:
        model: the encoder, and its head if it has one.
        about: further entries of pairs.json, such as the threshold.
        directory: where the files go; an existing directory keeps its others.
    """
    encoder = model.encoder
    encoder.encoder.save(directory)
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
    rows = [{"idx": i, "name": str(i), "path": path, "type": MODULES + name} for i, (name, path) in enumerate(modules)]
    write_json(directory / "modules.json", rows)
    write_json(directory / "config_sentence_transformers.json", SENTENCE_TRANSFORMERS)
    longest = encoder.encoder.maximum_length
    write_json(directory / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})
    pooling = {f"pooling_mode_{name}_tokens": encoder.pooling is known for name, known in _POOLINGS.items()}
    pooling["pooling_mode_cls_token"] = pooling.pop("pooling_mode_cls_tokens")
    write_json(directory / "1_Pooling/config.json", {"word_embedding_dimension": encoder.dimension, **pooling})
    head = None
    if model.head is not None:
        head = model.head.combination.value
        save_file(
            {name: tensor.contiguous().cpu() for name, tensor in model.head.state_dict().items()}, directory / HEAD
        )
    facts = {"pooling": encoder.pooling.value, "maximum_length": longest, "head": head, **about}
    write_json(directory / ABOUT, facts)


_POOLINGS = {"mean": Pooling.MEAN, "max": Pooling.MAX, "cls": Pooling.CLS}


def read_model(directory: Path) -> tuple[PairModel, dict[str, Any]]:
    """Read a model, and the content of its pairs.json.

    Raises:
        InputError: the directory has no model of pairs, or a file is damaged.
    """
    if not (directory / ABOUT).is_file():
        raise InputError(
            f"{directory} has no {ABOUT}, so it is not a model of pairs; give the directory of a trained one."
        )
    about: dict[str, Any] = read_json(directory / ABOUT, About)
    reference = Teacher(
        reference=str(directory), revision=None, sha256=None, maximum_length=int(about["maximum_length"])
    )
    encoder = PairEncoder(load_encoder(reference), Pooling(about["pooling"]))
    return PairModel(encoder, _read_head(directory, about, encoder.dimension)), about


def _read_head(directory: Path, about: Mapping[str, Any], dimension: int) -> LogisticHead | None:
    """Read the head; None if the score is the cosine."""
    if about["head"] is None:
        return None
    head = LogisticHead(dimension, Combination(about["head"]), seed=0)
    shapes = {name: tuple(tensor.shape) for name, tensor in head.state_dict().items()}
    weights = read_tensors(directory / HEAD, shapes)
    head.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return head
