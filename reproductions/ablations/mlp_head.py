"""The static student with an MLP head, a hidden layer after its sum: a deep averaging network.

    s(S) = sum_{w in S} x_w          x_w: the student's token vectors, which are fixed
    v(S) = s + relu(s A) B           A (dimension, units) drawn by chance, B (units, dimension) from 0

A sum cannot represent which words occur together. A layer after it can (Iyyer et al. 2015), and costs two small matrix
products per sentence. It has no bias, so the length of s does not matter and a sentence without a known word stays
zero. The loss and the soft labels are the student's own (distillation/static_student.py).
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reproductions.ablations.options import MlpHead
from sentence_distillery.distillation.static_student import principal_directions, project
from sentence_distillery.distillation.student import (
    PROBE,
    LabelledCorpus,
    read_labelled,
    relational_remedy,
    student_trainer,
    watching,
)
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN_ID
from sentence_distillery.evaluation.sets.data import PairSet
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.runtime.device import device
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.collapse import refuse_collapsed
from sentence_distillery.training.losses import distillation_loss
from sentence_distillery.training.trainer import Saving


class HiddenLayer(nn.Module):
    """Compute v of (sentences, dimension) unit sums."""

    def __init__(self, dimension: int, units: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.scale = dimension**0.5  # scales the components of a unit vector to about 1
        self.widen = nn.Parameter(torch.randn(dimension, units, generator=generator) / self.scale)
        self.narrow = nn.Parameter(torch.zeros(units, dimension))

    def forward(self, sums: Tensor) -> Tensor:
        return sums + F.relu(self.scale * sums @ self.widen) @ self.narrow

    def layer(self) -> tuple[Floats, Floats]:
        """Return A and B as `StaticEncoder` takes them."""
        widen, narrow = (values.detach().cpu().numpy() for values in (self.scale * self.widen, self.narrow))
        return widen, narrow


def train_mlp_head(
    encoder: StaticEncoder,
    params: MlpHead,
    corpus: LabelledCorpus,
    counters: Counters,
    checkpoint: Path,
    development: PairSet | None = None,
) -> StaticEncoder:
    """Train a hidden layer after the sums of a static student, whose token vectors are fixed.

    Args:
        encoder: the static student.
        params: how to train, and the layer's units.
        corpus: the sentences and soft labels that the student was trained on itself.
        counters: counts the sentences, those without a known word as dropped.
        checkpoint: the file from which an interrupted training of the same data and options goes on.
        development: rated pairs that each epoch is measured on; they do not change the layer.

    Returns:
        The student with the layer.

    Raises:
        InputError: the corpus or its soft labels cannot be read, the loss is not finite, or the student has collapsed.
    """
    labelled, _ = read_labelled(encoder, corpus, counters).normalized()
    sums = unit_rows(labelled.tokens.without(UNKNOWN_ID).sums(encoder.table))
    targets = project(labelled.targets, principal_directions(labelled.targets, encoder.dimension))
    model = HiddenLayer(encoder.dimension, params.units, params.seed).to(device())

    def deepened() -> StaticEncoder:
        return StaticEncoder(encoder.tokenizer, encoder.table, hidden=model.layer())

    def loss(rows: Rows) -> dict[str, Tensor]:
        teacher = torch.from_numpy(targets[rows].astype(np.float32)).to(model.widen.device)
        vectors = model(torch.from_numpy(sums[rows]).to(teacher.device))
        return distillation_loss(vectors, teacher, params.relational_weight, params.temperature)

    optimizer = torch.optim.Adam(model.parameters(), lr=params.learning_rate)
    saving = Saving(checkpoint, labelled.key(params, encoder.table))
    watch = watching(encoder, lambda tokens: deepened().embed(tokens), development)
    batches = Batches(np.arange(len(sums)), params.batch_size, params.seed)
    student_trainer(model, optimizer, batches, params.epochs, params.learning_rate, saving, watch).run(loss)
    probe = labelled.tokens.take(range(min(PROBE, len(sums))))
    remedy = relational_remedy(params.learning_rate, params.relational_weight)
    refuse_collapsed(deepened().embed(probe), "student with an MLP head", remedy)
    return deepened()
