"""Stage `gold`: a student that people's scores have tuned, a variant of its own beside the one that never saw any.

It is trained as `student` and `deep` are, on the labels of teachers that were tuned on the scores of STS-B train
(stages `fine_tuned_teacher` and `fine_tuned_labels`), and then tuned on these pairs itself:

    s(S) = sum_{w in S} exp(a_w + g x_w / |x_w|) x_w        x_w: the student's token vectors, which stay as they are
    v(S) = (s + relu(s A) B) T                              A, B: its hidden layer, if stage `deep` made it one
    loss = - Pearson(cos(v(S), v(S')), score)                over a batch of pairs of STS-B train

Learnt are one linear map T for all sentences, from the identity, and the logarithm of each token's weight, from 0: a_w
of its own, and what a direction g says of all, so that a token which no pair has is weighed as those that it resembles.
5,000 pairs are too few for the vectors or the layer themselves (docs/levers.md). All of it folds into what is there:

    x'_w = exp(...) x_w T,   A' = inverse(T) A,   B' = B T

so what comes out is a student like any other. Pairs with a sentence that evaluation scores on are left out, counted.

Worked example: cosines 0.1, 0.5, 0.9 beside the scores 1, 3, 5 lie on a line, the loss is -1; beside 5, 3, 1 it is 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from sentence_distillery.benchmarks.data import PairSet, load_pairs
from sentence_distillery.benchmarks.decontamination import unseen
from sentence_distillery.distillation.mlp_head import with_mlp_head
from sentence_distillery.distillation.options import FineTunedStudent, MlpHead, Student
from sentence_distillery.distillation.soft_labels import TEACHER
from sentence_distillery.distillation.student import train_static
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.io.artifacts import InputError, read_json
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, TokenIds, unit_rows
from sentence_distillery.runtime.progress import track
from stages.distillation.fine_tuned_labels import FINE_TUNED_LABELS

BENCHMARK = "stsb"
CHECKPOINTS = Path("models/checkpoints/fine_tuned_student")


@dataclass(frozen=True, eq=False)
class Rated:
    """Pairs as token ids of both sides, and people's scores, (pairs,) float32."""

    left: TokenIds
    right: TokenIds
    scores: NDArray[np.float32]


class Turned(nn.Module):
    """A static or deep student with a weight for each of its tokens and one linear map for what comes out."""

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
        """Of each of some tokens, positive, (tokens,)."""
        return torch.exp(self.weights[ids] + self.units[ids] @ self.direction)

    def forward(self, tokens: TokenIds) -> Tensor:
        """(sentences, dimension), of any length."""
        ids = torch.from_numpy(tokens.ids.astype(np.int64))
        offsets = torch.from_numpy(tokens.offsets[:-1])
        sums = F.embedding_bag(ids, self.vectors, offsets, mode="sum", per_sample_weights=self.weight(ids))
        if self.hidden:
            sums = sums + F.relu(sums @ self.hidden[0]) @ self.hidden[1]
        turned: Tensor = sums @ self.turn
        return turned

    @torch.no_grad()
    def folded(self, tokenizer: Tokenizer) -> StaticEncoder:
        """The student with weights and map folded into its table and its layer."""
        table: Floats = ((self.vectors * self.weight(slice(None))[:, None]) @ self.turn).numpy()
        if not self.hidden:
            return StaticEncoder(tokenizer, table)
        widen, narrow = self.hidden
        hidden = (torch.linalg.solve(self.turn, widen).numpy(), (narrow @ self.turn).numpy())
        return StaticEncoder(tokenizer, table, hidden=hidden)


def pearson_loss(cosines: Tensor, scores: Tensor) -> Tensor:
    """- Pearson correlation of (pairs,) cosines and scores, in [-1, 1]; 0 where one side is constant."""
    one, other = cosines - cosines.mean(), scores - scores.mean()
    loss: Tensor = -(one * other).sum() / (one.norm() * other.norm()).clamp(min=1e-8)
    return loss


def batches(count: int, params: FineTunedStudent) -> Iterator[NDArray[np.int64]]:
    """Rows of each batch, every epoch in an order of its own; a last batch of one pair is left out."""
    for epoch in range(params.epochs):
        order = np.random.default_rng((params.seed, epoch)).permutation(count)
        for start in range(0, count, params.batch_size):
            rows = order[start : start + params.batch_size]
            if len(rows) > 1:
                yield rows


def tune(encoder: StaticEncoder, pairs: Rated, params: FineTunedStudent) -> StaticEncoder:
    """The tuned student; all learning rates fall to 0 in a straight line. Raises InputError where it is not finite."""
    model = Turned(encoder)
    rates = {
        model.turn: params.map_learning_rate,
        model.weights: params.token_weight_learning_rate,
        model.direction: params.direction_learning_rate,
    }
    optimizer = torch.optim.Adam([{"params": [values], "lr": rate} for values, rate in rates.items()])
    planned = list(batches(len(pairs.scores), params))
    for step, rows in enumerate(track(planned, len(planned), "steps")):
        cosines = F.cosine_similarity(model(pairs.left.take(rows)), model(pairs.right.take(rows)))
        optimizer.zero_grad()
        pearson_loss(cosines, torch.from_numpy(pairs.scores[rows])).backward()  # type: ignore[no-untyped-call]
        for group, rate in zip(optimizer.param_groups, rates.values(), strict=True):
            group["lr"] = rate * (1 - step / len(planned))
        optimizer.step()
    if not all(torch.isfinite(values).all() for values in model.parameters()):
        raise InputError("The tuned student is not finite; lower the rates of section gold.")
    return model.folded(encoder.tokenizer)


def rated(encoder: StaticEncoder, pairs: PairSet) -> Rated:
    assert pairs.scores is not None
    left, right = (encoder.token_ids(side) for side in (pairs.sentences1, pairs.sentences2))
    return Rated(left, right, pairs.scores)


def trained(
    student: Student, layer: MlpHead, params: FineTunedStudent, counters: Counters, checkpoints: Path = CHECKPOINTS
) -> StaticEncoder | str:
    """The student that people's scores have tuned, or why there is none."""
    absent: str | None = read_json(FINE_TUNED_LABELS / VARIANT)["absent"]
    if absent is not None:
        return absent
    files = checkpoints / "student.safetensors", checkpoints / "mlp_head.safetensors"
    dimension = read_json(FINE_TUNED_LABELS / TEACHER)["dimension"]
    encoder, _, _ = train_static(student, dimension, Counters("sentences"), files[0], FINE_TUNED_LABELS)
    deep = with_mlp_head(encoder, layer, Counters("sentences"), files[1], FINE_TUNED_LABELS)
    encoder = encoder if isinstance(deep, str) else deep
    found = tune(encoder, rated(encoder, unseen(load_pairs(BENCHMARK, "train"), counters)), params)
    for file in files:
        file.unlink(missing_ok=True)
    return found
