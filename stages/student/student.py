"""Stage `student`: train a student on the teacher's soft labels and save it as a sentence-transformers model."""

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import torch
from numpy.typing import NDArray

from stages import params as parameters
from stages.artifacts import InputError, atomic_file, read_json, read_table, table_parts
from stages.corpus.text import STOP_WORDS
from stages.device import device
from stages.stage import Counters, stage
from stages.student.encoder import StaticEncoder
from stages.student.export import export
from stages.student.paper import PaperLoss, PaperStudent
from stages.student.ragged import Floats, TokenIds, unit_rows
from stages.student.static import StaticLoss, StaticStudent, initial_table, principal_directions
from stages.student.tokenizer import UNKNOWN, content_tokenizer, static_tokenizer
from stages.student.training import Schedule, refuse_collapsed, train
from stages.teacher.soft_labels import (
    SENTENCES,
    SOFT_LABELS,
    TEACHER,
    WORDS,
    embedding_array,
    sentence_ids,
    soft_label_schema,
    word_schema,
)
from stages.vectors.model import REFINED, WordVectors

CHECKPOINT = Path("models/checkpoints/student.safetensors")
CURVES = Path("reports/curves/student.csv")
READ = pa.schema([("document", pa.int64()), ("position", pa.int32()), ("text", pa.string())])

log = logging.getLogger("stages")

Curve = list[dict[str, float]]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Corpus sentences as token ids, and the soft label of each, (sentences, dimension) float16."""

    tokens: TokenIds
    targets: NDArray[np.float16]


def read_labelled(encoder: StaticEncoder, dimension: int, counters: Counters) -> Labelled:
    """Pair each part of the corpus with its shard of soft labels; sentences without a known token are dropped, counted.

    Raises InputError where a shard belongs to other sentences.
    """
    tokens, targets = [], []
    for part in table_parts(SENTENCES):
        sentences = read_table(part, READ)
        labels = read_table(SOFT_LABELS / part.name, soft_label_schema(dimension))
        if not sentence_ids(sentences["document"], sentences["position"]).equals(labels["sentence"]):
            raise InputError(f"{SOFT_LABELS / part.name} was not made from {part}; run `dvc repro soft_labels`.")
        part_tokens = encoder.token_ids(sentences["text"].to_pylist())
        rows = np.flatnonzero(part_tokens.without(UNKNOWN_ID).lengths > 0)
        counters.keep(len(rows))
        counters.drop("no known word", len(part_tokens) - len(rows))
        tokens.append(part_tokens.take(rows))
        targets.append(embedding_array(labels["embedding"])[rows])
    if counters.kept < 2:
        raise InputError(f"{counters.kept} sentences of {SENTENCES} have a known word; a student needs at least 2.")
    return Labelled(TokenIds.concatenate(tokens), np.concatenate(targets))


def train_static(params: Student, dimension: int, counters: Counters, run: Run) -> tuple[StaticEncoder, Curve]:
    """Our own student: start from the teacher's vectors of words, project the targets, train."""
    words = read_table(SOFT_LABELS / WORDS, word_schema(dimension))
    tokenizer = static_tokenizer([UNKNOWN, *words["word"].to_pylist()])
    labelled = read_labelled(StaticEncoder(tokenizer, np.zeros((1, dimension), np.float32)), dimension, counters)
    directions = principal_directions(labelled.targets, params.dimension)
    vectors = embedding_array(words["embedding"]).astype(np.float32) @ directions
    model = StaticStudent(initial_table(vectors, words["count"].to_numpy())).to(device())
    targets = project(labelled.targets, directions)
    loss = StaticLoss(model, labelled.tokens, targets, params.relational_weight, params.temperature)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=params.learning_rate)
    curve = train(model, optimizer, loss, run.schedule(len(targets)), run.checkpoint, run.key, decay=True)
    encoder = StaticEncoder(tokenizer, model.table())
    refuse_collapsed(unit_rows(encoder.pool(labelled.tokens.take(range(min(PROBE, len(targets)))))), "student")
    return encoder, curve
