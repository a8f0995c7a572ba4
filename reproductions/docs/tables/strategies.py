"""The tables of paper 2's strategies, from reports/runs/paraphrase and reports/runs/earlier."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from reproductions.docs.tables.cells import cells_of, grid
from reproductions.docs.tables.paper2 import EARLIER, MRPC
from reproductions.docs.tables.rows import matching, only
from sentence_distillery.evaluation.results import MODEL_SOUP, Result

PAPERS, MODERN, INTERMEDIATE = "paper's", "modern", "modern, intermediate"


@dataclass(frozen=True)
class Line:
    """A row of a table of strategies: its first two cells, and the cell of the matrix that it shows.

    Attributes:
        seed: MODEL_SOUP, a seed on another processor, or None for the cell of all seeds.
    """

    title: str
    settings: str
    strategy: str
    start: str = ""
    pooling: str = ""
    seed: int | str | None = None

    def cell(self, encoder: str, pooling: str) -> dict[str, object]:
        """Return the fields of its rows; its own pooling is preferred to the table's."""
        cell: dict[str, object] = {"encoder": encoder, "pooling": self.pooling or pooling, "strategy": self.strategy}
        other = {"protocol": OTHER_PROCESSOR} if isinstance(self.seed, int) else {}
        return cell | {"start": self.start, "seed": self.seed, "split": "test", "table": "", **other}


OTHER_PROCESSOR = "intermediate-pair, another processor"
LOGISTIC = r"logistic regression on u, v, \|u−v\|, u·v"
NOT_TUNED, CROSS_ENCODER = "cosine baseline, not fine-tuned", "cross-encoder, fine-tuned"
SOUP = "the mean of their weights"
NINE = (
    Line(NOT_TUNED, "", "cosine"),
    Line("siamese: pairwise margin", PAPERS, "siamese"),
    Line("triplet", PAPERS, "triplet"),
    Line(LOGISTIC, PAPERS, "logistic"),
    Line(CROSS_ENCODER, PAPERS, "pair", "combined"),
    Line("the same first, then cosine", PAPERS, "cosine", "combined"),
    Line("the same first, then siamese", PAPERS, "siamese", "combined"),
    Line("the same first, then triplet", PAPERS, "triplet", "combined"),
    Line("the same first, then logistic regression", PAPERS, "logistic", "combined"),
)
MODERN_L3 = (
    Line("CoSENT loss", "modern, bfloat16", "cosent"),
    Line("multiple negatives", "modern, bfloat16", "ranking"),
)
MODERN_L6 = (
    Line("CoSENT loss, three seeds", MODERN, "cosent"),
    Line(f"{CROSS_ENCODER}, three seeds", MODERN, "pair", "modern"),
    Line("the same, STS-B's scores first, three seeds", INTERMEDIATE, "pair", "intermediate"),
    Line(SOUP, INTERMEDIATE, "pair", "intermediate", seed=MODEL_SOUP),
)
OTHER_POOLINGS = tuple(
    Line(f"{pooling.upper()}: {title}", settings, strategy, start, pooling)
    for pooling in ("max", "cls")
    for title, settings, strategy, start in (
        (NOT_TUNED, "", "cosine", ""),
        ("logistic regression", PAPERS, "logistic", ""),
        (CROSS_ENCODER, PAPERS, "pair", "combined"),
    )
)
MPNET = (
    Line(NOT_TUNED, "", "cosine"),
    Line(f"{CROSS_ENCODER}, three seeds", "modern, bfloat16", "pair", "modern"),
    Line("the same, STS-B's scores first, four seeds", f"{INTERMEDIATE}, bfloat16", "pair", "intermediate"),
    Line(SOUP, f"{INTERMEDIATE}, bfloat16", "pair", "intermediate", seed=MODEL_SOUP),
    Line("the same on another processor, seed 1", f"{INTERMEDIATE}, bfloat16", "pair", "intermediate", seed=1),
    Line("the same processor, seed 2", f"{INTERMEDIATE}, bfloat16", "pair", "intermediate", seed=2),
)


def _in_bfloat16(*cells: tuple[str, str]) -> tuple[Line, ...]:
    """Return the nine strategies, with those in bfloat16 that begin from the one and end as the other."""
    return tuple(
        replace(line, settings=f"{PAPERS}, bfloat16") if (line.start, line.strategy) in cells else line for line in NINE
    )


def strategies(encoder: str, pooling: str, title: str, lines: tuple[Line, ...]) -> list[str]:
    """Return the figures of each strategy with an encoder, the best in bold."""
    cells = [line.cell(encoder, pooling) for line in lines]
    columns = [
        cells_of([[_accuracy(cell)] for cell in cells]),
        cells_of([[replace(_kept(cell, "f1"), low=None, high=None)] for cell in cells]),
        cells_of([_on_stsb(cell) for cell in cells]),
        [f"{(_kept(cell, 'seconds').number or 0) / 60:.0f}" for cell in cells],
    ]
    head = [f"{title}: strategy", "settings", "accuracy", "F1", "STS-B", "minutes of a core"]
    rows = ([line.title, line.settings, *row] for line, *row in zip(lines, *columns, strict=True))
    about = "From `mrpc.csv` in `reports/runs/paraphrase` and, to one digit, in `reports/runs/earlier`."
    return [*grid(head, rows, words=2), "", about]


def _kept(cell: dict[str, object], metric: str) -> Result:
    """Return a figure of MRPC; those on another processor are in a file of their own."""
    return only(EARLIER if "protocol" in cell else MRPC, dataset="mrpc", metric=metric, **cell)


def _accuracy(cell: dict[str, object]) -> Result:
    """Return the accuracy with its interval, from whichever file has it.

    Files keep four digits. One seed is right about a whole number of pairs, so its accuracy has all.
    """
    row = _kept(cell, "accuracy")
    if row.seeds == 1 and row.number is not None:
        row = replace(row, value=round(row.number * row.n) / row.n)
    if row.low is None and (earlier := matching(EARLIER, dataset="mrpc", metric="accuracy", **cell)):
        return replace(row, low=earlier[0].low, high=earlier[0].high)
    return row


def _on_stsb(cell: dict[str, object]) -> list[Result]:
    """Return Spearman on STS-B after the training; a cross-encoder has none."""
    found = [matching(name, dataset="stsb", metric="spearman", **cell) for name in (MRPC, EARLIER)]
    return (found[0] or found[1])[:1]


L6_TITLE = "MiniLM-L6, bfloat16, MEAN unless the row names another pooling"
TABLES: dict[str, Callable[[], list[str]]] = {
    "strategies L3 MEAN": partial(
        strategies,
        "minilm-l3",
        "mean",
        "MiniLM-L3, MEAN",
        (*_in_bfloat16(("", "logistic"), ("combined", "cosine")), *MODERN_L3),
    ),
    "strategies L6": partial(strategies, "minilm-l6", "mean", L6_TITLE, (*NINE, *MODERN_L6, *OTHER_POOLINGS)),
    "strategies mpnet": partial(strategies, "mpnet", "mean", "mpnet, MEAN", MPNET),
}
