"""A cell of several seeds: scores in order, the soup, and the best of them all."""

import doctest

import pytest
from torch import nn

from sentence_distillery.training import seeds
from sentence_distillery.training.seeds import over_seeds


def model(value: float) -> nn.Linear:
    made = nn.Linear(1, 1, bias=False)
    nn.init.constant_(made.weight, value)
    return made


def weight(of: nn.Module) -> float:
    return float(next(of.parameters()).item())


@pytest.mark.parametrize(("values", "best"), [((1.0, 3.0), 3.0), ((2.0, 2.0), 2.0), ((0.0, 9.0, 3.0), 9.0)])
def test_the_best_of_seeds_and_soup(values: tuple[float, ...], best: float) -> None:
    runs = over_seeds(((model(value), value) for value in values), weight, lambda score: score)
    assert runs.scores == list(values) and runs.soup == pytest.approx(sum(values) / len(values))
    assert (weight(runs.best), runs.best_score) == (best, best)


def test_the_soup_can_be_the_best() -> None:
    runs = over_seeds(((model(value), value) for value in (1.0, 5.0)), weight, lambda score: -abs(score - 3.0))
    assert (weight(runs.best), runs.best_score) == (3.0, 3.0)


def test_without_a_measure_the_last_is_kept() -> None:
    assert weight(over_seeds(((model(value), value) for value in (5.0, 1.0)), weight).best) == 3.0
    alone = over_seeds([(model(5.0), 5.0)], weight)
    assert (alone.scores, alone.soup, alone.best_score) == ([5.0], None, 5.0)
    assert doctest.testmod(seeds).failed == 0
