"""The stage `pair_cost`: measure the cost of comparing all pairs of 10,000 sentences (paper 2, section 3.3).

Reads sentences of data/pairs, times a cross-encoder, a bi-encoder and the static student on them, and writes
reports/pair_cost.json: how many runs each takes. Seconds differ from run to run: they are in
reports/costs/pair_seconds.json, which is not an output.
"""

import numpy as np

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper2 import cost
from reproductions.paper2.pairs.data import load_pair_data
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.io.unavailable import Unavailable, to_json
from sentence_distillery.teachers.transformer import AbsentModelError, load_encoder
from stages import paths
from stages.stage import stage


def main() -> None:
    with stage("pair_cost", unit="systems") as (params, counters):
        name, count = params.pair_cost.encoder, params.pair_cost.sentences
        data = load_pair_data(paths.PAIRS)
        texts = [data.sentences[row] for row in np.unique(data.splits["test"].rows)[:count].tolist()]
        student = StaticEncoder.load(paths.STUDENT)
        systems: list[cost.Entry] = []
        unavailable = None
        try:
            encoder = PairEncoder(load_encoder(params.encoders[name]), Pooling.MEAN)
        except AbsentModelError:
            unavailable = Unavailable(f"weights of {name} not available here")
            counters.drop(unavailable.reason)
        else:
            systems += cost.transformer_costs(encoder, texts)
        systems.append(cost.static_cost(student.encode, texts))
        facts = {"encoder": name, "sentences": len(texts), "corpus": cost.CORPUS}
        runs = [{name: entry[name] for name in ("system", "runs")} for entry in systems]
        write_json(paths.PAIR_COST, {**facts, **to_json(unavailable), "systems": runs})
        write_json(paths.PAIR_SECONDS, {**facts, "systems": systems})
        counters.keep(len(systems))


if __name__ == "__main__":
    main()
