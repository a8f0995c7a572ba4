"""What the stages of the matrix share: where an encoder starts from, how a cell is trained and scored, what it leaves.

A start is a directory: `start.json` (which encoder, which pooling; `absent` where its weights are not to be had),
`vectors.safetensors` (what it makes of every sentence, before any training), and the encoder itself where it was tuned
on joined pairs first. A cell leaves `result.json`, and the trained model beside it.
"""

import copy
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from sentence_distillery.benchmarks.metrics import correlations, cosines
from sentence_distillery.encoders.options import Teacher
from sentence_distillery.encoders.trainable import PairEncoder, Pooling, Tokens
from sentence_distillery.encoders.transformer import load_encoder
from sentence_distillery.io.artifacts import read_json, read_tensors, write_json, write_tensors
from sentence_distillery.io.ragged import Floats
from sentence_distillery.pairs.data import SPLITS, Material
from sentence_distillery.pairs.export import read_model
from sentence_distillery.pairs.losses import paraphrase_groups
from sentence_distillery.pairs.options import Learning
from sentence_distillery.pairs.thresholds import Folds, accuracy, cross_validated, f1
from sentence_distillery.pairs.training import Examples, Notes, PairModel, Training, clock

STARTS = Path("models/pairs/starts")
CELLS = Path("models/pairs/cells")
TABLE_4 = Path("models/pairs/combinations")
CHECKPOINTS = Path("models/checkpoints/pairs")
START = "start.json"
VECTORS = "vectors.safetensors"
RESULT = "result.json"
DIGITS = 5  # of a score in result.json


@dataclass(frozen=True)
class Task:
    """The pairs of a cell as sequences of one encoder: `rows` (pairs, k) of each split are places in `tokens`.

    k = 2 where each sentence is encoded alone. A joined pair of train has k = 1; of the other splits it may have the
    reverse order, too. `groups` (train pairs, 2), see losses.triplet_loss.
    """

    material: Material
    tokens: Tokens
    rows: dict[str, NDArray[np.int64]]
    groups: NDArray[np.int64]

    def labels(self, split: str) -> NDArray[np.int8]:
        return self.material.splits[split].labels

    @property
    def joined(self) -> bool:
        return int(self.rows["train"].shape[1]) == 1


def task_of(encoder: PairEncoder, material: Material, joined: bool, both_orders: bool = False) -> Task:
    """The material as token ids; `both_orders` of joined pairs."""
    splits = [material.splits[name] for name in SPLITS]
    rows = [split.rows for split in splits]
    groups = paraphrase_groups(rows[0], splits[0].labels, len(material.sentences))
    if not joined:
        return Task(material, encoder.tokens(material.sentences), dict(zip(SPLITS, rows, strict=True)), groups)
    pairs = np.concatenate(rows)
    sides = [[material.sentences[row] for row in pairs[:, side]] for side in (0, 1)]
    ends = np.cumsum([len(split) for split in splits])[:-1]
    train, *others = np.split(np.arange(len(pairs))[:, None], ends)
    if both_orders:
        sides = [sides[0] + sides[1], sides[1] + sides[0]]
        others = [np.hstack([places, places + len(pairs)]) for places in others]
    return Task(material, encoder.tokens(*sides), dict(zip(SPLITS, [train, *others], strict=True)), groups)


@dataclass(frozen=True)
class Outcome:
    """What came of one training, or of none: `accuracy` and `f1` on test, at the threshold of other pairs.

    These are the held-out ones, and train's as well where nothing was trained; `validation` is the cross-validated
    accuracy there; `scores` (test pairs,); `related` has Pearson and Spearman of the
    cosine on each further set, or why there is none; `epochs` as Training.run gives them. `cosine`: where the score is
    a head's, the same figures by cosine. Without a seed it is of the mean of all seeds' weights.
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


Trained = tuple[PairModel, Outcome]


@dataclass(frozen=True)
class Seeds:
    """The outcomes of one training with several seeds, and of the mean of their weights.

    `best` is the model of the highest validation accuracy, a seed's or the mean, the first of equal ones; `found` is its
    outcome.
    """

    outcomes: list[Outcome]
    mean: Outcome | None
    best: PairModel
    found: Outcome


def outcome(
    model: PairModel,
    task: Task,
    vectors: Floats,
    notes: Notes,
    seconds: float,
    seed: int | None,
    folds: Folds,
    choosing: Sequence[str],
) -> Outcome:
    """Decide on the test pairs by a threshold that the splits `choosing` give; `vectors` (sequences, dimension)."""
    figures, scores = _decide(model, task, vectors, choosing, folds)
    plain = None
    if model.head is not None and not task.joined:
        plain, _ = _decide(PairModel(model.encoder, None), task, vectors, choosing, folds)
    return Outcome(
        seed=seed,
        **figures,
        seconds=round(seconds, 1),
        scores=[round(float(score), DIGITS) for score in scores],
        related={} if task.joined else related_figures(task.material, vectors),
        epochs=notes,
        cosine=plain,
    )


def _decide(
    model: PairModel, task: Task, vectors: Floats, choosing: Sequence[str], folds: Folds
) -> tuple[dict[str, float], Floats]:
    """The threshold that `choosing` gives, how it does there and on test, and the test pairs' scores."""
    rows = np.concatenate([task.rows[name] for name in choosing])
    labels = np.concatenate([task.labels(name) for name in choosing])
    chosen = cross_validated(score(model, vectors, rows, task.joined), labels, folds)
    scores, gold = score(model, vectors, task.rows["test"], task.joined), task.labels("test")
    figures = {"accuracy": accuracy(scores, gold, chosen.value), "f1": f1(scores, gold, chosen.value)}
    return {"threshold": chosen.value, "validation": chosen.accuracy, **figures}, scores


def score(model: PairModel, vectors: Floats, rows: NDArray[np.int64], joined: bool) -> Floats:
    """The scores of pairs, (pairs,), given the vectors of all sequences; of joined ones by the mean over their orders.

    The head is linear, so that this is the mean of its logits.
    """
    if joined:
        vectors = vectors[rows].mean(axis=1)
        return model.scores(vectors, vectors)
    return model.scores(vectors[rows[:, 0]], vectors[rows[:, 1]])


def related_figures(material: Material, vectors: Floats) -> dict[str, dict[str, float | str]]:
    """Pearson and Spearman of the cosine on each further set; a text says why one is undefined."""
    found: dict[str, dict[str, float | str]] = {}
    for name, pairs in material.related.items():
        cosine = cosines(vectors[pairs.rows[:, 0]], vectors[pairs.rows[:, 1]])
        figures = correlations(cosine, pairs.scores)
        found[name] = {metric: v if isinstance(v, float) else str(v) for metric, v in figures.items()}
    return found


def encode(encoder: PairEncoder, task: Task, splits: Sequence[str] = ("validation", "test")) -> Floats:
    """(sequences, dimension) of all sequences of these splits, and of the further sets; any other's row is zero."""
    needed = [task.rows[name] for name in splits]
    if not task.joined:
        needed += [pairs.rows for pairs in task.material.related.values()]
    places = np.unique(np.concatenate([rows.ravel() for rows in needed]))
    vectors = np.zeros((len(task.tokens), encoder.dimension), dtype=np.float32)
    vectors[places] = encoder.embed(task.tokens.take(places))
    return vectors


def train(
    model: PairModel,
    task: Task,
    strategy: str,
    learning: Learning,
    frozen: Floats | None,
    seed: int,
    folds: Folds,
    name: str,
) -> Outcome:
    """Train a model in place and see what came of it; `name` is of its checkpoint, `frozen` as in Examples."""
    examples = Examples(task.tokens, task.rows["train"], task.labels("train"), task.groups, frozen)
    folds = replace(folds, rule=learning.threshold)

    def judge() -> float:
        wanted = task.rows["validation"][:, : examples.rows.shape[1]]  # of a joined pair the order as given
        places, rows = np.unique(wanted, return_inverse=True)
        vectors = model.encoder.embed(task.tokens.take(places))
        scores = score(model, vectors, rows.reshape(wanted.shape), task.joined)
        return cross_validated(scores, task.labels("validation"), folds).accuracy

    encoder = model.encoder
    peak: float = getattr(learning, f"{strategy}_learning_rate")
    combination = model.head.combination if model.head is not None else None
    data = (task.material.sha256, encoder.encoder.maximum_length)
    how = settings_of(learning)
    key = key_of(weights_hash(model), encoder.pooling, data, strategy, how, peak, combination, seed, folds)
    training = Training(model, strategy, learning, peak, seed, CHECKPOINTS / f"{name}-{seed}.safetensors", key, judge)
    notes = training.run(examples)
    device = encoder.transformer.device
    began = clock(device)
    unchanged = model.head is not None and not task.joined and learning.head_epochs >= learning.epochs
    vectors = frozen if unchanged and frozen is not None else encode(encoder, task)
    seconds = sum(note["seconds"] for note in notes) + clock(device) - began
    return outcome(model, task, vectors, notes, seconds, seed, folds, ["validation"])


def over_seeds(trainings: Iterable[Trained], judge: Callable[[PairModel], Outcome]) -> Seeds:
    """What came of trainings that differ in their seed, and of the mean of their weights if they are several.

    The mean costs no more to run than each of them (Wortsman et al. 2022, "Model soups"); `judge` scores it.
    """
    outcomes: list[Outcome] = []
    sums: dict[str, Tensor] = {}
    best: list[Trained] = []
    for model, found in trainings:
        outcomes.append(found)
        sums = {name: tensor + sums.get(name, 0) for name, tensor in model.state_dict().items()}
        best = [max([*best, (model, found)], key=_validation)]
    if len(outcomes) == 1:
        return Seeds(outcomes, None, *best[0])
    model = copy.deepcopy(model)
    model.load_state_dict({name: total / len(outcomes) for name, total in sums.items()})
    mean = replace(judge(model), seconds=round(sum(found.seconds for found in outcomes), 1))
    return Seeds(outcomes, mean, *max(best[0], (model, mean), key=_validation))


def _validation(trained: Trained) -> float:
    return trained[1].validation


def as_it_stands(model: PairModel, task: Task, learning: Learning, folds: Folds) -> Outcome:
    """What a model comes to whose weights are no single training's."""
    folds = replace(folds, rule=learning.threshold)
    return outcome(model, task, encode(model.encoder, task), [], 0.0, None, folds, ["validation"])


def settings_of(learning: Learning) -> dict[str, Any]:
    """What every training under these settings depends on: not the rates, nor in which orders pairs are scored."""
    rates = {name for name in type(learning).model_fields if name.endswith("_rate")}
    return learning.model_dump(exclude={*rates, "both_orders"})


def weights_hash(model: PairModel) -> str:
    """A hash of every weight as it is now."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """A hash of what a training depends on."""
    return hashlib.sha256(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def write_start(directory: Path, encoder: PairEncoder, vectors: Floats, about: dict[str, Any]) -> None:
    """Write what a cell starts from, but for the weights of an encoder that was tuned."""
    write_tensors(directory / VECTORS, {"vectors": vectors})
    write_json(directory / START, {"absent": None, "pooling": encoder.pooling.value, **about})


def absent_reason(directory: Path) -> str | None:
    """Why a start has no weights, or None where it has."""
    reason: str | None = read_json(directory / START)["absent"]
    return reason


def unseen_splits(directory: Path) -> list[str]:
    """The splits before test that a start was not trained on."""
    return ["validation"] if read_json(directory / START)["tuned"] else ["train", "validation"]


def load_start(directory: Path, teacher: Teacher) -> PairEncoder:
    """The encoder before a cell's training: as joined pairs left it, or as `teacher` names it."""
    start = read_json(directory / START)
    if start["tuned"]:
        return read_model(directory)[0].encoder
    return PairEncoder(load_encoder(teacher), Pooling(start["pooling"]))


def read_vectors(directory: Path, material: Material) -> Floats:
    """(sentences, dimension): what the start makes of each sentence; raises InputError."""
    vectors = read_tensors(directory / VECTORS, {"vectors": (len(material.sentences), None)})["vectors"]
    return np.asarray(vectors, dtype=np.float32)


def write_result(directory: Path, cell: dict[str, Any], seeds: Seeds) -> None:
    """`cell` says which it is and on what data."""
    found = {"outcomes": list(map(asdict, seeds.outcomes)), "mean": asdict(seeds.mean) if seeds.mean else None}
    write_json(directory / RESULT, {**cell, "absent": None, **found})


def write_absent(directory: Path, cell: dict[str, Any], reason: str) -> None:
    """The same for a cell that could not be run."""
    write_json(directory / RESULT, {**cell, "absent": reason, "outcomes": [], "mean": None})
