"""A cell of an experiment grid: one training with each of several seeds, and the model soup of them all."""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import nn

from sentence_distillery.training.soup import ModelSoup

Model = TypeVar("Model", bound=nn.Module)
Score = TypeVar("Score")


@dataclass(frozen=True)
class SeedRuns(Generic[Model, Score]):
    """What the trainings of a cell came to.

    Attributes:
        scores: Of each seed's model, in the order of the seeds.
        soup: The score of the model soup; None for a single seed.
        best: The model of the highest quality, a seed's or the soup, the first of equal ones; without a measure of
            quality the last one.
        best_score: Its score.
    """

    scores: list[Score]
    soup: Score | None
    best: Model
    best_score: Score


def over_seeds(
    trainings: Iterable[tuple[Model, Score]],
    judge: Callable[[Model], Score],
    quality: Callable[[Score], float] | None = None,
) -> SeedRuns[Model, Score]:
    """Collect the trainings of a cell, and score the mean of their weights if there are several.

    Args:
        trainings: A trained model and its score for each seed, at least one. One model at a time is needed.
        judge: Scores the model soup.
        quality: Says how good a score is, on pairs that are not the test pairs.

    Example:
        >>> models = [nn.Linear(1, 1, bias=False) for _ in range(2)]
        >>> for value, model in enumerate(models):
        ...     _ = nn.init.constant_(model.weight, value)
        >>> runs = over_seeds(((model, model.weight.item()) for model in models), lambda soup: soup.weight.item())
        >>> runs.scores, runs.soup
        ([0.0, 1.0], 0.5)
    """
    scores: list[Score] = []
    mixed = ModelSoup()
    best: list[tuple[Model, Score]] = []
    for model, score in trainings:
        scores.append(score)
        mixed.add(model)
        best = [_better([*best, (model, score)], quality)]
    if len(scores) == 1:
        return SeedRuns(scores, None, *best[0])
    model = copy.deepcopy(model)
    mixed.load_into(model)
    soup = judge(model)
    return SeedRuns(scores, soup, *_better([*best, (model, soup)], quality))


def _better(runs: list[tuple[Model, Score]], quality: Callable[[Score], float] | None) -> tuple[Model, Score]:
    return max(runs, key=lambda run: quality(run[1])) if quality else runs[-1]
