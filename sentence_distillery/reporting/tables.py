"""Rows of results.csv as tables: a row for each system, a group of columns for each protocol, the best figure marked.

A system, set, protocol or metric that this module does not know gets its row or column like any other; its values are
shown as in results.csv. Figures that share a cell are one below the other.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, TypeVar

from sentence_distillery.evaluation.results import Result, text_of
from sentence_distillery.evaluation.sets.registry import BENCHMARKS
from sentence_distillery.io.unavailable import Unavailable


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
    "ap": _percent("Average precision"),
    "v_measure": _percent("V-measure"),
    "ndcg_at_10": _percent("nDCG@10"),
    "recall_at_100": _percent("Recall@100"),
    "map": _percent("MAP"),
    "mrr": _percent("MRR"),
    "sentences_per_second": Metric("Sentences a second", digits=0, better=1),
    "seconds": Metric("Seconds", digits=0),
}
Name = TypeVar("Name")

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
    "cosine": "Cosine",
    "few-shot": "Few-shot logistic regression",
    "full": "Logistic regression on all examples",
    "k-means": "Mini-batch k-means",
    "search": "Exact search",
    "rerank": "Reranking",
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
    interval: str = ""


@dataclass(frozen=True)
class Block:
    """Rows under their own subtitle."""

    title: str
    rows: Sequence[Result]


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


def figure(row: Result) -> Figure:
    """Show a figure with its spread and the paper's own, or why there is none."""
    shown = metric(row.metric)
    if isinstance(row.value, Unavailable):
        return Figure("—", note=row.value.reason)
    text: Callable[[float], str] = shown.text if row.metric in METRICS else text_of
    return Figure(
        text(row.value),
        row.value,
        text(row.spread) if row.spread is not None else "",
        shown.printed(row.published) if row.published is not None else "",
    )


def build(blocks: Sequence[Block], by: Literal["dataset", "protocol"], caption: str, size: str) -> Table:
    """Group the columns by the field `by`; within a group a metric has a column if a row has it."""
    group = attrgetter(by)
    rows = [row for block in blocks for row in block.rows]
    metrics: dict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: rank(row.metric, METRICS)):
        if row.metric not in metrics[group(row)]:
            metrics[group(row)].append(row.metric)

    # Known sets have their order, unknown ones follow as they come.
    groups = {
        key: metrics[key] for key in sorted(unique(group(row) for row in rows), key=lambda key: rank(key, TITLES))
    }
    columns = [(key, name) for key, names in groups.items() for name in names]
    better = [metric(name).better for _, name in columns]
    notes = unique(figure(row).note for row in rows if row.number is None)
    return Table(
        caption,
        size,
        [(label(key), [metric(name) for name in names]) for key, names in groups.items()],
        [(block.title, mark_best(_lines(block, group, columns), better)) for block in blocks],
        notes,
    )


def _lines(block: Block, group: Callable[[Result], str], columns: list[tuple[str, str]]) -> Lines:
    """List (system, a cell for each column), in the order of the rows."""
    cells: dict[tuple[str, str, str], list[Figure]] = defaultdict(list)
    for row in block.rows:
        cells[row.system, group(row), row.metric].append(figure(row))
    systems = unique(row.system for row in block.rows)
    return [(system, [cells[system, key, name] for key, name in columns]) for system in systems]


def mark_best(lines: Lines, better: Sequence[int]) -> Lines:
    """Mark the best figure of each column; `better` says for each which end is the best."""
    columns = zip(*(cells for _, cells in lines), strict=True)
    best = [
        _best((figure.value for cell in column for figure in cell), sign)
        for column, sign in zip(columns, better, strict=True)
    ]

    # Several systems may share the best figure, and then all are marked.
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


def result_tables(rows: Sequence[Result], sets: Mapping[str, Any]) -> list[Table]:
    """Make a table for each set and split; protocols with other metrics (a classifier's, say) get a separate one."""
    metrics: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        metrics[row.dataset, row.split, row.protocol].add(row.metric)
    tables: dict[tuple[object, ...], list[Result]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (rank(row.dataset, ORDER), row.split != "test")):
        family = frozenset(metrics[row.dataset, row.split, row.protocol])
        tables[row.dataset, row.split, family].append(row)
    return [build([Block("", lines)], "protocol", *_caption(lines, sets)) for lines in tables.values()]


def _caption(rows: Sequence[Result], sets: Mapping[str, Any]) -> tuple[str, str]:
    """Return the caption of a table: its set, and the number of pairs."""
    others = [protocol for protocol in unique(row.protocol for row in rows) if protocol not in PROTOCOLS]
    name = ", ".join([title(rows[0].dataset, rows[0].split, sets), *others])
    note = "; in italics: as the paper printed it" if any(row.published is not None for row in rows) else ""
    return name, size(rows, sets) + note


def word_table(rows: Sequence[Result], sets: Mapping[str, Any]) -> Table:
    """Make one table of all word sets; its size says how many pairs have two known words."""
    covered = []
    for dataset in unique(row.dataset for row in rows):
        known = size([row for row in rows if row.dataset == dataset], sets).removesuffix(" pairs")
        covered.append(f"{known} of {sum(sets[dataset]['rows'].values()):,} pairs of {label(dataset)}")
    return build([Block("", rows)], "dataset", "Word similarity", f"on {' and '.join(covered)}")


def title(dataset: str, split: str, sets: Mapping[str, Any]) -> str:
    """Name a set, and its split if it has several."""
    splits = sets.get(dataset, {}).get("rows", {})
    return label(dataset) if len(splits) == 1 else f"{label(dataset)} {split}".strip()


def size(rows: Sequence[Result], sets: Mapping[str, Any]) -> str:
    """Say on how many pairs or documents the figures are, a range if the systems differ."""
    kind = sets.get(rows[0].dataset, {}).get("kind", "rows")
    counts = sorted({row.n for row in rows})
    bounds = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    return f"{bounds} {'pairs' if kind == 'words' else kind}"


def label(name: str) -> str:
    return TITLES.get(name) or PROTOCOLS.get(name) or name


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in order of appearance."""
    return list(dict.fromkeys(names))


def rank(name: Name, order: Iterable[Name]) -> int:
    """Return the place of `name` in `order`; unknown names come after all others."""
    places = list(order)
    return places.index(name) if name in places else len(places)
