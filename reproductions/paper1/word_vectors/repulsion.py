"""Measure the effect of paper 1's Algorithm 1 on word vectors, over learning rates and iterations.

A point for each of them: how far the vectors have moved, and the Spearman correlation of human ratings with the cosines
of mean vectors, on the first set of CHOICES that is present. If none is present, there are no points.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import torch

from reproductions.paper1.word_vectors import kld
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import Refine, Repulsion
from reproductions.paper1.word_vectors.refinement import draw
from reproductions.paper1.word_vectors.weighting import Weighting, frequencies, token_weights
from sentence_distillery.corpus.text import content_tokens, tokenize
from sentence_distillery.evaluation.protocols.similarity import correlations, cosines
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet, Split
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.runtime.progress import track
from sentence_distillery.training.trainer import DivergedError

CHOICES: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("lee", "test"), ("samples", "dev"))


@dataclass(frozen=True)
class Point:
    """After `iteration` passes at `learning_rate`; `displacement` as in kld, `spearman` in [-1, 1]."""

    learning_rate: float
    iteration: int
    displacement: float
    spearman: float


def development_pairs(data: BenchmarkData) -> PairSet | None:
    """Read the first of CHOICES that is present."""
    present = data.available("pairs")
    return next((data.pairs(name, split) for name, split in CHOICES if name in present), None)


def sides(pairs: PairSet, tokens: Literal["all", "content"], index: Mapping[str, int]) -> tuple[TokenIds, TokenIds]:
    """Look up both sentences of each pair."""
    kept = content_tokens if tokens == "content" else list
    left, right = (
        TokenIds.from_words((kept(tokenize(text)) for text in side), index)
        for side in (pairs.sentences1, pairs.sentences2)
    )
    return left, right


def course(
    model: WordVectors, batches: list[kld.Batch], learning_rate: float, iterations: list[int]
) -> list[tuple[int, float, Floats]]:
    """Return each of `iterations` with displacement and float32 vectors, up to a loss that is not finite."""
    vectors = torch.from_numpy(model.vectors).double()
    reached = [(0, 0.0, model.vectors)] if 0 in iterations else []

    def watch(step: kld.Iteration) -> None:
        if step.iteration in iterations:
            reached.append((step.iteration, step.displacement, vectors.float().numpy()))

    with suppress(DivergedError):  # the curve shows that training ends here
        kld.refine(vectors, batches, learning_rate, max(1, *iterations), watch)
    return reached


def sweep(
    model: WordVectors,
    corpus: TokenIds,
    pairs: tuple[TokenIds, TokenIds],
    ratings: Floats,
    grid: Repulsion,
    params: Refine,
) -> Iterator[Point]:
    """Run Algorithm 1 over the learning rates and iterations of a grid.

    Args:
        model: the vectors that each run starts from.
        corpus: the corpus as ids of `model`'s words.
        pairs: both sides of the rated pairs as such ids.
        ratings: human ratings of the pairs, (pairs,) float32.
        grid: learning rates and iterations.
        params: all other settings of Algorithm 1.

    Returns:
        A point for each learning rate and iteration; none after a loss that is not finite, or if Spearman is undefined.
    """
    weights = token_weights(Weighting.TF_IDF, frequencies(corpus, len(model.words)))
    batches = kld.batches(draw(corpus, params), weights, params.batch_size)
    left, right = pairs
    for rate in track(grid.learning_rates, len(grid.learning_rates), "learning rates"):
        for iteration, displacement, vectors in course(model, batches, rate, grid.iterations):
            spearman = correlations(cosines(left.means(vectors), right.means(vectors)), ratings)["spearman"]
            if isinstance(spearman, float):
                yield Point(rate, iteration, displacement, spearman)


def write_points(target: Path, points: list[Point]) -> None:
    """Write a CSV row for each point."""
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Point)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
