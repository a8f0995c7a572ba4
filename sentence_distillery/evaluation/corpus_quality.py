"""How well `clean` finds sentences and boilerplate: reports/corpus_quality.csv, which the report shows.

    python -m stages.corpus.corpus_quality

Sentences: the ends inside of a paragraph, where each system is given the paragraph; precision, recall and F1 of their
places, on data/samples/lines.csv and on the test split of UD English EWT. Beside the splitter of `clean` stand
sentencex, Punkt (trained here, without labels, on the text of EWT's training split; needs `pip install nltk`) and the
bundled Stanza models (trained on that split's labels). Boilerplate: the lines of the sample that are dropped as
boilerplate, all in one corpus, so that lines that repeat are found, too.
"""

import csv
import importlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencex

from sentence_distillery.benchmarks import external
from sentence_distillery.corpus.decisions import SENTENCE_REASONS, decide
from sentence_distillery.corpus.documents import examine, read_lines
from sentence_distillery.corpus.options import Clean
from sentence_distillery.corpus.sentences import split_sentences
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.syntax.parser import load_parser

SAMPLE = Path("data/samples/lines.csv")
EWT = Path("data/external/ud-english-ewt")
BUNDLED = Path("models/syntax")
QUALITY = Path("reports/corpus_quality.csv")
COLUMNS = ("task", "set", "system", "precision", "recall", "f1", "n", "note")
END = " | "  # of a sentence, in the sample
LONGEST = 400  # words of a sentence; only what parses asks for it

Splitter = Callable[[str], list[str]]
Row = dict[str, str]


@dataclass(frozen=True)
class Paragraph:
    """One line of text, and where the sentences in it end, but for the last."""

    text: str
    ends: frozenset[int]


@dataclass(frozen=True)
class Line:
    """A line of the sample; its sentences are divided by END."""

    document: str
    source: str
    boilerplate: bool
    text: str

    @property
    def paragraph(self) -> Paragraph:
        return paragraph(self.text.split(END), [" "] * self.text.count(END) + [""])


def paragraph(sentences: Sequence[str], after: Sequence[str]) -> Paragraph:
    """The paragraph of `sentences`, each with what stands after it."""
    text = "".join(itertools.chain.from_iterable(zip(sentences, after, strict=True)))
    lengths = [len(sentence) + len(space) for sentence, space in zip(sentences, after, strict=True)]
    ends = (end - len(space) for end, space in zip(itertools.accumulate(lengths), after, strict=True))
    return Paragraph(text.rstrip(), frozenset(list(ends)[:-1]))


def read_sample() -> list[Line]:
    """The lines of data/samples/lines.csv."""
    with SAMPLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Line(row["document"], row["source"], row["boilerplate"] == "1", row["text"]) for row in rows]


def read_treebank(split: str) -> Iterator[Paragraph]:
    """The paragraphs of a split of UD English EWT; raises InputError where it is absent."""
    path = EWT / f"en_ewt-ud-{split}.conllu"
    if not path.is_file():
        raise InputError(f"{path} does not exist; {external.REMEDY}.")
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
    """Where `sentences`, which a splitter found in `text`, end, but for the last."""
    ends, place = set(), 0
    for sentence in sentences:
        place = text.index(sentence, place) + len(sentence)
        ends.add(place)
    return ends - {len(text)}


def figures(right: int, found: int, expected: int) -> Row:
    """Precision, recall and F1 as fractions."""
    precision, recall = right / found, right / expected
    f1 = 2 * precision * recall / (precision + recall)
    shares = {"precision": precision, "recall": recall, "f1": f1}
    return {name: f"{share:.4f}" for name, share in shares.items()} | {"n": str(expected), "note": ""}


def score_splitter(split: Splitter, paragraphs: Sequence[Paragraph]) -> Row:
    """The figures of a splitter on the inner ends of all paragraphs."""
    found = [inner_ends(one.text, split(one.text)) for one in paragraphs]
    right = sum(len(ends & one.ends) for ends, one in zip(found, paragraphs, strict=True))
    return figures(right, sum(map(len, found)), sum(len(one.ends) for one in paragraphs))


def score_boilerplate(lines: Sequence[Line], clean: Clean) -> Row:
    """The figures of the lines that are dropped as boilerplate, or of which nothing is left."""
    documents = [list(group) for _, group in itertools.groupby(lines, lambda line: line.document)]
    texts = ["\n\n".join(line.paragraph.text for line in document) for document in documents]
    names = sorted({line.source for line in lines})
    sources = np.array([names.index(document[0].source) for document in documents], np.int32)
    found = examine((0, texts), clean.language, clean.minimum_tokens, clean.maximum_tokens)
    decisions = decide(found.documents, found.sentences, sources, np.array([], np.uint64), clean)
    kept = {
        (document, text)
        for document, text, code in zip(
            found.table["document"].to_pylist(), found.table["text"].to_pylist(), decisions.sentences, strict=True
        )
        if not SENTENCE_REASONS[code].startswith("boilerplate")
    }
    right = dropped = 0
    for number, document in enumerate(documents):
        for line in document:
            sentences = itertools.chain.from_iterable(read_lines(line.paragraph.text, clean.language, Counter()))
            if not any((number, sentence) in kept for sentence in sentences):
                dropped += 1
                right += line.boilerplate
    return figures(right, dropped, sum(line.boilerplate for line in lines))


def punkt() -> Splitter | str:
    """Punkt, trained on the text of EWT's training split, or why it isn't here."""
    try:
        module: Any = importlib.import_module("nltk.tokenize.punkt")
    except ModuleNotFoundError:
        return "not available here: pip install nltk"
    trainer = module.PunktTrainer()
    trainer.INCLUDE_ALL_COLLOCS = True
    trainer.train("\n\n".join(one.text for one in read_treebank("train")), finalize=True)
    tokenizer = module.PunktSentenceTokenizer(trainer.get_params())
    return lambda text: list(tokenizer.tokenize(text))


def stanza() -> Splitter | str:
    """The bundled Stanza models, or why they aren't here."""
    if not BUNDLED.exists():
        return f"not available here: no {BUNDLED}"
    pipeline = load_parser(BUNDLED, LONGEST).pipeline
    return lambda text: [sentence.text for sentence in pipeline(text, processors="tokenize").sentences]


def rows(clean: Clean) -> Iterator[Row]:
    """All figures."""
    lines = read_sample()
    sets = {
        "sample": [line.paragraph for line in lines if not line.boilerplate],
        "UD English EWT test": list(read_treebank("test")),
    }
    systems: dict[str, Splitter | str] = {
        "clean": lambda text: split_sentences(text, "en"),
        "sentencex": lambda text: [sentence.strip() for sentence in sentencex.segment("en", text) if sentence.strip()],
        "Punkt": punkt(),
        "Stanza": stanza(),
    }
    for (name, paragraphs), (system, split) in itertools.product(sets.items(), systems.items()):
        absent = dict.fromkeys(COLUMNS, "") | {"note": str(split)}
        score = absent if isinstance(split, str) else score_splitter(split, paragraphs)
        yield score | {"task": "sentence ends", "set": name, "system": system}
    yield score_boilerplate(lines, clean) | {"task": "boilerplate lines", "set": "sample", "system": "clean"}
