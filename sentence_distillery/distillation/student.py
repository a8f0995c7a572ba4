"""Train a student on the soft labels of a corpus: the static one, or paper 1's own."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sentence_distillery.distillation.label_files import (
    READ,
    embedding_array,
    sentence_ids,
    soft_label_schema,
    word_schema,
)
from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.options import StudentOptions
from sentence_distillery.distillation.soft_labels import HELD_OUT, TEACHER, WORDS, part_texts, refuse_dimension
from sentence_distillery.distillation.start import (
    further_tokens,
    initial_table,
    load_start,
    started_from,
    with_estimates,
)
from sentence_distillery.distillation.static_student import (
    Normalizer,
    StaticLoss,
    StaticStudent,
    principal_directions,
    project,
)
from sentence_distillery.encoder.lexical import SEARCH_WEIGHT
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, UNKNOWN_ID, static_tokenizer
from sentence_distillery.evaluation.protocols.similarity import cosines, similarity_figures
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet, Split
from sentence_distillery.io.artifacts import InputError, read_json, read_table, table_parts, write_rows
from sentence_distillery.io.checksums import is_there
from sentence_distillery.io.contents import Labeller
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.options import Section
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.runtime.device import device
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.collapse import refuse_collapsed
from sentence_distillery.training.schedules import constant, linear
from sentence_distillery.training.trainer import Curve, Hooks, Saving, Trainer

PROBE = 512  # sentences whose cosines show a collapse
DEVELOPMENT: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("samples", "dev"))

log = logging.getLogger(__name__)

Embed = Callable[[TokenIds], Floats]
Watch = Callable[[], dict[str, float]]  # figures of the model as it is, for the curve


@dataclass(frozen=True)
class LabelledCorpus:
    """A corpus, `part-*.parquet` in `sentences`, and its labels by `soft_labels.label` in `soft_labels`."""

    sentences: Path
    soft_labels: Path

    @property
    def teacher(self) -> dict[str, Any]:
        """The description of the teacher; raises InputError if its file cannot be read."""
        about: dict[str, Any] = read_json(self.soft_labels / TEACHER, Labeller)
        return about

    def texts(self) -> tuple[Iterator[str], list[str]]:
        """Return the sentences of the parts, read when they are asked for, and those that are held out."""
        parts = table_parts(self.sentences)
        held_out = self.sentences / HELD_OUT
        apart = part_texts(held_out) if is_there(held_out) else []
        return (text for part in parts for text in part_texts(part)), apart

    def digest(self) -> str:
        """Return the SHA-256 of the sentences of the parts, which names an edition of the corpus."""
        found = hashlib.sha256()
        for part in table_parts(self.sentences):
            for text in part_texts(part):
                found.update(text.encode() + b"\0")
        return found.hexdigest()

    @property
    def dimension(self) -> int:
        """The dimension of a soft label."""
        return int(self.teacher["dimension"])

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimension of each teacher's part of a soft label."""
        further = [int(each["dimension"]) for each in self.teacher.get("additional", ())]
        return self.dimension - sum(further), *further


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words and pieces of a student, how often each occurs, and the teacher's embedding of each.

    Counts are (words,) int64, embeddings (words, dimension) float16, a zero row where the teacher has none.
    """

    words: list[str]
    counts: NDArray[np.int64]
    embeddings: NDArray[np.float16]

    @classmethod
    def of(cls, corpus: LabelledCorpus) -> "Vocabulary":
        """Read that of a corpus; raises InputError if it cannot be read."""
        table = read_table(corpus.soft_labels / WORDS, word_schema(corpus.dimension))
        return cls(table["word"].to_pylist(), table["count"].to_numpy(), embedding_array(table["embedding"]))

    def with_words(self, further: list[str]) -> "Vocabulary":
        """Add words that do not occur and that the teacher has not embedded."""
        rows = (0, len(further))
        return Vocabulary([*self.words, *further], np.pad(self.counts, rows), np.pad(self.embeddings, (rows, (0, 0))))


@dataclass(frozen=True, eq=False)
class Labelled:
    """Corpus sentences as token ids, and the soft label of each, (sentences, dimension) float16.

    `dimensions` are those of each teacher.
    """

    tokens: TokenIds
    targets: NDArray[np.float16]
    dimensions: tuple[int, ...] = ()

    def normalized(self) -> tuple["Labelled", Normalizer]:
        """Return the sentences with normalized soft labels, and what normalizes others in the same way."""
        normalizer = Normalizer.of(self.targets, self.dimensions)
        if normalizer.centre is not None:
            log.info("the mean cosine of two sentences is %.2f: the soft labels are centred", normalizer.mean_cosine)
        return Labelled(self.tokens, normalizer(self.targets), self.dimensions), normalizer

    def key(self, params: Section, table: Floats) -> str:
        """Hash everything that the trained student depends on; `table` has the token vectors that it starts from."""
        digest = hashlib.sha256(params.model_dump_json().encode())
        for array in (self.tokens.ids, self.tokens.offsets, self.targets, table):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class TrainedStudent:
    """A student, the sentences that it was trained on, and the losses and figures of each epoch."""

    encoder: StaticEncoder
    tokens: TokenIds
    curve: Curve
    remedy: str  # for a collapsed student

    def refuse_collapsed(self, name: str) -> None:
        """Raise InputError if the vectors of the first sentences are all alike."""
        probe = self.tokens.take(range(min(PROBE, len(self.tokens))))
        refuse_collapsed(unit_rows(self.encoder.pool(probe)), name, self.remedy)

    def with_channel(self, dimension: int, language: str) -> StaticEncoder:
        """Return the student whose searches have `dimension` more numbers, for shared words, or as it is for 0."""
        if not dimension:
            return self.encoder
        texts = self.tokens.without(UNKNOWN_ID)
        return with_lexical_channel(self.encoder, texts, dimension, 0.0, language, SEARCH_WEIGHT)


def read_labelled(encoder: StaticEncoder, corpus: LabelledCorpus, counters: Counters) -> Labelled:
    """Pair each part of the corpus with its shard of soft labels.

    A sentence without a known token, or without a soft label, is dropped and counted.

    Raises InputError if a shard belongs to other sentences, or fewer than two sentences are left.
    """
    tokens, targets = [], []
    schema = soft_label_schema(corpus.dimension)
    for part in table_parts(corpus.sentences):
        sentences = read_table(part, READ)
        labels = read_table(corpus.soft_labels / part.name, schema)

        # Labels are matched by place in the file, so a corpus that was cleaned again would get labels of other
        # sentences.
        if not sentence_ids(sentences["document"], sentences["position"]).equals(labels["sentence"]):
            raise InputError(f"{corpus.soft_labels / part.name} does not belong to {part}; label the corpus again.")
        part_tokens = encoder.token_ids(sentences["text"].to_pylist())
        embeddings = embedding_array(labels["embedding"])
        rows = usable(part_tokens, embeddings, counters)
        tokens.append(part_tokens.take(rows))
        targets.append(embeddings[rows])
    if counters.kept < 2:
        absent = counters.dropped["no vector"]
        remedy = f"the teacher gives {absent:,} none, or one of zeros: check it" if absent else "give more text"
        raise InputError(
            f"{counters.kept} sentences of {corpus.sentences} have a known word and a vector, but a student needs 2; "
            f"{remedy}."
        )
    return Labelled(TokenIds.concatenate(tokens), np.concatenate(targets), corpus.dimensions)


def usable(tokens: TokenIds, embeddings: NDArray[np.float16], counters: Counters) -> NDArray[np.int64]:
    """Return the rows of the texts that have a known word and a soft label; count them, and the others as dropped."""
    labelled, worded = embeddings.any(axis=1), tokens.without(UNKNOWN_ID).lengths > 0
    rows = np.flatnonzero(labelled & worded)
    counters.keep(len(rows))
    counters.drop("no known word", int((labelled & ~worded).sum()))
    if not labelled.all():  # only a file of vectors lacks some
        counters.drop("no vector", int((~labelled).sum()))
    return rows


def development_pairs(data: BenchmarkData) -> PairSet | None:
    """Read the first set of DEVELOPMENT that is present."""
    present = data.available("pairs")
    return next((data.pairs(name, split) for name, split in DEVELOPMENT if name in present), None)


def watching(encoder: StaticEncoder, embed: Embed, pairs: PairSet | None) -> Watch:
    """Return a function that measures the current vectors of `embed` on rated pairs (paper 1, figure 5).

    The figures are Pearson, Spearman and MAE; undefined ones are left out, and so are all without pairs.
    """
    if pairs is None or pairs.scores is None or pairs.scale is None:
        return dict
    sides = [encoder.token_ids(side) for side in (pairs.sentences1, pairs.sentences2)]
    ratings, scale = pairs.scores, pairs.scale

    # Called after each epoch, with the weights as they are then.
    def watch() -> dict[str, float]:
        left, right = map(embed, sides)
        figures = similarity_figures(cosines(left, right), ratings, scale)
        return {f"dev_{name}": value for name, value in figures.items() if isinstance(value, float)}

    return watch


def train_static(
    params: StudentOptions,
    corpus: LabelledCorpus,
    counters: Counters,
    checkpoint: Path,
    development: PairSet | None = None,
) -> TrainedStudent:
    """Train a static student: start from vectors of words, project the soft labels, train.

    The counters count the sentences, those without a known word as dropped. An interrupted training of the same data
    and options goes on from the file `checkpoint`. Each epoch is measured on `development`, rated pairs; they do not
    change the student. Returns it with token vectors of (vocabulary, params.dimension) float32.

    Raises InputError if the corpus or its soft labels cannot be read or have too few sentences, the teacher has fewer
    dimensions, or the loss is not finite.
    """
    refuse_dimension(params.dimension, corpus.dimension)

    # The rows of the table: words of the corpus, pieces of words, and the tokens of an encoder to start from.
    vocabulary = Vocabulary.of(corpus)
    other = load_start(params.start_from) if params.start_from else None
    if other is not None:
        vocabulary = vocabulary.with_words(further_tokens(other, vocabulary.words))
    words = vocabulary.words

    # An encoder without a table reads the sentences, so that training and use cut texts in one way.
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *words]), np.empty((0, 0), np.float32))
    labelled, normalizer = read_labelled(encoder, corpus, counters).normalized()

    # The student learns in the teacher's principal directions: what is cut off there matters least.
    directions = principal_directions(labelled.targets, params.dimension)
    targets = project(labelled.targets, directions)
    vectors = with_estimates(normalizer(vocabulary.embeddings) @ directions, words, labelled.tokens, targets)

    # Each word starts from the teacher's vector of it, shorter if it is frequent.
    start = initial_table(vectors, vocabulary.counts)
    if other is not None:
        start = started_from(other, words, start, labelled.tokens, targets)
    key = labelled.key(params, start)  # before training, which may change `start` in place
    model = StaticStudent(start).to(device())
    loss = StaticLoss(model, labelled.tokens.without(UNKNOWN_ID), targets, params.relational_weight, params.temperature)

    # Settings that were left open follow the number of sentences.
    epochs, batch_size = params.size(len(labelled.tokens))
    batches = Batches(np.arange(len(labelled.tokens)), batch_size, params.seed)
    rate = params.rate(epochs * batches.steps)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=rate)

    # Quality during training is measured as the encoder would be used: unknown tokens do not count.
    watch = watching(encoder, lambda tokens: tokens.without(UNKNOWN_ID).means(model.table()), development)
    trainer = student_trainer(model, optimizer, batches, epochs, rate, Saving(checkpoint, key), watch)
    curve = trainer.run(loss)
    remedy = relational_remedy(rate, params.relational_weight)
    return TrainedStudent(StaticEncoder(encoder.tokenizer, model.table()), labelled.tokens, curve, remedy)


def student_trainer(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    epochs: int,
    learning_rate: float,
    saving: Saving,
    watch: Watch,
    decay: bool = True,
) -> Trainer[Rows]:
    """Return the trainer of a student on shuffled batches of sentences; with `decay` the rate falls to 0."""
    return Trainer(
        model,
        optimizer,
        batches,
        epochs,
        linear(epochs, batches.steps) if decay else constant,
        saving,
        hooks=Hooks(after=lambda means: watch()),
        remedy=f"Lower learning_rate, which is {learning_rate}.",
    )


def relational_remedy(rate: float, relational_weight: float) -> str:
    """Name the remedy for a collapsed student that is trained with a relational loss."""
    return f"Lower learning_rate, which is {rate:.3g}, or raise relational_weight, which is {relational_weight}."


def write_curve(target: Path, curve: Curve) -> None:
    """Write a CSV row for each epoch, with the columns that every epoch has."""
    columns = [name for name in curve[0] if all(name in row for row in curve)]
    write_rows(target, ["epoch", *columns], ({"epoch": epoch} | row for epoch, row in enumerate(curve, start=1)))


def card(
    profile: str | None,
    language: str,
    seed: int,
    epochs: int,
    teacher: Mapping[str, Any],
    sentences: int,
    start_from: str | None = None,
    corpus: str | None = None,
) -> dict[str, object]:
    """Return the origin of the student, for its config.json and model card; `profile` is None outside the pipeline.

    `corpus` is the hash of its sentences.
    """
    about = {name: value for name, value in (("start_from", start_from), ("corpus_sha256", corpus)) if value}
    return about | {
        "profile": profile,
        "language": language,
        "teacher": dict(teacher),
        "sentences": sentences,
        "epochs": epochs,
        "seed": seed,
    }
