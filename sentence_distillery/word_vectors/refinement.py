"""Stage: refinement of the skip-gram vectors by Kullback-Leibler divergence (paper 1, section 3.1).

`refine.objective` chooses between Algorithm 1 as printed, which only repels (sentence_distillery/word_vectors/kld.py), and what the paper
says that it is for, related sentences closer and unrelated ones farther apart (sentence_distillery/word_vectors/contrastive.py).
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.runtime.progress import track
from sentence_distillery.word_vectors import contrastive, kld
from sentence_distillery.word_vectors.corpus import SENTENCES, read_documents
from sentence_distillery.word_vectors.model import SKIPGRAM, WordVectors
from sentence_distillery.word_vectors.options import Contrastive, Refine
from sentence_distillery.word_vectors.weighting import Weighting, frequencies, token_weights

CURVE = Path("reports/curves/refine.csv")

Curve = Sequence[kld.Iteration]


def draw(sentences: TokenIds, params: Refine) -> TokenIds:
    """`params.sentences` sentences in random order, or all where there are fewer; the same for the same seed."""
    order = np.random.default_rng(params.seed).permutation(len(sentences))
    return sentences.take(order[: params.sentences])


def repel(model: WordVectors, sentences: TokenIds, params: Refine, counters: Counters) -> tuple[WordVectors, Curve]:
    """Algorithm 1 on sentences that are drawn; raises InputError where they have no pair, or training diverges."""
    weights = token_weights(Weighting.TF_IDF, frequencies(sentences, len(model.words)))
    drawn = draw(sentences, params)
    batches = kld.batches(drawn, weights, params.batch_size)
    vectors = torch.from_numpy(model.vectors).double()
    kept = sum(len(batch.sentence_vectors(vectors)) for batch in batches)
    if kept < 2:
        raise InputError(
            f"{kept} of {len(drawn)} sentences drawn from {SENTENCES} have a word of {SKIPGRAM}, so there is no "
            "pair; raise refine.sentences or rebuild both with `dvc repro`."
        )
    counters.keep(kept)
    counters.drop("zero vector", len(drawn) - kept)
    steps = kld.refine(vectors, batches, params.learning_rate, params.iterations)
    return train(model, vectors, steps, params.iterations, f"refine.learning_rate = {params.learning_rate}")


def contrast(
    model: WordVectors, sentences: TokenIds, params: Contrastive, counters: Counters
) -> tuple[WordVectors, Curve]:
    """Related sentences of the whole corpus against unrelated ones; raises InputError as `repel` does."""
    corpus = contrastive.Corpus(sentences, read_documents(SENTENCES))
    kept = int(corpus.usable.sum())
    if len(np.unique(corpus.documents[corpus.usable])) < 2:
        raise InputError(
            f"{kept} of {len(sentences)} sentences of {SENTENCES} have {contrastive.MINIMUM_WORDS} words of "
            f"{SKIPGRAM}, all in one article, so none is unrelated to another; bring more text, or set "
            "refine.objective to repulsion."
        )
    counters.keep(kept)
    counters.drop("fewer than two known words", len(sentences) - kept)
    pairs = contrastive.related_pairs(corpus, params.distance)
    counters.details["pairs"] = len(pairs)
    vectors = torch.from_numpy(model.vectors.copy())
    steps = contrastive.refine(vectors, corpus, pairs, params)
    return train(model, vectors, steps, params.epochs, f"contrastive.learning_rate = {params.learning_rate}")


def train(
    model: WordVectors, vectors: Tensor, steps: Iterator[kld.Iteration], iterations: int, setting: str
) -> tuple[WordVectors, Curve]:
    """The refined vectors, which `steps` change in place, and their course; raises InputError on divergence."""
    try:
        curve = list(track(steps, iterations, "iterations"))
    except kld.NonFiniteLossError as error:
        raise InputError(f"{error}; lower {setting}.") from error
    refined = vectors.float()
    if not refined.isfinite().all():
        raise InputError(f"some vectors are no finite float32 after {iterations} iterations; lower {setting}.")
    return WordVectors(model.words, model.counts, refined.numpy()), curve


def write_curve(target: Path, curve: Curve) -> None:
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(curve[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(step) for step in curve)
