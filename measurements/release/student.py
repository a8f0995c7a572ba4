"""Make the released student: smaller than the trained one, and not worse than the previous release.

    student -> common words, int8, lexical channel -> not worse than the former? -> release, 16 MB at most

Common words are the first 50,000 of GloVe; any other word is cut into pieces. A smaller vocabulary leaves room for more
dimensions, and so does int8; both were chosen without a test split (reproductions/docs/levers.md).

Document frequencies of its lexical channel are counted in texts of several kinds, without the sentences of dev and test
splits: news alone knows no word of medicine.

A release replaces another only if it is worse on no kind of task (release/gate.py), by the same files in the same run.
To start again, remove the released directory by hand.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurements.release.gate import KINDS, compare
from measurements.release.sign_rows import tokens_of
from measurements.release.tradeoff import megabytes, token_counts
from reproductions.systems.similarity import SETS, require_benchmarks, scores
from sentence_distillery.corpus.tables.reading import Reading
from sentence_distillery.distillation.corpus_files import CLEAN, write_sentences
from sentence_distillery.distillation.export import write_card, write_model
from sentence_distillery.distillation.glove import glove_words
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.sizing import BYTES, CHANNEL
from sentence_distillery.distillation.soft_labels import part_texts
from sentence_distillery.encoder.compression import Precision, compress, principal_directions, values
from sentence_distillery.encoder.lexical import LEXICAL_WEIGHT, SEARCH_WEIGHT
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import CONTINUATION, UNKNOWN_ID, static_tokenizer
from sentence_distillery.evaluation.evaluate import main_result
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.sets.data import BenchmarkData
from sentence_distillery.evaluation.sets.registry import EXTERNAL
from sentence_distillery.evaluation.tasks import read_task
from sentence_distillery.io.artifacts import InputError, atomic_directory, read_json, table_parts
from sentence_distillery.io.contents import StudentConfig
from sentence_distillery.io.counters import Counters

PROFILE = "best"
MEGABYTES = 16.0
CARD_MEGABYTES = 0.05  # the model card and small files
MULTIPLE = 8  # the dimension is a multiple of it
PRECISION = Precision.INT8
COMMON = 50_000  # of GloVe's words, which it lists by their frequency
LEXICAL = 768  # dimensions of the channel
COMMANDS = ("release", "signs", "continued")  # the last two are keys of config.json, if they were run
CARD_SETS = ("scifact", "nfcorpus", "cranfield", "wikiqa", "stsb", "sick")  # without and with the channel

log = logging.getLogger(__name__)


def with_common_words(encoder: StaticEncoder, most: int = COMMON) -> StaticEncoder:
    """Keep the student's words among GloVe's first ones, single characters and the continuations of words."""
    common = set(glove_words()[:most])
    kept = {
        row: token
        for row, token in enumerate(tokens_of(encoder.tokenizer))
        if row == UNKNOWN_ID or token in common or token.startswith(CONTINUATION) or len(token) == 1
    }
    return StaticEncoder(static_tokenizer(list(kept.values())), values(encoder)[list(kept)])


def largest_dimension(encoder: StaticEncoder, precision: Precision = PRECISION) -> int:
    """Return the most dimensions, a multiple of 8, with which the released directory stays within 16 MB."""
    tokenizer = len(encoder.tokenizer.to_str(pretty=False).encode())
    room = (MEGABYTES - CARD_MEGABYTES) * 1e6 - tokenizer
    number, factor = BYTES[precision]
    tokens = len(encoder.stored)
    fitting = int((room / tokens - factor - CHANNEL) // number)
    dimension = min(fitting, encoder.dimension) // MULTIPLE * MULTIPLE
    if dimension < MULTIPLE:
        within = f"within {MEGABYTES:.0f} MB; lower COMMON."
        raise InputError(f"A vocabulary of {tokens:,} tokens leaves no room for vectors {within}")
    return dimension


@dataclass(frozen=True)
class Source:
    """The inputs of a release."""

    student: Path  # its directory
    words: Path  # the table of its corpus' words
    profile: str  # of the run
    corpus: Sequence[str]  # the files that the corpus was read from
    precision: str  # of the teachers
    texts: Iterable[str]  # that document frequencies are counted in
    counted_in: Mapping[str, str]  # the licence of each of their sources


def read_source(source: Source) -> tuple[StaticEncoder, dict[str, Any]]:
    """Read the student to release and its config.json; raises InputError if it is not a static one of `best`."""
    config = read_json(source.student / CONFIG, StudentConfig)
    encoder = StaticEncoder.load(source.student)
    for what in (config.get("profile"), source.profile):
        if what != PROFILE:
            raise InputError(
                f"{source.student} or params.yaml has the profile '{what}', but a release needs '{PROFILE}': "
                f"run `python -m stages.params use {PROFILE}`, then `dvc repro`."
            )
    return encoder, config


def card(
    config: dict[str, Any], source: Source, benchmarks: BenchmarkData, figures: dict[str, float]
) -> dict[str, Any]:
    """Return the content of the model card and config.json, apart from the shape."""
    sets = benchmarks.provenance()["sets"]
    names = list(dict.fromkeys(name for name, _ in SETS))
    licences = {entry.name: entry.licence for entry in EXTERNAL}
    corpus = {path: licences.get(Path(path).parent.name, "unknown; that of its owner") for path in source.corpus}
    return {
        **{key: config[key] for key in ("profile", "language", "teacher", "sentences", "epochs", "seed")},
        "teacher_precision": source.precision,
        "trained_on": corpus,
        "counted_in": dict(source.counted_in),
        "full_dimension": config["dimension"],
        "benchmarks": {name: {key: sets[name][key] for key in ("sha256", "licence", "rows")} for name in names},
        "figures": {name: round(value, 5) for name, value in figures.items()},
    }


def with_channel(encoder: StaticEncoder, texts: Iterable[str], benchmarks: BenchmarkData) -> StaticEncoder:
    """Add a lexical channel for searches alone, with the document frequencies of the sentences of some texts."""
    with TemporaryDirectory() as directory:
        counted = cleaned(texts, benchmarks.fingerprints(), Path(directory) / "sentences")
    return with_lexical_channel(encoder, encoder.token_ids(counted), LEXICAL, 0.0, "en", SEARCH_WEIGHT)


def cleaned(texts: Iterable[str], barred: NDArray[np.uint64], target: Path) -> list[str]:
    """Return texts as clean sentences without those whose fingerprints are barred, as `target` keeps them."""
    if not target.exists():
        write_sentences(texts, Reading(), CLEAN, barred, target, Counters("sentences"))
    return [text for part in table_parts(target) for text in part_texts(part)]


def channel_figures(encoder: StaticEncoder, search: StaticEncoder, benchmarks: BenchmarkData) -> list[Result]:
    """Score the encoder without and with its channel on the test split of each of CARD_SETS that is there."""
    return [
        main_result(name, each, read_task(benchmarks, dataset, "test"))
        for dataset in CARD_SETS
        if dataset in benchmarks.available()
        for name, each in (("released", encoder), ("released-search", search))
    ]


def refuse_worse(old: StaticEncoder, new: StaticEncoder, benchmarks: BenchmarkData, target: Path) -> None:
    """Log how the encoders differ on each kind of task; raises InputError if the new one is worse beyond chance."""
    differences = compare(old, new, benchmarks)
    for difference in differences:
        log.info("%s", difference)
    if absent := KINDS.keys() - {difference.kind for difference in differences}:
        log.info("not compared, since no set is there: %s", ", ".join(sorted(absent)))
    if worse := [str(difference) for difference in differences if difference.worse]:
        raise InputError(f"This student is worse than the one in {target}: {'; '.join(worse)}. The old one stays.")


def release(source: Source, benchmarks: BenchmarkData, target: Path) -> dict[str, float]:
    """Replace the released student, and return its figures in [-1, 1], by "<set>/<split>/<metric>".

    `benchmarks` has STS-B and SICK, and maybe other sets of `gate.KINDS` and CARD_SETS. Raises InputError if the
    student is of another profile, worse on a kind of task, or too large; then the previous release stays.
    """
    require_benchmarks(benchmarks)
    student, config = read_source(source)
    common = with_common_words(student)
    directions = principal_directions(student.table, token_counts(student, source.words))
    kept = directions[:, : largest_dimension(common)]
    rotated = StaticEncoder(common.tokenizer, common.table @ kept)  # all or not: the first dimensions keep the most
    small = with_channel(compress(rotated, precision=PRECISION.value), source.texts, benchmarks)
    figures = scores(small.encode, benchmarks)
    if (target / CONFIG).exists():
        refuse_worse(StaticEncoder.load(target), small, benchmarks, target)
    write_release(small, card(config, source, benchmarks, figures), benchmarks, target, full=student)
    return figures


def write_release(
    encoder: StaticEncoder,
    about: Mapping[str, Any],
    benchmarks: BenchmarkData,
    target: Path,
    full: StaticEncoder | None = None,
) -> None:
    """Write an encoder and its card of the content `about`, with figures of the uncompressed `full` encoder.

    Raises InputError if it is too large.
    """
    with atomic_directory(target) as partial:
        values = write_model(encoder, about, partial)
        without, search = (StaticEncoder.load(partial, lexical_weight=weight) for weight in (0.0, LEXICAL_WEIGHT))
        shown = {
            "signs": None,
            "continued": None,
            **values,
            "commands": ", ".join(f"`make {name}`" for name in ["release", *about] if name in COMMANDS),
            "full_figures": scores(full.encode, benchmarks) if full else None,
            "weight": LEXICAL_WEIGHT,
            "searches": channel_figures(without, search, benchmarks),
        }
        write_card("released_card.md", shown, partial)
        if megabytes(partial) > MEGABYTES:
            raise InputError(f"The release has {megabytes(partial)} MB, more than {MEGABYTES}; the old release stays.")
