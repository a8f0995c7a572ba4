"""The student for search: a student trained further on sentences and passages, then given a lexical channel.

    loss = KL(the teacher's neighbours within the batch || the student's)       batches of sentences and passages mixed

The student itself has learnt the directions of single sentences. A search compares a short query with passages of a
hundred words: what counts is which of them is nearer, whatever their directions. So this training compares similarities
alone (losses.relational_loss), in large batches of both kinds of text. lexical.py then adds dimensions in which texts
that share words are close. What each step gains, and what similarity loses by it, is in reproductions/docs/levers.md.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sentence_distillery.distillation.lexical import with_lexical_channel
from sentence_distillery.distillation.options import SearchStudent
from sentence_distillery.distillation.soft_labels import PASSAGES, embedding_array, passage_schema
from sentence_distillery.distillation.static_student import StaticStudent
from sentence_distillery.distillation.student import (
    Labelled,
    LabelledCorpus,
    TrainedStudent,
    read_labelled,
    student_trainer,
    usable,
    watching,
)
from sentence_distillery.encoder.compression import values
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.artifacts import InputError, read_table
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.runtime.device import device
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.losses import relational_loss
from sentence_distillery.training.trainer import Saving


@dataclass(frozen=True)
class NeighbourLoss:
    """The loss of a batch of rows; `targets` are the soft labels, (texts, dimension)."""

    model: StaticStudent
    tokens: TokenIds
    targets: NDArray[np.float16]
    temperature: float

    def __call__(self, rows: Rows) -> dict[str, Tensor]:
        where = self.model.bag.weight.device
        batch = self.tokens.take(rows)
        ids, offsets = torch.from_numpy(batch.ids), torch.from_numpy(batch.offsets[:-1].astype(np.int32))
        student = self.model(ids.to(where), offsets.to(where))
        teacher = torch.from_numpy(self.targets[rows].astype(np.float32)).to(where)
        return {"loss": relational_loss(student, teacher, self.temperature)}


def train_for_search(
    encoder: StaticEncoder,
    params: SearchStudent,
    corpus: LabelledCorpus,
    language: str,
    counters: Counters,
    checkpoint: Path,
    development: PairSet | None = None,
) -> TrainedStudent:
    """Train a static student further, so that it finds passages.

    Args:
        encoder: A static student without layers; its vocabulary stays.
        params: How to train, and the lexical channel.
        corpus: Sentences with their soft labels, and passages if there are some.
        language: ISO 639-1 code of the text: whose stems the lexical channel compares.
        counters: Counts sentences and passages, those without a known word or a vector as dropped.
        checkpoint: The file from which an interrupted training of the same data and options goes on.
        development: Rated pairs that each epoch is measured on; they do not change the student.

    Returns:
        The student in float32, with `params.lexical_dimension` dimensions more.

    Raises:
        InputError: If the corpus or its soft labels cannot be read, the encoder has layers, or the loss is not finite.
    """
    if encoder.linear is not None or encoder.hidden is not None:
        raise InputError("Only a student without layers after its sum can be trained for search.")
    labelled, _ = with_passages(encoder, read_labelled(encoder, corpus, counters), corpus, counters).normalized()
    tokens, start = labelled.tokens.without(UNKNOWN_ID), np.array(values(encoder), np.float32)
    model = StaticStudent(start.copy()).to(device())
    loss = NeighbourLoss(model, tokens, labelled.targets, params.temperature)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=params.learning_rate)
    watch = watching(encoder, lambda ids: ids.without(UNKNOWN_ID).means(model.table()), development)
    batches = Batches(np.arange(len(tokens)), min(params.batch_size, len(tokens)), params.seed)
    saving = Saving(checkpoint, labelled.key(params, start))
    curve = student_trainer(model, optimizer, batches, params.epochs, params.learning_rate, saving, watch).run(loss)
    trained = StaticEncoder(encoder.tokenizer, model.table())
    if params.lexical_dimension:
        added, weight = params.lexical_dimension, params.lexical_weight
        trained = with_lexical_channel(trained, tokens, added, weight, language)
    remedy = f"Lower learning_rate, which is {params.learning_rate}."
    return TrainedStudent(trained, labelled.tokens, curve, remedy)


def with_passages(encoder: StaticEncoder, sentences: Labelled, corpus: LabelledCorpus, counters: Counters) -> Labelled:
    """Add the passages to the sentences; a corpus of single sentences has none."""
    file = corpus.soft_labels / PASSAGES
    if not file.exists():
        return sentences
    table = read_table(file, passage_schema(corpus.dimension))
    tokens, targets = encoder.token_ids(table["text"].to_pylist()), embedding_array(table["embedding"])
    rows = usable(tokens, targets, counters)
    return Labelled(
        TokenIds.concatenate([sentences.tokens, tokens.take(rows)]),
        np.concatenate([sentences.targets, targets[rows]]),
    )
