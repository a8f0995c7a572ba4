"""Measure the cost of comparing every two of 10,000 sentences (paper 2, section 3.3).

    joined      a cross-encoder: n (n - 1) / 2 = 49,995,000 runs of the encoder, one for each pair
    alone       a bi-encoder: n = 10,000 runs, and the cosines of all pairs as one matrix product
    student     the same with a static encoder

An encoding is timed three times on a sample of sentences, the matrix product once in full. The total is runs times the
seconds of one run.
"""

from collections.abc import Callable

import numpy as np

from reproductions.encoders.trainable import PairEncoder
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.runtime.stopwatch import Work, timed

CORPUS = 10_000  # sentences, as in the paper
REPEATS = 3  # of an encoding
BLOCK = 1000  # rows of the matrix product at a time

Entry = dict[str, float | int | str]


def transformer_costs(encoder: PairEncoder, texts: list[str]) -> list[Entry]:
    """Measure an encoder as a cross-encoder and as a bi-encoder on a sample of sentences.

    Args:
        encoder: the encoder.
        texts: two sentences or more.

    Returns:
        For each its `system`, its `runs`, runs `per_second`, seconds of the `comparison`, and `seconds` of everything.
    """
    pairs, sentences = encoder.tokens(texts, texts[::-1]), encoder.tokens(texts)
    crossed = median(lambda: encoder.embed(pairs))
    vectors = encoder.embed(sentences)
    single = median(lambda: encoder.embed(sentences))
    return [
        entry("joined", CORPUS * (CORPUS - 1) // 2, len(texts), crossed, 0.0),
        entry("alone", CORPUS, len(texts), single, comparison(vectors)),
    ]


def static_cost(encode: Callable[[list[str]], Floats], texts: list[str]) -> Entry:
    """Measure a static encoder on CORPUS sentences, as `transformer_costs`; `encode` gives (texts, dimension)."""
    vectors = encode(texts)
    many = [texts[row % len(texts)] for row in range(CORPUS)]
    return entry("student", CORPUS, CORPUS, median(lambda: encode(many)), comparison(vectors))


def median(work: Work) -> float:
    """Return the median seconds of REPEATS runs."""
    return timed(work, REPEATS).median


def comparison(vectors: Floats) -> float:
    """Return the seconds for the cosines of all pairs of CORPUS sentences, vectors (texts, dimension) repeated."""
    corpus = unit_rows(np.resize(vectors, (CORPUS, vectors.shape[1])))

    def work() -> None:
        for start in range(0, CORPUS, BLOCK):
            corpus[start : start + BLOCK] @ corpus.T

    return timed(work).median


def entry(system: str, runs: int, sample: int, run: float, compare: float) -> Entry:
    """Return the figures of a system; `run` is the seconds of the whole sample."""
    total = runs * run / sample + compare
    return {"system": system, "runs": runs, "per_second": sample / run, "comparison": compare, "seconds": total}
