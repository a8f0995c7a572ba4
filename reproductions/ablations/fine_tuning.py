"""The fine-tuned student: a separate variant trained further on human ratings, which the plain student never uses.

It is trained like the static student and its MLP head, but on the labels of teachers that were fine-tuned on the
ratings of STS-B train (distillation/fine_tuned_teacher.py). Then it is tuned on these pairs itself:

    s(S) = sum_{w in S} exp(a_w + g x_w / |x_w|) x_w        x_w: the student's token vectors, which are fixed
    v(S) = (s + relu(s A) B) T                              A, B: its MLP head, if it has one
    loss = - Pearson(cos(v(S), v(S')), rating)               over a batch of pairs of STS-B train

Two things are learnt. One is a linear map T for all sentences, which starts from the identity. The other is the
logarithm of each token's weight, from 0: its own a_w plus a term of a direction g for all tokens. So a token that no
pair has gets a weight like that of similar tokens. The vectors and the layer themselves stay: 5,000 pairs are few. All
of it folds into the existing parameters:

    x'_w = exp(...) x_w T,   A' = inverse(T) A,   B' = B T

so the result is a student like any other. Pairs with an evaluation sentence are left out and counted.

Worked example: cosines 0.1, 0.5, 0.9 and the ratings 1, 3, 5 lie on a line, so the loss is -1; for 5, 3, 1 it is 1.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from reproductions.ablations.mlp_head import train_mlp_head
from reproductions.ablations.options import FineTunedStudent, MlpHead
from sentence_distillery.distillation.options import StudentOptions
from sentence_distillery.distillation.student import LabelledCorpus, development_pairs, train_static
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.sets.data import BenchmarkData, PairSet
from sentence_distillery.evaluation.sets.decontamination import shared_rows
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.schedules import linear
from sentence_distillery.training.trainer import Trainer

BENCHMARK = "stsb"


@dataclass(frozen=True, eq=False)
class RatedPairs:
    """Pairs as token ids of both sides, and human ratings, (pairs,) float32."""

    left: TokenIds
    right: TokenIds
    ratings: NDArray[np.float32]


class MappedStudent(nn.Module):
    """A static student, or one with an MLP head, with a weight for each token and one linear map for the output."""

    vectors: Tensor
    units: Tensor

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        table = encoder.table
        self.register_buffer("vectors", torch.tensor(table))
        self.register_buffer("units", torch.from_numpy(unit_rows(table)))
        self.hidden = [torch.tensor(layer) for layer in encoder.hidden or ()]
        self.turn = nn.Parameter(torch.eye(table.shape[1]))
        self.weights = nn.Parameter(torch.zeros(len(table)))
        self.direction = nn.Parameter(torch.zeros(table.shape[1]))

    def weight(self, ids: Tensor | slice) -> Tensor:
        """Return the weight of each of some tokens, positive, (tokens,)."""
        return torch.exp(self.weights[ids] + self.units[ids] @ self.direction)

    def forward(self, tokens: TokenIds) -> Tensor:
        """Compute embeddings, (sentences, dimension), of any length."""
        ids = torch.from_numpy(tokens.ids.astype(np.int64))
        offsets = torch.from_numpy(tokens.offsets[:-1])
        sums = F.embedding_bag(ids, self.vectors, offsets, mode="sum", per_sample_weights=self.weight(ids))
        if self.hidden:
            sums = sums + F.relu(sums @ self.hidden[0]) @ self.hidden[1]
        turned: Tensor = sums @ self.turn
        return turned

    @torch.no_grad()
    def folded(self, tokenizer: Tokenizer) -> StaticEncoder:
        """Return the student with weights and map folded into its table and its layer."""
        table: Floats = ((self.vectors * self.weight(slice(None))[:, None]) @ self.turn).numpy()
        if not self.hidden:
            return StaticEncoder(tokenizer, table)
        widen, narrow = self.hidden
        hidden = (torch.linalg.solve(self.turn, widen).numpy(), (narrow @ self.turn).numpy())
        return StaticEncoder(tokenizer, table, hidden=hidden)


def pearson_loss(cosines: Tensor, ratings: Tensor) -> Tensor:
    """Compute - Pearson correlation of (pairs,) cosines and ratings, in [-1, 1]; 0 if one side is constant."""
    one, other = cosines - cosines.mean(), ratings - ratings.mean()
    loss: Tensor = -(one * other).sum() / (one.norm() * other.norm()).clamp(min=1e-8)
    return loss


def tune(encoder: StaticEncoder, pairs: RatedPairs, params: FineTunedStudent) -> StaticEncoder:
    """Tune a student on rated pairs; all learning rates fall linearly to 0.

    Args:
        encoder: the student to start from, which is not changed.
        pairs: the training pairs.
        params: how to train.

    Returns:
        The tuned student, of the same kind.

    Raises:
        InputError: the result is not finite.
    """
    model = MappedStudent(encoder)
    rates = {
        model.turn: params.map_learning_rate,
        model.weights: params.token_weight_learning_rate,
        model.direction: params.direction_learning_rate,
    }
    optimizer = torch.optim.Adam([{"params": [values], "lr": rate} for values, rate in rates.items()])
    batches = Batches(np.arange(len(pairs.ratings)), params.batch_size, params.seed)

    def loss(rows: Rows) -> dict[str, Tensor]:
        cosines = F.cosine_similarity(model(pairs.left.take(rows)), model(pairs.right.take(rows)))
        return {"loss": pearson_loss(cosines, torch.from_numpy(pairs.ratings[rows]))}

    remedy = "Lower map_learning_rate, token_weight_learning_rate or direction_learning_rate."
    trainer = Trainer(model, optimizer, batches, params.epochs, linear(params.epochs, batches.steps), remedy=remedy)
    trainer.run(loss)
    if not all(torch.isfinite(values).all() for values in model.parameters()):
        raise InputError(f"The fine-tuned student is not finite. {remedy}")
    return model.folded(encoder.tokenizer)


def rated_pairs(encoder: StaticEncoder, pairs: PairSet) -> RatedPairs:
    """Look up the sentences of rated pairs."""
    assert pairs.scores is not None
    left, right = (encoder.token_ids(side) for side in (pairs.sentences1, pairs.sentences2))
    return RatedPairs(left, right, pairs.scores)


def training_pairs(data: BenchmarkData, counters: Counters) -> PairSet:
    """Read the pairs of STS-B train that share no text with the evaluation sets; count the others as dropped."""
    pairs = data.pairs(BENCHMARK, "train")
    shared = shared_rows((pairs.sentences1, pairs.sentences2), data.fingerprints())
    counters.drop("sentence in an evaluation set", int(shared.sum()))
    counters.keep(int((~shared).sum()))
    return pairs.take(np.flatnonzero(~shared))


@dataclass(frozen=True)
class FineTuning:
    """How a fine-tuned student is trained: the static student, its MLP head, and the tuning on rated pairs."""

    student: StudentOptions
    mlp_head: MlpHead
    tuning: FineTunedStudent


def train_fine_tuned(
    options: FineTuning, corpus: LabelledCorpus, data: BenchmarkData, checkpoints: Path, counters: Counters
) -> StaticEncoder:
    """Train the fine-tuned student.

    Args:
        options: how to train.
        corpus: sentences, and the soft labels of fine-tuned teachers.
        data: has STS-B, and the fingerprints of the evaluation texts.
        checkpoints: the directory of the checkpoint of an interrupted training.
        counters: counts the rated pairs.

    Raises:
        InputError: the corpus, its soft labels or the pairs cannot be read, or a training diverges or collapses.
    """
    files = checkpoints / "student.safetensors", checkpoints / "mlp_head.safetensors"
    development = development_pairs(data)
    encoder = train_static(options.student, corpus, Counters("sentences"), files[0], development).encoder
    if options.mlp_head.enabled:
        encoder = train_mlp_head(encoder, options.mlp_head, corpus, Counters("sentences"), files[1], development)
    tuned = tune(encoder, rated_pairs(encoder, training_pairs(data, counters)), options.tuning)
    for file in files:
        file.unlink(missing_ok=True)
    return tuned
