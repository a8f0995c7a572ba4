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

from stages.artifacts import atomic_file
from stages.benchmarks.data import PairSet, Split, available, load_pairs
from stages.benchmarks.similarity import correlations, cosines
from stages.corpus.text import content_tokens, tokenize
from stages.progress import track
from stages.ragged import Floats, TokenIds
from stages.stage import stage
from stages.vectors import kld
from stages.vectors.corpus import SENTENCES, read_sentences
from stages.vectors.model import SKIPGRAM, WordVectors
from stages.vectors.refine import draw
from stages.vectors.weighting import Weighting, frequencies, token_weights

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


def main() -> None:
    with stage("repulsion", unit="points") as (params, counters):
        torch.set_num_threads(1)  # as in refine
        model = WordVectors.load(SKIPGRAM)
        corpus = TokenIds.from_words(read_sentences(SENTENCES, params.skipgram.tokens), model.index)
        weights = token_weights(Weighting.TF_IDF, frequencies(corpus, len(model.words)))
        batches = kld.batches(draw(corpus, params.refine), weights, params.refine.batch_size)
        rates, iterations = params.repulsion.learning_rates, params.repulsion.iterations
        pairs, points = benchmark(), []
        if pairs is not None and pairs.scores is not None:
            counters.details["benchmark"] = f"{pairs.name}/{pairs.split}"
            left, right = sides(pairs, params.skipgram.tokens, model.index)
            for rate in track(rates, len(rates), "learning rates"):
                for iteration, displacement, vectors in course(model, batches, rate, iterations):
                    found = correlations(cosines(left.means(vectors), right.means(vectors)), pairs.scores)["spearman"]
                    if isinstance(found, float):
                        points.append(Point(rate, iteration, displacement, found))
        counters.keep(len(points))
        counters.drop("without a figure", len(rates) * len(set(iterations)) - len(points))
        write_points(CURVE, points)


if __name__ == "__main__":
    main()
