"""A lexical channel: further dimensions in which two texts are close if they share words.

    x_w' = (x_w, weight * idf(s) * r_s)      s: the stem of w, r_s: a random unit vector, the same for each s

Vectors of different stems are nearly orthogonal, so the added dimensions make the product of two texts grow with the
words that they share, each by its inverse document frequency, as in TF-IDF. What a search gains from it, similarity
loses: "heart attack" and "cardiac arrest" share nothing. The model stays a table of token vectors.

`weight` is relative: 1 makes the added part of an average text as long as the rest of it. For random projections of
words see Achlioptas 2003.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID, bare
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats, TokenIds

SNOWBALL = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
SAMPLE = 20_000  # texts whose lengths are averaged


def with_lexical_channel(
    encoder: StaticEncoder, texts: TokenIds, dimension: int, weight: float, language: str
) -> StaticEncoder:
    """Add dimensions in which texts that share words are close.

    Args:
        encoder: A static encoder without layers after its sum.
        texts: Texts as its token ids, that document frequencies are counted in.
        dimension: The number of dimensions to add.
        weight: Of the added part of a text, relative to the rest.
        language: ISO 639-1 code; words of a language without a Snowball stemmer are taken as they are.

    Returns:
        An encoder of the same vocabulary, with `encoder.dimension + dimension` dimensions in float32.

    Raises:
        InputError: If the encoder has layers, or no text has a known word.
    """
    if encoder.linear is not None or encoder.hidden is not None:
        raise InputError("A lexical channel is added to a table of token vectors, but this encoder has layers.")
    texts = texts.without(UNKNOWN_ID)
    words = [word for word, _ in sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    stems = _stems(words, language)
    names, places = np.unique(stems, return_inverse=True)
    rarity = inverse_document_frequencies(places[texts.ids], texts.offsets, len(names))
    added = (rarity[:, None] * np.stack([direction(name, dimension) for name in names]))[places].astype(np.float32)
    added[UNKNOWN_ID] = 0
    sample = texts.take(range(min(SAMPLE, len(texts))))
    own, lexical = (float(np.linalg.norm(sample.sums(table), axis=1).mean()) for table in (encoder.table, added))
    if not lexical:
        raise InputError("No text has a known word, so no document frequency is known; bring more text.")
    return StaticEncoder(encoder.tokenizer, np.concatenate([encoder.table, added * (weight * own / lexical)], axis=1))


def inverse_document_frequencies(stems: NDArray[np.int64], offsets: NDArray[np.int64], count: int) -> Floats:
    """Return log((1 + texts) / (1 + texts that have the stem)), (count,) float32.

    Args:
        stems: Of the words of all texts, end to end, (words,).
        offsets: Where each text begins, and the end of the last one, (texts + 1,).
        count: The number of stems.

    Example:
        >>> inverse_document_frequencies(np.array([0, 1, 0, 0]), np.array([0, 2, 4]), 3).round(3).tolist()
        [0.0, 0.405, 1.099]
    """
    texts = len(offsets) - 1
    owners = np.repeat(np.arange(texts), np.diff(offsets))
    found = np.unique(np.stack([owners, stems]), axis=1)[1]
    having = np.bincount(found, minlength=count)
    return np.log((1 + texts) / (1 + having)).astype(np.float32)


def direction(stem: str, dimension: int) -> Floats:
    """Return the random direction of a stem, (dimension,) float32 of unit length: the same in each encoder."""
    seed = int.from_bytes(hashlib.sha256(stem.encode()).digest()[:8], "big")
    drawn = np.random.default_rng(seed).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def _stems(words: list[str], language: str) -> list[str]:
    """Stem words; the pieces of words are taken as they are."""
    if language not in SNOWBALL:
        return words
    import snowballstemmer  # only a channel needs it

    stemmer = snowballstemmer.stemmer(SNOWBALL[language])
    return [stemmer.stemWord(word) if word == bare(word) else word for word in words]
