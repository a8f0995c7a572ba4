"""The language of a document, identified by py3langid (naive Bayes over byte n-grams).

The guess is unreliable on little text: of the English sentences of UD EWT it takes 65% below 20 characters, 5% at 40 to
60 and 0.6% from 100 on for another language, so documents of less than SHORTEST characters are judged together.
More than SAMPLE characters change nothing (news: 3.5% of the documents are not English at 400 as at 1,000, mostly
tables of earnings and prices), and the time grows with them.

The library walks over the bytes in Python and takes 0.2 ms per document. So it is skipped if a quarter of the words of
the sample are stop words of the language. On a third of the news that saves five calls in six, and the library calls
all of those 5,808 documents English.
"""

from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from sentence_distillery.corpus.text import STOP_WORDS, tokenize
from sentence_distillery.corpus.words import are_stop_words
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.places import temporary_files

SHORTEST = 100
SAMPLE = 400
LONG_SAMPLE = 2_000  # of many short texts
SAMPLE_WORDS = 60
STOP_WORD_SHARE = 0.25


@cache
def _identifier() -> LanguageIdentifier:
    with temporary_files():  # it unpacks its model to a file of 68 MB
        return LanguageIdentifier.from_model_file(MODEL_FILE)


@cache
def check_language(language: str) -> None:
    """Raise InputError if py3langid does not know `language`, an ISO 639-1 code."""
    known = sorted(label for label in _identifier().labels if len(label) == 2)
    if language not in known:
        raise InputError(f"language '{language}' is unknown to py3langid; use one of {', '.join(known)}.")


def is_in_language(text: str, language: str, characters: int = SAMPLE) -> bool:
    """Tell whether `text`, by its first characters, is in `language`, or too short to tell."""
    if len(text) < SHORTEST:
        return True
    sample = text[:characters]
    return _is_plain(tokenize(sample), language) or _identifier().classify(sample)[0] == language


def are_plain(words: pa.StringArray, boundaries: NDArray[np.int64], language: str) -> NDArray[np.bool_]:
    """Mark the documents, (documents,) bool, whose first words tell the language; they lie between two `boundaries`."""
    lengths = np.minimum(np.diff(boundaries), SAMPLE_WORDS)
    ends = np.cumsum(lengths)
    sample = np.arange(lengths.sum()) + np.repeat(boundaries[:-1] - ends + lengths, lengths)
    stops = are_stop_words(words.take(pa.array(sample)), language).to_numpy(zero_copy_only=False).astype(np.int32)
    stop_counts = np.diff(np.concatenate([[0], np.cumsum(stops)])[ends], prepend=0)
    return np.asarray((lengths > 0) & (stop_counts >= STOP_WORD_SHARE * lengths))


def _is_plain(words: list[str], language: str) -> bool:
    stop_words = STOP_WORDS.get(language, frozenset())
    return bool(words) and sum(map(stop_words.__contains__, words)) >= STOP_WORD_SHARE * len(words)
