"""Quality against size: a table such as reports/pareto.csv as a chart and a table.

Of the student's many variants, those with fewer dimensions are shown in 8 bits, and the whole one as it was trained;
the teacher is shown with its published figures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sentence_distillery.io.artifacts import finite, given, read_rows, unreadable
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.headline import rounded
from sentence_distillery.reporting.intervals import spearman_interval

Row = Mapping[str, str]

QUALITY = "stsb/test/spearman"
COLUMNS: dict[str, Callable[[str], object]] = {"dimension": given}
COLUMNS |= dict.fromkeys(("system", "kind", "precision", "source"), str)
COLUMNS |= dict.fromkeys(("megabytes", QUALITY, "stsb/test/pearson"), finite)
SHORT = {"static-similarity-mrl-multilingual-v1": "static-similarity-mrl"}  # fits in a chart
PAIRS = 1379  # of STS-B test, behind each figure
LEAST = 70.0  # worse ones are only in the table; else the marks of the others would overlap


def read_pareto(path: Path) -> list[dict[str, str]]:
    """Read the variants and their figures; raises InputError if a column is missing."""
    rows = read_rows(path, COLUMNS)
    if any(row["system"] == "own" and not row["dimension"].isdigit() for row in rows):
        raise unreadable(path, "a variant of the student has no dimension")
    return rows


def named(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """Yield the rows that are shown, each with its name."""
    own = [row for row in rows if row["system"] == "own"]
    largest = max((int(row["dimension"]) for row in own), default=0)
    for row in rows:
        if row["system"] == "own":
            if row["precision"] == ("float32" if int(row["dimension"]) == largest else "int8"):
                yield f"student {row['precision']} {row['dimension']}", row
        elif row["system"] in ("released", "MLP head"):
            yield f"student {row['system']}", row
        elif row["kind"] == "published" or row["system"] == "GloVe":
            yield row["system"], row


def sizes(pareto: Sequence[Row]) -> dict[str, Any]:
    """Make the chart, and a row for each of its marks: name, megabytes, pearson, spearman and its interval, source.

    And the chart of quality over speed for the encoders that were timed; None if none was.
    """
    shown = dict(named(pareto))
    labels = {name: SHORT.get(name, name.removeprefix("student ")) for name in shown}
    ours = [labels[name] for name in shown if name.startswith("student ")]

    # A peer far below would press all others into a corner of the chart; the table has it.
    good = {labels[name]: row for name, row in shown.items() if float(row[QUALITY]) >= LEAST}
    by_size = {name: (float(row["megabytes"]), float(row[QUALITY])) for name, row in good.items()}
    timed = {name: rate for name, row in good.items() if (rate := row.get("sentences_per_second"))}
    by_speed = {name: (float(rate), float(good[name][QUALITY])) for name, rate in timed.items()}
    rows = [
        {
            "name": name,
            "megabytes": f"{float(row['megabytes']):,.1f}",
            "pearson": f"{float(row['stsb/test/pearson']):.2f}",
            "spearman": f"{float(row[QUALITY]):.2f}",
            "interval": _interval(float(row[QUALITY])),
            "source": row["source"].split(",")[0],
        }
        for name, row in shown.items()
    ]
    return {
        "chart": charts.scatter("STS-B test", by_size, charts.SIZE, ours),
        "rows": rows,
        "speed": charts.scatter("STS-B test", by_speed, charts.SPEED, ours) if by_speed else None,
    }


def _interval(spearman: float) -> str:
    ends = spearman_interval(spearman / 100, PAIRS)
    return "" if ends is None else f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f}"


def kept_speed(pareto: Sequence[Row], dimension: int) -> str | None:
    """Return the saved sentences a second of the student of the profile best, with two digits, and its dimensions.

    It is that of as many dimensions as the run's student if one was timed; None if none was.
    """
    timed = [row for row in pareto if row["system"] == "own" and row["precision"] == "float32"]
    timed = [row for row in timed if row.get("sentences_per_second")]
    if not timed:
        return None
    row = min(timed, key=lambda row: abs(int(row["dimension"]) - dimension))
    return f"{rounded(float(row['sentences_per_second']))} sentences a second with {row['dimension']} dimensions"
