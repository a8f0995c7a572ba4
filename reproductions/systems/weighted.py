"""A system under one weighting scheme, fitted once on the corpus and saved for new text."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproductions.paper1.word_vectors.weighting import (
    Components,
    Weighting,
    fit_components,
    frequencies,
    token_weights,
)
from reproductions.systems.options import Evaluate
from reproductions.systems.systems import System
from sentence_distillery.io.artifacts import write_tensors
from sentence_distillery.io.ragged import Floats, TokenIds


@dataclass(frozen=True, eq=False)
class Scheme:
    """Token weights, (vocabulary,) float32 or None for the system's own mean, and the directions to remove."""

    weighting: Weighting
    weights: Floats | None
    components: Components


def fit_schemes(system: System, corpus: list[str], params: Evaluate) -> list[Scheme]:
    """Count tokens on the whole corpus, and fit principal directions on a sample of it.

    Args:
        system: The encoder of tokens.
        corpus: The sentences that it was trained on, or others that are not scored.
        params: Smoothing, variance, size and seed of the sample.

    Returns:
        A scheme for each weighting that makes sense for the system.
    """
    tokens = system.token_ids(corpus)
    counted = frequencies(without(tokens, system.silent), system.vocabulary)
    weights: list[Floats | None] = []
    for weighting in system.weightings:
        weight = token_weights(weighting, counted, params.smoothing)
        weight[list(system.silent)] = 0.0
        weights.append(None if weighting is Weighting.MEAN else weight)
    order = np.random.default_rng(params.seed).permutation(len(corpus))[: params.fit_sentences]
    pooled = system.pool(tokens.take(np.sort(order)), weights)
    return [
        Scheme(weighting, weight, fit_components(weighting, vectors, params.variance_threshold))
        for weighting, weight, vectors in zip(system.weightings, weights, pooled, strict=True)
    ]


def without(tokens: TokenIds, silent: tuple[int, ...]) -> TokenIds:
    """Remove the `silent` ids from each sentence."""
    for token in silent:
        tokens = tokens.without(token)
    return tokens


def embed(system: System, schemes: list[Scheme], sentences: list[str]) -> list[Floats]:
    """Embed sentences under each scheme, (sentences, dimension) float32 each."""
    pooled = system.pool(system.token_ids(sentences), [scheme.weights for scheme in schemes])
    return [scheme.components.apply(vectors) for scheme, vectors in zip(schemes, pooled, strict=True)]


def save_schemes(system: System, schemes: list[Scheme], directory: Path) -> None:
    """Write a file for each scheme that has weights: `weights` and the `removed` directions."""
    for scheme in schemes:
        if scheme.weights is not None:
            tensors = {"weights": scheme.weights, "removed": scheme.components.removed}
            write_tensors(directory / f"{system.name}-{scheme.weighting}.safetensors", tensors)
