"""The tables on paper 2 of docs/papers_2_and_3.md, from reports/runs/paraphrase/mrpc.csv."""

from collections.abc import Callable

from docsite.kept import only, source
from docsite.tables.cells import figure, grid, points, strong
from sentence_distillery.papers.paper2.cell import HEADS

MRPC = "paraphrase/mrpc"
FEATURES = ("u", "u,v", "u+v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,|u-v|,u*v")
ENCODERS = {"minilm-l3": "L3", "minilm-l6": "L6"}
POOLINGS = ("mean", "cls", "max")


def combinations() -> list[str]:
    """Sets of features of two vectors for logistic regression, the paper's table 4."""
    columns = [(encoder, pooling) for encoder in ENCODERS for pooling in POOLINGS]
    cells = [_best_of([_scores(features, *column) for features in FEATURES]) for column in columns]
    rows = [[_title(features), *row] for features, row in zip(FEATURES, zip(*cells, strict=True), strict=True)]
    head = ["", *(f"{ENCODERS[encoder]}, {pooling.upper()}" for encoder, pooling in columns)]
    return [*grid(head, rows), "", source(MRPC)]


def _title(features: str) -> str:
    return features.replace("-", "−").replace("*", "·").replace(",", ", ").replace("|", r"\|")


def _scores(features: str, encoder: str, pooling: str) -> tuple[float, ...]:
    cell = {"encoder": encoder, "pooling": pooling, "strategy": features, "start": HEADS, "table": "4", "split": "test"}
    return tuple(points(only(MRPC, metric=metric, **cell)) for metric in ("accuracy", "f1"))


def _best_of(column: list[tuple[float, ...]]) -> list[str]:
    """Show a column's accuracies and F1, the largest of each in bold."""
    largest = [figure(max(values)) for values in zip(*column, strict=True)]
    shown = [[figure(value) for value in row] for row in column]
    return [" / ".join(strong(text, text == best) for text, best in zip(row, largest, strict=True)) for row in shown]


TABLES: dict[str, Callable[[], list[str]]] = {"combinations": combinations}
