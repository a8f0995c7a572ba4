"""Coverage of texts by an encoder: words with a token of their own, and texts without any known token."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer

from sentence_distillery.encoder.tokenizer import SPLITTER, is_punctuation
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Figure, Unavailable

UNKNOWN = ("[UNK]", "<unk>")
NO_TOKENIZER = Unavailable("it has no tokenizer of the library tokenizers")
NO_WORDS = Unavailable("the texts have no words")


def words_cut(tokenizer: Tokenizer | None, texts: Sequence[str]) -> Figure:
    """Return the share of words, in [0, 1], that are not one token: cut into pieces, or unknown.

    Words count as often as they occur; punctuation is not a word. The tokenizer is None if the encoder has none.
    """
    if tokenizer is None:
        return NO_TOKENIZER
    counts = Counter(word for text in texts for word, _ in SPLITTER.pre_tokenize_str(text) if not is_punctuation(word))
    if not counts:
        return NO_WORDS
    whole = {word for word, one in zip(counts, _one_token(tokenizer, list(counts)), strict=True) if one}
    return sum(count for word, count in counts.items() if word not in whole) / counts.total()


def _one_token(tokenizer: Tokenizer, words: list[str]) -> list[bool]:
    """Tell for each word whether it is one known token, at the start of a text or after a blank."""
    unknown = {tokenizer.token_to_id(token) for token in UNKNOWN}
    given = (words, [f" {word}" for word in words])
    forms = [[each.ids for each in tokenizer.encode_batch_fast(form, add_special_tokens=False)] for form in given]
    return [any(len(ids) == 1 and ids[0] not in unknown for ids in both) for both in zip(*forms, strict=True)]


def unknown_texts(vectors: Floats) -> float:
    """Return the share of (texts, dimension) vectors, in [0, 1], that are zero, since no token is known."""
    return float((~np.any(vectors, axis=1)).mean())


def tokenizer_of(encoder: object) -> Tokenizer | None:
    """Return the tokenizer of an encoder of this library, model2vec, sentence-transformers or transformers, or None."""
    found = getattr(encoder, "tokenizer", None)
    found = getattr(found, "backend_tokenizer", found)
    return found if isinstance(found, Tokenizer) else None
