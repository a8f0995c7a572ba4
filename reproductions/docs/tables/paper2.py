"""The tables on paper 2 of papers_2_and_3.md, from reports/runs/paraphrase and reports/runs/earlier."""

from collections.abc import Callable
from dataclasses import replace

from docsite.saved import table
from reproductions.docs.tables.cells import cells_of, grid
from reproductions.docs.tables.rows import only, source
from reproductions.paper2.cell import HEADS
from sentence_distillery.evaluation.results import Result

MRPC, EARLIER, COST = "paraphrase/mrpc", "earlier/mrpc", "earlier/pair_cost"
FEATURES = ("u", "u,v", "u+v", "|u-v|", "u*v", "|u-v|,u*v", "u,v,|u-v|,u*v")
ENCODERS = {"minilm-l3": "L3", "minilm-l6": "L6"}
POOLINGS = ("mean", "cls", "max")


def combinations() -> list[str]:
    """Sets of features of two vectors for logistic regression, the paper's table 4."""
    columns = [(encoder, pooling) for encoder in ENCODERS for pooling in POOLINGS]
    cells = [cells_of([_scores(features, *column) for features in FEATURES]) for column in columns]
    rows = [[_title(features), *row] for features, row in zip(FEATURES, zip(*cells, strict=True), strict=True)]
    head = ["", *(f"{ENCODERS[encoder]}, {pooling.upper()}" for encoder, pooling in columns)]
    return [*grid(head, rows), "", source(MRPC)]


def _title(features: str) -> str:
    return features.replace("-", "−").replace("*", "·").replace(",", ", ").replace("|", r"\|")


def _scores(features: str, encoder: str, pooling: str) -> list[Result]:
    cell = {"encoder": encoder, "pooling": pooling, "strategy": features, "start": HEADS, "table": "4", "split": "test"}
    return [replace(only(MRPC, metric=metric, **cell), low=None, high=None) for metric in ("accuracy", "f1")]


def cost() -> list[str]:
    """The cost of comparing every two of 10,000 sentences."""
    rows = [
        [row["system"], f"{int(row['runs']):,}", f"{int(row['per_second']):,}", _duration(float(row["seconds"]))]
        for row in table(f"runs/{COST}")
    ]
    return [*grid(["", "runs", "a second", "in total"], rows), "", source(COST)]


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.0f} hours" if seconds >= 3600 else f"{seconds:g} seconds"


TABLES: dict[str, Callable[[], list[str]]] = {"combinations": combinations, "cost of pairs": cost}
