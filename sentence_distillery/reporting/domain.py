"""The first section of the page: how far the encoders agree with the teacher on held-out texts, and on own labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sentence_distillery.evaluation.results import Result, over_seeds
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.headline import STUDENT, Found
from sentence_distillery.reporting.tables import Figure, label, mark_best, metric, unique

HELD_OUT = "held-out texts"  # as domain.measures names them, which is not imported: a page needs no encoder
NEIGHBOURS = "neighbours"
WORDS = "words"
COUNTED = {"mean": "pairs", "cosine": "pairs", "search": "queries"}  # of own labels, by protocol
GROUPS = {
    "random pairs": "Random pairs",
    "near pairs": "Near pairs",
    NEIGHBOURS: "Neighbours found",
    WORDS: "Not known",
}
LABELS = {
    "words_cut": "Words cut",
    "unknown_texts": "Texts unknown",
    "recall_at_1": "Recall@1",
    "recall_at_10": "Recall@10",
}


@dataclass(frozen=True)
class DomainTable:
    """Rows are systems: `groups` are (label, [labels of metrics]), `lines` are (system, figures x 100)."""

    caption: str
    size: str
    groups: list[tuple[str, list[str]]]
    lines: list[tuple[str, list[Figure]]]
    notes: list[str]


@dataclass(frozen=True)
class DomainSection:
    """The content of the section; `reason` says why there are no figures on held-out texts."""

    sentence: str
    table: DomainTable | None
    panels: list[charts.Intervals]
    labelled: list[DomainTable]
    reason: str
    found: Found | None = None  # of the teacher's ten nearest texts, by the student


def domain_section(
    rows: Sequence[Result], seeds: Sequence[Sequence[Result]], trials: Sequence[Mapping[str, str]] = ()
) -> DomainSection:
    """Make the tables and charts of the figures of reports/domain.csv, and of those of each other seed.

    `trials` are the rows of reports/curves/student_size.csv: the students of the size that was ordered, if one was.
    """
    spreads = {(row.system, row.dataset, row.protocol, row.metric): row.spread for row in over_seeds(rows, seeds)}
    rows = [replace(row, spread=spreads.get((row.system, row.dataset, row.protocol, row.metric))) for row in rows]
    own = [row for row in rows if row.dataset == HELD_OUT]
    known = [row for row in own if row.number is not None]
    sets = unique(row.dataset for row in rows if row.dataset != HELD_OUT)
    labelled = [domain_table([row for row in rows if row.dataset == name], name) for name in sets]
    if trials:
        labelled.append(size_table(trials))

    # Own labels are shown even if no texts were held out.
    if not known:
        reasons = unique(row.value.reason for row in own if isinstance(row.value, Unavailable))
        return DomainSection("", None, [], labelled, "; ".join(reasons))
    table = domain_table(own, "Agreement with the teacher")
    found = student_recall(known)
    return DomainSection(sentence(found), table, panels(known), labelled, "", found)


def student_recall(rows: Sequence[Result]) -> Found | None:
    """Return the student's recall@10 with its interval and the number of texts, if all of them are there."""
    place = (STUDENT, NEIGHBOURS, "recall_at_10")
    row = next((row for row in rows if (row.system, row.protocol, row.metric) == place), None)
    if row is None or row.number is None or row.low is None or row.high is None:
        return None
    return row.number, row.low, row.high, row.n


def sentence(found: Found | None) -> str:
    """Say in a sentence how many of the teacher's ten nearest texts the student finds."""
    if found is None:
        return "The texts are too few to say how many of the teacher’s ten nearest texts the student finds."
    value, low, high, count = found
    return (
        f"Among {count:,} held-out texts, the student finds {_hundredfold(value)}% of those that its teacher puts "
        f"among the ten nearest (95% interval {_hundredfold(low)} to {_hundredfold(high)}); chance would find "
        f"{_hundredfold(10 / (count - 1))}%."
    )


def domain_table(rows: Sequence[Result], caption: str) -> DomainTable:
    """Make a table of the rows of one set of texts."""
    columns = list(dict.fromkeys((row.protocol, row.metric) for row in rows))
    cells = {(row.system, row.protocol, row.metric): _cell(row) for row in rows}
    systems = unique(row.system for row in rows)
    lines = [(system, [[cells.get((system, *column), Figure("—"))] for column in columns]) for system in systems]

    # Systems differ in their words, not in how well they know them: no figure is the best.
    better = [0 if protocol == WORDS else metric(name).better or 1 for protocol, name in columns]
    protocols = unique(protocol for protocol, _ in columns)
    groups = [
        (GROUPS.get(name) or label(name), [_label(metric) for protocol, metric in columns if protocol == name])
        for name in protocols
    ]

    # Pairs are drawn and more numerous than texts, so they do not say how large the set is.
    counts = sorted({row.n for row in rows if row.protocol not in ("random pairs", "near pairs")})
    size = f"{counts[-1]:,} {COUNTED.get(protocols[-1], 'texts')}; ×100, with 95% intervals"
    marked = [(system, [figure for [figure] in cells]) for system, cells in mark_best(lines, better)]
    return DomainTable(caption, size, groups, marked, unique(filter(None, map(note_of, rows))))


def size_table(trials: Sequence[Mapping[str, str]]) -> DomainTable:
    """Make a table of the students of a size that were tried, the chosen one first.

    >>> row = dict(tokens="900", dimension="64", precision="int8", megabytes="0.1", recall_at_10="0.912")
    >>> [figure.text for figure in size_table([row]).lines[0][1]]
    ['91.2', '0.1', '900', '64']
    """
    lines = [
        (
            f"{'chosen, ' if place == 0 else ''}{row['precision']}",
            [
                Figure(_hundredfold(float(row["recall_at_10"])), best=place == 0),
                Figure(f"{float(row['megabytes']):.1f}"),
                Figure(f"{int(row['tokens']):,}"),
                Figure(row["dimension"]),
            ],
        )
        for place, row in enumerate(trials)
    ]
    groups = [("Agreement with the full student", ["Recall@10"]), ("Size", ["Megabytes", "Tokens", "Dimension"])]
    return DomainTable("Students that were tried for the requested size", "recall ×100", groups, lines, [])


def panels(rows: Sequence[Result]) -> list[charts.Intervals]:
    """Draw a chart for each k, with a line for each system."""
    drawn = []

    # Without an interval a point would look more certain than those that have one.
    for name in unique(row.metric for row in rows if row.protocol == NEIGHBOURS):
        found = [row for row in rows if (row.protocol, row.metric) == (NEIGHBOURS, name)]
        points = {
            row.system: (row.number * 100, row.low * 100, row.high * 100)
            for row in found
            if row.number is not None and row.low is not None and row.high is not None
        }
        if points:
            drawn.append(charts.intervals(_label(name), points, [name for name in points if name.startswith(STUDENT)]))
    return drawn


def _cell(row: Result) -> Figure:
    if isinstance(row.value, Unavailable):
        return Figure("—", note=note_of(row))
    interval = "" if row.low is None or row.high is None else f"{_hundredfold(row.low)} to {_hundredfold(row.high)}"
    spread = "" if row.spread is None else _hundredfold(row.spread)
    return Figure(_hundredfold(row.value), row.value, spread, note=note_of(row), interval=interval)


def note_of(row: Result) -> str:
    """Say why there is no figure, or which draws are not in its interval; nothing if there is nothing to say."""
    if isinstance(row.value, Unavailable):
        return row.value.reason
    if not row.left_out:
        return ""
    return f"{row.left_out:,} draws of the interval are left out: they have no figure, such as those of equal ratings"


def _label(name: str) -> str:
    return LABELS.get(name) or metric(name).label


def _hundredfold(value: float) -> str:
    return f"{value * 100:.1f}".replace("-", "\N{MINUS SIGN}")
