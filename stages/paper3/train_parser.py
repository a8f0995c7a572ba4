"""Train the five small Stanza models that ship in models/syntax: `make parser`.

It reads UD English EWT in data/external and GloVe's vectors from their package, keeps its state in
models/checkpoints/parser, and packs the models into models/syntax.
"""

import logging
import sys

from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.paper3.syntax.training import ParserTraining
from sentence_distillery.io.artifacts import InputError
from stages import paths


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="train_parser: %(message)s", stream=sys.stderr)
    logging.getLogger("stanza").setLevel(logging.WARNING)
    try:
        ParserTraining(paths.TREEBANK, paths.PARSER_CHECKPOINTS).run(load_glove, paths.PARSER)
    except InputError as error:
        sys.exit(f"train_parser: {error}")


if __name__ == "__main__":
    main()
