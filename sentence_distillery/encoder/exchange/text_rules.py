"""Rules by which a text becomes the tokens of another library; `persistence.text_source` says whose rules are which."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sentence_distillery.io.errors import InputError, one_line
from sentence_distillery.io.ragged import TokenIds

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LEFT_OUT: Final = "left_out"
MAX_LENGTH: Final = "max_length"


@dataclass(frozen=True)
class TextRules:
    """Rules by which a text becomes tokens.

    Attributes:
        left_out: The id of the token that is left out, the unknown one of model2vec; None leaves out none.
        max_length: The greatest number of tokens that are read, at least 1; None reads all.
    """

    left_out: int | None = None
    max_length: int | None = None

    def token_ids(self, tokenizer: Tokenizer, texts: list[str], characters: int) -> TokenIds:
        """Turn texts without a lone surrogate into the ids of the tokens that count.

        `characters` is the median length of a token: with a `max_length`, so many characters for each token are read,
        as model2vec does before it cuts tokens. Raises InputError for an unknown word if the tokenizer has no token for
        it.
        """
        if self.max_length is not None:
            texts = [text[: self.max_length * characters] for text in texts]
        try:
            found = tokenizer.encode_batch_fast(texts, add_special_tokens=False) if texts else []
        except Exception as error:  # tokenizers raises plain Exception
            raise InputError(
                f"The model's tokenizer cannot cut these texts: {one_line(error)}. Give its model an unknown token, "
                "and save the model again."
            ) from error
        tokens = TokenIds.from_lists(encoding.ids[: self.max_length] for encoding in found)
        return tokens if self.left_out is None else tokens.without(self.left_out)


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Find the id of the unknown token of any tokenizer, as model2vec does; None if there is none."""
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    found: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return found
