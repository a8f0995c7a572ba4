"""Stage `pair_tuning@{encoder}-{pooling}-{recipe}`: fine-tuning on joined pairs (paper 2, section 3.3).

Both sentences go through the encoder as one sequence; a logistic head reads its pooled vector. This is the most
accurate way and the dearest: each pair is a run of its own. What it leaves is the start of the combined approach
(section 4.2.5), whose cells encode each sentence alone.

    combined       as in the paper, section `metric_learning`
    modern         section `modern_learning`
    intermediate   the same, after an intermediate task (stages/pairs/intermediate.py)

Of several seeds, and the mean of their weights, that with the best held-out accuracy is left.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stages.artifacts import atomic_directory, write_json
from stages.benchmarks.data import present
from stages.pairs.cells import (
    CHECKPOINTS,
    START,
    STARTS,
    Outcome,
    Trained,
    absent_reason,
    as_it_stands,
    encode,
    load_start,
    over_seeds,
    task_of,
    train,
    write_absent,
    write_result,
    write_start,
)
from stages.pairs.data import Material, load_material
from stages.pairs.export import write_model
from stages.pairs.heads import Combination, LogisticHead
from stages.pairs.intermediate import learn_scores, scored_examples
from stages.pairs.thresholds import Folds
from stages.pairs.training import Notes, PairModel
from stages.params import Learning, Params
from stages.stage import Counters, stage


def tuned(
    name: str, start: str, params: Params, learning: Learning, material: Material, counters: Counters
) -> Iterator[Trained]:
    """Each seed's model, and what came of it; `start` is the pooling and the recipe."""
    pooling, _, recipe = start.partition("-")
    cell, folds = f"{name}-{start}", Folds(params.pairs.folds, params.pairs.seed)
    for seed in params.pairs.seeds:
        encoder = load_start(STARTS / f"{name}-{pooling}", params.encoders[name])
        task = task_of(encoder, material, joined=True, both_orders=learning.both_orders)
        model = PairModel(encoder, LogisticHead(encoder.dimension, Combination.FIRST, seed))
        notes: Notes = []
        if recipe == "intermediate":
            examples = scored_examples(params.intermediate.set, material, model, counters)
            checkpoint = CHECKPOINTS / f"{cell}-scores-{seed}.safetensors"
            notes = learn_scores(model, examples, learning, params.intermediate, seed, checkpoint)
        frozen = encode(encoder, task, ["train"]) if learning.head_epochs else None
        found = train(model, task, "pair", learning, frozen, seed, folds, f"{cell}-pair")
        seconds = found.seconds + sum(note["seconds"] for note in notes)
        yield model, replace(found, seconds=round(seconds, 1))


def why_absent(start: Path, recipe: str, params: Params) -> str | None:
    """Why there is nothing to tune, or nothing to tune it on first."""
    reason = absent_reason(start)
    if recipe == "intermediate" and not present([params.intermediate.set], "intermediate.set"):
        reason = reason or f"the set {params.intermediate.set} is absent"
    return reason


def main() -> None:
    name, pooling, recipe = sys.argv[1:]
    cell = f"{name}-{pooling}-{recipe}"
    with (
        stage(f"pair_tuning@{cell}", unit="pairs") as (params, counters),
        atomic_directory(STARTS / cell) as directory,
    ):
        material = load_material()
        about = {"encoder": name, "start": f"{pooling}-{recipe}", "strategy": "pair", "data": material.sha256}
        if reason := why_absent(STARTS / f"{name}-{pooling}", recipe, params):
            write_json(directory / START, {"absent": reason, "tuned": True})
            write_absent(directory, about, reason)
            counters.drop(reason, len(material.splits["train"]))
            return
        learning = params.metric_learning if recipe == "combined" else params.modern_learning

        def judge(model: PairModel) -> Outcome:
            task = task_of(model.encoder, material, joined=True, both_orders=learning.both_orders)
            return as_it_stands(model, task, learning, Folds(params.pairs.folds, params.pairs.seed))

        seeds = over_seeds(tuned(name, about["start"], params, learning, material, counters), judge)
        facts = {"threshold": seeds.found.threshold, "both_orders": learning.both_orders}
        write_model(seeds.best, {**about, **facts}, directory)
        encoder = seeds.best.encoder
        write_start(directory, encoder, encoder.embed(encoder.tokens(material.sentences)), {"tuned": True})
        write_result(directory, about, seeds)
        counters.keep(len(material.splits["train"]))


if __name__ == "__main__":
    main()
