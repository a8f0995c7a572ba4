"""All sets of the suite, scored for our encoders and for others: `python -m measurements.suite FROM...`.

    kind of task            sets                                                        main figure
    similarity              stsb, sick                                                  Spearman
    pair classification     mrpc, twitter_url                                           average precision
    few-shot classification banking77, tweet_emotion, trec, subj, mr                    accuracy, 8 texts of each class
    all examples            the same                                                    accuracy
    clustering              stackoverflow                                               V-measure
    retrieval               scifact, nfcorpus, cranfield, wikiqa                        nDCG@10 among all documents
    further                 imdb, as classification; sick-e (measurements/entailment.py)  accuracy

All encoders get the same texts and the protocols of MTEB. The intervals hold 95 % of 2,000 draws of the test texts,
pairs or queries; those of a difference are of the same draws.

FROM are directories that hold the sets, in folders or in folders of folders. Figures are kept in `--work`, so an
interrupted call goes on. `suite.csv` in `--output` has every figure, and `differences.csv` what separates each of
`--against` from each other encoder.
"""

import argparse
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from measurements import command, entailment
from measurements.peers import PEERS, Load, released
from measurements.sets import SUITE_SETS, collected
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, main_result, unit
from sentence_distillery.evaluation.results import Result, as_result, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.evaluation.tasks import MAIN, TaskSet, read_task, scored
from sentence_distillery.io.artifacts import atomic_file
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable

IMDB = "imdb"  # scored by MTEB's classifiers, as the other texts, and not by that of paper 1
SETS = (*SUITE_SETS, IMDB, entailment.SET)

log = logging.getLogger("suite")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Score encoders on all sets of the suite.")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=list(PEERS))
    parser.add_argument("--models", nargs="*", type=Path, default=[], help="directories of further encoders")
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument("--against", nargs="+", default=["released"], help="compared with the others (released)")
    parser.add_argument("--work", type=Path, default=Path("suite-work"), help="directory that keeps finished work")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/suite"))
    options = command.parsed(parser, arguments)
    with command.refusals("suite"):
        saved = [each for name in options.sets for each in _set(name, options)]
        rows = [row for each in saved for row in each.results]
        about = "; ".join(f"{name}: {PEERS[name].described}" for name in options.peers)
        comment = f"python -m measurements.suite FROM; {options.split} splits; {command.today()}; {about}"
        write_results(options.output / "suite.csv", rows, comment)
        found = [row for against in options.against for row in differences(saved, against)]
        write_results(options.output / "differences.csv", found, "first minus second")


@dataclass(frozen=True)
class SavedScores:
    """The saved results of an encoder on a set: its figures, and the draws of the main one."""

    system: str
    path: Path

    @property
    def draws_path(self) -> Path:
        return self.path.with_suffix(".npy")

    @cached_property
    def results(self) -> list[Result]:
        return read_results(self.path)

    @property
    def draws(self) -> Floats | None:
        """The main figure in each draw, (draws,), if it has an interval."""
        return np.load(self.draws_path) if self.draws_path.exists() else None


Measure = Callable[[str, Encoder | Unavailable], tuple[list[Result], Floats | None]]  # the main figure is the first


def _set(name: str, options: argparse.Namespace) -> Iterator[SavedScores]:
    """Score every encoder on a set."""
    holder = entailment.HOLDER if name == entailment.SET else name
    data = collected([holder], options.source, options.work / "benchmarks" / holder)
    task, measure = _entailment(data, options.split) if name == entailment.SET else _task(data, name, options.split)
    loaders: dict[str, Load] = {peer: PEERS[peer].load for peer in options.peers}
    loaders |= {model.name: partial(released, model) for model in options.models}
    for system, load in loaders.items():
        saved = SavedScores(system, options.work / options.split / name / f"{system}.csv")
        if not saved.path.exists():
            log.info("%s, %s", name, system)
            score(saved, load(task), measure)
        yield saved


def _task(data: BenchmarkData, name: str, split: Split) -> tuple[TaskSet, Measure]:
    task = read_task(data, name, split)
    if name == IMDB:
        task = replace(task, protocols=())
    return task, partial(by_task, task)


def _entailment(data: BenchmarkData, split: Split) -> tuple[TaskSet, Measure]:
    train, scored = data.pairs(entailment.HOLDER, "train"), data.pairs(entailment.HOLDER, split)
    return TaskSet("sts", scored), partial(entailment.entailment, train, scored)


def by_task(task: TaskSet, system: str, encoder: Encoder | Unavailable) -> tuple[list[Result], Floats | None]:
    """Measure every figure of the task, the main one first; a protocol that only this has is added for it."""
    if isinstance(encoder, Unavailable):
        return [main_result(system, encoder, task)], None
    usual = [name for name, _ in task.chosen]
    wider = replace(task, protocols=tuple(dict.fromkeys([*usual, MAIN[task.type][0]])))
    found = {(each.protocol, each.metric): each for each in scored(unit(encoder), wider)}
    main = found.pop(MAIN[task.type])
    others = [each for each in found.values() if each.protocol in usual]
    return [as_result(system, *task.place, each) for each in (main, *others)], main.drawn


def score(saved: SavedScores, encoder: Encoder | Unavailable, measure: Measure) -> None:
    """Measure an encoder on a set, and keep its figures; the draws are written first."""
    rows, draws = measure(saved.system, encoder)
    if draws is not None:
        with atomic_file(saved.draws_path) as partial, partial.open("wb") as file:
            np.save(file, draws.astype(np.float32))
    write_results(saved.path, rows)


def differences(saved: Sequence[SavedScores], against: str) -> Iterator[Result]:
    """Yield the main figure of `against` less that of each other encoder on the same set, with the interval."""
    ours = {each.path.parent: each for each in saved if each.system == against}
    for other in saved:
        one = ours.get(other.path.parent, other)
        first, second = one.results[0], other.results[0]
        if one is other or first.number is None or second.number is None:
            continue
        low, high = None, None
        if one.draws is not None and other.draws is not None:
            low, high, _ = bootstrap.interval(one.draws - other.draws)
        value = first.number - second.number
        yield replace(first, system=f"{against} - {other.system}", value=value, low=low, high=high)


if __name__ == "__main__":
    main()
