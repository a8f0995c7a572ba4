"""The tables of docs/levers.md: a row for each setting, from reports/runs/levers, and what the test splits say."""

from collections.abc import Callable, Sequence
from functools import partial

from docsite.kept import matching, results, source
from docsite.tables.cells import best_of, grid
from sentence_distillery.evaluation.results import Result

Place = tuple[str, str, str]  # dataset, split, protocol

TITLES: dict[Place, str] = {
    ("stsb", "dev", "teachers"): "teachers: STS-B dev",
    ("stsb", "dev", "mean"): "STS-B dev",
    ("sick", "dev", "mean"): "SICK trial",
    ("stsb", "dev", "fine-tuned"): "with map, weights, direction: STS-B dev",
    ("sick", "dev", "fine-tuned"): "SICK trial",
    ("stsb", "test", "mean"): "STS-B test",
    ("sick", "test", "mean"): "SICK-R test",
    ("scifact", "train", "search"): "SciFact train",
    ("nfcorpus", "dev", "search"): "NFCorpus dev",
    ("held-out texts", "", "neighbours"): "recall@10 of the teacher's neighbours",
    ("held-out texts", "", "near pairs"): "Spearman, near pairs",
    ("banking77", "train", "C = 1"): "accuracy, C = 1",
    ("banking77", "train", "C = 10"): "C = 10",
    ("imdb", "train", "sgd"): "F1",
}
FIRST_COLUMN = {
    "teachers": "teacher",
    "students": "student",
    "bigrams-and-words": "student",
    "after-training": "change of the student above",
    "further-words": "student",
    "stronger-teachers": "teachers",
    "pairs-without-ratings": "pairs",
    "released-words": "words kept",
    "mlp-head": "after the sum",
    "mlp-head-frozen": "after the sum",
    "fine-tuning": "trained part; loss; batch, epochs",
    "fine-tuning-stage": "trained part",
    "fine-tuning-further-words": "trained part",
    "fine-tuning-mlp-head": "trained part",
    "fine-tuned-teachers": "teachers",
    "continued": "training",
    "full-corpus": "variant",
    "search": "training text",
    "lexical": "table, dimensions added, weight",
    "lexical-weight": "weight",
    "weights-averaged": "share of the weights after",
    "start": "start",
}
BEST, EARLIER = "best", "levers/test"


def settings(name: str, title: str, digits: int = 2) -> list[str]:
    """Return the table of a kept run: a row for each system, a column for each set, the best in bold."""
    return [*rows_of(results(name), title, digits), "", source(name)]


def rows_of(rows: Sequence[Result], title: str, digits: int) -> list[str]:
    """Return figures as a table without the line of its source."""
    cells: dict[tuple[str, Place], list[Result]] = {}
    for row in rows:
        cells.setdefault((row.system, _place(row)), []).append(row)
    systems, places = (list(dict.fromkeys(key)) for key in zip(*cells, strict=True))
    columns = [best_of([cells.get((system, place), []) for system in systems], digits) for place in places]
    return grid([title, *(TITLES[place] for place in places)], zip(systems, *columns, strict=True))


def _place(row: Result) -> Place:
    return row.dataset, row.split, row.protocol


def test_splits() -> list[str]:
    """What the run of `best` and earlier ones have on the test splits."""
    now = [
        row
        for system in ("student", "student, MLP head", "student, fine-tuned")
        for dataset in ("stsb", "sick")
        for row in matching(BEST, system=system, dataset=dataset, split="test", protocol="mean", seeds=1)
        if row.metric in ("pearson", "spearman")
    ]
    return [*rows_of([*now, *results(EARLIER)], "system", 2), "", f"{source(BEST)} {source(EARLIER)}"]


TABLES: dict[str, Callable[[], list[str]]] = {
    **{f"levers {name}": partial(settings, f"levers/{name}", title) for name, title in FIRST_COLUMN.items()},
    "levers test": test_splits,
    "levers review-features": partial(settings, "levers/review-features", "features of the student", digits=1),
}
