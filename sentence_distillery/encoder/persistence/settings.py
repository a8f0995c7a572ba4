"""config_sentence_transformers.json: prompts, and the dimensions that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sentence_distillery.encoder.exchange.prompts import NONE, Prompts
from sentence_distillery.encoder.persistence.json_files import read_object
from sentence_distillery.encoder.texts import is_whole
from sentence_distillery.io.errors import InputError

_SIMILARITIES: Final = ("cosine", "dot", "euclidean", "manhattan")


def read_settings(path: Path, applied: bool) -> tuple[Prompts, int | None]:
    """Read the prompts and `truncate_dim` of config_sentence_transformers.json, if there is one.

    `applied` says whether the library that saved the model applies this file; model2vec does not. Raises InputError if
    a value is of another type, is one that this library does not apply, or that the library that saved it ignores.
    """
    if not path.exists():
        return Prompts(), None
    content = read_object(path)
    _refuse_other(path, content)
    prompts, truncate_dim = _prompts(path, content), _truncate_dim(path, content.get("truncate_dim"))

    # A user of such a model would get other vectors than in the library that saved it.
    if not applied and (prompts.default is not None or truncate_dim is not None):
        raise InputError(
            f"{path} has a default_prompt_name or a truncate_dim, which sentence-transformers applies, and model2vec, "
            "which saved the model, does not. Set both to null, or save the model with sentence-transformers."
        )
    return prompts, truncate_dim


def _refuse_other(path: Path, content: Mapping[str, Any]) -> None:
    kind = content.get("model_type", "SentenceTransformer")
    if kind != "SentenceTransformer":
        raise InputError(f"{path}: model_type is {kind!r}; this library loads a SentenceTransformer.")
    similarity = content.get("similarity_fn_name")
    if similarity in _SIMILARITIES[1:]:
        raise InputError(
            f"{path}: similarity_fn_name is {similarity!r}, and this library compares by cosines alone; set it to "
            "'cosine' if these will do."
        )


def _prompts(path: Path, content: Mapping[str, Any]) -> Prompts:
    given, default = content.get("prompts"), content.get("default_prompt_name")
    if given is None:
        given = {}
    if not isinstance(given, dict) or not all(text is None or isinstance(text, str) for text in given.values()):
        raise InputError(f"{path}: prompts is {given!r}; it is an object with a text for each name.")
    named = NONE | {name: text or "" for name, text in given.items()}
    if default is not None and not (isinstance(default, str) and default in named):
        raise InputError(f"{path}: default_prompt_name is {default!r}; prompts has {', '.join(map(repr, named))}.")
    return Prompts(named, default)


def _truncate_dim(path: Path, dimension: Any) -> int | None:
    if dimension is None or is_whole(dimension, 1):
        return dimension
    raise InputError(f"{path}: truncate_dim is {dimension!r}; it is a whole number from 1, or null.")
