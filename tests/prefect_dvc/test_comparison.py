"""Each metric against its own tolerance, on the same benchmarks, with answers known by hand."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from prefect_dvc.registry.comparison import (
    Figures,
    ToleranceError,
    check_tolerances,
    compare,
    read_metrics,
    table,
    tolerance_of,
)
from prefect_dvc.settings.flows_yaml import Tolerance

LEE = {"sha256": {"lee.cor": "a878"}, "rows": {"test": 1225}, "licence": "none stated", "overlaps": {}}
SPEARMAN: Mapping[str, Tolerance] = {"student/*/spearman": 0.005}


def figures(*benchmarks: Mapping[str, Any], **metrics: float | None) -> Figures:
    named = {name.replace("__", "/"): value for name, value in metrics.items()}
    return Figures(named, benchmarks[0] if benchmarks else {"lee": LEE})


def problem(before: float | None, after: float | None, tolerance: Tolerance, metric: str = "spearman") -> str | None:
    name = f"student__lee__{metric}"
    (row,) = compare(figures(**{name: before}), figures(**{name: after}), {f"student/*/{metric}": tolerance})
    return row.problem


@pytest.mark.parametrize(
    ("before", "after", "tolerance", "metric", "passes"),
    [
        (0.540, 0.536, 0.005, "spearman", True),
        (0.540, 0.535, 0.005, "spearman", True),  # in floating point the loss is 0.005000000000000004
        (0.540, 0.534, 0.005, "spearman", False),
        (0.540, 0.700, 0.0, "spearman", True),
        (2.00, 2.04, 0.05, "mae", True),  # lower is better
        (2.00, 2.06, 0.05, "mae", False),
        (2.00, 1.00, 0.05, "mae", True),
        (1000.0, 951.0, "5%", "speed", True),
        (1000.0, 949.0, "5%", "speed", False),
        (None, 0.1, 0.005, "spearman", True),  # undefined before: any figure is more
    ],
)
def test_tolerances(before: float | None, after: float, tolerance: Tolerance, metric: str, passes: bool) -> None:
    assert (problem(before, after, tolerance, metric) is None) == passes


def test_a_loss_is_told_in_figures() -> None:
    assert problem(0.54, 0.53, 0.005) == "it loses 0.01, but only 0.005 are allowed"


@pytest.mark.parametrize("after", [None, float("nan"), float("inf")])
@pytest.mark.fault(20)
def test_an_undefined_figure(after: float | None) -> None:
    """A missing figure is not a reason to promote, though NaN is not less than anything."""
    assert problem(0.54, after, 0.005) == "the new model does not have this figure"
    gone = compare(figures(student__lee__spearman=0.5), figures(), SPEARMAN)
    assert [row.problem for row in gone] == ["the new model does not have this figure"]


def test_the_longest_pattern_counts() -> None:
    tolerances: Mapping[str, Tolerance] = {"student/lee/spearman": 1, "*": 2, "student/*": 3}
    assert tolerance_of("student/lee/spearman", tolerances) == 1
    assert tolerance_of("student/lee/mae", tolerances) == 3
    assert tolerance_of("teacher/lee/mae", tolerances) == 2
    assert tolerance_of("teacher/lee/mae", SPEARMAN) is None


def test_metrics_without_a_tolerance_do_not_count() -> None:
    before = figures(teacher__lee__spearman=0.9, student__sentences_per_second=1e6)
    assert compare(before, figures(), SPEARMAN) == []


def test_another_benchmark_refuses() -> None:
    """Another file under the same name, or another number of rows from the same file; even if the figure improved."""
    before = figures(student__lee__spearman=0.5)
    for changed in ({"sha256": {"lee.cor": "ffff"}}, {"rows": {"test": 1000}}):
        (row,) = compare(before, figures({"lee": LEE | changed}, student__lee__spearman=0.9), SPEARMAN)
        assert row.problem == f"benchmark 'lee' has changed: {next(iter(changed))} differ"
    (row,) = compare(before, figures({}, student__lee__spearman=0.9), SPEARMAN)
    assert row.problem == "the provenance of benchmark 'lee' is missing for the new one"


def test_an_unrelated_change_does_not_refuse() -> None:
    """A new set, a reworded licence, other overlaps."""
    now = {"lee": LEE | {"licence": "unknown", "overlaps": {"sts": 3}}, "sts": {"sha256": {"sts.csv": "1"}}}
    (row,) = compare(figures(student__lee__spearman=0.5), figures(now, student__lee__spearman=0.5), SPEARMAN)
    assert row.problem is None


@pytest.mark.fault(13)
def test_bad_tolerances() -> None:
    """Found before the run."""
    metrics = ["student/lee/spearman", "student/lee/mae"]
    check_tolerances({"student/*": "5%", "student/lee/mae": 0}, metrics)
    with pytest.raises(
        ToleranceError, match=r"'studnet/lee/mae' fits none of the metrics; did you mean 'student/lee/mae'\?"
    ):
        check_tolerances({"studnet/lee/mae": 0.1}, metrics)
    for wrong in ("five", "-1", -0.1, float("nan"), "5 percent"):
        expected = r"is not a tolerance; write a loss as in 0.005, or a share as in '5%'"
        with pytest.raises(ToleranceError, match=expected):
            check_tolerances({"student/*": wrong}, metrics)
        with pytest.raises(ToleranceError):
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
    promoted = read_metrics(json.dumps(before), names)
    assert promoted == {
        "student, fine-tuned/stsb/spearman": 0.8,
        "paper student/stsb/pearson": 0.6,
        "student/lee/mae": 0.7,
    }
