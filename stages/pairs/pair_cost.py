"""Stage `pair_cost`: what it costs to compare every two of 10,000 sentences (paper 2, section 3.3)."""

import numpy as np

from sentence_distillery.encoder.static_encoder import STUDENT, StaticEncoder
from sentence_distillery.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.encoders.transformer import AbsentModelError, load_encoder
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.pairs.data import load_material
from sentence_distillery.papers.paper2.cost import CORPUS, COST, comparison, entry, seconds
from stages.stage import stage


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
