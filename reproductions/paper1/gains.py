"""Compare two systems or weightings of paper 1 on STS-B test, with the interval of their difference.

The paired bootstrap draws the pairs 2,000 times, the same ones for both (evaluation/intervals.py). Spearman's ranks are
those of the whole set in every draw. A gain is positive if the first of the two is the better one.

reports/paper1_gains.json    one, other, protocol, against, metric, gain, low, high; of the first and of the other one
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from sentence_distillery.evaluation import intervals as bootstrap
from sentence_distillery.evaluation.protocols.similarity import as_printed, on_five, why_not_predicted
from sentence_distillery.evaluation.sets.data import PairSet, Split
from sentence_distillery.io.artifacts import read_json, unreadable
from sentence_distillery.io.ragged import Floats

SET: tuple[str, Split] = ("stsb", "test")
METRICS = ("pearson", "spearman", "mae")
PROTOCOLS = ("mean", "tf-idf", "sif", "dpcs")
Key = tuple[str, str]  # a system and a weighting


@dataclass(frozen=True)
class Gain:
    """How much better `one` is under `protocol` than `other` under `against`, with the interval of the difference."""

    one: str
    other: str
    protocol: str
    against: str
    metric: str
    gain: float
    low: float
    high: float


class Cosines:
    """Collects the cosines of the pairs of STS-B test, and compares them."""

    def __init__(self) -> None:
        self.pairs: PairSet | None = None
        self.by_key: dict[Key, Floats] = {}

    def see(self, system: str, weighting: str, pairs: PairSet, predicted: Floats) -> None:
        """Take the cosines of a system if they are of STS-B test, and can be compared with ratings."""
        if (pairs.name, pairs.split) == SET and weighting in PROTOCOLS and not why_not_predicted(predicted):
            self.pairs = pairs
            self.by_key[system, weighting] = predicted

    def gains(self) -> Iterator[Gain]:
        """Yield the gain of every two systems under one weighting, and of every two weightings of one system."""
        if self.pairs is None:
            return
        draws = figures_of_draws(self.by_key, self.pairs)
        for first, second in combinations(self.by_key, 2):
            if (first[0] == second[0]) != (first[1] == second[1]):
                yield from (each for metric in METRICS if (each := gain(first, second, metric, draws)))

    def content(self) -> list[dict[str, Any]]:
        """Return the content of paper1_gains.json."""
        return [asdict(each) for each in self.gains()]


def figures_of_draws(cosines: Mapping[Key, Floats], pairs: PairSet) -> dict[tuple[Key, str], Floats]:
    """Compute each figure of all pairs, first, and of each draw, (1 + draws,); a greater one is always better."""
    from scipy.stats import rankdata  # takes a second, and reading the gains does not need it

    assert pairs.scores is not None and pairs.scale is not None
    size = len(pairs.scores)
    drawn = np.concatenate([np.ones((1, size), np.float32), bootstrap.counts(size)])
    ratings, ranks = on_five(pairs.scores, pairs.scale), rankdata(pairs.scores)
    found: dict[tuple[Key, str], Floats] = {}
    for key, predicted in cosines.items():
        found[key, "pearson"] = bootstrap.pearson(predicted, pairs.scores, drawn)
        found[key, "spearman"] = bootstrap.pearson(rankdata(predicted), ranks, drawn)
        found[key, "mae"] = -bootstrap.means(np.abs(as_printed(predicted) - ratings), drawn)
    return found


def gain(first: Key, second: Key, metric: str, draws: Mapping[tuple[Key, str], Floats]) -> Gain | None:
    """Compare two systems or weightings; None if one of them has no such figure."""
    difference = draws[first, metric] - draws[second, metric]
    low, high, _ = bootstrap.interval(difference[1:])
    if low is None or high is None or not np.isfinite(difference[0]):
        return None
    rounded = (round(float(value), 5) for value in (difference[0], low, high))
    return Gain(first[0], second[0], first[1], second[1], metric, *rounded)


def read_gains(path: Path) -> list[Gain]:
    """Read gains.

    Raises:
        InputError: If the file cannot be read or is not what `Cosines.content` gives.
    """
    try:
        return TypeAdapter(list[Gain]).validate_python(read_json(path, list[dict[str, Any]]))
    except ValidationError as error:
        first = error.errors()[0]
        raise unreadable(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def between(gains: Sequence[Gain], one: Key, other: Key, metric: str) -> Gain | None:
    """Return the gain of `one` over `other`, whichever of them came first; None if it is not there."""
    for each in gains:
        if each.metric != metric:
            continue
        keys = (each.one, each.protocol), (each.other, each.against)
        if keys == (one, other):
            return each
        if keys == (other, one):
            return Gain(*one[:1], *other[:1], one[1], other[1], metric, -each.gain, -each.high, -each.low)
    return None
