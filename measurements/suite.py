"""All sets of the suite, scored for our encoders and for others: `python -m measurements.suite FROM...`.

    kind of task            sets                                                        main figure
    similarity              stsb, sick                                                  Spearman
    pair classification     mrpc, twitter_url                                           average precision
    few-shot classification banking77, tweet_emotion, trec, subj, mr                    accuracy, 8 texts of each class
    all examples            the same                                                    accuracy
    clustering              stackoverflow                                               V-measure
    retrieval               scifact, nfcorpus, cranfield, wikiqa                        nDCG@10 among all documents
    further                 imdb, as classification; sick-e (measurements/entailment.py)  accuracy

All encoders get the same texts and the same protocols, which are those of MTEB
(sentence_distillery/evaluation/protocols). The intervals hold 95 % of 2,000 draws of the test texts, pairs or queries;
those of a difference are of the same draws.

FROM are directories that hold the sets, in folders or in folders of folders. Each encoder's figures on each set are
saved in `--work`, so an interrupted call goes on where it stopped. `suite.csv` in `--output` has every figure, and
`differences.csv` what separates each of `--against` from each other encoder.
"""

import argparse
import datetime
import logging
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from measurements import entailment
from measurements.peers import PEERS, Load
from measurements.sets import collected
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.evaluate import Encoder, main_result, unit
from sentence_distillery.evaluation.results import Result, as_result, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.registry import SUITE
from sentence_distillery.evaluation.tasks import MAIN, TaskSet, read_task, scored
from sentence_distillery.io.artifacts import InputError, atomic_file
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.machine import cores

IMDB = "imdb"  # scored by MTEB's classifiers, as the other texts, and not by that of paper 1
SETS = (*(name for names in SUITE.values() for name in names), IMDB, entailment.SET)

log = logging.getLogger("suite")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Score encoders on all sets of the suite.")
    parser.add_argument("source", type=Path, nargs="+", metavar="FROM", help="directories of the sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=list(PEERS))
    parser.add_argument(
        "--models", nargs="*", type=Path, default=[], help="directories of further encoders of this library"
    )
    parser.add_argument("--split", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--against", nargs="+", default=["released"], help="encoders that the others are compared with (released)"
    )
    parser.add_argument("--work", type=Path, default=Path("suite-work"), help="directory that keeps finished work")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/suite"))
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stderr)
    try:
        saved = [each for name in options.sets for each in _set(name, options)]
        rows = [row for each in saved for row in each.results]
        about = "; ".join(f"{name}: {PEERS[name].described}" for name in options.peers)
        today, machine = datetime.date.today().isoformat(), f"{cores()} cores, {platform.machine()}"
        comment = f"python -m measurements.suite FROM; {options.split} splits; {today}; {machine}; {about}"
        write_results(options.output / "suite.csv", rows, comment)
        found = [row for against in options.against for row in differences(saved, against)]
        write_results(options.output / "differences.csv", found, "first minus second")
    except InputError as error:
        sys.exit(f"suite: {error}")


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
    task, measure = _entailment(options) if name == entailment.SET else _task(name, options)
    loaders: dict[str, Load] = {peer: PEERS[peer].load for peer in options.peers}
    loaders |= {model.name: partial(_own, model) for model in options.models}
    for system, load in loaders.items():
        saved = SavedScores(system, options.work / options.split / name / f"{system}.csv")
        if not saved.path.exists():
            log.info("%s, %s", name, system)
            score(saved, load(task), measure)
        yield saved


def _own(model: Path, task: TaskSet) -> Encoder:
    return StaticEncoder.load(model)


def _task(name: str, options: argparse.Namespace) -> tuple[TaskSet, Measure]:
    task = read_task(_data(name, options), name, options.split)
    if name == IMDB:
        task = replace(task, protocols=())
    return task, partial(by_task, task)


def _entailment(options: argparse.Namespace) -> tuple[TaskSet, Measure]:
    data = _data(entailment.HOLDER, options)
    train, scored = (data.pairs(entailment.HOLDER, split) for split in ("train", options.split))
    return TaskSet("sts", scored), partial(entailment.entailment, train, scored)


def _data(name: str, options: argparse.Namespace) -> BenchmarkData:
    return collected([name], options.source, options.work / "benchmarks" / name)


def by_task(task: TaskSet, system: str, encoder: Encoder | Unavailable) -> tuple[list[Result], Floats | None]:
    """Measure every figure of the task, the main one first; a protocol that only this has is added for it."""
    if isinstance(encoder, Unavailable):
        return [main_result(system, encoder, task)], None
    usual = {name for name, _ in task.chosen}
    protocols = dict.fromkeys([*(name for name, _ in task.chosen), MAIN[task.type][0]])
    found = {
        (each.protocol, each.metric): each for each in scored(unit(encoder), replace(task, protocols=(*protocols,)))
    }
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
        one = ours.get(other.path.parent)
        if one is None or one is other:
            continue
        first, second = one.results[0], other.results[0]
        if first.number is None or second.number is None:
            continue
        low, high = None, None
        if one.draws is not None and other.draws is not None:
            low, high, _ = bootstrap.interval(one.draws - other.draws)
        row = replace(first, system=f"{against} - {other.system}", value=first.number - second.number)
        yield replace(row, low=low, high=high)


if __name__ == "__main__":
    main()
