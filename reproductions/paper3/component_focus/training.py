"""A bi-encoder that encodes the subject, predicate and object of a sentence once more, next to the sentence (paper 3).

    emb_S = pool(emb_basic + W_cf emb_cf)   (equation 1)
    loss  = mean (cos(emb_A, emb_B) - rating)^2

emb_basic are the outputs for the tokens of the sentence, emb_cf those of its component (syntax/components.py), both by
the same weights; the rating is on [0, 1]. With `order: after_pooling` each is pooled first (weights.py). With W_cf = 0
it is SBERT. A cell of the grid is one encoder, one task and one W_cf, which is a number or learnt with the encoder
(component_focus/weights.py). It is trained with each seed, and the epoch with the best Spearman on dev counts. The
parts of a batch of pairs go through the encoder together, sorted by length. Each sentence and component is tokenised
once for all epochs. Pairs of dev and test are not trained on.

Two kinds of task are not in the paper. `sick+labels` adds label_weight times the cross-entropy of the pairs' labels,
predicted from |emb_A - emb_B| by a linear layer that is discarded afterwards. `stsb+augmented` has more training pairs,
scored by a teacher (component_focus/augmentation.py).

If there are several seeds, their model soup (the mean of their weights) is one more encoder. It costs no more to run
than each of them (Wortsman et al. 2022, "Model soups"; there the members differ in hyperparameters, too).

A cell keeps its cosines for the pairs of dev and test, so that cells can be compared pair by pair. For SICK it also
keeps the entailment that logistic regression on |emb_A - emb_B| predicts for the test pairs in ten folds (section 4.4).

A checkpoint is saved after each epoch. An interrupted cell resumes there, with the same result.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reproductions.encoders.options import ScoredTraining
from reproductions.encoders.trainable import PairEncoder, Pooling, Tokens, pool
from reproductions.paper3.component_focus.cells import (
    AUGMENTED_ABOUT,
    SPLITS,
    WITH_AUGMENTED,
    WITH_LABELS,
    Inputs,
    Sets,
    benchmark_of,
    components_of,
    entailment,
    indexed,
    parts_of,
    spearman,
    task_pairs,
)
from reproductions.paper3.component_focus.options import ComponentTraining
from reproductions.paper3.component_focus.weights import Weight, Weights
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.protocols.similarity import cosines
from sentence_distillery.evaluation.sets.data import Split
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, read_unavailable
from sentence_distillery.teachers.options import Teacher
from sentence_distillery.teachers.transformer import load_encoder
from sentence_distillery.training.batches import Batches, Rows
from sentence_distillery.training.checkpoint import key_of
from sentence_distillery.training.schedules import warm_up
from sentence_distillery.training.trainer import Best, Curve, Hooks, Saving, Trainer

NONE = -1  # in place of a part that a sentence lacks
LAYER_SCALE = 50.0  # how much faster than the encoder the layer for the labels learns


@dataclass(frozen=True)
class TokenizedTask:
    """A task as token ids, tokenised once: sentences, then their parts.

    `rows[split]` (pairs, 2) are row numbers of sentences, `parts` (sentences, parts) those of their parts.
    """

    tokens: Tokens
    parts: NDArray[np.int64]
    rows: dict[Split, NDArray[np.int64]]
    ratings: dict[Split, NDArray[np.float32]]  # on [0, 1]
    labels: list[str] | None = None  # of the training pairs


def tokenize_task(
    pairs: Sets, trees: dict[str, Tree], encoder: PairEncoder, weights: Weights, counters: Counters
) -> TokenizedTask:
    """Tokenise sentences, those of train first, and after them their parts; each different text once.

    With W_cf = 0 sentences have no parts.
    """
    texts, rows = indexed(pairs)
    parts: list[list[str | None]] = [[] for _ in texts]
    if weights.weight:
        parts = [[component] for component in components_of(texts, trees, counters)]
    if len(weights.names) > 1:
        by_name = [parts_of(trees[text], str(weights.weight)) if text in trees else {} for text in texts]
        parts = [list(map(each.get, weights.names)) for each in by_name]
    behind = (part for each in parts for part in each if part is not None)
    place = {text: row for row, text in enumerate(dict.fromkeys([*texts, *behind]))}
    ratings = {name: each.unit_scores() for name, each in pairs.items()}
    places = np.array([[NONE if part is None else place[part] for part in each] for each in parts], dtype=np.int64)
    return TokenizedTask(encoder.tokens(list(place)), places, rows, ratings, pairs["train"].labels)


def focused(encoder: PairEncoder, data: TokenizedTask, sentences: NDArray[np.int64], weights: Weights) -> Tensor:
    """Compute emb_S, (sentences, dimension), of some sentences in one pass, each different text once."""
    alone = weights.weight == 0
    wanted = sentences[:, None] if alone else np.column_stack([sentences, data.parts[sentences]])
    before = weights.order == "before_pooling" and not alone
    if before and encoder.pooling is Pooling.MAX:
        return _greatest(encoder, data.tokens, wanted, weights)
    places, back = np.unique(wanted, return_inverse=True)
    vectors: Tensor = encoder(data.tokens.take(places[places != NONE]))
    if NONE in places:  # the lowest
        vectors = F.pad(vectors, (0, 0, 1, 0))
    vectors = vectors[torch.from_numpy(back.reshape(wanted.shape))]
    if alone:
        return vectors[:, 0]
    parts = vectors[:, 1:]
    if before and encoder.pooling is Pooling.MEAN:
        parts = parts * torch.from_numpy(shares(data.tokens, wanted)).to(parts.device)
    added: Tensor = weights(vectors[:, 0], parts)
    return added


def shares(tokens: Tokens, wanted: NDArray[np.int64]) -> Floats:
    """Return the tokens of each part as a share of its sentence's, (sentences, parts, 1) float32; 0 without a part.

    `wanted` (sentences, 1 + parts) are places in `tokens`: a sentence, then its parts.
    """
    lengths = np.array([[0 if place == NONE else len(tokens.ids[place]) for place in row] for row in wanted])
    found: Floats = (lengths[:, 1:] / lengths[:, :1]).astype(np.float32)[..., None]
    return found


def _greatest(encoder: PairEncoder, tokens: Tokens, wanted: NDArray[np.int64], weights: Weights) -> Tensor:
    """Compute max_i (h_i(S) + W_cf h_i(S_cf)), (sentences, dimension), each different text once."""
    places, back = np.unique(wanted, return_inverse=True)
    hidden = encoder.outputs(tokens.take(places))[torch.from_numpy(back.reshape(wanted.shape))]
    lengths = torch.tensor([len(tokens.ids[place]) for place in wanted[:, 0]])
    mask = torch.arange(hidden.shape[2])[None, :] < lengths[:, None]
    return pool(weights(hidden[:, 0], hidden[:, 1:]), mask.to(hidden.device), Pooling.MAX)


@torch.inference_mode()
def embed(encoder: PairEncoder, data: TokenizedTask, weights: Weights, *splits: Split) -> Floats:
    """Compute emb_S, (sentences, dimension) float32, of the sentences of these splits; 0 for all others."""
    wanted = np.unique(np.concatenate([data.rows[split] for split in splits]))
    encoder.eval()
    vectors = np.zeros((len(data.parts), encoder.dimension), dtype=np.float32)
    vectors[wanted] = focused(encoder, data, wanted, weights).float().cpu().numpy()
    return vectors


class LabelLoss(nn.Module):
    """Cross-entropy of the labels that a linear layer, zero at first, reads from |u - v|, times a weight."""

    def __init__(self, dimension: int, labels: Sequence[str], weight: float) -> None:
        super().__init__()
        names, places = np.unique(labels, return_inverse=True)
        self.places = torch.from_numpy(places)
        self.weight = weight
        self.layer = nn.Linear(dimension, len(names))
        nn.init.zeros_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, u: Tensor, v: Tensor, pairs: NDArray[np.int64]) -> Tensor:
        """Average over these training pairs, whose vectors are u and v, (pairs, dimension) each."""
        logits = self.layer(LAYER_SCALE * (u - v).abs())
        return self.weight * F.cross_entropy(logits, self.places[pairs].to(logits.device))


@dataclass(frozen=True)
class Training:
    """One training: a task and the weights of the parts, with one seed; `labels` is a second loss."""

    encoder: PairEncoder
    params: ScoredTraining
    weights: Weights
    seed: int
    checkpoint: Path
    labels: LabelLoss | None = None

    @property
    def lasting(self) -> nn.ModuleList:
        """The modules that are kept after the training."""
        return nn.ModuleList([self.encoder, self.weights])

    def run(self, data: TokenizedTask, key: str) -> Curve:
        """Train in place and return the results of each epoch; encoder and weights end as after the best."""
        lasting = self.lasting.to(self.encoder.transformer.device)
        model = nn.ModuleList([lasting, *([self.labels] if self.labels is not None else ())])
        model.to(self.encoder.transformer.device)
        params = self.params
        batches = Batches(np.arange(len(data.rows["train"])), params.batch_size, self.seed, smallest=1)
        trainer = Trainer(
            model,
            torch.optim.Adam(model.parameters(), lr=params.learning_rate, fused=True),
            batches,
            params.epochs,
            warm_up(batches.steps * params.epochs, params.warm_up),
            Saving(self.checkpoint, key),
            Best("dev", module=lasting),
            dropout_seed=self.seed,
            hooks=Hooks(
                before=lambda epoch: self.encoder.train(),
                after=lambda means: {"dev": self.judge(data)} | self.weights.learnt(),
            ),
            remedy=f"Lower learning_rate, which is {params.learning_rate}.",
        )
        with self.encoder.in_precision(params.precision):
            return trainer.run(lambda batch: {"loss": self.loss(data, batch)})

    def loss(self, data: TokenizedTask, batch: Rows) -> Tensor:
        """Return the loss of a batch of training pairs."""
        vectors = focused(self.encoder, data, data.rows["train"][batch].T.ravel(), self.weights)
        u, v = vectors[: len(batch)], vectors[len(batch) :]
        ratings = torch.from_numpy(data.ratings["train"][batch]).to(vectors.device)
        loss = F.mse_loss(F.cosine_similarity(u, v), ratings)
        return loss if self.labels is None else loss + self.labels(u, v, batch)

    def judge(self, data: TokenizedTask) -> float:
        """Compute Spearman on dev; -1 if it is not available."""
        vectors = embed(self.encoder, data, self.weights, "dev")
        return spearman(pair_cosines(vectors, data, "dev"), data.ratings["dev"])


def pair_cosines(vectors: Floats, data: TokenizedTask, split: Split) -> Floats:
    """Compute the cosines of a split, (pairs,)."""
    one, other = data.rows[split].T
    return cosines(vectors[one], vectors[other])


def fingerprint(data: TokenizedTask, encoder: PairEncoder, params: ScoredTraining) -> str:
    """Hash everything that a training depends on, except its weight, its seed and a second loss."""
    how = params.model_dump_json(exclude={"seeds", "label_weight"})
    pairs = [array.tobytes() for split in data.rows for array in (data.rows[split], data.ratings[split])]
    return key_of(encoder.encoder.fingerprint, how, data.tokens.ids, data.parts.tolist(), *pairs)


@dataclass(frozen=True)
class FocusExperiment:
    """The models of a cell of paper 3's grid (papers/grid/run.py): an encoder and the weights of the parts.

    Attributes:
        encoder: The encoder before any training; each seed trains a copy.
        weight: W_cf, or how it is learnt.
        options: How it is trained.
        pairs: The splits of the task.
        data: The same as token ids.
        checkpoint: The path of the checkpoints, without the seed; augmented pairs share those of their teacher's cell.
        labelled: Whether it also learns from the labels of the pairs.
    """

    encoder: PairEncoder
    weight: Weight
    options: ComponentTraining
    pairs: Sets
    data: TokenizedTask
    checkpoint: Path
    labelled: bool = False

    def untrained(self) -> nn.ModuleList | None:
        """Return the encoder before training; None if the weight is to be learnt."""
        weights = Weights(self.weight, self.encoder.dimension, self.options.order)
        return nn.ModuleList([self.encoder, weights]) if weights.values is None else None

    def trained(self, seed: int) -> tuple[nn.ModuleList, Curve]:
        """Train an encoder; raises InputError if labels are missing, or if the loss is not finite."""
        data, options = self.data, self.options
        encoder = copy.deepcopy(self.encoder)
        key = f"{fingerprint(data, encoder, options)} {self.weight} {seed}"
        second = label_loss(encoder, data, options.label_weight) if self.labelled else None
        if second is not None:
            key = key_of(key, options.label_weight, data.labels)
        encoder.keep_only(data.tokens)
        weights = Weights(self.weight, encoder.dimension, options.order)
        path = Path(f"{self.checkpoint}-{seed}.safetensors")
        training = Training(encoder, options, weights, seed, path, second)
        return training.lasting, training.run(data, key)

    def scored(self, model: nn.ModuleList, notes: Curve) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
        """Predict the pairs of dev and test, and for test their labels if they have some."""
        encoder, weights = cast(tuple[PairEncoder, Weights], tuple(model))
        vectors = embed(encoder, self.data, weights, "dev", "test")
        predictions: dict[str, dict[str, Any]] = {}
        for split in SPLITS[1:]:
            score = pair_cosines(vectors, self.data, split)
            predictions[split] = {"rating": self.data.ratings[split], "score": score, "label": self.pairs[split].labels}
        predictions["test"]["predicted"] = entailment(vectors, self.data.rows["test"], self.pairs["test"].labels)
        return predictions, {}


def label_loss(encoder: PairEncoder, data: TokenizedTask, weight: float) -> LabelLoss:
    """Make the second loss of a cell; raises InputError if the training pairs have no labels."""
    if data.labels is None:
        raise InputError("These training pairs have no labels; remove +labels from component_focus.tasks.")
    return LabelLoss(encoder.dimension, data.labels, weight)


def refuse_maximum(weight: Weight, options: ComponentTraining) -> None:
    """Raise InputError if a weight is to be learnt for token outputs of which the greatest is taken."""
    if isinstance(weight, str) and (options.order, options.pooling) == ("before_pooling", "max"):
        raise InputError(
            f"The weight {weight} cannot be learnt with pooling max before_pooling; "
            "set component_training.order to after_pooling, or give numbers as component_focus.weights."
        )


def experiment(
    teacher: Teacher,
    task: str,
    weight: Weight,
    options: ComponentTraining,
    inputs: Inputs,
    trees: dict[str, Tree],
    checkpoint: Path,
    counters: Counters,
) -> FocusExperiment | Unavailable:
    """Prepare a cell, or say why it has no predictions; a weight that is not learnt has some even without training.

    Args:
        teacher: The encoder that it starts from.
        task: The task, with +labels or +augmented if it has them.
        weight: W_cf, or how it is learnt.
        options: How it is trained.
        inputs: Where its pairs come from.
        trees: The dependency tree of each sentence, by its text.
        checkpoint: The path of its checkpoints, without the seed.
        counters: Counts the training pairs.

    Raises:
        InputError: If a set, its scores or the encoder cannot be read.
    """
    unavailable = inputs.benchmarks.why_unavailable(benchmark_of(task), "component_focus.tasks")
    if unavailable is None and WITH_AUGMENTED in task:
        unavailable = read_unavailable(inputs.augmented_pairs / task / AUGMENTED_ABOUT)
    unavailable = unavailable or (options.switched_off() if isinstance(weight, str) else None)
    if unavailable:
        return unavailable
    refuse_maximum(weight, options)
    pairs = task_pairs(task, inputs, counters)
    encoder = PairEncoder(load_encoder(teacher), Pooling(options.pooling))
    data = tokenize_task(pairs, trees, encoder, Weights(weight, encoder.dimension), counters)
    counters.keep(len(data.rows["train"]) if options.enabled else 0)
    return FocusExperiment(encoder, weight, options, pairs, data, checkpoint, WITH_LABELS in task)
