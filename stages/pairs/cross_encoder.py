"""Stage `cross_encoder@{encoder}-{pooling}-{recipe}`: fine-tuning on joined pairs (paper 2, section 3.3)."""

import sys

from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.pairs.cells import (
    START,
    STARTS,
    Outcome,
    as_it_stands,
    over_seeds,
    task_of,
    write_absent,
    write_result,
    write_start,
)
from sentence_distillery.pairs.cross_encoder import tuned, why_absent
from sentence_distillery.pairs.data import load_material
from sentence_distillery.pairs.export import write_model
from sentence_distillery.pairs.thresholds import Folds
from sentence_distillery.pairs.training import PairModel
from stages.stage import stage


def main() -> None:
    name, pooling, recipe = sys.argv[1:]
    cell = f"{name}-{pooling}-{recipe}"
    with (
        stage(f"cross_encoder@{cell}", unit="pairs") as (params, counters),
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
