"""Each metric against its own tolerance, on the same benchmarks, with answers known by hand; noise is no promotion."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from prefect_dvc.registry.comparison import (
    Figures,
    Row,
    ToleranceError,
    check_gains,
    check_tolerances,
    compare,
    lacking_gain,
    of_draws,
    read_metrics,
    table,
    tolerance_of,
)
from prefect_dvc.settings.flows_yaml import Tolerance

LEE = {"sha256": {"lee.cor": "a878"}, "rows": {"test": 1225}, "licence": "none stated", "overlaps": {}}
SPEARMAN: Mapping[str, Tolerance] = {"student/*/spearman": 0.005}
MISSING = "the new model does not have this figure"


def figures(*benchmarks: Mapping[str, Any], **metrics: float | None) -> Figures:
    named = {name.replace("__", "/"): value for name, value in metrics.items()}
    return Figures(named, benchmarks[0] if benchmarks else {"lee": LEE})


@pytest.mark.parametrize(
    ("before", "after", "tolerance", "metric", "problem"),
    [
        (0.540, 0.536, 0.005, "spearman", None),
        (0.540, 0.535, 0.005, "spearman", None),  # in floating point the loss is 0.005000000000000004
        (0.540, 0.530, 0.005, "spearman", "it loses 0.01, but only 0.005 are allowed"),
        (0.540, 0.700, 0.0, "spearman", None),
        (2.00, 2.04, 0.05, "mae", None),  # lower is better
        (2.00, 2.06, 0.05, "mae", "it loses 0.06, but only 0.05 are allowed"),
        (2.00, 1.00, 0.05, "mae", None),
        (1000.0, 951.0, "5%", "speed", None),
        (1000.0, 949.0, "5%", "speed", "it loses 51, but only 50 are allowed"),
        (None, 0.1, 0.005, "spearman", None),  # undefined before: any figure is more
        (0.540, None, 0.005, "spearman", MISSING),
        (0.540, float("nan"), 0.005, "spearman", MISSING),  # though NaN is not less than anything
        (0.540, float("inf"), 0.005, "spearman", MISSING),
    ],
)
@pytest.mark.fault(20)
def test_tolerances(
    before: float | None, after: float | None, tolerance: Tolerance, metric: str, problem: str | None
) -> None:
    name = f"student__lee__{metric}"
    (row,) = compare(figures(**{name: before}), figures(**{name: after}), {f"student/*/{metric}": tolerance})
    assert row.problem == problem


def test_metrics_of_one_model_alone() -> None:
    """Those without a tolerance do not count; one that is gone does."""
    before = figures(teacher__lee__spearman=0.9, student__sentences_per_second=1e6, student__lee__spearman=0.5)
    assert [(row.metric, row.problem) for row in compare(before, figures(), SPEARMAN)] == [
        ("student/lee/spearman", MISSING)
    ]


def test_the_longest_pattern_counts() -> None:
    tolerances: Mapping[str, Tolerance] = {"student/lee/spearman": 1, "*": 2, "student/*": 3}
    assert tolerance_of("student/lee/spearman", tolerances) == 1
    assert tolerance_of("student/lee/mae", tolerances) == 3
    assert tolerance_of("teacher/lee/mae", tolerances) == 2
    assert tolerance_of("teacher/lee/mae", SPEARMAN) is None


@pytest.mark.parametrize(
    ("now", "problem"),
    [
        ({"lee": LEE | {"sha256": {"lee.cor": "ffff"}}}, "benchmark 'lee' has changed: sha256 differ"),
        ({"lee": LEE | {"rows": {"test": 1000}}}, "benchmark 'lee' has changed: rows differ"),
        ({}, "the provenance of benchmark 'lee' is missing for the new one"),
        # A new set, a reworded licence, other overlaps
        ({"lee": LEE | {"licence": "unknown", "overlaps": {"sts": 3}}, "sts": {"sha256": {"sts.csv": "1"}}}, None),
    ],
)
def test_another_benchmark_refuses(now: Mapping[str, Any], problem: str | None) -> None:
    """Another file under the same name, or another number of rows from the same file; even if the figure improved."""
    (row,) = compare(figures(student__lee__spearman=0.5), figures(now, student__lee__spearman=0.9), SPEARMAN)
    assert row.problem == problem


@pytest.mark.fault(13)
def test_bad_tolerances() -> None:
    """Found before the run."""
    metrics = ["student/lee/spearman", "student/lee/mae"]
    check_tolerances({"student/*": "5%", "student/lee/mae": 0}, metrics)
    with pytest.raises(ToleranceError, match=r"'studnet/lee/mae' fits none of .*; did you mean 'student/lee/mae'\?"):
        check_tolerances({"studnet/lee/mae": 0.1}, metrics)
    for wrong in ("five", "-1", -0.1, float("nan"), "5 percent"):
        with pytest.raises(ToleranceError, match=r"is not a tolerance; write a loss as in 0.005, or a share"):
            check_tolerances({"student/*": wrong}, None)  # nothing is promoted yet


def test_table() -> None:
    rows = compare(figures(student__lee__spearman=0.54), figures(student__lee__spearman=0.53), SPEARMAN)
    assert table(rows).splitlines()[2] == (
        "| student/lee/spearman | 0.5400 | 0.5300 | -0.01 | 0.005 | it loses 0.01, but only 0.005 are allowed |"
    )


def test_a_version_of_former_names_is_compared_under_todays() -> None:
    """A metric that was promoted as `student, gold/...` is compared with `student, fine-tuned/...`."""
    names = {"MyModel": "paper student", "student, gold": "student, fine-tuned"}
    before = {
        "student, gold/stsb/spearman": 0.8,
        "MyModel": {"stsb/pearson": 0.6, "text": "no figure"},
        "student/lee/mae": 0.7,
    }
    assert read_metrics(json.dumps(before), names) == {
        "student, fine-tuned/stsb/spearman": 0.8,
        "paper student/stsb/pearson": 0.6,
        "student/lee/mae": 0.7,
    }


def test_the_least_gain() -> None:
    """One metric must gain enough; for an error, less is a gain."""
    rows = [Row("s/lee/spearman", 0.5, 0.501, 0.005, None), Row("s/lee/mae", 1.0, 0.9, 0.05, None)]
    for enough in ({}, {"s/*": 0.05}, {"s/lee/spearman": "0.2%"}):
        assert lacking_gain(rows, enough) is None
    assert lacking_gain(rows, {"s/lee/spearman": 0.002}) == (
        "No metric gains enough: s/lee/spearman gains 0.001, but 0.002 are required."
    )
    with pytest.raises(ToleranceError, match="No metric that has a tolerance fits the least gains: s/sick/"):
        check_gains([row.metric for row in rows], {"s/*": 0.1}, {"s/sick/*": 0.1})
    with pytest.raises(ToleranceError, match="No metric that has a tolerance fits"):
        lacking_gain(rows, {"s/sick/*": 0.1})


def draws(center: float, shift: float = 0.0, count: int = 101) -> list[float]:
    """Draws from center - 0.05 to center + 0.05; with a shift every second one is that much higher."""
    return [center + 0.001 * (number - count // 2) + shift * (number % 2) for number in range(count)]


def test_draws_of_the_same_items() -> None:
    """Each model's own interval is 0.095 wide, and that of their difference is a point: all draws gain the same."""
    assert of_draws(draws(0.50), draws(0.51)) == (0.01, 0.01)
    assert of_draws(draws(0.50), draws(0.51)[:-1]) is None
    assert of_draws([], []) is None
    assert of_draws(draws(0.5), draws(0.5, shift=0.2)) == (0.0, 0.2)


@pytest.mark.parametrize(
    ("metric", "before", "after", "drawn", "told"),
    [
        ("spearman", 0.5, 0.51, draws(0.51), "| +0.01, 95 % from +0.01 to +0.01 |"),
        ("mae", 2.0, 1.9, draws(1.9), "| -0.1, 95 % from -0.1 to -0.1 |"),
        ("spearman", 0.5, 0.51, draws(0.48, shift=0.1), "gains 0.01, but 0.005 are required outside the noise"),
        ("mae", 2.0, 1.9, draws(2.0, shift=-0.1), "gains 0.1, but 0.005 are required outside the noise"),
    ],
)
def test_a_gain_counts_outside_the_noise(
    metric: str, before: float, after: float, drawn: list[float], told: str
) -> None:
    """The figure gains enough; in more than 2.5 % of the draws of the last two there is no gain."""
    name = f"student/lee/{metric}"
    old, new = Figures({name: before}, None, {name: draws(before)}), Figures({name: after}, None, {name: drawn})
    rows = compare(old, new, {name: 0.05})
    lacking = lacking_gain(rows, {"student/*": 0.005})
    assert told in table(rows) if lacking is None else f"{name} {told}" in lacking
