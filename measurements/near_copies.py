"""Does a lead come from near copies of test sentences in the training text? `python -m measurements.near_copies FROM`.

The training text is that of the last run of the pipeline (data/corpus/sentences), after `params use best` that of the
released encoder; `--text` names that of `make continued`, too (data/checkpoints/continued/labelled/sentences). Equal
sentences are removed before training, near copies are not: captions of one picture share most of their words. A pair
has a near copy at t if one of its sentences has, with a training sentence, a Jaccard index of the words of at least t.

Each encoder is scored on the pairs without such a sentence and on those with one, for each of THRESHOLDS, in
near-copies.csv of `--output`.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measurements import command
from measurements.peers import PEERS
from measurements.sets import collected
from sentence_distillery.distillation.soft_labels import part_texts
from sentence_distillery.encoder.tokenizer import words
from sentence_distillery.evaluation.evaluate import main_result
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.artifacts import table_parts
from stages import paths

SETS = ("stsb", "sick")
COMPARED = ("released", "WordLlama")
THRESHOLDS = (0.5, 0.8)

log = logging.getLogger("near_copies")


class TrainingText:
    """Sentences as sets of words, to be searched for the nearest one."""

    def __init__(self, sentences: Sequence[str]) -> None:
        sets = {frozenset(words(sentence)) for sentence in sentences} - {frozenset()}
        self.sizes = np.array([len(each) for each in sets])
        rows: dict[str, list[int]] = {}
        for row, each in enumerate(sets):
            for word in each:
                rows.setdefault(word, []).append(row)
        self.with_word = {word: np.array(found) for word, found in rows.items()}

    def nearest(self, sentence: str) -> float:
        """Return the greatest Jaccard index of a sentence with a training sentence, in [0, 1]."""
        own = set(words(sentence))
        found = [self.with_word[word] for word in own if word in self.with_word]
        if not found:
            return 0.0
        shared = np.bincount(np.concatenate(found), minlength=len(self.sizes))
        return float((shared / (len(own) + self.sizes - shared)).max())


def nearest_of(pairs: PairSet, text: TrainingText) -> NDArray[np.float64]:
    """Return the greater index of the two sentences of each pair, (pairs,) in [0, 1]."""
    known = {sentence: text.nearest(sentence) for sentence in {*pairs.sentences1, *pairs.sentences2}}
    both = zip(pairs.sentences1, pairs.sentences2, strict=True)
    return np.array([max(known[one], known[other]) for one, other in both])


def measured(pairs: PairSet, nearest: NDArray[np.float64], peers: Sequence[str]) -> Iterator[Result]:
    """Yield the figure of each encoder on the pairs without a near copy and on those with one."""
    for threshold in THRESHOLDS:
        for name, chosen in (("without", nearest < threshold), ("with", nearest >= threshold)):
            part = TaskSet("sts", pairs.take(np.flatnonzero(chosen)))
            for peer in peers:
                row = main_result(peer, PEERS[peer].load(part), part)
                yield replace(row, protocol=f"{name}, {threshold}")


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Score encoders on test pairs with and without near copies."
    parser = command.argument_parser(about, "directories of stsb and sick")
    parser.add_argument("--text", type=Path, nargs="+", default=[paths.SENTENCES], help="the training text")
    parser.add_argument("--peers", nargs="+", choices=tuple(PEERS), default=list(COMPARED))
    parser.add_argument("--work", type=Path, default=Path("build/near-copies"), help="directory of the sets")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/suite"))
    options = command.parsed(parser, arguments)
    with command.refusals("near_copies"):
        parts = (part for directory in options.text for part in table_parts(directory))
        sentences = list(dict.fromkeys(text for part in parts for text in part_texts(part)))
        data, rows = collected(SETS, options.source, options.work), list[Result]()
        text = TrainingText(sentences)
        for name in SETS:
            log.info("%s", name)
            pairs = data.pairs(name, "test")
            rows += measured(pairs, nearest_of(pairs, text), options.peers)
    about = f"python -m measurements.near_copies FROM; {len(sentences):,} training sentences; {command.today()}"
    versions = "; ".join(f"{name}: {PEERS[name].described}" for name in options.peers)
    write_results(options.output / "near-copies.csv", rows, f"{about}; {versions}")


if __name__ == "__main__":
    main()
