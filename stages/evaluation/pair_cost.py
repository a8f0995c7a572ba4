"""Stage `pair_cost`: what it costs to compare every two of 10,000 sentences (paper 2, section 3.3).

    joined      n (n - 1) / 2 = 49,995,000 runs of the encoder, one for each pair
    alone       n = 10,000 runs, and the cosines of all pairs as one matrix product
    student     the same with this project's static student

A run is timed on a sample of the test sentences, the matrix product whole; the total is runs times seconds of one run.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stages.artifacts import write_json
from stages.pairs.data import load_material
from stages.pairs.encoder import PairEncoder, Pooling
from stages.ragged import Floats, unit_rows
from stages.stage import stage
from stages.student.encoder import STUDENT, StaticEncoder
from stages.teacher.encoders import AbsentModelError, load_encoder

COST = Path("reports/pair_cost.json")
CORPUS = 10_000  # sentences, as in the paper
REPEATS = 3


def seconds(work: Callable[[], object]) -> float:
    """The shortest of REPEATS runs: what else the machine does only adds to it."""
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def comparison(vectors: Floats) -> float:
    """Seconds for the cosines of all pairs of CORPUS sentences, these vectors again and again."""
    corpus = unit_rows(np.resize(vectors, (CORPUS, vectors.shape[1])))
    return seconds(lambda: [corpus[start : start + 1000] @ corpus.T for start in range(0, CORPUS, 1000)])


def entry(system: str, runs: int, sample: int, run: float, compare: float) -> dict[str, float | int | str]:
    """`run` is the seconds of the whole sample."""
    total = runs * run / sample + compare
    return {"system": system, "runs": runs, "per_second": sample / run, "comparison": compare, "seconds": total}


def main() -> None:
    with stage("pair_cost", unit="systems") as (params, counters):
        count = params.pair_cost.sentences
        rows = load_material()
        texts = [rows.sentences[row] for row in np.unique(rows.splits["test"].rows)[:count].tolist()]
        student = StaticEncoder.load(STUDENT)
        entries = []
        absent = None
        try:
            encoder = PairEncoder(load_encoder(params.encoders[params.pair_cost.encoder]), Pooling.MEAN)
        except AbsentModelError:
            absent = f"weights of {params.pair_cost.encoder} not available here"
            counters.drop(absent)
        else:
            pairs, alone = encoder.tokens(texts, texts[::-1]), encoder.tokens(texts)
            joined = seconds(lambda: encoder.embed(pairs))
            entries.append(entry("joined", CORPUS * (CORPUS - 1) // 2, len(texts), joined, 0.0))
            vectors = encoder.embed(alone)
            entries.append(
                entry("alone", CORPUS, len(texts), seconds(lambda: encoder.embed(alone)), comparison(vectors))
            )
        vectors = student.encode(texts)
        many = [texts[row % len(texts)] for row in range(CORPUS)]
        entries.append(entry("student", CORPUS, CORPUS, seconds(lambda: student.encode(many)), comparison(vectors)))
        facts = {"encoder": params.pair_cost.encoder, "sentences": len(texts), "corpus": CORPUS, "absent": absent}
        write_json(COST, {**facts, "systems": entries})
        counters.keep(len(entries))


if __name__ == "__main__":
    main()
