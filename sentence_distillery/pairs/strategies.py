"""Stage `paraphrase@{encoder}-{start}-{strategy}`: one cell of paper 2's matrix, each sentence encoded alone.

    cosine      the start as it is                                   table 1, table 7 "Baseline"
    siamese     pairwise margin loss                                 table 2, table 7 "Siam"
    triplet     triplet loss                                         table 3, table 7 "Triplet"
    logistic    logistic regression on combined vectors              table 5, table 7 "LR"
    cosent      CoSENT, section `modern_learning`                    not in the paper
    ranking     multiple negatives ranking, the same, paraphrases only

Where the start was tuned on joined pairs (mean-combined), it is the combined approach of section 4.2.5; all seeds go on
from the same start, so that their spread is of the second step alone. Of several seeds, and the mean of their weights,
that with the best validation accuracy is left.
"""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.cells import (
    STARTS,
    Outcome,
    Task,
    Trained,
    load_start,
    outcome,
    read_vectors,
    task_of,
    train,
    unseen_splits,
)
from sentence_distillery.pairs.data import Material
from sentence_distillery.pairs.heads import Combination, LogisticHead
from sentence_distillery.pairs.options import Learning
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.pairs.training import PairModel
from stages.params import Params

MODERN = ("cosent", "ranking")


def learn(
    model: PairModel, task: Task, vectors: Floats, strategy: str, seed: int, params: Params, origin: Path, cell: str
) -> Outcome:
    """What a strategy makes of the start at `origin`, whose vectors are given; the model is trained in place."""
    folds = Folds(params.pairs.folds, params.pairs.seed)
    if strategy == "cosine":
        return outcome(model, task, vectors, [], 0.0, seed, folds, unseen_splits(origin))
    return train(model, task, strategy, learning_of(strategy, params), vectors, seed, folds, cell)


def learning_of(strategy: str, params: Params) -> Learning:
    """The settings of a strategy that trains something."""
    return params.modern_learning if strategy in MODERN else params.metric_learning


def learnt(name: str, start: str, strategy: str, params: Params, material: Material) -> Iterator[Trained]:
    """Each seed's model, and what came of it; the cosine has one, which is not trained."""
    origin = STARTS / f"{name}-{start}"
    vectors = read_vectors(origin, material)
    for seed in params.pairs.seeds[: 1 if strategy == "cosine" else None]:
        encoder = load_start(origin, params.encoders[name])
        head = None
        if strategy == "logistic":
            head = LogisticHead(encoder.dimension, Combination(params.pairs.combination), seed)
        model = PairModel(encoder, head)
        task = task_of(encoder, material, joined=False)
        yield model, learn(model, task, vectors, strategy, seed, params, origin, f"{name}-{start}-{strategy}")
