"""Stage: paper 1's Algorithm 1 on the skip-gram vectors; stages/vectors/kld.py says what it does and what to expect."""

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from stages.artifacts import InputError, atomic_file, read_json
from stages.params import Refine
from stages.progress import track
from stages.ragged import TokenIds
from stages.stage import stage
from stages.vectors import kld
from stages.vectors.corpus import SENTENCES, read_sentences
from stages.vectors.model import CONFIG, REFINED, SKIPGRAM, WordVectors
from stages.vectors.weighting import Weighting, frequencies, token_weights

CURVE = Path("reports/curves/refine.csv")


def draw(sentences: TokenIds, params: Refine) -> TokenIds:
    """`params.sentences` sentences in random order, or all where there are fewer; the same for the same seed."""
    order = np.random.default_rng(params.seed).permutation(len(sentences))
    return sentences.take(order[: params.sentences])


def train(model: WordVectors, batches: list[kld.Batch], params: Refine) -> tuple[WordVectors, list[kld.Iteration]]:
    """The refined vectors and the course of their training; raises InputError where it diverges."""
    vectors = torch.from_numpy(model.vectors).double()
    steps = kld.refine(vectors, batches, params.learning_rate, params.iterations)
    try:
        curve = list(track(steps, params.iterations, "iterations"))
    except kld.NonFiniteLossError as error:
        raise InputError(f"{error}; lower refine.learning_rate = {params.learning_rate}.") from error
    refined = vectors.float()
    if not refined.isfinite().all():
        raise InputError(
            f"some vectors are no finite float32 after {params.iterations} iterations; lower refine.learning_rate = "
            f"{params.learning_rate}."
        )
    return WordVectors(model.words, model.counts, refined.numpy()), curve


def write_curve(target: Path, curve: Sequence[kld.Iteration]) -> None:
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["iteration", "mean_kl", "displacement"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(step) for step in curve)


def main() -> None:
    with stage("refine", unit="sentences") as (params, counters):
        # with matrices of 100 rows more threads only wait for each other, and the last bits depend on their number
        torch.set_num_threads(1)
        model = WordVectors.load(SKIPGRAM)
        corpus = TokenIds.from_words(read_sentences(SENTENCES, params.skipgram.tokens), model.index)
        weights = token_weights(Weighting.TF_IDF, frequencies(corpus, len(model.words)))
        drawn = draw(corpus, params.refine)
        batches = kld.batches(drawn, weights, params.refine.batch_size)
        vectors = torch.from_numpy(model.vectors).double()
        kept = sum(len(batch.sentence_vectors(vectors)) for batch in batches)
        if kept < 2:
            raise InputError(
                f"{kept} of {len(drawn)} sentences drawn from {SENTENCES} have a word of {SKIPGRAM}, so there is no "
                "pair; raise refine.sentences or rebuild both with `dvc repro`."
            )
        refined, curve = train(model, batches, params.refine)
        config = params.refine.model_dump() | {"skipgram": read_json(SKIPGRAM / CONFIG)}
        refined.save(REFINED, config)
        write_curve(CURVE, curve)
        counters.keep(kept)
        counters.drop("zero vector", len(drawn) - kept)
        counters.details["displacement"] = round(curve[-1].displacement, 6)


if __name__ == "__main__":
    main()
