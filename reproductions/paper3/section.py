"""Paper 3's tables 5, 6 and 7 and its figure 3, compared with this run's figures, and whether its claim holds.

Paper 3 is Yin, Zhang, Zhu, Liu and Yao, Applied Sciences 2020, 10, 958. "The paper" below means its printed figures.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reproductions.paper3.claims import CLAIMED, claims
from reproductions.paper3.gains import (
    CROSSED,
    DIRECT,
    GAIN,
    RATINGS,
    UNTRAINED,
    differences,
    order_of,
    series_name,
    verdict,
)
from reproductions.paper3.syntax.drawing import Drawing, draw
from reproductions.paper3.syntax.trees import Tree
from sentence_distillery.evaluation.results import Result, read_results
from sentence_distillery.reporting import charts
from sentence_distillery.reporting.page import Section, rendered
from sentence_distillery.reporting.tables import (
    TITLES,
    Block,
    Figure,
    Metric,
    Table,
    build,
    label,
    mark_best,
    rank,
    unique,
)

# system -> SICK-R Pearson, Spearman, STS-B Pearson, Spearman, SICK-E accuracy; None if the paper has none
PRINTED: dict[str, tuple[float | None, ...]] = {
    "ECNU, run 1 of SemEval-2014": (82.8, 76.89, None, None, 83.6),
    "StanfordNLP, run 5 of SemEval-2014": (82.72, 75.59, None, None, None),
    "The Meaning Factory, run 1 of SemEval-2014": (82.68, 77.22, None, None, None),
    "UNAL-NLP, run 1 of SemEval-2014": (80.43, 74.58, None, None, 83.1),
    "Illinois-LH, run 1 of SemEval-2014": (None, None, None, None, 84.6),
    "SemantiKLUE, run 1 of SemEval-2014": (None, None, None, None, 82.3),
    "Avg. GloVe embeddings": (69.43, 53.76, 61.23, 58.02, 74.3),
    "Avg. BERT embeddings": (71.4, 58.4, 51.17, 46.35, 78.5),
    "Universal Sentence Encoder": (82.65, 76.69, 75.53, 74.92, 83.5),
    "Universal Sentence Encoder, W_cf = 0.2": (83.51, 77.38, 76.22, 75.54, 84.3),
    "Skip-thought": (85.84, 79.16, 77.1, 76.7, 82.3),
    "InferSent": (88.4, 83.1, 75.8, 75.5, 86.3),
    "BERT-base": (87.9, 83.3, 87.1, 85.8, 85.8),
    "SBERT-base": (87.81, 83.26, 87.04, 85.76, 85.8),
    "CF-BERT-base, W_cf = 0.2": (88.39, 83.77, 87.58, 86.29, 86.3),
    "BERT-large": (88.9, 84.2, 87.6, 86.5, 87.2),
    "SBERT-large": (88.78, 83.93, 87.41, 86.35, 87.1),
    "CF-BERT-large, W_cf = 0.2": (89.29, 84.35, 87.83, 86.82, 87.5),
}
COLUMNS = (("sick", "pearson"), ("sick", "spearman"), ("stsb", "pearson"), ("stsb", "spearman"), ("sick", "accuracy"))
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
TABLE_7 = {  # Pearson of CF-BERT-large by W_cf
    "sick": (
        88.78,
        89.05,
        89.29,
        89.17,
        89.05,
        88.83,
        88.68,
        88.33,
        88.01,
        87.63,
        87.31,
        86.22,
        85.23,
        84.34,
        83.12,
        82.01,
    ),
    "stsb": (
        87.41,
        87.69,
        87.83,
        87.66,
        87.54,
        87.51,
        87.19,
        86.72,
        86.33,
        86.11,
        85.81,
        85.18,
        84.26,
        83.38,
        82.17,
        81.10,
    ),
}
LISTED = 6  # learnt weights of an encoder
THEIRS = "CF-BERT-large in the paper"
PACKAGE, SHARED = "reproductions.paper3", "reproductions"
PERCENT = Metric("", factor=100, digits=2, better=1)


def printed_rows(metrics: Sequence[str], tasks: Sequence[str]) -> list[Result]:
    """Return the paper's own figures as rows of a table of results."""
    return [
        Result(system, task, "test", "ten folds", metric, value / 100, 0)
        for system, values in PRINTED.items()
        for (task, metric), value in zip(COLUMNS, values, strict=True)
        if metric in metrics and task in tasks and value is not None
    ]


def is_gain(row: Result) -> bool:
    """Tell whether a row is a gain over W_cf = 0, with an interval."""
    return row.low is not None


def tables(rows: Sequence[Result], whose: str = "This run") -> list[Table]:
    """Make tables 5 (relatedness), 6 (entailment) and 7 (the grid), as far as there are figures for them.

    Tables 5 and 6 have the paper's weights, 0 and 0.2, and those that were learnt; if there are others, Spearman and
    the accuracy have a grid, too.
    """
    made = []
    rows = [row for row in rows if not is_gain(row)]
    listed = [row for row in rows if not isinstance(row.weight, float) or row.weight in (0.0, CLAIMED)]
    for title, metrics in (("Table 5: relatedness", ("pearson", "spearman")), ("Table 6: entailment", ("accuracy",))):
        mine = [row for row in listed if row.metric in metrics]
        if mine:
            paper = printed_rows(metrics, unique(row.dataset for row in mine))
            blocks = [Block("The paper", _in_groups(paper, mine)), Block(whose, _in_groups(mine, mine))]
            made.append(build([block for block in blocks if block.rows], "dataset", title, "test split"))
    grids = {"pearson": "Table 7: Pearson over the weight of the component"}
    if len(listed) < len(rows):
        grids |= {"spearman": "Spearman over the weight", "accuracy": "Accuracy of the entailment over the weight"}
    return made + [_grid_table(title, lines) for metric, title in grids.items() if (lines := grid(rows, metric))]


def series(row: Result) -> str:
    """Name a row without its weight: the encoder, the model soup or untrained, and an order that is not the paper's."""
    kinds = [str(row.seed)] if row.seed is not None else [UNTRAINED] if row.strategy == UNTRAINED else []
    return ", ".join([series_name(row.encoder, row.pooling), *kinds, *differences(row)])


def _in_groups(rows: Sequence[Result], known: Sequence[Result]) -> list[Result]:
    """Add the protocol to the name of each set for which `known` has several, and the order to that of the system."""
    protocols: dict[str, set[str]] = {}
    for row in known:
        protocols.setdefault(row.dataset, set()).add(_protocol(row))
    several = {task for task, names in protocols.items() if len(names) > 1}
    return [
        replace(
            row,
            dataset=f"{label(row.dataset)}, {_protocol(row)}" if row.dataset in several else row.dataset,
            system=", ".join([row.system, *differences(row)]),
        )
        for row in rows
    ]


def _protocol(row: Result) -> str:
    """Return the protocol without the order of adding and pooling, and without the kind of component."""
    if row.strategy == CROSSED:
        return RATINGS
    return row.protocol.removesuffix(f", {order_of(row)}").removesuffix(f", {DIRECT}")


def _grid_table(title: str, lines: list[tuple[str, dict[float, float]]]) -> Table:
    """Make a table with a row for each line and a column for each weight."""
    weights = sorted({weight for _, cells in lines for weight in cells})
    shown = [
        (name, [[Figure(PERCENT.text(cells[w]), cells[w])] if w in cells else [Figure("")] for w in weights])
        for name, cells in lines
    ]
    groups = [("W_cf", [Metric(f"{weight:g}") for weight in weights])]
    marked = [("", [(name, _best_of_line(cells)) for name, cells in shown])]
    return Table(title, "×100, test split", groups, marked, [])


def _best_of_line(cells: list[list[Figure]]) -> list[list[Figure]]:
    """Mark the highest of the cells."""
    turned = mark_best([("", [cell]) for cell in cells], [1])
    return [cell for _, (cell,) in turned]


def grid(rows: Sequence[Result], metric: str = "pearson") -> list[tuple[str, dict[float, float]]]:
    """List (name, figure by weight) for each encoder and task, the paper's CF-BERT-large before ours."""
    own: dict[tuple[str, str], dict[float, float]] = {}
    known = [row for row in rows if row.metric == metric]
    for row in _in_groups(known, known):
        if isinstance(row.weight, float) and row.number is not None:
            own.setdefault((row.dataset, series(row)), {})[row.weight] = row.number
    lines = []
    for task in unique(task for task, _ in own):
        if metric == "pearson" and task in TABLE_7:
            lines.append((f"{label(task)}, {THEIRS}", printed_grid(task)))
        lines += [(f"{label(task)}, {name}", cells) for (other, name), cells in own.items() if other == task]
    return lines


def printed_grid(task: str) -> dict[float, float]:
    """Return the paper's table 7: Pearson by weight."""
    return dict(zip(WEIGHTS, (value / 100 for value in TABLE_7[task]), strict=True))


def kept(directory: Path) -> dict[str, Any]:
    """Show the rows that `publish --matrix` has saved, each encoder's together; no tables without any."""
    rows = [row for path in sorted(directory.glob("*.csv")) for row in read_results(path)]
    rows.sort(key=_place)
    return shown(rows, "Kept")


def _place(row: Result) -> tuple[str, int, float]:
    weight = row.weight if isinstance(row.weight, float) else math.inf
    return series(row), rank(row.dataset, TITLES), weight


def shown(rows: Sequence[Result], whose: str = "This run") -> dict[str, Any]:
    """Return the content of the page for a grid: tables, figure 3, the gains, and the paper's claims."""
    gains = [row for row in rows if is_gain(row)]
    return {
        "tables": tables(rows, whose),
        "curves": figure_3(gains),
        "claims": claims(rows),
        "gains": [
            {
                "encoder": series(row),
                "task": row.dataset,
                "metric": row.metric.removesuffix(GAIN.format("")),
                "weight": row.weight,
                "gain": row.value,
                "low": row.low,
                "high": row.high,
                "pairs": row.n,
                "seeds": row.seeds,
                "verdict": verdict(row),
            }
            for row in gains
        ],
        "claimed": CLAIMED,
    }


def figure_3(gains: Sequence[Result]) -> list[charts.Curve]:
    """Draw each weight's gain in Pearson x 100, up to W_cf = 1 as in the paper; ours at 0 has the same seeds."""
    lines: dict[tuple[str, str], dict[float, float]] = {}
    for gain in gains:
        task, weight = gain.dataset, gain.weight
        if gain.metric == GAIN.format("pearson") and isinstance(weight, float) and weight <= 1.0:
            if task in TABLE_7:
                printed = printed_grid(task)
                lines[task, THEIRS] = {w: value - printed[0.0] for w, value in printed.items() if w <= 1.0}
            assert gain.number is not None
            lines.setdefault((task, series(gain)), {0.0: 0.0})[weight] = gain.number
    return [
        charts.curve(f"{label(task)}, {name}", "W_cf", sorted(cells), [100 * cells[weight] for weight in sorted(cells)])
        for (task, name), cells in sorted(lines.items(), key=lambda line: (line[0][0], line[0][1] != THEIRS))
    ]


def drawings(about: Mapping[str, Any]) -> list[Drawing]:
    """Draw the trees that the run chose to show."""
    return [draw(Tree(**{key: value for key, value in tree.items() if key != "text"})) for tree in about["trees"]]


def largest(weights: Mapping[str, float]) -> str:
    """Name the weights farthest from 0."""
    chosen = sorted(weights.items(), key=lambda item: -abs(item[1]))[:LISTED]
    return ", ".join(f"{name} {weight:+.2f}".replace("-", "−") for name, weight in chosen)


@dataclass(frozen=True)
class Speeds:
    """Sentences per second: encoded by the static student, and parsed by the parser, if known."""

    student: str | None
    parsed: float | None


def section(rows: Sequence[Result], about: Mapping[str, Any], speeds: Speeds, directory: Path) -> Section:
    """Render the section.

    Args:
        rows: The cells of this run's grid, those of reports/component_focus.csv.
        about: Learnt weights and trees, the content of reports/component_focus.json.
        speeds: What the component costs the static student.
        directory: Where the grids of longer runs are saved, reports/runs/component_focus.

    Returns:
        The section of the page.

    Raises:
        InputError: If a saved file cannot be read.
    """
    values = {
        **shown(rows),
        "learnt": [weights | {"weights": largest(weights["weights"])} for weights in about["learnt"]],
        "draws": about["draws"],
        "seeds": about["seeds"],
        "epochs": about["epochs"],
        "kept": kept(directory),
    }
    content = rendered("paper3.html", {"focus": values, "speeds": speeds}, PACKAGE, SHARED)
    return Section("paper3", "Paper 3 and this run", content)


def tree_section(about: Mapping[str, Any], parsed: Mapping[str, Any], parser: Mapping[str, Any]) -> Section:
    """Render the section of dependency trees; `parsed` are the counters of parsing, `parser` its scores by split."""
    values = {"trees": drawings(about), "parsed": parsed, "parser": parser}
    return Section("syntax", "Dependency trees", rendered("trees.html", values, PACKAGE))
