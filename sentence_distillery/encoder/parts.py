"""A model from its parts, under the names that pickles and the constructor of an encoder have for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from sentence_distillery.encoder.exchange.prompts import Prompts
from sentence_distillery.encoder.exchange.text_rules import TextRules
from sentence_distillery.encoder.layers import Hidden, Layer, Linear
from sentence_distillery.encoder.lexical import LexicalChannel
from sentence_distillery.encoder.model import Model, Table
from sentence_distillery.encoder.native.vocabulary import Vocabulary
from sentence_distillery.encoder.persistence.tokenizer_file import TokenizerFile, read_tokenizer_file
from sentence_distillery.encoder.tokens import InMemory, Source, Tokens
from sentence_distillery.io.ragged import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Arrays = tuple[Floats, Floats]


def model_of(
    tokenizer: Tokenizer | Path | bytes,
    stored: NDArray[Any],
    linear: Arrays | None = None,
    step: float | None = None,
    vocabulary: Vocabulary | None = None,
    hidden: Arrays | None = None,
    *,
    made_from: Mapping[str, object] | None = None,
    lexical: LexicalChannel | None = None,
    rules: TextRules | None = None,
    prompts: Prompts | None = None,
    card: str | None = None,
) -> Model:
    """Put a model together; `StaticEncoder` says what each part is. Raises ValueError if two exclude each other."""
    if linear is not None and hidden is not None:
        raise ValueError("linear and hidden exclude each other; give one of them.")
    layer: Layer | None = None if hidden is None else Hidden(*hidden)
    if linear is not None:
        layer = Linear(*linear)

    source: Source
    match tokenizer:
        case Path():
            source = read_tokenizer_file(tokenizer)
        case bytes():
            source = TokenizerFile("The content of a pickled model", tokenizer)
        case _:
            source = InMemory(tokenizer)
    return Model(
        Tokens(source, rules, vocabulary, of_means=linear is not None),
        Table(stored, step),
        layer,
        lexical,
        prompts=prompts or Prompts(),
        made_from=made_from or {},
        card=card,
    )
