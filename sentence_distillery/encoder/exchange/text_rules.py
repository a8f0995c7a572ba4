"""Rules by which a text becomes the tokens of another library; `persistence.text_source` says whose rules are which."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sentence_distillery.io.ragged import TokenIds

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LEFT_OUT: Final = "left_out"
MAX_LENGTH: Final = "max_length"


class TextRules(NamedTuple):
    """Rules by which a text becomes tokens.

    Attributes:
        left_out: The id of the token that is left out, the unknown one of model2vec; None leaves out none.
        max_length: The greatest number of tokens that are read, at least 1; None reads all.
    """

    left_out: int | None = None
    max_length: int | None = None

    def token_ids(self, tokenizer: Tokenizer, texts: list[str], characters: int) -> TokenIds:
        """Turn texts without a lone surrogate into the ids of the tokens that count.

        `characters` is what `median_length` gives: with a `max_length`, so many characters for each token are read, as
        model2vec does before it cuts tokens.
        """
        if self.max_length is not None:
            texts = [text[: self.max_length * characters] for text in texts]
        found = [encoding.ids[: self.max_length] for encoding in _encoded(tokenizer, texts)]
        tokens = TokenIds.from_lists(found)
        return tokens if self.left_out is None else tokens.without(self.left_out)


def _encoded(tokenizer: Tokenizer, texts: list[str]) -> Sequence[Any]:
    return tokenizer.encode_batch_fast(texts, add_special_tokens=False) if texts else []


def median_length(tokenizer: Tokenizer) -> int:
    """Compute the median number of characters in a token, as model2vec does."""
    return int(np.median([len(token) for token in tokenizer.get_vocab()]))


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Find the id of the unknown token of any tokenizer, as model2vec does; None if there is none."""
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    found: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return found
