"""How sentences show figures."""

from sentence_distillery.evaluation.results import Result

Sentence = tuple[str, list[str]]  # a pattern with groups, and what the groups have to be


def spoken(*values: float, digits: int = 1) -> list[str]:
    return [f"{value:.{digits}f}".replace("-", "−") for value in values]


def hundred(row: Result) -> float:
    assert row.number is not None, row
    return 100 * row.number


def bounds(row: Result) -> list[float]:
    """Return a figure and the ends of its interval, in points."""
    assert row.low is not None
    assert row.high is not None
    return [hundred(row), 100 * row.low, 100 * row.high]
