"""The stage `pair_embeddings@{encoder}-{pooling}`: encode every sentence of the pairs once for all cells of an encoder.

Reads data/pairs and the published encoder, and writes its vectors to models/pairs/starts/<encoder>-<pooling>.
"""

import logging
import sys

from reproductions.encoders.trainable import PairEncoder, Pooling
from reproductions.paper2.pairs.data import load_pair_data
from reproductions.paper2.pairs.starts import write_start
from sentence_distillery.io.artifacts import atomic_directory
from sentence_distillery.teachers.transformer import NO_WEIGHTS, AbsentModelError, load_encoder
from stages import paths
from stages.stage import stage

log = logging.getLogger("stages")


def main() -> None:
    name, pooling = sys.argv[1:]
    with (
        stage(f"pair_embeddings@{name}-{pooling}", unit="sentences") as (params, counters),
        atomic_directory(paths.STARTS / f"{name}-{pooling}") as directory,
    ):
        data = load_pair_data(paths.PAIRS)
        try:
            encoder = PairEncoder(load_encoder(params.encoders[name]), Pooling(pooling))
        except AbsentModelError as error:
            log.warning("%s is left out: %s", name, error)
            write_start(directory, NO_WEIGHTS, data.sentences, tuned=False)
            counters.drop(NO_WEIGHTS.reason, len(data.sentences))
            return
        write_start(directory, encoder, data.sentences, tuned=False)
        counters.keep(len(data.sentences))


if __name__ == "__main__":
    main()
