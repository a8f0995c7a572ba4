"""Build the multilingual encoder and measure it: `python -m measurements.release.multilingual`, resumable."""

import argparse
import csv
import logging
import sys
from dataclasses import asdict
from pathlib import Path

from measurements.release.multilingual.build import Plan, build
from measurements.release.multilingual.evaluation import Part, Scores, measure
from sentence_distillery.encoder.persistence.finding import MULTILINGUAL_DIRECTORY
from sentence_distillery.io.artifacts import InputError


def main(arguments: list[str]) -> None:
    """Build the encoder; with test sets, write its figures by language."""
    parser = argparse.ArgumentParser(prog="python -m measurements.release.multilingual", description=__doc__)
    parser.add_argument("--place", type=Path, default=Path("data/multilingual"), help="working directory, some 3 GB")
    parser.add_argument("--output", type=Path, default=MULTILINGUAL_DIRECTORY, help="directory of the encoder")
    parser.add_argument("--sets", type=Path, help="directory with stsb and tatoeba: left out of training, measured on")
    parser.add_argument("--part", choices=["dev", "test"], default="dev", help="of the sets, to measure on")
    parser.add_argument("--figures", type=Path, help="a CSV to write the figures to")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    encoder = build(Plan(options.place, options.output, sets=options.sets))
    if options.sets:
        tokens = frozenset(encoder.tokenizer.get_vocab())
        scores = list(measure(encoder.encode, options.sets, options.part, tokens))
        for score in scores:
            print(score)
        if options.figures:
            write_figures(options.figures, scores, options.part)


def write_figures(file: Path, scores: list[Scores], part: Part) -> None:
    """Write the figures of each language as a line of a CSV."""
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, ["part", *asdict(scores[0])], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"part": part} | asdict(score) for score in scores)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
