"""FastText vectors of a corpus, trained by gensim: skip-gram over words and their character n-grams.

    x_w = (z_w + sum_{g in G_w} z_g) / (1 + |G_w|)      a word of the vocabulary
    x_w = sum_{g in G_w} z_g / |G_w|                    any other word

G_w are the n-grams of `<w>`, from `minimum_n` to `maximum_n` characters (Bojanowski et al. 2017, section 3.2; means in
place of sums, as in gensim). All n-grams share `buckets` vectors by their hash, which bounds the model. One worker
and one seed give the same bytes in every process.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gensim.models import FastText
from gensim.models.fasttext import ft_ngram_hashes
from numpy.typing import NDArray

from reproductions.paper1.word_vectors.model import CONFIG, Shape, WordVectors
from reproductions.paper1.word_vectors.options import Fasttext
from reproductions.paper1.word_vectors.skipgram import Epochs, WordCounts
from sentence_distillery.io.artifacts import InputError, read_json, read_tensors
from sentence_distillery.io.options import Count

NGRAMS = "ngrams.safetensors"


class Subwords(Shape):
    """How words are cut into n-grams, as config.json has it."""

    buckets: Count
    minimum_n: Count
    maximum_n: Count


@dataclass(frozen=True, eq=False)
class SubwordVectors:
    """Word vectors, and ngrams (buckets, dimension) float32 that compose the vectors of other words."""

    model: WordVectors
    ngrams: NDArray[np.float32]
    minimum_n: int
    maximum_n: int

    def extended(self, words: Iterable[str]) -> WordVectors:
        """Return the vocabulary and, after it, each other word of `words` that has an n-gram, with a count of 1."""
        spans = {word: self._buckets(word) for word in dict.fromkeys(words) if word not in self.model.index}
        new = {word: buckets for word, buckets in spans.items() if buckets}
        composed = np.empty((len(new), self.model.dimension), dtype=np.float32)
        for row, buckets in enumerate(new.values()):
            composed[row] = self.ngrams[buckets].mean(axis=0)
        return WordVectors(
            [*self.model.words, *new],
            np.concatenate([self.model.counts, np.ones(len(new), dtype=np.int64)]),
            np.concatenate([self.model.vectors, composed]),
        )

    def _buckets(self, word: str) -> list[int]:
        return list(ft_ngram_hashes(word, self.minimum_n, self.maximum_n, len(self.ngrams)))

    @classmethod
    def load(cls, directory: Path) -> "SubwordVectors":
        """Read and check a model.

        Raises:
            InputError: a file is missing or damaged, or a value is not finite.
        """
        model, config = WordVectors.load(directory), read_json(directory / CONFIG, Subwords)
        ngrams = read_tensors(directory / NGRAMS, {"ngrams": (config["buckets"], model.dimension)})["ngrams"]
        if not np.isfinite(ngrams).all():
            raise InputError(f"{directory / NGRAMS} has a value that is not finite; train it again.")
        return cls(model, ngrams, config["minimum_n"], config["maximum_n"])


def train(directory: Path, params: Fasttext, counts: WordCounts) -> SubwordVectors:
    """Train FastText vectors.

    Args:
        directory: the cleaned corpus, `part-*.parquet`.
        params: how to train.
        counts: the result of `skipgram.count_corpus` for the same directory.

    Returns:
        Vectors of the words that occur `minimum_count` times, (words, dimension) float32, and of their n-grams,
        (buckets, dimension) float32.

    Raises:
        InputError: a part cannot be read.
    """
    model = FastText(
        sg=1,
        vector_size=params.dimension,
        window=params.window,
        min_count=params.minimum_count,
        negative=params.negative,
        min_n=params.minimum_n,
        max_n=params.maximum_n,
        bucket=params.buckets,
        seed=params.seed,
        workers=params.workers,
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
    vectors = WordVectors(words, np.array([counts.words[word] for word in words], dtype=np.int64), model.wv.vectors)
    return SubwordVectors(vectors, model.wv.vectors_ngrams, params.minimum_n, params.maximum_n)
