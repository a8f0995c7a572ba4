"""Rows of the saved tables of results, by the values of their fields."""

from collections.abc import Sequence
from functools import cache

from docsite.saved import REPORTS, lines
from sentence_distillery.evaluation.results import Result, read_results
from sentence_distillery.io.artifacts import InputError


@cache
def results(name: str) -> tuple[Result, ...]:
    """Read every row of reports/runs/<name>.csv; raises InputError if it is not such a table."""
    return tuple(read_results(REPORTS / "runs" / f"{name}.csv"))


def matching(name: str, **fields: object) -> list[Result]:
    """Return the rows of reports/runs/<name>.csv that have these fields; raises InputError if it is not a table."""
    return [row for row in results(name) if all(getattr(row, key) == value for key, value in fields.items())]


def only(name: str, **fields: object) -> Result:
    """Return the one row of reports/runs/<name>.csv that has these fields.

    Raises:
        InputError: If no row has them, or several have.
    """
    return single(name, matching(name, **fields), fields)


def single(name: str, found: Sequence[Result], wanted: object) -> Result:
    """Return the only row that was found; raises InputError if there is none, or another."""
    if len(found) != 1:
        raise InputError(f"reports/runs/{name}.csv has {len(found)} rows of {wanted}, not one; restore it with git.")
    return found[0]


@cache
def source(name: str) -> str:
    """Return the file of a run with its command, date and machine; of many parts, only their dates and machine."""
    file, about = f"`reports/runs/{name}.csv`", lines(REPORTS / "runs" / f"{name}.csv")[0].removeprefix("# ")
    parts = about.split(" | ")
    if len(parts) == 1:
        return f"{file}: {about}."
    dates = sorted(part.split("; ")[-2] for part in parts)
    machines = " or ".join(dict.fromkeys(part.split("; ")[-1] for part in parts))
    period = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    return f"{file}, whose first line has the command of each part; {period}; {machines}."
