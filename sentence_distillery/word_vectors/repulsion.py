"""Stage `repulsion`: what Algorithm 1 of paper 1 does to word vectors, over learning rates and iterations.

A row for each of them: how far the vectors have moved, and the Spearman correlation of people's scores with cosines of
mean vectors, on the first of CHOICES that is present; where none is, there are no rows.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Literal

import torch

from sentence_distillery.benchmarks.data import PairSet, Split, available, load_pairs
from sentence_distillery.corpus.text import content_tokens, tokenize
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.word_vectors import kld
from sentence_distillery.word_vectors.model import WordVectors

CURVE = Path("reports/curves/repulsion.csv")
CHOICES: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("lee", "test"), ("samples", "dev"))


@dataclass(frozen=True)
class Point:
    """After `iteration` passes at `learning_rate`; `displacement` as in kld, `spearman` in [-1, 1]."""

    learning_rate: float
    iteration: int
    displacement: float
    spearman: float


def benchmark() -> PairSet | None:
    """The first of CHOICES that is present."""
    present = available(kind="pairs")
    return next((load_pairs(name, split) for name, split in CHOICES if name in present), None)


def sides(pairs: PairSet, tokens: Literal["all", "content"], index: Mapping[str, int]) -> list[TokenIds]:
    """Both sentences of each pair as token ids."""
    kept = content_tokens if tokens == "content" else list
    return [
        TokenIds.from_words((kept(tokenize(text)) for text in side), index)
        for side in (pairs.sentences1, pairs.sentences2)
    ]


def course(
    model: WordVectors, batches: list[kld.Batch], learning_rate: float, iterations: list[int]
) -> Iterator[tuple[int, float, Floats]]:
    """Each of `iterations` with the displacement and the vectors, float32; ends early where the loss is not finite."""
    vectors = torch.from_numpy(model.vectors).double()
    if 0 in iterations:
        yield 0, 0.0, model.vectors
    try:
        for step in kld.refine(vectors, batches, learning_rate, max(1, *iterations)):
            if step.iteration in iterations:
                yield step.iteration, step.displacement, vectors.float().numpy()
    except kld.NonFiniteLossError:
        return  # that it ends here is what is to be shown


def write_points(target: Path, points: list[Point]) -> None:
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Point)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)
