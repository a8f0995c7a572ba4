"""Stage `student`: train a student on the teacher's soft labels and save it as a sentence-transformers model."""

import csv
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from sentence_distillery.benchmarks.data import PairSet, Split, available, load_pairs
from sentence_distillery.benchmarks.metrics import cosines, similarity_figures
from sentence_distillery.corpus.text import STOP_WORDS
from sentence_distillery.distillation.options import MlpHead, PaperStudentOptions, Student
from sentence_distillery.distillation.paper_student import PaperLoss, PaperStudent
from sentence_distillery.distillation.soft_labels import (
    SENTENCES,
    SOFT_LABELS,
    WORDS,
    embedding_array,
    sentence_ids,
    soft_label_schema,
    word_schema,
)
from sentence_distillery.distillation.static_student import (
    StaticLoss,
    StaticStudent,
    initial_table,
    principal_directions,
    project,
)
from sentence_distillery.distillation.training import Curve, Training, Watch
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, UNKNOWN_ID, content_tokenizer, static_tokenizer
from sentence_distillery.io.artifacts import InputError, atomic_file, read_table, table_parts
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, TokenIds
from sentence_distillery.runtime.device import device
from sentence_distillery.word_vectors.model import REFINED, WordVectors

CHECKPOINT = Path("models/checkpoints/student.safetensors")
CURVE = Path("reports/curves/student.csv")
READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])
PROBE = 512  # sentences whose cosines show a collapse
DEVELOPMENT: tuple[tuple[str, Split], ...] = (("stsb", "dev"), ("samples", "dev"))

Embed = Callable[[TokenIds], Floats]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Corpus sentences as token ids, and the soft label of each, (sentences, dimension) float16."""

    tokens: TokenIds
    targets: NDArray[np.float16]

    def key(self, params: Student | PaperStudentOptions | MlpHead, table: Floats) -> str:
        """Changes with whatever the trained student depends on; `table` are the token vectors that it starts from."""
        digest = hashlib.sha256(params.model_dump_json().encode())
        for array in (self.tokens.ids, self.tokens.offsets, self.targets, table):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


def read_labelled(
    encoder: StaticEncoder, dimension: int, counters: Counters, soft_labels: Path = SOFT_LABELS
) -> Labelled:
    """Pair each part of the corpus with its shard of soft labels; a sentence without a known token is dropped, counted.

    Raises InputError where a shard belongs to other sentences, or fewer than two sentences are left.
    """
    tokens, targets = [], []
    for part in table_parts(SENTENCES):
        sentences = read_table(part, READ)
        labels = read_table(soft_labels / part.name, soft_label_schema(dimension))
        if not sentence_ids(sentences["document"], sentences["position"]).equals(labels["sentence"]):
            made, remedy = soft_labels / part.name, f"dvc repro {soft_labels.name}"
            raise InputError(f"{made} was not made from {part}; run `{remedy}`.")
        part_tokens = encoder.token_ids(sentences["text"].to_pylist())
        rows = np.flatnonzero(part_tokens.without(UNKNOWN_ID).lengths)
        counters.keep(len(rows))
        counters.drop("no known word", len(part_tokens) - len(rows))
        tokens.append(part_tokens.take(rows))
        targets.append(embedding_array(labels["embedding"])[rows])
    if counters.kept < 2:
        raise InputError(f"{counters.kept} sentences of {SENTENCES} have a known word; a student needs at least 2.")
    return Labelled(TokenIds.concatenate(tokens), np.concatenate(targets))


def development() -> PairSet | None:
    """The first of DEVELOPMENT that is present."""
    present = available(kind="pairs")
    return next((load_pairs(name, split) for name, split in DEVELOPMENT if name in present), None)


def watching(encoder: StaticEncoder, embed: Embed) -> Watch:
    """Pearson, Spearman and MAE on the development pairs with the vectors that `embed` has by then (paper 1, figure 5).

    What is undefined is left out.
    """
    pairs = development()
    if pairs is None or pairs.scores is None or pairs.scale is None:
        return dict
    sides = [encoder.token_ids(side) for side in (pairs.sentences1, pairs.sentences2)]
    gold, scale = pairs.scores, pairs.scale

    def watch() -> dict[str, float]:
        left, right = map(embed, sides)
        figures = similarity_figures(cosines(left, right), gold, scale)
        return {f"dev_{name}": value for name, value in figures.items() if isinstance(value, float)}

    return watch


def train_static(
    params: Student, dimension: int, counters: Counters, checkpoint: Path = CHECKPOINT, soft_labels: Path = SOFT_LABELS
) -> tuple[StaticEncoder, TokenIds, Curve]:
    """Our own student: start from the teacher's vectors of words, project the soft labels, train."""
    if params.dimension > dimension:
        raise InputError(f"student.dimension = {params.dimension}, but the teacher has only {dimension}; lower it.")
    words = read_table(soft_labels / WORDS, word_schema(dimension))
    encoder = StaticEncoder(static_tokenizer([UNKNOWN, *words["word"].to_pylist()]), np.empty((0, 0), np.float32))
    labelled = read_labelled(encoder, dimension, counters, soft_labels)
    directions = principal_directions(labelled.targets, params.dimension)
    start = initial_table(embedding_array(words["embedding"]) @ directions, words["count"].to_numpy())
    key = labelled.key(params, start)  # before training, which may change `start` in place
    model = StaticStudent(start).to(device())
    loss = StaticLoss(
        model,
        labelled.tokens.without(UNKNOWN_ID),
        project(labelled.targets, directions),
        params.relational_weight,
        params.temperature,
    )
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=params.learning_rate)
    training = Training(model, optimizer, checkpoint, key, decay=True)
    watch = watching(encoder, lambda tokens: tokens.without(UNKNOWN_ID).means(model.table()))
    curve = training.run(loss, len(labelled.tokens), params, watch)
    return StaticEncoder(encoder.tokenizer, model.table()), labelled.tokens, curve


def train_paper(
    params: Student | PaperStudentOptions, dimension: int, counters: Counters, checkpoint: Path = CHECKPOINT
) -> tuple[StaticEncoder, TokenIds, Curve]:
    """Paper 1's student: a linear layer over the mean of refined word vectors."""
    refined = WordVectors.load(REFINED)
    table = np.concatenate([np.zeros((1, refined.dimension), np.float32), refined.vectors])
    tokenizer = content_tokenizer([UNKNOWN, *refined.words], STOP_WORDS["en"])
    model = PaperStudent(refined.dimension, dimension, params.seed).to(device())
    encoder = StaticEncoder(tokenizer, table, model.layer())
    labelled = read_labelled(encoder, dimension, counters)
    loss = PaperLoss(model, labelled.tokens.means(table), labelled.targets)
    optimizer = torch.optim.Adam(model.parameters(), lr=params.learning_rate)
    training = Training(model, optimizer, checkpoint, labelled.key(params, table), decay=False)
    watch = watching(encoder, lambda tokens: StaticEncoder(tokenizer, table, model.layer()).pool(tokens))
    curve = training.run(loss, len(labelled.tokens), params, watch)
    return StaticEncoder(tokenizer, table, model.layer()), labelled.tokens, curve


def write_curve(curve: Curve) -> None:
    """A row for each epoch, with the columns that every epoch has."""
    columns = [name for name in curve[0] if all(name in row for row in curve)]
    with atomic_file(CURVE) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["epoch", *columns], lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({"epoch": epoch} | row for epoch, row in enumerate(curve, start=1))


def card(
    profile: str, language: str, params: Student | PaperStudentOptions, teacher: Mapping[str, Any], sentences: int
) -> dict[str, object]:
    """What the student was made from, for its config.json and model card."""
    return {
        "profile": profile,
        "language": language,
        "teacher": dict(teacher),
        "sentences": sentences,
        "epochs": params.epochs,
        "seed": params.seed,
    }
