"""Measure the gain from training on a domain's own text: `python -m measurements.domains FROM`.

    banking77   questions of a bank's customers; their intents are the labels
    medical     abstracts of medical papers (Ohsumed); NFCorpus and SciFact have the labels

In each domain the student is distilled with several seeds, from the teacher's embeddings of words and from the
released encoder. It is compared with the released encoder, model2vec and tokenlearn of the same teacher: on held-out
texts of the domain, on the test split of the labels, and on STS-B test if it is there. No text of a test split is
trained on. Texts with labels are classified with C = 1, as everywhere here, and with the C of CHOICES that is best on a
fifth of the training texts: with so many texts, C = 1 is far from the best for vectors of unit length.

FROM is a directory with a folder of each set, or with folders of such folders. The figures of every finished encoder
are saved in `--work`, so an interrupted call goes on. `--output` gets a table for each domain.
"""

import argparse
import logging
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from pathlib import Path

from threadpoolctl import threadpool_limits

from measurements import command
from measurements.peers import TEACHER
from measurements.sets import collected, folder_of
from sentence_distillery.distillation.distill import STUDENT, as_teacher, distill
from sentence_distillery.distillation.student import LabelledCorpus
from sentence_distillery.domain.held_out import reference_of
from sentence_distillery.domain.measures import scored
from sentence_distillery.domain.options import PeerName
from sentence_distillery.domain.peers import PEERS, Comparison
from sentence_distillery.domain.texts import DOMAIN
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, embed, main_result
from sentence_distillery.evaluation.protocols.classification import ITERATIONS, SEED
from sentence_distillery.evaluation.results import Result, read_results, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.options import OwnBenchmark
from sentence_distillery.evaluation.sets.own import own_benchmark
from sentence_distillery.evaluation.tasks import Documents, TaskSet, read_task
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.io.unavailable import Unavailable
from stages.benchmarks.download import folders

HELD_OUT = 0.1  # of the sentences: some 1,100 of questions, 2,000 of abstracts
GENERAL = "stsb"
STARTS = {"student": None, "student from released": "released"}
PEERS_OF_ALL_SEEDS: tuple[PeerName, ...] = ("released", "model2vec")  # nothing in them depends on a seed

CHOICES = (1.0, 10.0, 100.0)  # of C, the inverse of the regularisation

Load = Callable[[], Encoder | Unavailable]


@dataclass(frozen=True)
class Domain:
    """A domain: its text, and the sets that have its labels."""

    folder: str  # of the text below FROM
    file: str  # the text, in a column `text`
    labels: tuple[str, ...] = ()  # Sets of this library
    own: bool = False  # whether the folder has train.csv and test.csv with the columns text and category


DOMAINS = {
    "banking77": Domain("banking77", "train.csv", own=True),
    "medical": Domain("text", "ohsumed.parquet", labels=("nfcorpus", "scifact")),
}


@dataclass(frozen=True)
class Place:
    """The sources of a domain's text and labels, and the directory of its encoders and figures."""

    sources: list[Path]
    work: Path

    @property
    def corpus(self) -> LabelledCorpus:
        """The sentences and the soft labels that `distill` left."""
        return LabelledCorpus(self.work / "text/sentences", self.work / "text/soft_labels")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command.argument_parser("Measure the gain from training on a domain's own text.")
    parser.add_argument("--domains", nargs="+", choices=tuple(DOMAINS), default=list(DOMAINS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--peers", nargs="*", choices=tuple(PEERS), default=list(PEERS))
    parser.add_argument("--teacher", default=TEACHER)
    parser.add_argument("--dimension", type=int, default=STUDENT.dimension)
    parser.add_argument("--work", type=Path, default=Path("domains-work"), help="directory that keeps finished work")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/domains"))
    options = command.parsed(parser, arguments, "domains: %(message)s")
    with command.refusals("domains"):
        for name in options.domains:
            rows = measured(DOMAINS[name], Place(options.source, options.work / name), options)
            about = f"{name}: teacher {options.teacher}, {options.dimension} dimensions, seeds {options.seeds}"
            write_results(options.output / f"{name}.csv", [*means(rows), *rows], f"{about}; {command.today()}")


def measured(domain: Domain, place: Place, options: argparse.Namespace) -> list[Result]:
    """Return the figures of every encoder of a domain; those of an earlier call are read."""
    data, names = labels(domain, place)
    tasks = [read_task(data, name, "test") for name in names]
    students: Iterator[tuple[str, int, Load]] = (
        (name, seed, partial(student, name, domain, place, data, seed, options))
        for name, seed in product(STARTS, options.seeds)
    )
    rows: list[Result] = []
    for name, seed, load in chain(students, peers(place, options)):
        kept = place.work / f"{name}-{seed}.csv"
        if not kept.exists():
            logging.getLogger(__name__).info("%s, seed %d", name, seed)
            write_results(kept, figures(name, load(), place, tasks, seed))
        rows += read_results(kept)
    return rows


def labels(domain: Domain, place: Place) -> tuple[BenchmarkData, list[str]]:
    """Write the sets that have the labels, and return them with their names."""
    own = []
    if domain.own:
        folder = folder_of(domain.folder, place.sources)
        files = {split: str(folder / f"{split}.csv") for split in ("train", "test")}
        columns = {"text": "text", "label": "category"}
        option = OwnBenchmark(name="intents", task="classification", files=files, columns=columns, scale=None)
        own = [own_benchmark(option)]
    general = [GENERAL] if any(path.is_dir() for each in place.sources for path in folders(each, GENERAL)) else []
    names = [*domain.labels, *general]
    data = collected(names, place.sources, place.work / "benchmarks", own)
    return data, [*names, *(each.name for each in own)]


def student(
    name: str, domain: Domain, place: Place, data: BenchmarkData, seed: int, options: argparse.Namespace
) -> Encoder:
    """Distil the student; the soft labels are those of the first seed."""
    target = place.work / f"{name}-{seed}"
    if not target.exists():
        encoder = distill(
            [folder_of(domain.folder, place.sources) / domain.file],
            options.teacher,
            start_from=STARTS[name],
            dimension=options.dimension,
            seed=seed,
            held_out=HELD_OUT,
            fingerprints=data.fingerprints(),
            working_directory=place.work / "text",
        )
        encoder.save_pretrained(target)
    return StaticEncoder.load(target)


def peers(place: Place, options: argparse.Namespace) -> Iterator[tuple[str, int, Load]]:
    """Yield the name, the seed and a loader of each peer; one that depends on no seed has the first one."""
    teacher = as_teacher(options.teacher, None, 128)
    for name in options.peers:
        for seed in options.seeds[:1] if name in PEERS_OF_ALL_SEEDS else options.seeds:
            comparison = Comparison("released", teacher, options.dimension, place.corpus, seed)
            yield name, seed, partial(PEERS[name], comparison)


def figures(
    name: str, encoder: Encoder | Unavailable, place: Place, tasks: list[TaskSet], seed: int
) -> Iterator[Result]:
    """Measure an encoder on the held-out texts and on the labels."""
    reference = reference_of(place.corpus, HELD_OUT, DOMAIN)
    rows = [*scored(name, encoder, reference)]
    for task in tasks:
        rows.append(main_result(name, encoder, task))
        if isinstance(task.texts, tuple) and not isinstance(encoder, Unavailable):
            tuned = tuned_accuracy(encoder, task.texts)
            rows.append(replace(rows[-1], protocol="full_tuned", value=tuned, low=None, high=None))
    return (replace(row, seed=seed) for row in rows)


def tuned_accuracy(encoder: Encoder, texts: Documents) -> float:
    """Classify the test texts with the regularisation that is best on a fifth of the training texts."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import StratifiedShuffleSplit

    train, test = texts
    vectors = [unit_rows(embed(encoder, each.texts)) for each in texts]
    split = StratifiedShuffleSplit(1, test_size=0.2, random_state=SEED)
    classifier = LogisticRegressionCV(Cs=CHOICES, cv=split, max_iter=ITERATIONS, random_state=SEED)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # iterations, and renamed options
        return float(classifier.fit(vectors[0], train.labels).score(vectors[1], test.labels))


def means(rows: Sequence[Result]) -> Iterator[Result]:
    """Yield the mean over the seeds of each figure that has several, with its standard deviation."""
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for row in rows:
        groups[row.system, row.dataset, row.split, row.protocol, row.metric].append(row)
    for group in groups.values():
        values = [row.number for row in group if row.number is not None]
        if len(values) > 1 and len(values) == len(group):
            mean, spread = statistics.mean(values), statistics.stdev(values)
            yield replace(group[0], value=mean, seed=None, seeds=len(values), spread=spread, low=None, high=None)


if __name__ == "__main__":
    main()
