"""Refinement of word vectors by Kullback-Leibler divergence (paper 1, section 3.1).

`repel` is Algorithm 1 as printed, which only repels (word_vectors/kld.py). `contrast` does what the paper gives as the
algorithm's aim: related sentences closer, unrelated ones farther apart (word_vectors/contrastive.py).
"""

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reproductions.paper1.word_vectors import contrastive, kld
from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.options import Contrastive, Refine
from reproductions.paper1.word_vectors.weighting import Weighting, frequencies, token_weights
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import TokenIds

Curve = Sequence[kld.Iteration]


def draw(sentences: TokenIds, params: Refine) -> TokenIds:
    """Draw `params.sentences` sentences in random order, or all if there are fewer; the seed decides the draw."""
    order = np.random.default_rng(params.seed).permutation(len(sentences))
    return sentences.take(order[: params.sentences])


def repel(model: WordVectors, sentences: TokenIds, params: Refine, counters: Counters) -> tuple[WordVectors, Curve]:
    """Refine by Algorithm 1 as printed.

    Args:
        model: the vectors to start from.
        sentences: the corpus as ids of `model`'s words, of which `params.sentences` are drawn.
        params: how to train.
        counters: counts the sentences that are drawn.

    Returns:
        The refined vectors, and the figures of each iteration.

    Raises:
        InputError: the sentences make no pair, or training diverges.
    """
    weights = token_weights(Weighting.TF_IDF, frequencies(sentences, len(model.words)))
    drawn = draw(sentences, params)
    batches = kld.batches(drawn, weights, params.batch_size)
    vectors = torch.from_numpy(model.vectors).double()
    kept = sum(len(batch.sentence_vectors(vectors)) for batch in batches)
    if kept < 2:
        raise InputError(
            f"{kept} of {len(drawn)} sentences drawn from the corpus have a word with a vector, so no pair can be "
            f"made; raise sentences, which is {params.sentences}, or train the word vectors on this corpus."
        )
    counters.keep(kept)
    counters.drop("zero vector", len(drawn) - kept)
    curve = kld.refine(vectors, batches, params.learning_rate, params.iterations)
    return refined(model, vectors, params), curve


def contrast(
    model: WordVectors,
    sentences: TokenIds,
    documents: NDArray[np.int64],
    params: Contrastive,
    counters: Counters,
) -> tuple[WordVectors, Curve]:
    """Refine by contrast: related sentences of the whole corpus against unrelated ones.

    Args:
        model: the vectors to start from.
        sentences: the corpus as ids of `model`'s words.
        documents: the article of each sentence, (sentences,) int64.
        params: how to train.
        counters: counts the sentences of the corpus.

    Returns:
        The refined vectors, and the figures of each pass.

    Raises:
        InputError: no two sentences are unrelated, or training diverges.
    """
    corpus = contrastive.Corpus(sentences, documents)
    kept = int(corpus.usable.sum())
    if len(np.unique(corpus.documents[corpus.usable])) < 2:
        raise InputError(
            f"{kept} of {len(sentences)} sentences of the corpus have {contrastive.MINIMUM_WORDS} words with a vector, "
            "all in one article, so none is unrelated to another; add more text, or use the objective repulsion."
        )
    counters.keep(kept)
    counters.drop("fewer than two known words", len(sentences) - kept)
    pairs = contrastive.related_pairs(corpus, params.distance)
    counters.details["pairs"] = len(pairs)
    vectors = torch.from_numpy(model.vectors.copy())
    curve = contrastive.refine(vectors, corpus, pairs, params)
    return refined(model, vectors, params), curve


def refined(model: WordVectors, vectors: Tensor, params: Refine | Contrastive) -> WordVectors:
    """Return the words of `model` with new vectors; raises InputError if one is not finite in float32."""
    single = vectors.float()
    if not single.isfinite().all():
        raise InputError(
            f"Some refined vectors are not finite in float32. Lower learning_rate, which is {params.learning_rate}."
        )
    return WordVectors(model.words, model.counts, single.numpy())


def write_curve(target: Path, curve: Curve) -> None:
    """Write a CSV row for each iteration."""
    with atomic_file(target) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(curve[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(step) for step in curve)
