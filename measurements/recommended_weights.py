"""Is the recommended weight of the lexical channel a good one? `python -m measurements.recommended_weights FROM`.

`evaluate --texts` recommends weights without labels (sentence_distillery/domain/lexical_weight.py). Labels that it does
not see tell how good they are: on the texts of sets with classes, the share of the ten nearest texts that have the
same class; on sets with queries, nDCG@10. No test split is read. `recommended-weights.csv` in `--output` has the
figures without a channel, with the recommended weight, with that of "released-search", and with the best weight.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from measurements import command
from measurements.equal_bytes import argument_parser
from measurements.peers import TEACHER
from measurements.release.gate import KINDS, read
from measurements.release.release import SETS, WORK
from measurements.sets import collected
from sentence_distillery.domain.lexical_weight import WEIGHTS
from sentence_distillery.domain.texts import distinct, evaluate_on_texts
from sentence_distillery.encoder.lexical import LEXICAL_WEIGHT, Weight
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import main_measure
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import QuerySet
from sentence_distillery.evaluation.tasks import TaskSet

TEXTS = 1_000  # of a set
NEAREST = 10
TITLES = {
    "banking77": "bank questions (Banking77)",
    "trec": "questions (TREC)",
    "subj": "sentences of reviews and plots (SUBJ)",
    "mr": "film reviews (MR)",
    "tweet_emotion": "tweets, emotion",
    "scifact": "scientific abstracts (SciFact)",
    "nfcorpus": "medical pages (NFCorpus)",
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argument_parser("Compare the recommended weights of the lexical channel with the best ones.")
    options = command.parsed(parser, arguments)
    with command.refusals("recommended_weights"):
        data = collected(SETS, options.source, WORK)
        tasks = [read(data, kind, *each) for kind in ("classification", "search") for each in KINDS[kind]]
        rows = [row for task in tasks for row in compared(task)]
    comment = f"python -m measurements.recommended_weights FROM; at most {TEXTS:,} texts of each set; {command.today()}"
    write_results(options.output / "recommended-weights.csv", rows, comment)


def compared(task: TaskSet) -> Iterator[Result]:
    """Yield the figures of a set with no channel, the recommended weight, that of "released-search", the best one."""
    searched = isinstance(task.texts, QuerySet)
    chosen = distinct(task.texts.documents if isinstance(task.texts, QuerySet) else [*task.all_texts()], TEXTS, seed=1)
    figure = partial(search, task) if searched else partial(neighbours, task, chosen)
    protocol = "weight for a search" if searched else "weight for neighbours"
    found = {weight: figure(weight) for weight in (*WEIGHTS, LEXICAL_WEIGHT)}
    measures = evaluate_on_texts(StaticEncoder.load("released"), chosen, TEACHER, show_progress=False)
    recommended = next(each.value for each in measures if each.protocol == protocol)
    assert isinstance(recommended, float)
    best = max(WEIGHTS, key=lambda weight: found[weight])
    system = f"{TITLES[task.tested.name]}: weight {recommended:g}, best {best:g}"
    shown: dict[str, Weight] = {"none": 0.0, "recommended": recommended, "search": LEXICAL_WEIGHT, "best": best}
    for name, weight in shown.items():
        yield Result(system, "labels", "", name, "figure", found[weight], len(chosen))


def neighbours(task: TaskSet, chosen: Sequence[str], weight: Weight) -> float:
    """Return the share of the nearest texts that have the same class."""
    assert isinstance(task.texts, tuple)
    known = {text: label for part in task.texts for text, label in zip(part.texts, part.labels, strict=True)}
    labels = np.array([known[text] for text in chosen])
    vectors = StaticEncoder.load("released", lexical_weight=weight).encode(list(chosen))
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    return float((labels[nearest] == labels[:, None]).mean())


def search(task: TaskSet, weight: Weight) -> float:
    """Return nDCG@10 of a set with queries."""
    found = main_measure(StaticEncoder.load("released", lexical_weight=weight), task).value
    assert isinstance(found, float)
    return found


if __name__ == "__main__":
    main()
