"""Means and deviations over seeds, by hand."""

from dataclasses import replace

import pytest

from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.seed_spread import over_seeds

OWN = Result("student", "stsb", "test", "mean", "pearson", 0.61, 4)


def test_mean_and_deviation_by_hand() -> None:
    """0.61, 0.62, 0.63 are 0.62 with 0.01; a figure that one seed lacks has no row."""
    second = [replace(OWN, value=0.62), replace(OWN, metric="mae", value=1.5)]
    third = [replace(OWN, value=0.63)]
    (row,) = over_seeds([OWN, replace(OWN, protocol="tfidf")], [second, third])
    assert (row.system, row.dataset, row.metric, row.n, row.seeds) == ("student", "stsb", "pearson", 4, 3)
    assert row.value == pytest.approx(0.62) and row.spread == pytest.approx(0.01)
    assert over_seeds([OWN], []) == []
