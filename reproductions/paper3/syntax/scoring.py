"""Score a parser on UD English EWT from raw text, as the CoNLL 2018 shared task did.

The pipeline gets the text of each paragraph and finds sentences, tokens and words itself; the official script (udtools)
aligns its words with the treebank's. Figures are F1, in percent.
"""

import io
from pathlib import Path
from typing import Any

from udtools.udeval import evaluate, load_conllu

from reproductions.paper3.syntax.parser import load_parser, restore_long_tokens
from sentence_distillery.io.artifacts import InputError

SCORES = "scores.json"
LONGEST = 400  # words of a sentence
METRICS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "Lemmas", "UAS", "LAS", "CLAS")
ENHANCEMENTS = (  # options of the script that concern enhanced trees; these are basic ones
    "no_gapping",
    "no_shared_parents_in_coordination",
    "no_shared_dependents_in_coordination",
    "no_control",
    "no_external_arguments_of_relative_clauses",
    "no_case_info",
    "no_empty_nodes",
    "multiple_roots_okay",
)


def raw_text(conllu: str) -> str:
    """Return the text of a CoNLL-U file: the sentences of a paragraph on one line, a blank line between paragraphs.

    Raises:
        InputError: If a sentence has no text, or there is no sentence.
    """
    paragraphs: list[str] = []
    for number, sentence in enumerate(conllu.strip().split("\n\n"), 1):
        lines = sentence.split("\n")
        text = next((line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")), None)
        if text is None:
            raise InputError(
                f"Sentence {number} of the treebank has no line '# text = ...'; download the treebank again."
            )
        if not paragraphs or any(line.startswith(("# newpar", "# newdoc")) for line in lines):
            paragraphs.append("")
        paragraphs[-1] += text if "SpaceAfter=No" in lines[-1] else f"{text} "
    return "\n\n".join(paragraph.strip() for paragraph in paragraphs)


def scores(reference: str, parsed: str) -> dict[str, float]:
    """Return F1 of each metric, in percent, of one CoNLL-U text against another with the same characters."""
    options = dict.fromkeys(ENHANCEMENTS, 0)
    sides = [
        load_conllu(io.StringIO(text), name, options) for name, text in (("treebank", reference), ("parser", parsed))
    ]
    result: Any = evaluate(*sides)
    return {name: round(100 * result[name].f1, 2) for name in METRICS}


def treebank_file(treebank: Path, split: str) -> Path:
    """Return the file of one split of UD English EWT; raises InputError if it does not exist."""
    path = treebank / f"en_ewt-ud-{split}.conllu"
    if not path.is_file():
        raise InputError(f"{path} does not exist; put the files of the treebank UD English EWT into {treebank}.")
    return path


def score(models: Path, treebank: Path, split: str) -> dict[str, float]:
    """Score the models of a directory on one split of the treebank.

    Args:
        models: a directory that `load_parser` takes.
        treebank: the directory of UD English EWT.
        split: train, dev or test.

    Returns:
        F1 of each of METRICS, in percent.

    Raises:
        InputError: the treebank or a model is missing or damaged.
    """
    reference = treebank_file(treebank, split).read_text(encoding="utf-8")
    parser = load_parser(models, LONGEST)
    text = raw_text(reference)
    document = parser.pipeline(text)
    restore_long_tokens(document, text)
    return scores(reference, f"{document:C}\n\n")
