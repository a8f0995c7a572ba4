"""The figures that the papers set as targets, and those that were reached: a table of papers_2_and_3.md."""

from statistics import mean, stdev

from reproductions.docs.tables.cells import figure, grid, points, shown, slashed
from reproductions.docs.tables.paper2 import EARLIER, MRPC
from reproductions.docs.tables.paper3_best import EARLIER as FOCUS_EARLIER
from reproductions.docs.tables.paper3_best import (
    L6_LABELS,
    L6_LABELS_SOUP,
    MPNET_AUGMENTED,
    MPNET_LABELS,
    MPNET_LABELS_SOUP,
    MPNET_SEEDS,
    MPNET_SOUP,
    Line,
)
from reproductions.docs.tables.rows import matching, only, source
from sentence_distillery.evaluation.results import MODEL_SOUP, Result

SCORES = ("accuracy", "f1")
CROSS_ENCODER = {"dataset": "mrpc", "encoder": "mpnet", "strategy": "pair"}


def targets() -> list[str]:
    """Each target with the figures of the attempts at it."""
    rows = [
        ["mpnet's cross-encoder on MRPC: 88 / 91", _cross_encoder()],
        [
            "mpnet on STS-B: 87.8 / 86.8",
            f"reached with augmented pairs, decontaminated: {_correlations(MPNET_AUGMENTED)}, two seeds; without them "
            f"{_correlations(MPNET_SOUP)} for the mean of two seeds' weights, {_correlations(MPNET_SEEDS)} for the "
            "seeds",
        ],
        [
            "mpnet's SICK-E: 87.5",
            f"{_entailment(MPNET_LABELS_SOUP)} ({_right(MPNET_LABELS_SOUP)}) for the mean of two seeds' weights; "
            f"{_entailment(MPNET_LABELS)} for the seeds, decontaminated; {_not_decontaminated()} if not decontaminated",
        ],
        [
            "MiniLM-L6's SICK-E: 85.5",
            f"{_entailment(L6_LABELS_SOUP)} for the mean of five seeds' weights, {_entailment(L6_LABELS)} for the "
            "seeds, decontaminated",
        ],
    ]
    return [
        *grid(["target", "result"], rows, words=2),
        "",
        f"The figures of the tables above. Single seeds: {source(EARLIER)}",
    ]


def _cross_encoder() -> str:
    runs = {metric: _runs("test", metric) for metric in SCORES}
    chosen = max(_runs("validation", "accuracy"), key=points)
    best = max(runs["accuracy"], key=points)
    of_chosen, of_best = (
        slashed(*(points(row) for rows in runs.values() for row in rows if _run(row) == _run(one)))
        for one in (chosen, best)
    )
    over = " / ".join(f"{figure(mean(each))} ± {figure(stdev(each))}" for each in map(_points, runs.values()))
    soup, without = (
        " / ".join(shown(only(MRPC, split="test", metric=metric, **CROSS_ENCODER, **cell)) for metric in SCORES)
        for cell in ({"start": "intermediate", "seed": MODEL_SOUP}, {"start": "modern", "seed": None})
    )
    return (
        f"not reached: after STS-B's scores {of_chosen} in the run that validation pairs choose of all six, {over} "
        f"over them, {of_best} in the best; {soup} for the mean of four seeds' weights; {without} without STS-B"
    )


def _runs(split: str, metric: str) -> list[Result]:
    """Return the figures of the six runs that learnt STS-B's scores first."""
    rows = matching(EARLIER, split=split, metric=metric, start="intermediate", **CROSS_ENCODER)
    return [row for row in rows if isinstance(row.seed, int)]


def _run(row: Result) -> tuple[object, ...]:
    return row.protocol, row.seed


def _points(rows: list[Result]) -> list[float]:
    return [points(row) for row in rows]


def _correlations(line: Line) -> str:
    return " / ".join(shown(line.row("stsb", metric), 2) for metric in ("pearson", "spearman"))


def _entailment(line: Line) -> str:
    return shown(line.row("sick", "accuracy"), 2)


def _right(line: Line) -> str:
    """Show of how many pairs an encoder gets the entailment right."""
    row = line.row("sick", "accuracy")
    return f"{points(row) / 100 * row.n:,.0f} of {row.n:,}"


def _not_decontaminated() -> str:
    return shown(only(FOCUS_EARLIER, system="mpnet: fine-tuned, labels, too, bfloat16", metric="accuracy"), 2)


TABLES = {"targets": targets}
