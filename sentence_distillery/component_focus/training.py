"""A bi-encoder that encodes the subject, predicate and object of a sentence once more, next to the sentence (paper 3).

    emb_S = emb_basic + W_cf emb_cf         (equation 1)
    loss  = mean (cos(emb_A, emb_B) - rating)^2

emb_basic is the pooled encoding of the sentence, emb_cf that of its component (syntax/components.py), both by the same
weights; the rating is on [0, 1]. With W_cf = 0 it is SBERT. A cell of the grid is one encoder, one task and one W_cf,
which is a number or learnt with the encoder (component_focus/weights.py). It is trained with each seed, and the epoch
with the best Spearman on dev counts. The parts of a batch of pairs go through the encoder together, sorted by length.
Each sentence and component is tokenised once for all epochs. Pairs of dev and test are not trained on.

Two kinds of task are not in the paper. `sick+labels` adds label_weight times the cross-entropy of the pairs' labels,
predicted from |emb_A - emb_B| by a linear layer that is discarded afterwards. `stsb+augmented` has more training pairs,
scored by a teacher (component_focus/augmentation.py).

If there are several seeds, their model soup (the mean of their weights) is one more encoder. It costs no more to run
than each of them (Wortsman et al. 2022, "Model soups"; there the members differ in hyperparameters, too).

A cell keeps its cosines for the pairs of dev and test, so that cells can be compared pair by pair. For SICK it also
keeps the entailment that logistic regression on |emb_A - emb_B| predicts for the test pairs in ten folds (section 4.4).

A checkpoint is saved after each epoch. An interrupted cell resumes there, with the same result.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from sentence_distillery.benchmarks.data import Split
from sentence_distillery.benchmarks.metrics import Undefined, correlations, cosines
from sentence_distillery.component_focus.cells import (
    MODEL_SOUP,
    SCHEMA,
    SPLITS,
    WITH_AUGMENTED,
    WITH_LABELS,
    CellKey,
    Inputs,
    Sets,
    benchmark_of,
    components_of,
    entailment,
    parts_of,
    task_pairs,
    why_no_augmented_pairs,
)
from sentence_distillery.component_focus.options import ComponentTraining
from sentence_distillery.component_focus.weights import Weight, Weights
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.trainable import PairEncoder, Pooling, Tokens
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.io.artifacts import InputError
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.options import ScoredTraining
from sentence_distillery.runtime.progress import track
from sentence_distillery.syntax.trees import Tree
from sentence_distillery.training.checkpoint import Checkpoint, has_weights, save_weights

NONE = -1  # in place of a part that a sentence lacks
LAYER_SCALE = 50.0  # how much faster than the encoder the layer for the labels learns

Notes = dict[int, list[dict[str, float]]]  # by seed and epoch: loss, dev Spearman, learnt weights

log = logging.getLogger(__name__)


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
    sides = {name: (each.sentences1, each.sentences2) for name, each in pairs.items()}
    texts = list(dict.fromkeys(text for two in sides.values() for side in two for text in side))
    parts: list[list[str | None]] = [[] for _ in texts]
    if weights.weight:
        parts = [[component] for component in components_of(texts, trees, counters)]
    if len(weights.names) > 1:
        by_name = [parts_of(trees[text], str(weights.weight)) if text in trees else {} for text in texts]
        parts = [list(map(each.get, weights.names)) for each in by_name]
    behind = (part for each in parts for part in each if part is not None)
    place = {text: row for row, text in enumerate(dict.fromkeys([*texts, *behind]))}
    rows = {name: np.array([[place[text] for text in side] for side in two]).T for name, two in sides.items()}
    ratings = {name: each.unit_scores() for name, each in pairs.items()}
    places = np.array([[NONE if part is None else place[part] for part in each] for each in parts], dtype=np.int64)
    return TokenizedTask(encoder.tokens(list(place)), places, rows, ratings, pairs["train"].labels)


def focused(encoder: PairEncoder, data: TokenizedTask, sentences: NDArray[np.int64], weights: Weights) -> Tensor:
    """Compute emb_S, (sentences, dimension), of some sentences in one pass, each different text once."""
    alone = weights.weight == 0
    wanted = sentences[:, None] if alone else np.column_stack([sentences, data.parts[sentences]])
    places, back = np.unique(wanted, return_inverse=True)
    vectors: Tensor = encoder(data.tokens.take(places[places != NONE]))
    if NONE in places:  # the lowest
        vectors = F.pad(vectors, (0, 0, 1, 0))
    vectors = vectors[torch.from_numpy(back.reshape(wanted.shape))]
    return vectors[:, 0] if alone else weights(vectors[:, 0], vectors[:, 1:])


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
class Cell:
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

    def run(self, data: TokenizedTask, key: str) -> list[dict[str, float]]:
        """Train in place and return notes of each epoch; encoder and weights end as after the best epoch."""
        self.encoder.precision = self.params.precision
        lasting = self.lasting.to(self.encoder.transformer.device)
        model = nn.ModuleList([lasting, *([self.labels] if self.labels is not None else ())])
        model.to(self.encoder.transformer.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=self.params.learning_rate, fused=True)
        state = Checkpoint(self.checkpoint, key, model, optimizer)
        best = self.checkpoint.with_suffix(".best")
        notes = state.resume() if has_weights(best, key) else []
        with torch.random.fork_rng():
            for epoch in track(range(len(notes), self.params.epochs), self.params.epochs, "epochs", done=len(notes)):
                loss = self.epoch(data, optimizer, epoch)
                notes.append({"loss": loss, "dev": self.judge(data)} | self.weights.learnt())
                if _best(notes) == epoch:
                    save_weights(best, key, lasting)
                state.save(notes)
        self.encoder.precision = "float32"
        lasting.load_state_dict(load_file(best))
        return notes

    def epoch(self, data: TokenizedTask, optimizer: torch.optim.Optimizer, epoch: int) -> float:
        """Pass once over the training pairs and return the mean loss; raises InputError if it is not finite."""
        rows, ratings = data.rows["train"], torch.from_numpy(data.ratings["train"])
        order = np.random.default_rng((self.seed, epoch)).permutation(len(rows))
        size = self.params.batch_size
        steps = -(-len(rows) // size)
        planned = steps * self.params.epochs
        self.encoder.train()
        total = 0.0
        for number in range(steps):
            step = epoch * steps + number
            torch.manual_seed(self.seed * 1_000_003 + step)  # dropout of this step
            for group in optimizer.param_groups:
                group["lr"] = self.params.learning_rate * rise_and_fall(step, planned, self.params.warm_up)
            batch = order[number * size : (number + 1) * size]
            vectors = focused(self.encoder, data, rows[batch].T.ravel(), self.weights)
            u, v = vectors[: len(batch)], vectors[len(batch) :]
            loss = F.mse_loss(F.cosine_similarity(u, v), ratings[batch].to(vectors.device))
            if self.labels is not None:
                loss = loss + self.labels(u, v, batch)
            if not torch.isfinite(loss):
                raise InputError(
                    f"The loss is {loss.item()} at step {step + 1}, on the batch of pairs {batch[:5].tolist()} and "
                    f"{max(len(batch) - 5, 0)} more; lower its learning_rate."
                )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item()
        log.info("W_cf %s, seed %d, epoch %d: loss %.4f", self.weights.weight, self.seed, epoch + 1, total / steps)
        return total / steps

    def judge(self, data: TokenizedTask) -> float:
        """Compute Spearman on dev; -1 if it is undefined."""
        predicted = pair_cosines(embed(self.encoder, data, self.weights, "dev"), data, "dev")
        figure = correlations(predicted, data.ratings["dev"])
        return -1.0 if isinstance(figure["spearman"], Undefined) else figure["spearman"]


def rise_and_fall(step: int, steps: int, warm_up: float) -> float:
    """Scale the learning rate at a step of `steps`: linearly up to 1 at `warm_up`, then linearly down to 0."""
    rise = warm_up * steps
    return (step + 1) / (rise + 1) if step < rise else (steps - step) / (steps - rise)


def _best(notes: list[dict[str, float]]) -> int:
    return int(np.argmax([note["dev"] for note in notes]))


def pair_cosines(vectors: Floats, data: TokenizedTask, split: Split) -> Floats:
    """Compute the cosines of a split, (pairs,)."""
    one, other = data.rows[split].T
    return cosines(vectors[one], vectors[other])


def predictions(vectors: Floats, data: TokenizedTask, pairs: Sets, seed: int | None) -> pa.Table:
    """Make rows of PREDICTIONS for dev and test, `predicted` if test pairs have labels; no seed: before training."""
    parts = []
    predicted_labels = {"test": entailment(vectors, data.rows["test"], pairs["test"].labels)}
    for split in SPLITS[1:]:
        count = len(data.rows[split])
        columns = [[seed] * count, [split] * count, data.ratings[split], pair_cosines(vectors, data, split)]
        columns += [labels or [None] * count for labels in (pairs[split].labels, predicted_labels.get(split))]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        parts.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    return pa.concat_tables(parts)


def fingerprint(data: TokenizedTask, encoder: PairEncoder, params: ScoredTraining) -> str:
    """Hash everything that a training depends on, except its weight, its seed and a second loss."""
    digest = hashlib.sha256(encoder.encoder.fingerprint.encode())
    digest.update(params.model_dump_json(exclude={"seeds", "label_weight"}).encode())
    digest.update(repr([data.tokens.ids, data.parts.tolist()]).encode())
    for split, rows in data.rows.items():
        digest.update(rows.tobytes() + data.ratings[split].tobytes())
    return digest.hexdigest()


def label_loss(encoder: PairEncoder, data: TokenizedTask, weight: float) -> LabelLoss:
    """Make the second loss of a cell; raises InputError if the training pairs have no labels."""
    if data.labels is None:
        raise InputError("These training pairs have no labels; leave +labels away in component_focus.tasks.")
    return LabelLoss(encoder.dimension, data.labels, weight)


def trained(
    teacher: Teacher,
    data: TokenizedTask,
    training: ComponentTraining,
    weight: Weight,
    seed: int,
    path: Path,
    labels: bool = False,
) -> tuple[Cell, list[dict[str, float]]]:
    """Train a cell from the weights of `teacher`; returns it with notes of each epoch. Checkpoints are at `path`.

    `labels` says whether it also learns from the labels of the pairs.
    """
    encoder = PairEncoder(load_encoder(teacher), Pooling(training.pooling))
    key = f"{fingerprint(data, encoder, training)} {weight} {seed}"
    second = label_loss(encoder, data, training.label_weight) if labels else None
    if labels:
        key += f" {training.label_weight} {hashlib.sha256(repr(data.labels).encode()).hexdigest()}"
    encoder.keep_only(data.tokens)
    cell = Cell(encoder, training, Weights(weight, encoder.dimension), seed, path, second)
    return cell, cell.run(data, key)


@dataclass(frozen=True)
class Training:
    """How a cell is trained: the encoder that it starts from, the options, and the directory of its checkpoints."""

    teacher: Teacher
    options: ComponentTraining
    checkpoints: Path


def train(
    key: CellKey, training: Training, inputs: Inputs, trees: dict[str, Tree], counters: Counters
) -> tuple[pa.Table, Notes]:
    """Train a cell with each seed.

    Args:
        key: Which cell it is.
        training: The encoder that it starts from, the options, and where its checkpoints are kept.
        inputs: Where its pairs come from.
        trees: The dependency tree of each sentence, by its text.
        counters: Counts the training pairs.

    Returns:
        A table of SCHEMA: the cosines and labels of the dev and test pairs before training, after it with each seed,
        and of the model soup of the seeds; and the notes of each epoch, by seed.

    Raises:
        InputError: If a set, its scores or the encoder cannot be read, or the loss is not finite.
    """
    pairs, options = task_pairs(key.task, inputs, counters), training.options
    encoder = PairEncoder(load_encoder(training.teacher), Pooling(options.pooling))
    weights = Weights(key.weight, encoder.dimension)
    data = tokenize_task(pairs, trees, encoder, weights, counters)
    tables = [SCHEMA.empty_table()]
    if weights.values is None:
        tables.append(predictions(embed(encoder, data, weights, "dev", "test"), data, pairs, None))
    notes: Notes = {}
    sums: dict[str, Tensor] = {}
    for seed in options.seeds if options.epochs else ():
        path = checkpoint_of(training.checkpoints, key, seed)
        cell, notes[seed] = trained(training.teacher, data, options, key.weight, seed, path, WITH_LABELS in key.task)
        tables.append(predictions(embed(cell.encoder, data, cell.weights, "dev", "test"), data, pairs, seed))
        sums = {name: tensor + sums.get(name, 0) for name, tensor in cell.lasting.state_dict().items()}
        counters.keep(len(data.rows["train"]))
    if len(notes) > 1:
        cell.lasting.load_state_dict({name: total / len(notes) for name, total in sums.items()})
        tables.append(predictions(embed(cell.encoder, data, cell.weights, "dev", "test"), data, pairs, MODEL_SOUP))
    return pa.concat_tables(tables), notes


def checkpoint_of(directory: Path, key: CellKey, seed: int) -> Path:
    """Return the checkpoint of one training, which augmented pairs share with the cell of their teacher."""
    return directory / f"{key}-{seed}.safetensors"


def why_absent(task: str, inputs: Inputs) -> str | None:
    """Say why a cell cannot be trained, or None."""
    name = benchmark_of(task)
    if not inputs.benchmarks.present([name], "component_focus.tasks"):
        return f"the set {name} is absent"
    return why_no_augmented_pairs(task, inputs) if WITH_AUGMENTED in task else None
