"""Stage `paraphrase@{encoder}-{start}-{strategy}`: one cell of paper 2's matrix, each sentence encoded alone.

    cosine      the start as it is                                   table 1, table 7 "Baseline"
    siamese     pairwise margin loss                                 table 2, table 7 "Siam"
    triplet     triplet loss                                         table 3, table 7 "Triplet"
    logistic    logistic regression on combined vectors              table 5, table 7 "LR"
    cosent      CoSENT, section `modern_learning`                    not in the paper
    ranking     multiple negatives ranking, the same, paraphrases only

Where the start was tuned on joined pairs (mean-combined), it is the combined approach of section 4.2.5; all seeds go on
from the same start, so that their spread is of the second step alone. Of several seeds, and the mean of their weights,
that with the best held-out accuracy is left.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from stages.artifacts import atomic_directory
from stages.pairs.cells import (
    CELLS,
    STARTS,
    Outcome,
    Task,
    Trained,
    absent_reason,
    as_it_stands,
    load_start,
    outcome,
    over_seeds,
    read_vectors,
    task_of,
    train,
    unseen_splits,
    write_absent,
    write_result,
)
from stages.pairs.data import Material, load_material
from stages.pairs.export import write_model
from stages.pairs.heads import Combination, LogisticHead
from stages.pairs.thresholds import Folds
from stages.pairs.training import PairModel
from stages.params import Learning, Params
from stages.ragged import Floats
from stages.stage import stage

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


def main() -> None:
    name, start, strategy = sys.argv[1:]
    cell = f"{name}-{start}-{strategy}"
    with (
        stage(f"paraphrase@{cell}", unit="pairs") as (params, counters),
        atomic_directory(CELLS / cell) as directory,
    ):
        material = load_material()
        about = {"encoder": name, "start": start, "strategy": strategy, "data": material.sha256}
        if reason := absent_reason(STARTS / f"{name}-{start}"):
            write_absent(directory, about, reason)
            counters.drop(reason, len(material.splits["train"]))
            return

        def judge(model: PairModel) -> Outcome:
            task, folds = task_of(model.encoder, material, joined=False), Folds(params.pairs.folds, params.pairs.seed)
            return as_it_stands(model, task, learning_of(strategy, params), folds)

        seeds = over_seeds(learnt(name, start, strategy, params, material), judge)
        write_model(seeds.best, {**about, "threshold": seeds.found.threshold}, directory)
        write_result(directory, about, seeds)
        counters.keep(len(material.splits["train"]))


if __name__ == "__main__":
    main()
