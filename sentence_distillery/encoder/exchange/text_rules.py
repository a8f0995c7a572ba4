"""How another library turns a text into tokens, where a model of its own is not read as this library's are.

                            sentence-transformers              model2vec
    prompt                  before the text                    none
    length of a text        `truncation` of tokenizer.json     `max_length` of config.json, else 512 tokens
    unknown tokens          count, with a vector               are left out
    tokens                  tokenizer.json, without special tokens and padding, in both

The package `tokenizers` applies tokenizer.json, whatever is in it, so such a model's tokens are those of its library.
That takes some ten times as long as the look-up of this library's own tokenizers (see `static_encoder`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer

from sentence_distillery.encoder.exchange.json_files import REMEDY
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import TokenIds

MODEL2VEC_LENGTH: Final = 512  # tokens, if config.json of model2vec has no max_length
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
        """Turn texts into tokens.

        Args:
            tokenizer: The model's tokenizer.
            texts: Texts without a lone surrogate.
            characters: As `median_length` gives it: with a `max_length`, so many characters for each token are read, as
                model2vec does before it cuts tokens.

        Returns:
            The ids of the tokens that count.

        Example:
            >>> from sentence_distillery.encoder.tokenizer import static_tokenizer
            >>> tokenizer = static_tokenizer(["[UNK]", "storm", "port"])
            >>> TextRules(0, 3).token_ids(tokenizer, ["Storm, port, storm", "port"], 9).ids.tolist()
            [1, 2, 2]
        """
        if self.max_length is not None:
            texts = [text[: self.max_length * characters] for text in texts]
        found = [encoding.ids[: self.max_length] for encoding in _encoded(tokenizer, texts)]
        tokens = TokenIds.from_lists(found)
        return tokens if self.left_out is None else tokens.without(self.left_out)


def _encoded(tokenizer: Tokenizer, texts: list[str]) -> Sequence[Any]:
    return tokenizer.encode_batch_fast(texts, add_special_tokens=False) if texts else []


def median_length(tokenizer: Tokenizer) -> int:
    """Compute the median number of characters in a token, as model2vec does.

    Example:
        >>> from sentence_distillery.encoder.tokenizer import static_tokenizer
        >>> median_length(static_tokenizer(["[UNK]", "a", "storm"]))
        5
    """
    return int(np.median([len(token) for token in tokenizer.get_vocab()]))


def unknown_id(tokenizer: Tokenizer) -> int | None:
    """Find the id of the unknown token, as model2vec does.

    Args:
        tokenizer: A tokenizer of any model: WordPiece, BPE, WordLevel or Unigram.

    Returns:
        The id, or None if there is no such token.

    Example:
        >>> from tokenizers.models import BPE
        >>> unknown_id(Tokenizer(BPE({"a": 0}, []))) is None
        True
    """
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    found: int | None = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return found


def model2vec_rules(tokenizer: Tokenizer, config: Path, given: object) -> TextRules:
    """Return the rules of a model that model2vec saved; the tokenizer no longer cuts texts itself.

    Args:
        tokenizer: Its tokenizer.
        config: The path of config.json, for an error.
        given: The `max_length` there.

    Returns:
        The rules.

    Raises:
        InputError: If `max_length` is not a number of tokens.

    Example:
        >>> from sentence_distillery.encoder.tokenizer import static_tokenizer
        >>> model2vec_rules(static_tokenizer(["[UNK]", "storm"]), Path("config.json"), 512)
        TextRules(left_out=0, max_length=512)
    """
    tokenizer.no_truncation()
    return TextRules(unknown_id(tokenizer), checked_length(given, config))


def checked_length(given: object, config: Path) -> int | None:
    """Check the `max_length` of config.json.

    Args:
        given: The value.
        config: The path of the file, for an error.

    Returns:
        The number of tokens, at least 1, or None.

    Raises:
        InputError: If it is anything else.

    Example:
        >>> checked_length(0, Path("config.json"))
        Traceback (most recent call last):
        sentence_distillery.io.errors.InputError: config.json: max_length is 0; it is a whole number from ...
    """
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InputError(f"{config}: max_length is {given!r}; it is a whole number from 1, or null. {REMEDY}")
    return given


def rules_of(described: object, config: Path, tokens: int) -> TextRules:
    """Read the rules that `save_pretrained` wrote for another library's model.

    Args:
        described: The entry of config.json.
        config: The path of the file, for an error.
        tokens: The number of tokens, above every id.

    Returns:
        The rules.

    Raises:
        InputError: If they are not rules.

    Example:
        >>> rules_of({"left_out": 1, "max_length": None}, Path("config.json"), 9)
        TextRules(left_out=1, max_length=None)
    """
    found = described if isinstance(described, dict) else {}
    left_out = found.get(LEFT_OUT)
    if found.keys() != {LEFT_OUT, MAX_LENGTH} or not (left_out is None or _is_id(left_out, tokens)):
        raise InputError(
            f"{config}: text_rules is {described!r}; it has the id {LEFT_OUT}, below {tokens:,}, and the number of "
            f"tokens {MAX_LENGTH}, or null for each. {REMEDY}"
        )
    return TextRules(left_out, checked_length(found[MAX_LENGTH], config))


def _is_id(value: object, tokens: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < tokens


def refuse_chance_and_gaps(path: Path, tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that draws by chance, or lacks its unknown token, which its own library notices late.

    Args:
        path: The file, for an error.
        tokenizer: The tokenizer.

    Raises:
        InputError: For BPE with dropout, and for an unknown token that the vocabulary lacks.

    Example:
        >>> from tokenizers.models import WordLevel
        >>> refuse_chance_and_gaps(Path("tokenizer.json"), Tokenizer(WordLevel({"storm": 0}, "[UNK]")))
        Traceback (most recent call last):
        sentence_distillery.io.errors.InputError: tokenizer.json: the unk_token of its model, '[UNK]', has no id ...
    """
    model = tokenizer.model
    if getattr(model, "dropout", None):
        raise InputError(f"{path}: the dropout of its model is {model.dropout:g}, so tokens are drawn; set it to null.")
    token = getattr(model, "unk_token", None)
    if token is not None and tokenizer.token_to_id(token) is None:
        raise InputError(f"{path}: the unk_token of its model, '{token}', has no id in its vocabulary. {REMEDY}")
