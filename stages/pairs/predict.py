"""Say whether two sentences are paraphrases, with the score and the threshold."""

import argparse
import sys
from pathlib import Path

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.pairs.prediction import ALL_ALIKE, MODEL, Paraphraser, decide_file


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m stages.pairs.predict", description="Are two sentences paraphrases?"
    )
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="two sentences")
    parser.add_argument("--file", type=Path, help=".csv or .tsv with the columns sentence1 and sentence2")
    parser.add_argument("--output", type=Path, help="where --file's decisions go, .csv")
    parser.add_argument("--model", type=Path, default=MODEL, help=f"directory of the model, {MODEL} by default")
    options = parser.parse_args(argv)
    if bool(options.file) != bool(options.output) or (len(options.sentences) != 2) == (options.file is None):
        parser.error("give two sentences, or --file and --output")
    try:
        if options.file is None and not all(text.strip() for text in options.sentences):
            raise InputError("One of the sentences is empty; give both.")
        paraphraser = Paraphraser.load(options.model)
        if not paraphraser.tells_apart:
            print(ALL_ALIKE.format(model=options.model, threshold=paraphraser.threshold), file=sys.stderr)
        if options.file is not None:
            found = decide_file(paraphraser, options.file, options.output)
            print(f"{found} paraphrases, threshold {paraphraser.threshold:.4f}, in {options.output}")
            return
        scores, alike = paraphraser.decide(*([text] for text in options.sentences))
        answer = "paraphrases" if alike[0] else "no paraphrases"
        print(f"{answer}: score {scores[0]:.4f}, threshold {paraphraser.threshold:.4f}")
    except InputError as error:
        sys.exit(f"predict: {error}")


if __name__ == "__main__":
    main()
