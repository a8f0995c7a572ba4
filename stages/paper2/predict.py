"""Decide whether two sentences are paraphrases, with the score and the threshold.

    python -m stages.paper2.predict "The storm closed the port." "A gale shut the harbour."
    python -m stages.paper2.predict --file pairs.csv --output decided.csv     columns sentence1, sentence2

The model is the winner of the matrix, models/paraphraser, or any other cell: `--model models/pairs/cells/<cell>` for a
bi-encoder, `--model models/pairs/starts/<cell>` for a cross-encoder.
"""

import argparse
import sys
from pathlib import Path

from reproductions.paper2.pairs.prediction import Paraphraser, predict_file
from sentence_distillery.io.artifacts import InputError
from stages import paths

SAME_FOR_ALL = (
    "predict: the threshold of {model} is {threshold:.4f}, outside the range of scores, so all pairs get the same "
    "decision. On the validation pairs, no other threshold was better. Train on other or more pairs: `pairs.dataset`."
)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m stages.paper2.predict", description="Decide whether two sentences are paraphrases."
    )
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="two sentences")
    parser.add_argument("--file", type=Path, help=".csv or .tsv with the columns sentence1 and sentence2")
    parser.add_argument("--output", type=Path, help=".csv file for the decisions on the pairs of --file")
    help_text = f"directory of the model, a bi-encoder or a cross-encoder; {paths.PARAPHRASER} by default"
    parser.add_argument("--model", type=Path, default=paths.PARAPHRASER, help=help_text)
    options = parser.parse_args(argv)
    if bool(options.file) != bool(options.output) or (len(options.sentences) != 2) == (options.file is None):
        parser.error("give two sentences, or --file and --output")
    try:
        if options.file is None and not all(text.strip() for text in options.sentences):
            raise InputError("One of the sentences is empty; give both.")
        if options.model == paths.PARAPHRASER and not options.model.exists():
            raise InputError(f"{options.model} is not there; `make run`, or `dvc repro pair_results`, trains it.")
        paraphraser = Paraphraser.load(options.model)
        if not paraphraser.separates:
            print(SAME_FOR_ALL.format(model=options.model, threshold=paraphraser.threshold), file=sys.stderr)
        if options.file is not None:
            count = predict_file(paraphraser, options.file, options.output)
            print(f"{count} paraphrases, threshold {paraphraser.threshold:.4f}, in {options.output}")
            return
        decided = paraphraser.predict(*([text] for text in options.sentences))
        answer = "paraphrases" if decided.paraphrase[0] else "no paraphrases"
        print(f"{answer}: score {decided.scores[0]:.4f}, threshold {decided.threshold:.4f}")
    except InputError as error:
        sys.exit(f"predict: {error}")


if __name__ == "__main__":
    main()
