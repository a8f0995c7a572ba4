"""Training: batches and rates by hand, and a killed run that ends like an undisturbed one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reproductions.encoders.trainable import Pooling
from reproductions.paper2.pairs.heads import LogisticHead
from reproductions.paper2.pairs.losses import paraphrase_groups
from reproductions.paper2.pairs.options import Combination, MetricLearning, ModernLearning
from reproductions.paper2.pairs.training import Examples, PairModel, Training, schedule_of
from sentence_distillery.io.artifacts import InputError
from tests.reproductions.paper2.small import encoder, write_encoder
from tests.workspace import demo_params

SUBJECTS = ("the storm", "the dog", "a woman", "the police", "people")
TEXTS = [f"{subject} {rest}" for subject in SUBJECTS for rest in ("and water", "and the water", "and a guitar")]
ROWS = np.array([(3 * place + one, 3 * place + other) for place in range(5) for one, other in ((0, 1), (0, 2))])
LABELS = np.array([1, 0] * 5, np.int8)
PAPER = MetricLearning(
    **demo_params()["metric_learning"]
    | {"epochs": 4, "iterations": 3, "batch_size": 4, "head_epochs": 2, "halve_every": 2, "logistic_learning_rate": 0.1}
)
MODERN = ModernLearning(
    **demo_params()["modern_learning"] | {"epochs": 4, "batch_size": 4, "patience": 2, "cosent_learning_rate": 0.01}
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bert")
    write_encoder(found, "bert")
    return found


def training(
    directory: Path, checkpoint: Path, strategy: str, learning: Any, judged: list[float] | None = None
) -> Training:
    """`judged` are the validation accuracies that the epochs are to have."""
    found = encoder(directory, Pooling.MEAN)
    head = LogisticHead(16, Combination.ALL, seed=1) if strategy == "logistic" else None
    peak = getattr(learning, f"{strategy}_learning_rate")
    marks = iter(judged or [])
    return Training(PairModel(found, head), strategy, learning, peak, 1, checkpoint, "key", lambda: next(marks))


def examples(run: Training) -> Examples:
    found = run.model.encoder
    tokens = found.tokens(TEXTS)
    return Examples(tokens, ROWS, LABELS, paraphrase_groups(ROWS, LABELS, len(TEXTS)), found.embed(tokens))


def weights(run: Training) -> torch.Tensor:
    return torch.cat([tensor.detach().flatten() for tensor in run.model.state_dict().values()])


def test_rates() -> None:
    """Halved after 2 epochs of 3 steps; or up to its peak over a tenth of the steps, then down in a straight line."""
    assert [schedule_of(PAPER, 3)(step) for step in (0, 5, 6, 11)] == [1.0, 1.0, 0.5, 0.5]
    rates = [schedule_of(MODERN, 10)(step) for step in range(40)]
    assert np.argmax(rates) == 4 and rates[4] == 1.0 and rates[0] == pytest.approx(0.2)
    assert rates[22] == pytest.approx(0.5) and rates[39] == pytest.approx(1 / 36)


def test_the_head_learns_alone_at_first(directory: Path, tmp_path: Path) -> None:
    """Through all epochs but the last, say: the encoder keeps its weights, and is not even run."""
    run = training(directory, tmp_path / "x.safetensors", "logistic", PAPER.model_copy(update={"head_epochs": 4}))
    before = weights(run)
    head = 4 * 16 + 1
    run.run(examples(run))
    assert torch.equal(weights(run)[:-head], before[:-head])
    assert not torch.equal(weights(run)[-head:], before[-head:])
    assert not (tmp_path / "x.safetensors").exists()


@pytest.mark.parametrize(("strategy", "precision"), [("siamese", "float32"), ("triplet", "bfloat16")])
def test_training_brings_paraphrases_nearer(directory: Path, tmp_path: Path, strategy: str, precision: str) -> None:
    """Only after training have the pairs of label 1 higher cosines than those of label 0."""
    update = {"epochs": 10, f"{strategy}_learning_rate": 0.5, "halve_every": None, "precision": precision}
    learning = PAPER.model_copy(update=update)
    run = training(directory, tmp_path / "x.safetensors", strategy, learning)
    gaps = []
    for _ in range(2):
        vectors = run.model.encoder.embed(run.model.encoder.tokens(TEXTS))
        cosine = run.model.scores(vectors[ROWS[:, 0]], vectors[ROWS[:, 1]])
        gaps.append(cosine[LABELS == 1].mean() - cosine[LABELS == 0].mean())
        run.run(examples(run))
        assert run.model.encoder.precision == "float32"
    assert gaps[1] > gaps[0] + 0.05


def test_a_gradient_longer_than_clip_norm_is_shortened(directory: Path, tmp_path: Path) -> None:
    """One step of plain SGD goes as far as rate times the gradient's norm, at most as far as rate times `clip_norm`."""
    plain = {"epochs": 1, "iterations": 1, "head_epochs": 0, "momentum": 0.0, "weight_decay": 0.0}
    plain["siamese_learning_rate"] = 0.5
    ways = []
    for limit in (None, 1e6, 1e-3):
        learning = PAPER.model_copy(update={**plain, "clip_norm": limit})
        run = training(directory, tmp_path / f"{limit}.safetensors", "siamese", learning)
        before = weights(run)
        run.run(examples(run))
        ways.append((weights(run) - before).norm().item())
    assert ways[0] == ways[1] > 0.01
    assert ways[2] == pytest.approx(0.5 * 1e-3, rel=1e-2)


def test_too_few_pairs(directory: Path, tmp_path: Path) -> None:
    """Multiple negatives learn only from paraphrases, and a batch with a single one has no negatives."""
    run = training(directory, tmp_path / "x.safetensors", "ranking", MODERN)
    found = replace(examples(run), labels=np.eye(1, len(LABELS), dtype=np.int8)[0])
    with pytest.raises(InputError, match=r"ranking has 1 training pair\(s\) and needs two or more"):
        run.run(found)
