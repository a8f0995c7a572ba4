"""Stage `pair_embeddings@{encoder}-{pooling}`: every sentence of the pairs, encoded once for all that starts here."""

import logging
import sys

from sentence_distillery.encoders.trainable import PairEncoder, Pooling
from sentence_distillery.encoders.transformer import AbsentModelError, load_encoder
from sentence_distillery.io.artifacts import atomic_directory, write_json
from sentence_distillery.pairs.cells import START, STARTS, write_start
from sentence_distillery.pairs.data import load_material
from sentence_distillery.pairs.training import clock
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    name, pooling = sys.argv[1:]
    with (
        stage(f"pair_embeddings@{name}-{pooling}", unit="sentences") as (params, counters),
        atomic_directory(STARTS / f"{name}-{pooling}") as directory,
    ):
        material = load_material()
        try:
            encoder = PairEncoder(load_encoder(params.encoders[name]), Pooling(pooling))
        except AbsentModelError as error:
            log.warning("%s is left out: %s", name, error)
            write_json(directory / START, {"absent": "weights not available here", "tuned": False})
            counters.drop("weights not available here", len(material.sentences))
            return
        began = clock(encoder.transformer.device)
        vectors = encoder.embed(encoder.tokens(material.sentences))
        seconds = clock(encoder.transformer.device) - began
        write_start(directory, encoder, vectors, {"tuned": False, "seconds": round(seconds, 1)})
        counters.keep(len(vectors))


if __name__ == "__main__":
    main()
