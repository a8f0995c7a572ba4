"""Score the bundled parser on UD English EWT from raw text, as the CoNLL 2018 shared task did.

    python -m stages.syntax.score_parser dev
    python -m stages.syntax.score_parser test        # once, when all is decided

The pipeline gets the text of each paragraph and finds sentences, tokens and words itself; the official script (udtools)
aligns its words with the treebank's. Figures are F1, in percent; they stand in models/syntax/scores.json.
"""

import io
from typing import Any

from udtools.udeval import evaluate, load_conllu

from sentence_distillery.benchmarks import external
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.syntax.parser import BUNDLED, load_parser, restore_long_tokens

EWT = external.EXTERNAL_DIRECTORY / "ud-english-ewt"
SCORES = BUNDLED / "scores.json"
LONGEST = 400  # words of a sentence
METRICS = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "Lemmas", "UAS", "LAS", "CLAS")
ENHANCEMENTS = (  # which the script asks about, and basic trees do not have
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
    """The text of a CoNLL-U file: sentences of a paragraph in a line, a blank line between paragraphs."""
    paragraphs: list[str] = []
    for sentence in conllu.strip().split("\n\n"):
        lines = sentence.split("\n")
        text = next(line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
        if not paragraphs or any(line.startswith(("# newpar", "# newdoc")) for line in lines):
            paragraphs.append("")
        paragraphs[-1] += text if "SpaceAfter=No" in lines[-1] else f"{text} "
    return "\n\n".join(paragraph.strip() for paragraph in paragraphs)


def scores(gold: str, found: str) -> dict[str, float]:
    """F1 of each metric in percent, of one CoNLL-U text against another of the same characters."""
    options = dict.fromkeys(ENHANCEMENTS, 0)
    sides = [load_conllu(io.StringIO(text), name, options) for name, text in (("gold", gold), ("parser", found))]
    result: Any = evaluate(*sides)
    return {name: round(100 * result[name].f1, 2) for name in METRICS}


def score(split: str) -> dict[str, float]:
    """What the bundled parser reaches on one split; raises InputError where the treebank is absent."""
    path = EWT / f"en_ewt-ud-{split}.conllu"
    if not path.is_file():
        raise InputError(f"{path} does not exist; {external.REMEDY}.")
    gold = path.read_text(encoding="utf-8")
    parser = load_parser("bundled", LONGEST)
    text = raw_text(gold)
    document = parser.pipeline(text)
    restore_long_tokens(document, text)
    return scores(gold, f"{document:C}\n\n")
