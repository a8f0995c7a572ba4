"""Take paper 1's method apart, with several seeds: `python -m stages.paper1.paper1_ablation 1 2 3 4 5`.

Reads data/corpus/sentences, data/soft_labels and data/benchmarks. Trains what papers/paper1/ablation.py lists, and
keeps the figures in reports/runs/paper1: ablation.csv, and the gains with intervals in ablation.json.
"""

import argparse
import datetime
import logging
import shlex
import sys
from dataclasses import asdict

import torch

from reproductions.paper1.ablation import Method, cosines_of, gains, rows
from reproductions.paper1.gains import SET
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.evaluation.results import write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.runtime.machine import machine
from stages import paths
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train paper 1's method without each of its parts.")
    parser.add_argument("seeds", type=int, nargs="+")
    seeds: list[int] = parser.parse_args().seeds
    with stage("paper1_ablation", unit="seeds") as (params, counters):
        logging.getLogger("gensim").setLevel(logging.WARNING)
        torch.set_num_threads(1)  # as in the stage `refine`
        corpus = LabelledCorpus(paths.SENTENCES, paths.SOFT_LABELS)
        method = Method(
            corpus=corpus,
            skipgram=params.skipgram,
            refine=params.refine,
            contrastive=params.contrastive,
            student=params.paper_student,
            evaluate=params.evaluate,
            checkpoints=paths.MODEL_CHECKPOINTS,
        )

        def done(seed: int) -> None:
            counters.keep()
            log.info("seed %d", seed)

        pairs = BenchmarkData(paths.BENCHMARKS).pairs(*SET)
        found, seconds = cosines_of(method, pairs, seeds, done)
        command = shlex.join(["python", "-m", "stages.paper1.paper1_ablation", *sys.argv[1:]])
        about = f"python -m stages.params use {params.name}; {command}; teacher {corpus.teacher['reference']}"
        comment = f"{about}; {datetime.date.today().isoformat()}; {machine()}"
        write_results(paths.PAPER1_RUNS / "ablation.csv", rows(found, pairs, seconds), comment)
        write_json(paths.PAPER1_RUNS / "ablation.json", [asdict(gain) for gain in gains(found, pairs)])


if __name__ == "__main__":
    main()
