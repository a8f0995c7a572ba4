"""The tables of docs/levers.md, from reports/runs/levers and best.csv."""

from collections.abc import Callable
from functools import partial

from docsite.kept import matching, results, source
from docsite.tables.cells import bounded, grid
from docsite.tables.settings import rows_of, settings

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
    "lexical-steps": "channel",
    "weights-averaged": "share of the weights after",
    "start": "start",
    "with-words": "weight of the encoder",
}
BEST, EARLIER, EQUAL = "best", "levers/test", "levers/equal-bytes"


def test_splits() -> list[str]:
    """The run of `best` and earlier ones on the test splits."""
    now = [
        row
        for system in ("student", "student, MLP head", "student, fine-tuned")
        for dataset in ("stsb", "sick")
        for row in matching(BEST, system=system, dataset=dataset, split="test", protocol="mean", seeds=1)
        if row.metric in ("pearson", "spearman")
    ]
    return [*rows_of([*now, *results(EARLIER)], "system"), "", f"{source(BEST)} {source(EARLIER)}"]


def by_kind(table: str, title: str) -> list[str]:
    """How each student differs from a released one on each kind of task."""
    rows = {(row.system.removesuffix(" - released"), row.dataset): row for row in results(table)}
    systems, kinds = (list(dict.fromkeys(key)) for key in zip(*rows, strict=True))
    cells = ([system, *(bounded(rows[system, kind]) for kind in kinds)] for system in systems)
    return [*grid([title, *kinds], cells), "", source(table)]


TABLES: dict[str, Callable[[], list[str]]] = {
    **{f"levers {name}": partial(settings, f"levers/{name}", title) for name, title in FIRST_COLUMN.items()},
    "levers long-texts": partial(settings, "levers/long-texts", "a text is compared by", digits=1),
    "levers centring": partial(
        settings, "levers/centring", "mean cosine of the teacher's vectors", digits=1, compared=False
    ),
    "levers rate": partial(settings, "levers/rate", "text", digits=1, compared=False),
    "levers test": test_splits,
    "levers with-words-full": partial(settings, "levers/with-words-full", "all examples", digits=1),
    "levers with-words-few-shot": partial(settings, "levers/with-words-few-shot", "8 of each label", digits=1),
    "levers equal-bytes": partial(settings, EQUAL, "16 MB", digits=1, protocols=("mean", "cosine", "search")),
    "levers equal-bytes-differences": partial(by_kind, f"{EQUAL}-differences", "16 MB, less the released encoder"),
    "levers other-kinds": partial(by_kind, "levers/other-kinds", "encoder, less the released one"),
    "levers lexical-mean": partial(by_kind, "levers/lexical-mean", "weight of the channel, less none"),
    "levers lexical-recommended": partial(settings, "levers/lexical-recommended", "text", digits=1, compared=False),
    "levers released-dimensions": partial(by_kind, "levers/released-dimensions", "new release, less the former one"),
    "levers lexical-channel": partial(
        settings, "levers/lexical-channel", "channel", digits=1, protocols=("mean", "cosine", "search")
    ),
    "levers lexical-channel-differences": partial(by_kind, "levers/lexical-channel-differences", "channel, less none"),
    "levers equal-bytes-full": partial(settings, EQUAL, "all examples", digits=1, protocols=("full",)),
    "levers equal-bytes-few-shot": partial(settings, EQUAL, "8 of each label", digits=1, protocols=("few-shot",)),
    "levers review-features": partial(settings, "levers/review-features", "features of the student", digits=1),
}
