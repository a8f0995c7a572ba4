"""Build the multilingual encoder and measure it: `python -m measurements.release.multilingual`, resumable."""

import argparse
import logging
import sys
from pathlib import Path

import torch

from measurements.release.multilingual.build import Plan, build
from measurements.release.multilingual.card import figures
from measurements.release.multilingual.evaluation import measure
from sentence_distillery.encoder.persistence.finding import MULTILINGUAL_DIRECTORY
from sentence_distillery.encoder.persistence.names import CARD
from sentence_distillery.io.artifacts import InputError


def main(arguments: list[str]) -> None:
    """Build the encoder; with test sets, print its figures by language and add them to the model card."""
    parser = argparse.ArgumentParser(prog="python -m measurements.release.multilingual", description=__doc__)
    parser.add_argument("--place", type=Path, default=Path("data/multilingual"), help="working directory, some 3 GB")
    parser.add_argument("--output", type=Path, default=MULTILINGUAL_DIRECTORY, help="directory of the encoder")
    parser.add_argument("--sets", type=Path, help="directory with stsb and tatoeba: left out of training, measured on")
    parser.add_argument("--part", choices=["dev", "test"], default="dev", help="of the sets, to measure on")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)  # on a shared machine, more threads wait for each other most of the time
    encoder = build(Plan(options.place, options.output, sets=options.sets))
    if options.sets:
        tokens = frozenset(encoder.tokenizer.get_vocab())
        section = figures(measure(encoder.encode, options.sets, options.part, tokens), options.part)
        print(section)
        with (options.output / CARD).open("a", encoding="utf-8") as opened:
            opened.write(section)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
