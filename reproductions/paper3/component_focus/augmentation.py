"""Augmented pairs: more training pairs for a task of paper 3's grid, scored by a teacher (augmented SBERT).

    rated pairs        (1 - share) rating + share cos     rating: the human rating, on [0, 1]
    augmented pairs    cos                                near neighbours among the sentences of train

cos is the mean cosine of the teachers: one encoder, fine-tuned with each seed like a cell of the grid without the
component (component_focus/training.py). They share the checkpoints of that cell. The encoder before fine-tuning finds
the neighbours: a sentence is drawn, and the rank of its partner, log-uniform up to `nearest`. So most pairs are similar
and some are not. Pairs of train, dev and test are left out. (Thakur et al. 2021, "Augmented SBERT": there the teacher
is a cross-encoder, and BM25 or an encoder finds the neighbours.)
"""

import logging
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reproductions.encoders.trainable import PairEncoder
from reproductions.grid.guard import guarded
from reproductions.paper3.component_focus.cells import TRAINING, Sets
from reproductions.paper3.component_focus.options import AugmentedPairs
from reproductions.paper3.component_focus.training import FocusExperiment, embed
from reproductions.paper3.component_focus.weights import Weights
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, unit_rows

BLOCK = 1_024  # sentences whose neighbours are sought at a time
SPARE = 2  # draws for each pair that is wanted, since some are drawn twice or are known

log = logging.getLogger(__name__)


def neighbours(vectors: Floats, draws: int, nearest: int, seed: int) -> NDArray[np.int64]:
    """Draw (pairs, 2) different rows of vectors (sentences, dimension), each pair once, in random order.

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
        alike[np.arange(len(rows)), rows] = np.inf  # rank 0, even if another sentence is as near
        order = np.argsort(-alike, axis=1, kind="stable")
        partners.append(order[np.arange(len(rows)), ranks[start : start + BLOCK]])
    pairs = np.sort(np.column_stack([drawn, np.concatenate(partners)]), axis=1)
    return random.permutation(np.unique(pairs, axis=0))


def unscored_pairs(
    pairs: Sets, texts: list[str], vectors: Floats, given: AugmentedPairs, counters: Counters
) -> PairSet:
    """Draw unscored pairs of `texts`, (texts, dimension) vectors, that are in none of the splits."""
    name = pairs["train"].name
    candidates = neighbours(vectors, SPARE * given.pairs, given.nearest, given.seed)
    left, right = ([texts[row] for row in column] for column in candidates.T)
    drawn = PairSet(name, "train", left, right, None, None, None)
    new = guarded(drawn, {f"{name} {split}": each for split, each in pairs.items()}, counters)
    counters.drop("more than are wanted", max(0, len(new.sentences1) - given.pairs))
    return new.take(np.arange(min(given.pairs, len(new.sentences1))))


def augment(
    teacher: FocusExperiment, augmentation: AugmentedPairs, counters: Counters
) -> tuple[pa.Table, dict[str, Any]]:
    """Draw pairs for a task and score them by its teacher, which is fine-tuned on the task first.

    Args:
        teacher: The teacher's cell of the grid, without the component.
        augmentation: How many pairs, and how much the teacher's score counts.
        counters: Counts the pairs that are added.

    Returns:
        A table of TRAINING, rated pairs first; and the numbers of rated and of augmented pairs, and the notes of each
        epoch of the teacher by seed.
    """
    pairs, data = teacher.pairs, teacher.data
    train, ratings = pairs["train"], pairs["train"].unit_scores()
    alone = Weights(0.0, teacher.encoder.dimension)
    texts = list(dict.fromkeys(train.sentences1 + train.sentences2))  # these come first in `data`
    vectors = embed(teacher.encoder, data, alone, "train")[: len(texts)]
    new = unscored_pairs(pairs, texts, vectors, augmentation, counters)
    left, right = train.sentences1 + new.sentences1, train.sentences2 + new.sentences2
    place = {text: row for row, text in enumerate(texts)}
    one, other = ([place[text] for text in side] for side in (left, right))
    notes, by_seed = {}, []
    for seed in augmentation.seeds:
        (encoder, _), notes[seed] = teacher.trained(seed)
        vectors = embed(cast(PairEncoder, encoder), data, alone, "train")
        by_seed.append(cosines(vectors[one], vectors[other]))
    scores = np.stack(by_seed).mean(axis=0)
    scores[: len(ratings)] += (1 - augmentation.share) * (ratings - scores[: len(ratings)])
    counters.keep(len(new.sentences1))
    about = {"rated": len(ratings), "augmented": len(new.sentences1), "seeds": notes}
    return pa.table([left, right, scores], schema=TRAINING), about
