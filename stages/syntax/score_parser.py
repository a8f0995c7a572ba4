"""Score the bundled parser on UD English EWT from raw text, as the CoNLL 2018 shared task did."""

import logging
import sys
from pathlib import Path

from sentence_distillery.io.artifacts import InputError, read_json, write_json
from sentence_distillery.syntax.scoring import SCORES, score


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="score_parser: %(message)s", stream=sys.stderr)
    split = sys.argv[1] if sys.argv[1:] in (["dev"], ["test"]) else sys.exit("score_parser: name dev or test")
    try:
        known = read_json(SCORES) if SCORES.is_file() else {}
        write_json(SCORES, known | {split: score(split)})
    except InputError as error:
        sys.exit(f"score_parser: {error}")
    print(Path(SCORES).read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
