"""The stage `seeds@{seed}`: repeat the quick trainings with another seed, and score the models.

Reads the corpus, its soft labels, the refined vectors and the benchmark sets. Trains the word vectors, SimCSE and the
students. Writes reports/seeds/<seed>.csv a table of figures.
"""

import argparse
import logging

from sentence_distillery.benchmarks.data import BenchmarkData
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.seeds import TRAININGS, SeedInputs, SeedOptions, measured, rated_sets
from sentence_distillery.runtime.progress import track
from stages import paths
from stages.stage import stage


def main() -> None:
    parser = argparse.ArgumentParser(description="Repeat the quick trainings with another seed.")
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    with stage(f"seeds@{seed}", unit="trainings") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        options = SeedOptions(
            skipgram=params.skipgram,
            fasttext=params.fasttext,
            refine=params.refine,
            contrastive=params.contrastive,
            paper_student=params.paper_student,
            simcse=params.simcse,
            student=params.student,
            mlp_head=params.mlp_head,
            fine_tuned_student=params.fine_tuned_student,
            batch_tokens=params.soft_labels.batch_tokens,
        ).with_seed(seed)
        inputs = SeedInputs(
            sentences=paths.SENTENCES,
            soft_labels=paths.SOFT_LABELS,
            fine_tuned_labels=paths.FINE_TUNED_LABELS,
            refined=paths.REFINED,
            benchmarks=BenchmarkData(paths.BENCHMARKS),
            checkpoints=paths.MODEL_CHECKPOINTS / "seeds",
            seed=seed,
        )
        sets, results = rated_sets(inputs.benchmarks), list[Result]()
        for train in track(TRAININGS, len(TRAININGS), "trainings"):
            for system in train(options, inputs):
                results.extend(measured(system, sets, seed))
            counters.keep()
        write_results(paths.SEEDS / f"{seed}.csv", results)


if __name__ == "__main__":
    main()
