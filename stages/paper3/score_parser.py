"""Score the parser that ships in models/syntax on UD English EWT from raw text, as the CoNLL 2018 shared task did.

    python -m stages.paper3.score_parser dev
    python -m stages.paper3.score_parser test        # once, after all decisions

It reads the treebank in data/external, and writes the figures of the split to models/syntax/scores.json.
"""

import argparse
import json
import logging
import sys

from reproductions.paper3.paper import ParserScores
from reproductions.paper3.syntax.scoring import SCORES, score
from sentence_distillery.io.artifacts import InputError, read_json, write_json
from stages import paths


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="score_parser: %(message)s", stream=sys.stderr)
    parser = argparse.ArgumentParser(description="Score the parser in models/syntax on UD English EWT.")
    parser.add_argument("split", choices=("dev", "test"))
    split: str = parser.parse_args().split
    file = paths.PARSER / SCORES
    try:
        known = read_json(file, ParserScores) if file.is_file() else {}
        write_json(file, known | {split: score(paths.PARSER, paths.TREEBANK, split)})
    except InputError as error:
        sys.exit(f"score_parser: {error}")
    print(json.dumps(read_json(file, ParserScores)[split], indent=2))


if __name__ == "__main__":
    main()
