"""Stage `pair_tuning@{encoder}-{pooling}-{recipe}`: fine-tuning on joined pairs (paper 2, section 3.3).

Both sentences go through the encoder as one sequence; a logistic head reads its pooled vector. This is the most
accurate way and the dearest: each pair is a run of its own. What it leaves is the start of the combined approach
(section 4.2.5), whose cells encode each sentence alone.

    combined       as in the paper, section `metric_learning`
    modern         section `modern_learning`
    intermediate   the same, after an intermediate task (stages/pairs/intermediate.py)
"""

import sys
from dataclasses import replace

from stages.artifacts import atomic_directory, write_json
from stages.benchmarks.data import present
from stages.pairs.cells import (
    CHECKPOINTS,
    START,
    STARTS,
    absent_reason,
    encode,
    load_start,
    task_of,
    train,
    write_result,
    write_start,
)
from stages.pairs.data import load_material
from stages.pairs.export import write_model
from stages.pairs.heads import Combination, LogisticHead
from stages.pairs.intermediate import learn_scores, scored_examples
from stages.pairs.thresholds import Folds
from stages.pairs.training import Notes, PairModel
from stages.stage import stage


def main() -> None:
    name, pooling, recipe = sys.argv[1:]
    cell = f"{name}-{pooling}-{recipe}"
    with (
        stage(f"pair_tuning@{cell}", unit="pairs") as (params, counters),
        atomic_directory(STARTS / cell) as directory,
    ):
        plain = STARTS / f"{name}-{pooling}"
        material = load_material()
        about = {"encoder": name, "start": f"{pooling}-{recipe}", "strategy": "pair", "data": material.sha256}
        reason = absent_reason(plain)
        if recipe == "intermediate" and not present([params.intermediate.set], "intermediate.set"):
            reason = reason or f"the set {params.intermediate.set} is absent"
        if reason:
            write_json(directory / START, {"absent": reason, "tuned": True})
            write_result(directory, about, reason, [])
            counters.drop(reason, len(material.splits["train"]))
            return
        learning = params.metric_learning if recipe == "combined" else params.modern_learning
        folds = Folds(params.pairs.folds, params.pairs.seed)
        outcomes = []
        for seed in params.pairs.seeds:
            encoder = load_start(plain, params.encoders[name])
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
            outcomes.append(replace(found, seconds=round(seconds, 1)))
            if len(outcomes) == 1:
                facts = {"threshold": outcomes[0].threshold, "both_orders": learning.both_orders}
                write_model(model, {**about, **facts}, directory)
                write_start(directory, encoder, encoder.embed(encoder.tokens(material.sentences)), {"tuned": True})
        write_result(directory, about, None, outcomes)
        counters.keep(len(material.splits["train"]))


if __name__ == "__main__":
    main()
