"""Stage `paraphrase@{encoder}-{start}-{strategy}`: one cell of paper 2's matrix, each sentence encoded alone.

    cosine      the start as it is                                   table 1, table 7 "Baseline"
    siamese     pairwise margin loss                                 table 2, table 7 "Siam"
    triplet     triplet loss                                         table 3, table 7 "Triplet"
    logistic    logistic regression on combined vectors              table 5, table 7 "LR"
    cosent      CoSENT, section `modern_learning`                    not in the paper
    ranking     multiple negatives ranking, the same, paraphrases only

Where the start was tuned on joined pairs (mean-combined), it is the combined approach of section 4.2.5; all seeds go on
from the first seed's start, so that their spread is of the second step alone.
"""

import sys
from pathlib import Path

from stages.artifacts import atomic_directory
from stages.pairs.cells import (
    CELLS,
    STARTS,
    Outcome,
    Task,
    absent_reason,
    load_start,
    outcome,
    read_vectors,
    task_of,
    train,
    unseen_splits,
    write_result,
)
from stages.pairs.data import load_material
from stages.pairs.export import write_model
from stages.pairs.heads import Combination, LogisticHead
from stages.pairs.thresholds import Folds
from stages.pairs.training import PairModel
from stages.params import Params
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
    learning = params.modern_learning if strategy in MODERN else params.metric_learning
    return train(model, task, strategy, learning, vectors, seed, folds, cell)


def main() -> None:
    name, start, strategy = sys.argv[1:]
    cell = f"{name}-{start}-{strategy}"
    with (
        stage(f"paraphrase@{cell}", unit="pairs") as (params, counters),
        atomic_directory(CELLS / cell) as directory,
    ):
        origin = STARTS / f"{name}-{start}"
        material = load_material()
        about = {"encoder": name, "start": start, "strategy": strategy, "data": material.sha256}
        if reason := absent_reason(origin):
            write_result(directory, about, reason, [])
            counters.drop(reason, len(material.splits["train"]))
            return
        vectors = read_vectors(origin, material)
        outcomes: list[Outcome] = []
        for seed in params.pairs.seeds[: 1 if strategy == "cosine" else None]:
            encoder = load_start(origin, params.encoders[name])
            head = None
            if strategy == "logistic":
                head = LogisticHead(encoder.dimension, Combination(params.pairs.combination), seed)
            model = PairModel(encoder, head)
            task = task_of(encoder, material, joined=False)
            outcomes.append(learn(model, task, vectors, strategy, seed, params, origin, cell))
            if len(outcomes) == 1:
                write_model(model, {**about, "threshold": outcomes[0].threshold}, directory)
        write_result(directory, about, None, outcomes)
        counters.keep(len(material.splits["train"]))


if __name__ == "__main__":
    main()
