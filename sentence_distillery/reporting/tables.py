"""Rows of results.csv as tables: a row for each system, a group of columns for each protocol, the best figure marked.

A system, set, protocol or metric that this module does not know gets its row or column like any other; its values are
shown as in results.csv. Figures that share a cell are one below the other.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sentence_distillery.benchmarks.registry import BENCHMARKS

Row = Mapping[str, str]


@dataclass(frozen=True)
class Metric:
    """The display of a metric: value times factor, with `digits`; `better` is 1, -1 (less is better) or 0 (unknown)."""

    label: str
    unit: str = ""
    factor: float = 1.0
    digits: int = 4
    better: int = 0

    def text(self, value: float) -> str:
        return f"{value * self.factor:,.{self.digits}f}".replace("-", "\N{MINUS SIGN}")

    def printed(self, value: float) -> str:
        """Show a figure of a paper, which prints three digits of a fraction."""
        return self.text(value).removesuffix("0") if self.factor == 100 else self.text(value)


def _percent(label: str) -> Metric:
    return Metric(label, "×100", 100, 2, 1)


METRICS = {
    "spearman": _percent("Spearman"),
    "pearson": _percent("Pearson"),
    "mae": Metric("MAE", "0–5", digits=3, better=-1),
    "mae_calibrated": Metric("MAE calibrated", "0–5", digits=3, better=-1),
    "accuracy": _percent("Accuracy"),
    "f1": _percent("F1"),
    "precision": _percent("Precision"),
    "recall": _percent("Recall"),
    "sentences_per_second": Metric("Sentences a second", digits=0, better=1),
    "seconds": Metric("Seconds", digits=0),
}
ORDER = ("stsb", "sick", "lee")  # sets that come first
TITLES = {
    **{name: BENCHMARKS[name].title for name in (*ORDER, *(name for name in BENCHMARKS if name not in ORDER))},
    "sick+labels": "SICK, with labels",
    "stsb+augmented": "STS-B, with augmented pairs",
}
PROTOCOLS = {
    "mean": "Mean",
    "tf-idf": "TF-IDF",
    "sif": "SIF",
    "dpcs": "DPCS",
    "dpcs+common": "DPCS + common",
    "sgd": "SGD classifier",
    "sgd+tokens": "SGD classifier on tokens",
}


@dataclass(frozen=True)
class Figure:
    """One value as shown; `value` is None, and `note` says why, if there is none."""

    text: str
    value: float | None = None
    spread: str = ""
    published: str = ""
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class Block:
    """Rows under their own subtitle."""

    title: str
    rows: Sequence[Row]


Lines = list[tuple[str, list[list[Figure]]]]


@dataclass(frozen=True)
class Table:
    """A table: `groups` are (label, metrics), `blocks` are (subtitle, [(name, cells)]), a cell is a list of figures."""

    caption: str
    size: str
    groups: list[tuple[str, list[Metric]]]
    blocks: list[tuple[str, Lines]]
    notes: list[str]
    head: str = "System"


def metric(name: str) -> Metric:
    return METRICS.get(name) or Metric(name.replace("_", " "))


def number(row: Row) -> float | None:
    """Return the value of a row, or None if it is not a finite number."""
    try:
        value = float(row["value"])
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def figure(row: Row) -> Figure:
    shown, value = metric(row["metric"]), number(row)
    if value is None:
        return Figure("—", note=row["value"] or "no value")
    if row["metric"] not in METRICS:
        return Figure(row["value"], value, row["spread"])
    return Figure(
        shown.text(value),
        value,
        shown.text(float(row["spread"])) if row["spread"] else "",
        shown.printed(float(row["published"])) if row["published"] else "",
    )


def build(blocks: Sequence[Block], by: str, caption: str, size: str) -> Table:
    """Group the columns by the field `by`; within a group a metric has a column if a row has it."""
    rows = [row for block in blocks for row in block.rows]
    metrics: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: rank(row["metric"], METRICS)):
        if row["metric"] not in metrics[row[by]]:
            metrics[row[by]].append(row["metric"])
    groups = {key: metrics[key] for key in sorted(unique(row[by] for row in rows), key=lambda key: rank(key, TITLES))}
    columns = [(key, name) for key, names in groups.items() for name in names]
    better = [metric(name).better for _, name in columns]
    notes = unique(figure(row).note for row in rows if number(row) is None)
    return Table(
        caption,
        size,
        [(label(key), [metric(name) for name in names]) for key, names in groups.items()],
        [(block.title, mark_best(_lines(block, by, columns), better)) for block in blocks],
        notes,
    )


def _lines(block: Block, by: str, columns: list[tuple[str, str]]) -> Lines:
    """List (system, a cell for each column), in the order of the rows."""
    cells: dict[tuple[str, str, str], list[Figure]] = defaultdict(list)
    for row in block.rows:
        cells[row["system"], row[by], row["metric"]].append(figure(row))
    systems = unique(row["system"] for row in block.rows)
    return [(system, [cells[system, key, name] for key, name in columns]) for system in systems]


def mark_best(lines: Lines, better: Sequence[int]) -> Lines:
    """Mark the best figure of each column; `better` says for each which end is the best."""
    columns = zip(*(cells for _, cells in lines), strict=True)
    best = [
        _best((figure.value for cell in column for figure in cell), sign)
        for column, sign in zip(columns, better, strict=True)
    ]
    return [
        (
            system,
            [
                [replace(figure, best=figure.value is not None and figure.value == top) for figure in cell]
                for cell, top in zip(cells, best, strict=True)
            ],
        )
        for system, cells in lines
    ]


def _best(values: Iterable[float | None], better: int) -> float | None:
    """Return the best value of a column; None if there is nothing to choose from."""
    known = [value for value in values if value is not None]
    return max(known, key=lambda value: value * better) if better and len(known) > 1 else None


def result_tables(rows: Sequence[Row], sets: Mapping[str, Any]) -> list[Table]:
    """Make a table for each set and split; protocols with other metrics (a classifier's, say) get a separate one."""
    metrics: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        metrics[row["dataset"], row["split"], row["protocol"]].add(row["metric"])
    tables: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (rank(row["dataset"], ORDER), row["split"] != "test")):
        family = frozenset(metrics[row["dataset"], row["split"], row["protocol"]])
        tables[row["dataset"], row["split"], family].append(row)
    return [build([Block("", lines)], "protocol", *_caption(lines, sets)) for lines in tables.values()]


def _caption(rows: Sequence[Row], sets: Mapping[str, Any]) -> tuple[str, str]:
    """Say what a table shows, and on how many pairs."""
    others = [protocol for protocol in unique(row["protocol"] for row in rows) if protocol not in PROTOCOLS]
    name = ", ".join([title(rows[0]["dataset"], rows[0]["split"], sets), *others])
    note = "; in italics: as the paper printed it" if any(row["published"] for row in rows) else ""
    return name, size(rows, sets) + note


def word_table(rows: Sequence[Row], sets: Mapping[str, Any]) -> Table:
    """Make one table of all word sets; its size says how many pairs have two known words."""
    covered = []
    for dataset in unique(row["dataset"] for row in rows):
        known = size([row for row in rows if row["dataset"] == dataset], sets).removesuffix(" pairs")
        covered.append(f"{known} of {sum(sets[dataset]['rows'].values()):,} pairs of {label(dataset)}")
    return build([Block("", rows)], "dataset", "Word similarity", f"on {' and '.join(covered)}")


def title(dataset: str, split: str, sets: Mapping[str, Any]) -> str:
    """Name a set, and its split if it has several."""
    splits = sets.get(dataset, {}).get("rows", {})
    return label(dataset) if len(splits) == 1 else f"{label(dataset)} {split}".strip()


def size(rows: Sequence[Row], sets: Mapping[str, Any]) -> str:
    """Say on how many pairs or documents the figures are, a range if the systems differ."""
    kind = sets.get(rows[0]["dataset"], {}).get("kind", "rows")
    counts = sorted({int(row["n"]) for row in rows})
    bounds = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{bounds} {'pairs' if kind == 'words' else kind}"


def label(name: str) -> str:
    return TITLES.get(name) or PROTOCOLS.get(name) or name


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in order of appearance."""
    return list(dict.fromkeys(names))


def rank(name: str, order: Iterable[str]) -> int:
    """Return the place of `name` in `order`; unknown names come after all others."""
    places = list(order)
    return places.index(name) if name in places else len(places)
