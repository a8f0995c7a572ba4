"""Cells and grids of the tables that docsite.figures writes."""

from collections.abc import Iterable, Sequence
from itertools import chain

from sentence_distillery.evaluation.results import Result

NONE = "–"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """Return a Markdown table; all columns but the first `words` are numbers."""
    marks = ["---"] * words + ["--:"] * (len(head) - words)
    return [f"| {' | '.join(row)} |" for row in (head, marks, *rows)]


def figure(value: float, digits: int = 1) -> str:
    """Show a number with the minus sign of print.

    >>> figure(-0.123, 2)
    '−0.12'
    """
    return f"{value:.{digits}f}".replace("-", "−")


def slashed(*values: float, digits: int = 1) -> str:
    """Show several figures of one cell."""
    return " / ".join(figure(value, digits) for value in values)


def points(row: Result) -> float:
    """Return a figure in points; a row that is asked for has one."""
    assert row.number is not None, row
    return 100 * row.number


def with_spread(row: Result, digits: int = 1) -> str:
    """Show a mean over seeds with its standard deviation."""
    return f"{figure(points(row), digits)} ± {figure(100 * (row.spread or 0), digits)}"


def strong(text: str, best: bool) -> str:
    """Show a text in bold if it is the best, or if its gain can be told from zero."""
    return f"**{text}**" if best else text


def cells_of(column: Sequence[Sequence[Result]], digits: int = 1) -> list[str]:
    """Show a column whose cells have a figure or several; the largest of each metric is bold."""
    largest: dict[str, float] = {}
    for row in chain.from_iterable(column):
        largest[row.metric] = max(largest.get(row.metric, 0.0), round(points(row), digits))
    return [
        " / ".join(shown(row, digits, round(points(row), digits) == largest.get(row.metric)) for row in cell) or NONE
        for cell in column
    ]


def shown(row: Result, digits: int = 1, best: bool = False) -> str:
    """Show a figure, with its spread over seeds or its interval if it has one."""
    text = strong(figure(points(row), digits), best)
    if row.seeds > 1 and row.spread is not None:
        return f"{text} ± {figure(100 * row.spread, digits)}"
    if row.low is None or row.high is None:
        return text
    return f"{text} [{', '.join(figure(100 * end, digits) for end in (row.low, row.high))}]"


def bounded(gain: Result, digits: int = 2) -> str:
    """Show a gain with its 95 % interval, if it has one, in bold if the interval excludes zero."""
    if gain.low is None or gain.high is None:
        return figure(points(gain), digits)
    low, high = (figure(100 * end, digits) for end in (gain.low, gain.high))
    return strong(f"{figure(points(gain), digits)} [{low}, {high}]", gain.low > 0 or gain.high < 0)


def one(value: float | None, spread: float | None = None, digits: int = 1) -> str:
    """Show a figure that may be missing, and its spread if it has one."""
    if value is None:
        return NONE
    return f"{value:.{digits}f}" if spread is None else f"{value:.{digits}f} ± {spread:.{digits}f}"


def two(first: float | None, second: float | None) -> str:
    """Show two figures of one cell, a dash if one is missing."""
    return NONE if first is None or second is None else f"{first:.1f} / {second:.1f}"


def rounded(value: float) -> str:
    """Round to two digits.

    >>> rounded(580_102.1), rounded(316.1)
    ('580,000', '320')
    """
    step = 10 ** max(0, len(str(int(value))) - 2)
    return f"{round(value / step) * step:,}"
