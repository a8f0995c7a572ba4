"""Score how well cleaning finds sentence ends and boilerplate: `python -m measurements.corpus_quality`.

Sentences: each system splits whole paragraphs, and the sentence ends inside of a paragraph are compared, on a sample of
labelled lines and on the test split of UD English EWT. The splitter of `corpus.sentences` is compared with sentencex,
Punkt (trained here, without labels, on the text of EWT's training split; needs `pip install nltk`) and Stanza models
(trained on the labels of that split). A row says what a splitter would reach that found every end with a mark (. ! ? …)
and no other place: in EWT a fifth of the ends have none.

Boilerplate: the lines of the sample that cleaning drops as boilerplate, all in one corpus.

Reads data/samples/lines.csv, UD English EWT below data/external, and the Stanza models of models/syntax; writes
precision, recall and F1 to reports/corpus_quality.csv, which the report shows.
"""

import importlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencex

from measurements.command import write_rows
from reproductions.paper3.syntax.parser import load_parser
from sentence_distillery.corpus.decisions import SENTENCE_REASONS, decide
from sentence_distillery.corpus.documents import examine, read_lines
from sentence_distillery.corpus.options import Clean
from sentence_distillery.corpus.sentences import split_sentences
from sentence_distillery.io.artifacts import InputError, read_rows
from sentence_distillery.io.unavailable import Unavailable
from stages import paths
from stages.params import load_params

SAMPLE = paths.SAMPLES / "lines.csv"  # document, source, boilerplate (1 or 0), text with END between sentences
TREEBANK = paths.EXTERNAL / "ud-english-ewt"  # en_ewt-ud-<split>.conllu
COLUMNS = ("task", "set", "system", "precision", "recall", "f1", "n", "note")
END = " | "  # of a sentence, in the sample
MARKS, CLOSING = ".!?…", "\"'”’)] "  # before a sentence end; the characters that may be between
LONGEST = 400  # words of a sentence; a parser needs it, a splitter does not

Splitter = Callable[[str], list[str]]
Row = dict[str, str]


@dataclass(frozen=True)
class Paragraph:
    """One line of text, and the places where sentences end in it, without the last."""

    text: str
    ends: frozenset[int]


@dataclass(frozen=True)
class Line:
    """A line of the sample, with END between its sentences."""

    document: str
    source: str
    boilerplate: bool
    text: str

    @property
    def paragraph(self) -> Paragraph:
        return paragraph(self.text.split(END), [" "] * self.text.count(END) + [""])


def paragraph(sentences: Sequence[str], after: Sequence[str]) -> Paragraph:
    """Join sentences, each with the space after it, to a paragraph."""
    text, ends = "", list[int]()
    for sentence, space in zip(sentences, after, strict=True):
        ends.append(len(text) + len(sentence))
        text += sentence + space
    return Paragraph(text.rstrip(), frozenset(ends[:-1]))


def read_sample(path: Path) -> list[Line]:
    """Read the labelled lines of a CSV file; raises InputError if it is missing."""
    rows = read_rows(path, dict.fromkeys(("document", "source", "boilerplate", "text"), str))
    return [Line(row["document"], row["source"], row["boilerplate"] == "1", row["text"]) for row in rows]


def read_treebank(directory: Path, split: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of a split of UD English EWT; raises InputError if it is absent."""
    path = directory / f"en_ewt-ud-{split}.conllu"
    if not path.is_file():
        raise InputError(f"{path} does not exist; put UD English EWT there (`make benchmarks` in the repository).")
    texts: list[str] = []
    after: list[str] = []
    for sentence in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = sentence.split("\n")
        if texts and any(line.startswith(("# newpar", "# newdoc")) for line in lines):
            yield paragraph(texts, after)
            texts, after = [], []
        texts.append(next(line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")))
        after.append("" if "SpaceAfter=No" in lines[-1] else " ")
    yield paragraph(texts, after)


def inner_ends(text: str, sentences: Sequence[str]) -> set[int]:
    """Find the places in `text` where the sentences of a splitter end, without the last."""
    ends, place = set(), 0
    for sentence in sentences:
        place = text.index(sentence, place) + len(sentence)
        ends.add(place)
    return ends - {len(text)}


def figures(right: int, found: int, expected: int) -> Row:
    """Compute precision, recall and F1, in [0, 1], with n = `expected`; an empty figure has its reason as the note."""
    parts = {"precision": (right, found), "recall": (right, expected), "f1": (2 * right, found + expected)}
    shares = {name: f"{share / whole:.4f}" if whole else "" for name, (share, whole) in parts.items()}
    note = "there are none" if not expected else "none was found" if not found else ""
    return shares | {"n": str(expected), "note": note}


def score_splitter(split: Splitter, paragraphs: Sequence[Paragraph]) -> Row:
    """Score a splitter on the inner sentence ends of all paragraphs."""
    found_ends = [inner_ends(one.text, split(one.text)) for one in paragraphs]
    right = sum(len(ends & one.ends) for ends, one in zip(found_ends, paragraphs, strict=True))
    return figures(right, sum(map(len, found_ends)), sum(len(one.ends) for one in paragraphs))


def score_marks(paragraphs: Sequence[Paragraph]) -> Row:
    """Score finding all inner sentence ends that have a mark before them, and no other place."""
    marked = sum(one.text[:end].rstrip(CLOSING)[-1:] in MARKS for one in paragraphs for end in one.ends)
    return figures(marked, marked, sum(len(one.ends) for one in paragraphs))


def score_boilerplate(lines: Sequence[Line], clean: Clean) -> Row:
    """Score cleaning on the lines that it drops as boilerplate, or empties."""
    documents = [list(group) for _, group in itertools.groupby(lines, lambda line: line.document)]
    texts = ["\n\n".join(line.paragraph.text for line in document) for document in documents]
    names = sorted({line.source for line in lines})
    sources = np.array([names.index(document[0].source) for document in documents], np.int32)
    examined = examine((0, texts), clean.language, clean.minimum_tokens, clean.maximum_tokens)
    decisions = decide(examined.documents, examined.sentences, sources, np.array([], np.uint64), clean)
    columns = (examined.table[name].to_pylist() for name in ("document", "text"))
    kept = {
        (document, text)
        for document, text, code in zip(*columns, decisions.sentences, strict=True)
        if not SENTENCE_REASONS[code].startswith("boilerplate")
    }
    dropped = []
    for number, document in enumerate(documents):
        for line in document:
            sentences = itertools.chain.from_iterable(read_lines(line.paragraph.text, clean.language, Counter()))
            if not any((number, sentence) in kept for sentence in sentences):
                dropped.append(line)
    return figures(sum(line.boilerplate for line in dropped), len(dropped), sum(line.boilerplate for line in lines))


def punkt(treebank: Path) -> Splitter | Unavailable:
    """Train Punkt on the text of EWT's training split, or say why it is not available."""
    try:
        module: Any = importlib.import_module("nltk.tokenize.punkt")
    except ModuleNotFoundError:
        return Unavailable("not available here: pip install nltk")
    trainer = module.PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train("\n\n".join(one.text for one in read_treebank(treebank, "train")), finalize=True)
    tokenizer = module.PunktSentenceTokenizer(trainer.get_params())
    return lambda text: list(tokenizer.tokenize(text))


def stanza(directory: Path) -> Splitter | Unavailable:
    """Load the Stanza models of a directory, or say why they are not available."""
    if not directory.exists():
        return Unavailable(f"not available here: no {directory}")
    pipeline = load_parser(directory, LONGEST).pipeline
    return lambda text: [sentence.text for sentence in pipeline(text, processors="tokenize").sentences]


def rows(clean: Clean) -> Iterator[Row]:
    """Yield the scores of all systems on all sets, or why there are none; raises InputError if a set is absent."""
    lines = read_sample(SAMPLE)
    sets = {
        "sample": [line.paragraph for line in lines if not line.boilerplate],
        "UD English EWT test": list(read_treebank(TREEBANK, "test")),
    }
    systems: dict[str, Splitter | Unavailable] = {
        "clean": lambda text: split_sentences(text, "en"),
        "sentencex": lambda text: [sentence.strip() for sentence in sentencex.segment("en", text) if sentence.strip()],
        "Punkt": punkt(TREEBANK),
        "Stanza": stanza(paths.PARSER),
    }
    for (name, paragraphs), (system, split) in itertools.product(sets.items(), systems.items()):
        if isinstance(split, Unavailable):
            score: Row = dict.fromkeys(COLUMNS, "") | {"note": split.reason}
        else:
            score = score_splitter(split, paragraphs)
        yield score | {"task": "sentence ends", "set": name, "system": system}
    for name, paragraphs in sets.items():
        yield score_marks(paragraphs) | {"task": "sentence ends", "set": name, "system": "every end with a mark"}
    yield score_boilerplate(lines, clean) | {"task": "boilerplate lines", "set": "sample", "system": "clean"}


def main() -> None:
    scores = list(rows(load_params().clean))
    write_rows(paths.CORPUS_QUALITY, scores, COLUMNS)
    for score in scores:
        print("  ".join(score[column] for column in COLUMNS))


if __name__ == "__main__":
    main()
