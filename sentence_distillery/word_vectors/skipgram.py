"""Stage: skip-gram word vectors of the corpus (paper 1, section 3.1), trained by gensim.

One worker and one seed give the same bytes in every process. Words rarer than `skipgram.minimum_count` get no vector.
"""

import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

from sentence_distillery.word_vectors.corpus import read_sentences
from sentence_distillery.word_vectors.model import WordVectors
from sentence_distillery.word_vectors.options import Skipgram

log = logging.getLogger("stages")


class Epochs(CallbackAny2Vec):  # type: ignore[misc]  # gensim has no types
    """The corpus as gensim reads it, once an epoch, and a line in the log after each.

    gensim reads it in a thread of its own, where an error would leave training waiting for ever: the error ends the
    sentences instead, and is raised when the epoch is over.
    """

    def __init__(self, directory: Path, params: Skipgram) -> None:
        self.directory = directory
        self.params = params
        self.done = 0
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[list[str]]:
        try:
            yield from read_sentences(self.directory, self.params.tokens)
        except Exception as error:
            self.failure = error

    def on_epoch_end(self, model: Word2Vec) -> None:
        if self.failure is not None:
            raise self.failure
        self.done += 1
        log.info("epoch %d of %d", self.done, self.params.epochs)


def count_words(sentences: Iterable[list[str]]) -> tuple[Counter[str], int]:
    """How often each word occurs, and the number of sentences."""
    counts: Counter[str] = Counter()
    total = 0
    for words in sentences:
        counts.update(words)
        total += 1
    return counts, total


def stable_hash(text: str) -> int:
    """Stands in for Python's own hash, which differs from process to process."""
    return zlib.crc32(text.encode("utf-8", errors="surrogatepass"))


def train(directory: Path, params: Skipgram, counts: Counter[str], sentences: int) -> WordVectors:
    """Train on the parts in `directory`, whose words occur `counts` times in so many `sentences`."""
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
    model.build_vocab_from_freq(counts, corpus_count=sentences)
    epochs = Epochs(directory, params)
    model.train(epochs, total_examples=sentences, total_words=counts.total(), epochs=params.epochs, callbacks=[epochs])
    words = list(model.wv.index_to_key)
    return WordVectors(words, np.array([counts[word] for word in words], dtype=np.int64), model.wv.vectors)
