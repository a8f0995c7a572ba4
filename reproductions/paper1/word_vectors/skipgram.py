"""Skip-gram word vectors of a corpus (paper 1, section 3.1), trained by gensim.

One worker and one seed give the same bytes in every process. Words rarer than `minimum_count` get no vector.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

from reproductions.paper1.word_vectors.corpus import read_sentences
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import Skipgram
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.runtime.progress import track


class Epochs(CallbackAny2Vec):  # type: ignore[misc]  # gensim has no types
    """The corpus as gensim reads it, once per epoch, while progress is shown.

    gensim reads it in a separate thread, where an error would leave training waiting for ever. So an error ends the
    sentences instead, and is raised when the epoch is over.
    """

    def __init__(self, directory: Path, params: Skipgram) -> None:
        self.directory = directory
        self.params = params
        self.epochs = track(range(params.epochs), params.epochs, "epochs")
        next(self.epochs)
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[list[str]]:
        try:
            yield from read_sentences(self.directory, self.params.tokens)
        except Exception as error:
            self.failure = error

    def on_epoch_end(self, model: Word2Vec) -> None:
        if self.failure is not None:
            raise self.failure
        next(self.epochs, None)


@dataclass(frozen=True)
class WordCounts:
    """The count of each word in a corpus, and the number of its `sentences`."""

    words: Counter[str]
    sentences: int

    def rare(self, minimum_count: int) -> int:
        """Return how many words occur less often than `minimum_count`."""
        return sum(count < minimum_count for count in self.words.values())


def count_words(sentences: Iterable[list[str]]) -> WordCounts:
    """Count the words of `sentences`."""
    counts: Counter[str] = Counter()
    total = 0
    for words in sentences:
        counts.update(words)
        total += 1
    return WordCounts(counts, total)


def count_corpus(directory: Path, params: Skipgram) -> WordCounts:
    """Count the words of a corpus that training will use.

    Args:
        directory: the cleaned corpus, `part-*.parquet`.
        params: `tokens` says which words count, `minimum_count` which of them get a vector.

    Raises:
        InputError: a part cannot be read, or no word is frequent enough for a vector.
    """
    counts = count_words(read_sentences(directory, params.tokens))
    if counts.rare(params.minimum_count) == len(counts.words):
        raise InputError(
            f"{directory} has {len(counts.words)} words in {counts.sentences} sentences, none of them "
            f"{params.minimum_count} times; lower minimum_count or add more text."
        )
    return counts


def stable_hash(text: str) -> int:
    """Hash a text like Python's own hash, but equally in every process."""
    return zlib.crc32(text.encode("utf-8", errors="surrogatepass"))


def train(directory: Path, params: Skipgram, counts: WordCounts) -> WordVectors:
    """Train skip-gram vectors.

    Args:
        directory: the cleaned corpus, `part-*.parquet`.
        params: how to train.
        counts: the result of `count_corpus` for the same directory.

    Returns:
        A (words, dimension) float32 vector for each word that occurs `minimum_count` times, most frequent first.

    Raises:
        InputError: a part cannot be read.
    """
    model = Word2Vec(
        sg=1,
        vector_size=params.dimension,
        window=params.window,
        min_count=params.minimum_count,
        negative=params.negative,
        seed=params.seed,
        workers=params.workers,
        hashfxn=stable_hash,
    )
    model.build_vocab_from_freq(counts.words, corpus_count=counts.sentences)
    epochs = Epochs(directory, params)
    model.train(
        epochs,
        total_examples=counts.sentences,
        total_words=counts.words.total(),
        epochs=params.epochs,
        callbacks=[epochs],
    )
    words = list(model.wv.index_to_key)
    return WordVectors(words, np.array([counts.words[word] for word in words], dtype=np.int64), model.wv.vectors)
