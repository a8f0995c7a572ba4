"""Compare a new encoder with the released one, kind by kind of task, without a test split.

    kind              sets                                             figure
    similarity        STS-B dev, SICK trial                            Spearman
    pairs             SICK trial, whether the first entails the other  average precision
    classification    the training texts of five sets, a quarter of    accuracy of a logistic regression
                      them scored; TweetEval has a dev split
    search            SciFact train, NFCorpus dev                      nDCG@10

A kind has the mean of its sets. Both encoders are scored on the same bootstrap draws, so the interval is that of the
difference. No set of clustering has texts that are not its test split, and no other set of labelled pairs: MRPC has no
dev split, its training texts are in the corpus of `best`, and Twitter URL is a test split alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, main_measure
from sentence_distillery.evaluation.sets.data import BenchmarkData, DocumentSet, PairSet, Split
from sentence_distillery.evaluation.tasks import TaskSet, read_task
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

PAIRS, ENTAILMENT = "pairs", "ENTAILMENT"
KINDS: dict[str, tuple[tuple[str, Split], ...]] = {
    "similarity": (("stsb", "dev"), ("sick", "dev")),
    PAIRS: (("sick", "dev"),),
    "classification": (
        ("banking77", "train"),
        ("trec", "train"),
        ("subj", "train"),
        ("mr", "train"),
        ("tweet_emotion", "dev"),
    ),
    "search": (("scifact", "train"), ("nfcorpus", "dev")),
}
SCORED = 4  # one of so many training texts is scored, the others are trained on
SEED = 1


@dataclass(frozen=True)
class Difference:
    """The figure of the new encoder less that of the old one."""

    kind: str  # the kind of task
    sets: tuple[str, ...]  # the names of its sets that are there
    old: float  # their mean figures, in [-1, 1]
    new: float
    low: float  # the ends of the interval of the difference at 95 %
    high: float

    @property
    def worse(self) -> bool:
        """Whether the new encoder is worse beyond chance."""
        return self.high < 0

    def __str__(self) -> str:
        change, low, high = (f"{100 * value:+.2f}" for value in (self.new - self.old, self.low, self.high))
        return (
            f"{self.kind} ({', '.join(self.sets)}): {100 * self.old:.2f} -> {100 * self.new:.2f}, "
            f"{change} [{low}, {high}]"
        )


def compare(old: Encoder, new: Encoder, data: BenchmarkData) -> list[Difference]:
    """Compare two encoders on the sets of KINDS that are there; a kind without any of its sets is left out.

    Raises InputError if a figure of a set is undefined, with its reason. The bootstrap: Efron 1979, Another Look at the
    Jackknife, https://doi.org/10.1214/aos/1176344552
    """
    there = data.available()
    found = {kind: [read(data, kind, *each) for each in sets if each[0] in there] for kind, sets in KINDS.items()}
    return [_difference(kind, tasks, old, new) for kind, tasks in found.items() if tasks]


def read(data: BenchmarkData, kind: str, name: str, split: Split) -> TaskSet:
    """Read a set of a kind as `read_task` does: of pairs their entailment, and of texts to classify a part is scored.

    `split` is "dev", or "train" if there is no other one beside the test split.
    """
    task = read_task(data, name, split)
    if kind == PAIRS and isinstance(task.texts, PairSet):
        labels = ["1" if label == ENTAILMENT else "0" for label in task.texts.labels or ()]
        return TaskSet("pair_classification", replace(task.texts, labels=labels))
    if split != "train" or not isinstance(task.texts, tuple):
        return task
    texts, labels = task.texts[1].texts, task.texts[1].labels
    order = np.random.default_rng(SEED).permutation(len(texts)).tolist()
    scored = len(texts) // SCORED
    fitted, rest = (
        DocumentSet(name, split, [texts[row] for row in rows], [labels[row] for row in rows])
        for rows in (order[scored:], order[:scored])
    )
    return replace(task, texts=(fitted, rest))


def _difference(kind: str, tasks: Sequence[TaskSet], old: Encoder, new: Encoder) -> Difference:
    (before, drawn_before), (after, drawn_after) = (_scored(encoder, tasks) for encoder in (old, new))
    names = tuple(task.tested.name for task in tasks)
    low, high, left_out = bootstrap.interval(drawn_after - drawn_before)
    if low is None or high is None:
        raise InputError(f"{left_out:,} of {len(drawn_after):,} draws of {', '.join(names)} have no figure.")
    return Difference(kind, names, before, after, low, high)


def _scored(encoder: Encoder, tasks: Sequence[TaskSet]) -> tuple[float, Floats]:
    """Return the mean of the main figures of all sets, and that of their draws."""
    values, draws = [], []
    for task in tasks:
        measure = main_measure(encoder, task)
        if measure.drawn is None or isinstance(measure.value, Unavailable):
            raise InputError(f"{'/'.join(task.place)} has no {measure.metric}: {measure.value}.")
        values.append(measure.value)
        draws.append(measure.drawn)
    return float(np.mean(values)), np.mean(draws, axis=0)
