"""Stage `augmented_pairs`: more pairs for a task of paper 3's grid, scored by a teacher (augmented SBERT).

    train pairs     (1 - share) gold + share cos     gold: the score that people gave, on [0, 1]
    silver pairs    cos                              near neighbours among the sentences of train

cos is the mean cosine of the teachers: one encoder, tuned with each of `augmented_pairs.seeds` as a cell of the grid without the
component (sentence_distillery/component_focus/training.py), whose checkpoints it shares. Neighbours are sought by the encoder before it
was tuned: a sentence is drawn, and the rank of its partner, log-uniform up to `augmented_pairs.nearest`, so that most are alike
and some are not. Pairs of train, dev and test are none of them. (Thakur et al. 2021, "Augmented SBERT", where the
teacher is a cross-encoder and the neighbours are found by BM25 or by an encoder.)

A task without +augmented has none, and its directory says so.
"""

import logging
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import PairSet, present
from sentence_distillery.benchmarks.decontamination import guarded
from sentence_distillery.benchmarks.metrics import cosines
from sentence_distillery.component_focus.cells import TRAINING, WITH_AUGMENTED, Sets, task_pairs
from sentence_distillery.component_focus.options import AugmentedPairs
from sentence_distillery.component_focus.training import CHECKPOINTS, embed, material, trained
from sentence_distillery.component_focus.weights import Weights
from sentence_distillery.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, unit_rows
from stages.params import Params

BLOCK = 1_024  # sentences whose neighbours are sought at a time
SPARE = 2  # draws for each pair that is wanted, since some are drawn twice or are known

log = logging.getLogger("stages")


def neighbours(vectors: Floats, draws: int, nearest: int, seed: int) -> NDArray[np.int64]:
    """(pairs, 2) different places in vectors (sentences, dimension), each pair once, in an order drawn by chance.

    Each of the `draws` is a sentence and the rank of its partner, from 1 to `nearest`, log-uniform.
    """
    random = np.random.default_rng(seed)
    nearest = min(nearest, len(vectors) - 1)
    drawn = np.sort(random.integers(0, len(vectors), draws))
    ranks = ((nearest + 1) ** random.random(draws)).astype(np.int64)
    vectors = unit_rows(vectors)
    partners = []
    for start in range(0, draws, BLOCK):
        rows = drawn[start : start + BLOCK]
        alike = vectors[rows] @ vectors.T
        alike[np.arange(len(rows)), rows] = np.inf  # rank 0, whoever else is as near
        order = np.argsort(-alike, axis=1, kind="stable")
        partners.append(order[np.arange(len(rows)), ranks[start : start + BLOCK]])
    pairs = np.sort(np.column_stack([drawn, np.concatenate(partners)]), axis=1)
    return random.permutation(np.unique(pairs, axis=0))


def silver(pairs: Sets, texts: list[str], vectors: Floats, given: AugmentedPairs, counters: Counters) -> PairSet:
    """Pairs of `texts`, (texts, dimension) vectors, that stand in none of the splits, without scores."""
    name = pairs["train"].name
    found = neighbours(vectors, SPARE * given.pairs, given.nearest, given.seed)
    left, right = ([texts[row] for row in column] for column in found.T)
    drawn = PairSet(name, "train", left, right, None, None, None)
    new = guarded(drawn, {f"{name} {split}": each for split, each in pairs.items()}, counters)
    counters.drop("more than are wanted", max(0, len(new.sentences1) - given.pairs))
    return new.take(np.arange(min(given.pairs, len(new.sentences1))))


def scored(task: str, params: Params, counters: Counters) -> tuple[pa.Table, dict[str, Any]]:
    """The rows of pairs.parquet, and what augmented.json says beside."""
    task = task.removesuffix(WITH_AUGMENTED)
    pairs = task_pairs(task, counters)
    train, gold = pairs["train"], pairs["train"].unit_scores()
    training, teacher = params.component_training, params.encoders[params.augmented_pairs.teacher]
    encoder = PairEncoder(load_encoder(teacher), Pooling(training.pooling))
    alone = Weights(0.0, encoder.dimension)
    data = material(pairs, {}, encoder, alone, counters)
    texts = list(dict.fromkeys(train.sentences1 + train.sentences2))  # these stand first in `data`
    new = silver(pairs, texts, embed(encoder, data, alone, "train")[: len(texts)], params.augmented_pairs, counters)
    left, right = train.sentences1 + new.sentences1, train.sentences2 + new.sentences2
    place = {text: row for row, text in enumerate(texts)}
    one, other = ([place[text] for text in side] for side in (left, right))
    notes, found = {}, []
    for seed in params.augmented_pairs.seeds:
        path = CHECKPOINTS / f"{params.augmented_pairs.teacher}-{task}-0.0-{seed}.safetensors"
        cell, notes[seed] = trained(teacher, data, training, 0.0, seed, path)
        vectors = embed(cell.encoder, data, alone, "train")
        found.append(cosines(vectors[one], vectors[other]))
    scores = np.stack(found).mean(axis=0)
    scores[: len(gold)] += (1 - params.augmented_pairs.share) * (gold - scores[: len(gold)])
    counters.keep(len(scores))
    about = {"rated": len(gold), "augmented": len(new.sentences1), "seeds": notes}
    return pa.table([left, right, scores], schema=TRAINING), about


def why_absent(task: str, params: Params) -> str:
    """Why a task has no silver pairs, or nothing."""
    if WITH_AUGMENTED not in task:
        return "a task without +augmented"
    if params.component_training.epochs == 0:
        return "nothing is tuned in this run: component_training.epochs is 0"
    name = task.removesuffix(WITH_AUGMENTED)
    return "" if present([name], "component_focus.tasks") else f"the set {name} is absent"
