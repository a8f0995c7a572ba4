"""Train, score and write a cell of paper 2's matrix: one encoder, one start, one strategy, and several seeds.

A bi-encoder encodes each sentence alone; a cross-encoder reads both sentences of a pair as one sequence. A cell writes
`result.json` and the trained model.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sentence_distillery.benchmarks.metrics import correlations, cosines
from sentence_distillery.encoders.trainable import PairEncoder, Tokens
from sentence_distillery.io.artifacts import write_json
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable, to_json, to_text
from sentence_distillery.pairs.data import RESULT, SPLITS, PairData
from sentence_distillery.pairs.losses import paraphrase_groups
from sentence_distillery.pairs.options import Learning
from sentence_distillery.pairs.thresholds import Folds, accuracy, cross_validated, f1
from sentence_distillery.pairs.training import Examples, Notes, PairModel, Training, clock
from sentence_distillery.training import seeds

DIGITS = 5  # of a score in result.json


@dataclass(frozen=True)
class TokenizedPairs:
    """Pairs as sequences of one encoder: `rows` (pairs, k) of each split are places in `tokens`.

    A bi-encoder has k = 2 sequences for a pair. A cross-encoder has k = 1 for a training pair; a pair of another split
    may also have the reverse order. `groups` (train pairs, 2) is as in losses.triplet_loss.
    """

    data: PairData
    tokens: Tokens
    rows: dict[str, NDArray[np.int64]]
    groups: NDArray[np.int64]

    def labels(self, split: str) -> NDArray[np.int8]:
        """Return the labels of a split, (pairs,)."""
        return self.data.splits[split].labels

    @property
    def crossed(self) -> bool:
        """True for the sequences of a cross-encoder."""
        return int(self.rows["train"].shape[1]) == 1


def tokenize(encoder: PairEncoder, data: PairData, crossed: bool, both_orders: bool = False) -> TokenizedPairs:
    """Turn pairs into token ids.

    Args:
        encoder: the encoder whose tokenizer is used.
        data: the pairs.
        crossed: both sentences of a pair are one sequence, for a cross-encoder.
        both_orders: a cross-encoder scores pairs of validation and test in both orders.
    """
    splits = [data.splits[name] for name in SPLITS]
    rows = [split.rows for split in splits]
    groups = paraphrase_groups(rows[0], splits[0].labels, len(data.sentences))
    if not crossed:
        return TokenizedPairs(data, encoder.tokens(data.sentences), dict(zip(SPLITS, rows, strict=True)), groups)
    pairs = np.concatenate(rows)
    sides = [[data.sentences[row] for row in pairs[:, side]] for side in (0, 1)]
    ends = np.cumsum([len(split) for split in splits])[:-1]
    train, *others = np.split(np.arange(len(pairs))[:, None], ends)
    if both_orders:
        sides = [sides[0] + sides[1], sides[1] + sides[0]]
        others = [np.hstack([places, places + len(pairs)]) for places in others]
    return TokenizedPairs(data, encoder.tokens(*sides), dict(zip(SPLITS, [train, *others], strict=True)), groups)


@dataclass(frozen=True)
class Plan:
    """The training of a cell for every seed: its strategy, its settings, the folds that choose its threshold.

    `checkpoints` is the directory of all cells' checkpoints; `name` and `step` identify this cell in it. The step is
    the strategy unless another is given.
    """

    strategy: str
    learning: Learning
    folds: Folds
    checkpoints: Path
    name: str
    step: str | None = None

    @property
    def judging(self) -> Folds:
        """The folds with the rule of the settings."""
        return replace(self.folds, rule=self.learning.threshold)

    def checkpoint(self, seed: int, step: str | None = None) -> Path:
        """Return the file of the training with this seed, or of another step of it."""
        return self.checkpoints / f"{self.name}-{step or self.step or self.strategy}-{seed}.safetensors"


@dataclass(frozen=True)
class RunResult:
    """The figures of one training, or of an untrained encoder: `accuracy` and `f1` on test, at the `threshold`.

    The threshold comes from the validation split, and from train too if nothing was trained; `validation` is the
    cross-validated accuracy there. `scores` has one score for each test pair. `related` has Pearson and Spearman of the
    cosine on each further set, or why there is none. `epochs` are the notes of Training.run. `cosine` has the same
    figures by cosine if the score is a head's. Without a seed the figures are of the model soup: the mean of all seeds'
    weights.
    """

    seed: int | None
    threshold: float
    validation: float
    accuracy: float
    f1: float
    seconds: float
    scores: list[float]
    related: dict[str, dict[str, float | str]]
    epochs: Notes
    cosine: dict[str, float] | None


Trained = tuple[PairModel, RunResult]
PairRuns = seeds.SeedRuns[PairModel, RunResult]


def run_result(
    model: PairModel, pairs: TokenizedPairs, vectors: Floats, choosing: Sequence[str], folds: Folds
) -> RunResult:
    """Classify the test pairs by a threshold chosen on the splits `choosing`; `vectors` (sequences, dimension)."""
    figures, scores = _decide(model, pairs, vectors, choosing, folds)
    by_cosine = None
    if model.head is not None and not pairs.crossed:
        by_cosine, _ = _decide(PairModel(model.encoder, None), pairs, vectors, choosing, folds)
    return RunResult(
        seed=None,
        **figures,
        seconds=0.0,
        scores=[round(float(score), DIGITS) for score in scores],
        related={} if pairs.crossed else related_figures(pairs.data, vectors),
        epochs=[],
        cosine=by_cosine,
    )


def _decide(
    model: PairModel, pairs: TokenizedPairs, vectors: Floats, choosing: Sequence[str], folds: Folds
) -> tuple[dict[str, float], Floats]:
    """Return the threshold, its accuracy on `choosing`, the figures on test, and the test pairs' scores, (pairs,)."""
    rows = np.concatenate([pairs.rows[name] for name in choosing])
    labels = np.concatenate([pairs.labels(name) for name in choosing])
    chosen = cross_validated(score(model, vectors, rows, pairs.crossed), labels, folds)
    scores, labels = score(model, vectors, pairs.rows["test"], pairs.crossed), pairs.labels("test")
    figures = {"accuracy": accuracy(scores, labels, chosen.value), "f1": f1(scores, labels, chosen.value)}
    return {"threshold": chosen.value, "validation": chosen.accuracy, **figures}, scores


def score(model: PairModel, vectors: Floats, rows: NDArray[np.int64], crossed: bool) -> Floats:
    """Score pairs, (pairs,), given the vectors of all sequences; a cross-encoder's by the mean over the orders.

    The head is linear, so that this is the mean of its logits.
    """
    if crossed:
        vectors = vectors[rows].mean(axis=1)
        return model.scores(vectors, vectors)
    return model.scores(vectors[rows[:, 0]], vectors[rows[:, 1]])


def related_figures(data: PairData, vectors: Floats) -> dict[str, dict[str, float | str]]:
    """Return Pearson and Spearman of the cosine on each further set; a text says why one is undefined."""
    correlated: dict[str, dict[str, float | str]] = {}
    for name, pairs in data.related.items():
        cosine = cosines(vectors[pairs.rows[:, 0]], vectors[pairs.rows[:, 1]])
        figures = correlations(cosine, pairs.scores)
        correlated[name] = {metric: v if isinstance(v, float) else to_text(v) for metric, v in figures.items()}
    return correlated


def encode(encoder: PairEncoder, pairs: TokenizedPairs, splits: Sequence[str] = ("validation", "test")) -> Floats:
    """Encode the sequences of these splits and of the further sets, (sequences, dimension); any other row is zero."""
    needed = [pairs.rows[name] for name in splits]
    if not pairs.crossed:
        needed += [rated.rows for rated in pairs.data.related.values()]
    places = np.unique(np.concatenate([rows.ravel() for rows in needed]))
    vectors = np.zeros((len(pairs.tokens), encoder.dimension), dtype=np.float32)
    vectors[places] = encoder.embed(pairs.tokens.take(places))
    return vectors


def train(model: PairModel, pairs: TokenizedPairs, plan: Plan, seed: int, frozen: Floats | None) -> RunResult:
    """Train a model in place, and score it.

    Args:
        model: the encoder and, if the strategy needs one, its head.
        pairs: the pairs as the encoder's token ids.
        plan: strategy, settings and checkpoints.
        seed: of batches and dropout.
        frozen: (sequences, dimension) vectors before training; needed if only the head is trained at first.

    Raises:
        InputError: there are fewer than two pairs to train on, or the loss is not finite.
    """
    examples = Examples(pairs.tokens, pairs.rows["train"], pairs.labels("train"), pairs.groups, frozen)
    learning, encoder, device = plan.learning, model.encoder, model.encoder.transformer.device
    peak: float = getattr(learning, f"{plan.strategy}_learning_rate")
    key = _training_key(model, pairs, plan, seed, peak)
    judge = _validation_judge(model, pairs, plan.judging)
    training = Training(model, plan.strategy, learning, peak, seed, plan.checkpoint(seed), key, judge)
    notes = training.run(examples)
    began = clock(device)
    unchanged = model.head is not None and not pairs.crossed and learning.head_epochs >= learning.epochs
    vectors = frozen if unchanged and frozen is not None else encode(encoder, pairs)
    seconds = sum(note["seconds"] for note in notes) + clock(device) - began
    result = run_result(model, pairs, vectors, ["validation"], plan.judging)
    return replace(result, seed=seed, seconds=round(seconds, 1), epochs=notes)


def _validation_judge(model: PairModel, pairs: TokenizedPairs, folds: Folds) -> Callable[[], float]:
    """Return a function that gives the cross-validated accuracy of the current model on the validation split."""
    width = pairs.rows["train"].shape[1]

    def judge() -> float:
        wanted = pairs.rows["validation"][:, :width]  # for a cross-encoder the given order
        places, rows = np.unique(wanted, return_inverse=True)
        vectors = model.encoder.embed(pairs.tokens.take(places))
        scores = score(model, vectors, rows.reshape(wanted.shape), pairs.crossed)
        return cross_validated(scores, pairs.labels("validation"), folds).accuracy

    return judge


def _training_key(model: PairModel, pairs: TokenizedPairs, plan: Plan, seed: int, peak: float) -> str:
    """Hash everything that a training depends on; `peak` is its learning rate."""
    combination = model.head.combination if model.head is not None else None
    data = (pairs.data.sha256, model.encoder.encoder.maximum_length)
    how = settings_of(plan.learning)
    pooling = model.encoder.pooling
    return key_of(weights_hash(model), pooling, data, plan.strategy, how, peak, combination, seed, plan.judging)


def over_seeds(trainings: Iterable[Trained], judge: Callable[[PairModel], RunResult]) -> PairRuns:
    """Collect the trainings of a cell; `best` has the highest validation accuracy, and the soup the seconds of all."""
    runs = seeds.over_seeds(trainings, judge, lambda result: result.validation)
    if runs.soup is None:
        return runs
    soup = replace(runs.soup, seconds=round(sum(result.seconds for result in runs.scores), 1))
    return replace(runs, soup=soup, best_score=soup if runs.best_score is runs.soup else runs.best_score)


def as_it_stands(model: PairModel, pairs: TokenizedPairs, plan: Plan) -> RunResult:
    """Score a model whose weights are not of a single training."""
    return run_result(model, pairs, encode(model.encoder, pairs), ["validation"], plan.judging)


def settings_of(learning: Learning) -> dict[str, Any]:
    """Return the settings that every training depends on: neither the rates nor the orders of scoring."""
    rates = {name for name in type(learning).model_fields if name.endswith("_rate")}
    return learning.model_dump(exclude={*rates, "both_orders"})


def weights_hash(model: PairModel) -> str:
    """Hash the current value of every weight."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """Hash the inputs of a training."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def write_result(directory: Path, cell: dict[str, Any], runs: PairRuns) -> None:
    """Write the results of a cell; `cell` says which it is and on what data."""
    results = {"outcomes": list(map(asdict, runs.scores)), "mean": asdict(runs.soup) if runs.soup else None}
    write_json(directory / RESULT, {**cell, **to_json(None), **results})


def write_unavailable(directory: Path, cell: dict[str, Any], reason: Unavailable) -> None:
    """Write why a cell could not be run."""
    write_json(directory / RESULT, {**cell, **to_json(reason), "outcomes": [], "mean": None})
