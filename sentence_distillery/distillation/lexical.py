"""Give a static student a lexical channel: which stem each token has, and in how few texts this stem occurs.

What the channel computes of a text is in `sentence_distillery.encoder.lexical`. What a search gains from it, similarity
loses: "heart attack" and "cardiac arrest" share nothing.
"""

import numpy as np

from sentence_distillery.encoder.lexical import (
    GREATEST_DIMENSION,
    PLACES,
    LexicalChannel,
    Weight,
    is_dimension,
    stem_hash,
)
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


def with_lexical_channel(
    encoder: StaticEncoder,
    texts: TokenIds,
    dimension: int,
    weight: Weight,
    language: str,
    search_weight: float | None = None,
) -> StaticEncoder:
    """Add dimensions in which texts that share words are close, to an encoder without layers after its sum.

    Document frequencies are counted in `texts`, its token ids. `dimension` is a multiple of 8 up to 65,536, `weight`
    the length of the channel relative to the rest, from 0 to 1,000, or those in short and in long texts; 0 leaves it
    out until an encoder is loaded with another weight. `search_weight` is that of `encode_query` and
    `encode_document`; None has that of long texts. Words of a `language` (ISO 639-1) without a Snowball stemmer are
    taken as they are.

    Raises InputError if the encoder has layers, the dimension is not such a multiple, or no text has a known word.
    """
    if encoder.linear is not None or encoder.hidden is not None:
        raise InputError("A lexical channel is added to a table of token vectors, but this encoder has layers.")
    if not is_dimension(dimension):
        raise InputError(
            f"A lexical channel has a multiple of {PLACES} dimensions, up to {GREATEST_DIMENSION:,}, but {dimension:,} "
            "are asked for."
        )

    # Unknown words have one id and are different words, so they would count as shared.
    texts = texts.without(UNKNOWN_ID)
    if not len(texts.ids):
        raise InputError("No text has a known word, so no document frequency is known; bring more text.")

    # Tokens of one stem share a place: ports and port are one word to a search.
    words = [word for word, _ in sorted(encoder.tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    hashes = np.array([stem_hash(stem) for stem in stems(words, language)], dtype=np.int32)
    names, places = np.unique(hashes, return_inverse=True)
    stemmed = TokenIds(places[texts.ids].astype(np.int32), texts.offsets)
    idf = inverse_document_frequencies(stemmed, len(names))[places]
    idf[UNKNOWN_ID] = 0
    return StaticEncoder(
        encoder.tokenizer,
        encoder.stored,
        step=encoder.step,
        made_from=encoder.made_from,
        lexical=LexicalChannel(hashes, idf, dimension),
        lexical_weight=weight,
        search_weight=search_weight,
    )


def inverse_document_frequencies(texts: TokenIds, count: int) -> Floats:
    """Return log((1 + texts) / (1 + texts that have the stem)), (count,) float32, of the numbers of their stems.

    Example:
        >>> inverse_document_frequencies(TokenIds.from_lists([[0, 1], [0, 0]]), 3).astype(float).round(3).tolist()
        [0.0, 0.405, 1.099]
    """
    found = np.unique(texts.owners * count + texts.ids) % count
    having = np.bincount(found, minlength=count)
    return np.log((1 + len(texts)) / (1 + having)).astype(np.float32)


def stems(words: list[str], language: str) -> list[str]:
    """Stem words of a language; pieces of words, and those of a language without a stemmer, are taken as they are."""
    if language not in SNOWBALL:
        return words
    import snowballstemmer  # only a channel needs it

    stemmer = snowballstemmer.stemmer(SNOWBALL[language])
    return [stemmer.stemWord(word) if word == bare(word) else word for word in words]
