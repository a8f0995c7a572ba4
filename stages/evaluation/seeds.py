"""Stage `seeds@{seed}`: what trains in minutes, trained again with another seed."""

import argparse
import logging

from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.seeds import (
    contrasted,
    measured,
    paper_student,
    refuse_own_seed,
    scored_sets,
    students,
    subwords,
    word_vectors,
)
from sentence_distillery.runtime.progress import track
from stages.paths import SEEDS
from stages.stage import stage


def main() -> None:
    parser = argparse.ArgumentParser(description="Train again with another seed what trains in minutes.")
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    with stage(f"seeds@{seed}", unit="trainings") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        refuse_own_seed(params, seed)
        sets, results = scored_sets(), list[Result]()
        trainings = (word_vectors, subwords, paper_student, contrasted, students)
        for train in track(trainings, len(trainings), "trainings"):
            for system in train(params, seed):
                results.extend(measured(system, sets))
            counters.keep()
        write_results(SEEDS / f"{seed}.csv", results)


if __name__ == "__main__":
    main()
