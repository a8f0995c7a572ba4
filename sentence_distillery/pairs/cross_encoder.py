"""Stage `cross_encoder@{encoder}-{pooling}-{recipe}`: fine-tuning on joined pairs (paper 2, section 3.3).

Both sentences go through the encoder as one sequence; a logistic head reads its pooled vector. This is the most
accurate way and the dearest: each pair is a run of its own. What it leaves is the start of the combined approach
(section 4.2.5), whose cells encode each sentence alone.

    combined       as in the paper, section `metric_learning`
    modern         section `modern_learning`
    intermediate   the same, after an intermediate task (sentence_distillery/pairs/intermediate.py)

Of several seeds, and the mean of their weights, that with the best validation accuracy is left.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sentence_distillery.benchmarks.data import present
from sentence_distillery.io.counters import Counters
from sentence_distillery.pairs.cells import (
    CHECKPOINTS,
    STARTS,
    Trained,
    absent_reason,
    encode,
    load_start,
    task_of,
    train,
)
from sentence_distillery.pairs.data import Material
from sentence_distillery.pairs.heads import Combination, LogisticHead
from sentence_distillery.pairs.intermediate import learn_scores, scored_examples
from sentence_distillery.pairs.options import Learning
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.pairs.training import Notes, PairModel
from stages.params import Params


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
