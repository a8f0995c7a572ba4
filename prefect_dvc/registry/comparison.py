"""Decide whether a new model may replace the promoted one: each metric has its own tolerance.

    tolerances  {"student/*/spearman": 0.005}
    promoted    student/lee/spearman 0.541        new 0.538    passes: it loses 0.003
    promoted    student/samples/spearman 0.648    new 0.640    fails: it loses 0.008

Two figures are compared only if the benchmark is the same: its source files (SHA-256), and their content (rows,
distinct sentences and pairs, scale), if `registry.benchmarks` of flows.yaml names files that list them. A gain counts
only outside the interval of the differences, if `registry.draws` has the figure of each bootstrap draw, draw i of the
same items in every version: {"student/lee/spearman": [0.55, 0.53, ...]}.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from statistics import quantiles
from typing import Any

from prefect_dvc.errors import Refusal, SettingsError, nearest
from prefect_dvc.settings.flows_yaml import FILE, Registry, Tolerance

Metrics = Mapping[str, float | None]
Interval = tuple[float, float]
Draw = float | None  # null in the file: a draw without a figure, such as a correlation of equal ratings
Draws = Mapping[str, Sequence[Draw]]

LOWER_IS_BETTER = ("error", "loss", "mae", "mse", "rmse")
PARTS = 40  # of the draws; the first one and the last one lie outside an interval of 95 %
IDENTITY = ("sha256", "rows", "distinct", "scale")  # of a benchmark, in its provenance


class ToleranceError(Refusal):
    """A tolerance fits no metric or is not a number; the message names the nearest metric."""


@dataclass(frozen=True)
class Figures:
    """The scores of a model, and the benchmarks by name; None if the repository does not describe them."""

    metrics: Metrics
    benchmarks: Mapping[str, Any] | None = None
    draws: Draws = field(default_factory=dict)

    @classmethod
    def read(cls, registry: Registry, read: Callable[[str], str | None]) -> "Figures":
        """Read the files that flows.yaml names; `read` returns the text of one, None if it is not there.

        Raises SettingsError.
        """
        metrics, draws, sets = dict[str, float | None](), dict[str, Sequence[Draw]](), dict[str, Any]()
        for text in filter(None, map(read, registry.metrics)):
            metrics |= read_metrics(text, registry.former)
        for text in filter(None, map(read, registry.draws)):
            draws |= json.loads(text)
        for text in filter(None, map(read, registry.benchmarks)):
            sets |= json.loads(text)["sets"]
        return cls(metrics, sets if registry.benchmarks else None, draws)


@dataclass(frozen=True)
class Row:
    """A metric of both models; `problem` says why it rules out the new model, None if it does not."""

    metric: str
    promoted: float | None
    new: float | None
    allowed: float  # loss, in the metric's unit
    problem: str | None
    interval: Interval | None = None  # of new - promoted


def read_metrics(text: str, former: Mapping[str, str]) -> Metrics:
    """Read a JSON file of metrics, nested or not, under the present names of their parts. Raises SettingsError.

    Example:
        >>> read_metrics('{"old model": {"lee": 0.5}, "note": "text"}', {"old model": "model"})
        {'model/lee': 0.5}
    """
    try:
        leaves = list(_leaves("", json.loads(text)))
    except ValueError as error:
        raise SettingsError(f"The file of metrics is not JSON (`registry.metrics` in {FILE}): {error}") from error
    return {"/".join(former.get(part, part) for part in name.split("/")): value for name, value in leaves if name}


def _leaves(name: str, value: object) -> Iterator[tuple[str, float | None]]:
    """Yield the figures of a tree, each under its path; texts, lists and yes or no are not figures."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves(f"{name}/{key}" if name else str(key), below)
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield name, value


def compare(promoted: Figures, new: Figures, tolerances: Mapping[str, Tolerance]) -> list[Row]:
    """Compare each metric of the promoted model that has a tolerance, sorted by name. Raises ToleranceError."""
    rows = []
    for metric in sorted(promoted.metrics):
        tolerance = tolerance_of(metric, tolerances)
        if tolerance is not None:
            before, after = promoted.metrics[metric], new.metrics.get(metric)
            allowed = allowed_loss(tolerance, before)
            problem = _benchmark_problem(metric, promoted, new) or _problem(metric, before, after, allowed)
            interval = of_draws(promoted.draws.get(metric, ()), new.draws.get(metric, ()))
            rows.append(Row(metric, before, after, allowed, problem, interval))
    return rows


def of_draws(promoted: Sequence[Draw], new: Sequence[Draw]) -> Interval | None:
    """Return the interval of the middle 95 % of the differences, or None if the draws are not of the same items.

    A draw in which a model has no figure is left out; if most are, there is no interval.
    """
    if len(promoted) != len(new):
        return None
    both = zip(promoted, new, strict=True)
    differences = [after - before for before, after in both if before is not None and after is not None]
    if len(differences) < 2 or 2 * len(differences) < len(new):
        return None
    low, *_, high = quantiles(differences, n=PARTS, method="inclusive")
    return round(low, 9), round(high, 9)


def tolerance_of(metric: str, tolerances: Mapping[str, Tolerance]) -> Tolerance | None:
    """Return the tolerance of the longest, most specific pattern that fits; JSON does not keep their order."""
    patterns = [pattern for pattern in tolerances if fnmatchcase(metric, pattern)]
    return tolerances[max(patterns, key=lambda pattern: (len(pattern), pattern))] if patterns else None


def check_tolerances(tolerances: Mapping[str, Tolerance], metrics: Iterable[str] | None) -> None:
    """Check that each tolerance is a number of 0 or more, and that its pattern fits one of `metrics`, if given.

    Raises ToleranceError.
    """
    known = sorted(metrics or ())
    for pattern, tolerance in tolerances.items():
        allowed_loss(tolerance, 1.0)
        if metrics is not None and not any(fnmatchcase(metric, pattern) for metric in known):
            hint = nearest(pattern, known, f"the metrics are {', '.join(known)}.", cutoff=0.4)
            raise ToleranceError(f"'{pattern}' fits none of the metrics; {hint}")


def below_floors(metrics: Metrics, floors: Mapping[str, float]) -> list[str]:
    """Say which figures are worse than the least that a promoted model must have. Raises ToleranceError."""
    check_tolerances(dict.fromkeys(floors, 0.0), metrics)
    found = []
    for metric, value in sorted(metrics.items()):
        floor = tolerance_of(metric, floors)
        if floor is not None and not _gain(metric, float(floor), value) >= -1e-9:
            bound = "less" if _is_error(metric) else "more"
            now = "undefined" if value is None else f"{value:.4g}"
            found.append(f"{metric} is {now}, but must be {floor} or {bound}")
    return found


def check_gains(metrics: Iterable[str], tolerances: Mapping[str, Tolerance], gains: Mapping[str, Tolerance]) -> None:
    """Raise ToleranceError if no metric could ever gain enough; called before a run that takes hours."""
    _refuse_unfit([metric for metric in metrics if tolerance_of(metric, tolerances) is not None], gains)


def _refuse_unfit(compared: Iterable[str], gains: Mapping[str, Tolerance]) -> None:
    if gains and not any(tolerance_of(metric, gains) is not None for metric in compared):
        raise ToleranceError(f"No metric that has a tolerance fits the least gains: {', '.join(gains)}.")


def lacking_gain(rows: Sequence[Row], gains: Mapping[str, Tolerance]) -> str | None:
    """Say why a model that loses nothing is still no reason to change; None if some metric gains enough.

    A gain is enough if it is as large as is wanted, and the interval of the difference, if there is one, excludes none.
    Without `gains` every model passes. Raises ToleranceError if a gain is not a number, or fits none of the metrics.
    """
    _refuse_unfit([row.metric for row in rows], gains)
    wanted = [(row, gain) for row in rows if (gain := tolerance_of(row.metric, gains)) is not None]
    short = []
    for row, least in wanted:
        need, gain = allowed_loss(least, row.promoted), _gain(row.metric, row.promoted, row.new)
        if gain >= need - 1e-9 and not _is_noise(row):
            return None
        noise = f" outside the noise, which goes {_between(row.interval)}" if gain >= need - 1e-9 else ""
        short.append(f"{row.metric} gains {gain:.4g}, but {need:.4g} are required{noise}")
    return f"No metric gains enough: {'; '.join(short)}." if short else None


def _is_noise(row: Row) -> bool:
    """Return whether the interval of the difference includes none, or a loss."""
    if row.interval is None:
        return False
    low, high = row.interval
    return high >= 0 if _is_error(row.metric) else low <= 0


def _between(interval: Interval | None) -> str:
    return f"from {interval[0]:+.4g} to {interval[1]:+.4g}" if interval else ""


def _is_error(metric: str) -> bool:
    return metric.rpartition("/")[2] in LOWER_IS_BETTER


def _gain(metric: str, promoted: float | None, new: float | None) -> float:
    """Return by how much the new figure is better; any figure is more than none."""
    if new is None or not math.isfinite(new):
        return -math.inf
    if promoted is None or not math.isfinite(promoted):
        return math.inf
    return promoted - new if _is_error(metric) else new - promoted


def allowed_loss(tolerance: Tolerance, promoted: float | None = 1.0) -> float:
    """Return the allowed loss, in the metric's unit, or as a share of 1: 0.1, or "10%". Raises ToleranceError."""
    share = isinstance(tolerance, str) and tolerance.endswith("%")
    try:
        number = float(tolerance.removesuffix("%") if isinstance(tolerance, str) else tolerance)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(tolerance, bool) or not 0 <= number < math.inf:
        raise ToleranceError(f"'{tolerance}' is not a tolerance; write a loss as in 0.005, or a share as in '5%'.")
    return number / 100 * abs(promoted or 0.0) if share else number


def _problem(metric: str, promoted: float | None, new: float | None, allowed: float) -> str | None:
    if new is None or not math.isfinite(new):
        return "the new model does not have this figure"
    if promoted is None or not math.isfinite(promoted):
        return None  # any figure is more than none
    gain = _gain(metric, promoted, new)
    # The last digits of a difference are noise: 0.54 - 0.535 is more than 0.005.
    return f"it loses {-gain:.4g}, but only {allowed:.4g} are allowed" if gain < -allowed - 1e-9 else None


def _benchmark_problem(metric: str, promoted: Figures, new: Figures) -> str | None:
    """Say why two figures cannot be compared: `student/lee/spearman` has a set, `student/sentences_per_second` none."""
    if promoted.benchmarks is None or new.benchmarks is None:
        return None  # the repository does not describe them
    for name in metric.split("/")[1:-1]:
        before, after = promoted.benchmarks.get(name), new.benchmarks.get(name)
        if before is None or after is None:
            return (
                f"the provenance of benchmark '{name}' is missing for the {'promoted' if before is None else 'new'} one"
            )
        differing = [key for key in IDENTITY if before.get(key) != after.get(key)]
        if differing:
            return f"benchmark '{name}' has changed: {', '.join(differing)} differ"
    return None


def table(rows: list[Row]) -> str:
    """Format the comparison as Markdown."""
    lines = ["| metric | promoted | new | change | allowed loss | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        change = "" if row.promoted is None or row.new is None else f"{row.new - row.promoted:+.4g}"
        change += f", 95 % {_between(row.interval)}" if row.interval else ""
        figures = " | ".join(map(_figure, (row.promoted, row.new)))
        lines.append(f"| {row.metric} | {figures} | {change} | {row.allowed:.4g} | {row.problem or 'passes'} |")
    return "\n".join(lines)


def _figure(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}" if abs(value) < 1000 else f"{value:,.0f}"
