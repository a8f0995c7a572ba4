"""Encoders that are fine-tuned without the component, compared with the best of paper 3: papers_2_and_3.md."""

from collections.abc import Callable
from dataclasses import dataclass

from reproductions.docs.tables.cells import NONE, figure, grid, points, shown, slashed
from reproductions.docs.tables.paper3 import CORRELATIONS, FOCUS, is_usual
from reproductions.docs.tables.rows import results, single, source
from reproductions.paper3.gains import AFTER, UNTRAINED
from reproductions.paper3.section import COLUMNS, PRINTED
from sentence_distillery.evaluation.results import MODEL_SOUP, Result

LABELS, AUGMENTED = "component_focus/sick+labels", "component_focus/stsb+augmented"
EARLIER = "earlier/component_focus"
PRINTED_BEST = PRINTED["CF-BERT-large, W_cf = 0.2"]
THEIRS = {place: value for place, value in zip(COLUMNS, PRINTED_BEST, strict=True) if value is not None}
BOTH, STSB, SICK = ("stsb", "sick"), ("stsb",), ("sick",)
MPNET, L6 = "mpnet", "minilm-l6"
SOUP = "the mean of their weights"
HEAD = ["", "STS-B: Pearson / Spearman", "SICK-R", "SICK-E"]
COLUMNS_OF_SETS = (("stsb", CORRELATIONS), ("sick", CORRELATIONS), ("sick", ("accuracy",)))


@dataclass(frozen=True)
class Line:
    """A row of the table: its title, and which rows of which run it shows."""

    title: str
    encoder: str
    sets: tuple[str, ...]
    run: str = FOCUS
    trained: bool = True
    mean_of_weights: bool = False
    weight: float = 0.0

    def cells(self) -> list[str]:
        return [self.title, *(_joined(self._rows(*column)) for column in COLUMNS_OF_SETS)]

    def _rows(self, dataset: str, metrics: tuple[str, ...]) -> list[Result]:
        return [self.row(dataset, metric) for metric in metrics] if dataset in self.sets else []

    def row(self, dataset: str, metric: str) -> Result:
        """Return the row of a figure."""
        wanted = (self.encoder, dataset, self.weight, metric, self.trained, self.mean_of_weights)
        return single(self.run, [row for row in results(self.run) if _after(row) and _cell(row) == wanted], wanted)


def _joined(rows: list[Result]) -> str:
    """Show the figures of a cell, in bold if they are not below the paper's."""
    theirs = [THEIRS[row.dataset.partition("+")[0], row.metric] for row in rows]
    shown_rows = (shown(row, 2, round(points(row), 2) >= their) for row, their in zip(rows, theirs, strict=True))
    return " / ".join(shown_rows) or NONE


def _cell(row: Result) -> tuple[object, ...]:
    dataset, trained = row.dataset.partition("+")[0], row.strategy != UNTRAINED
    return row.encoder, dataset, row.weight, row.metric, trained, row.seed == MODEL_SOUP


def _after(row: Result) -> bool:
    """Tell whether vectors were added after pooling, and the rest is as usual."""
    return row.protocol.endswith(AFTER) and is_usual(row)


MPNET_AUGMENTED = Line("fine-tuned on augmented pairs, too, two seeds", MPNET, STSB, AUGMENTED)
MPNET_SEEDS = Line("fine-tuned, decontaminated, bfloat16, two seeds", MPNET, STSB)
MPNET_SOUP = Line(SOUP, MPNET, STSB, mean_of_weights=True)
MPNET_LABELS = Line("fine-tuned, labels, too, decontaminated, bfloat16, two seeds", MPNET, SICK, LABELS)
MPNET_LABELS_SOUP = Line(SOUP, MPNET, SICK, LABELS, mean_of_weights=True)
L6_LABELS = Line("fine-tuned, labels, too, decontaminated, bfloat16, five seeds", L6, SICK, LABELS)
L6_LABELS_SOUP = Line(SOUP, L6, SICK, LABELS, mean_of_weights=True)
LINES = (
    Line("all-mpnet-base-v2: not fine-tuned", MPNET, BOTH, trained=False),
    MPNET_SEEDS,
    MPNET_SOUP,
    MPNET_AUGMENTED,
    Line(SOUP, MPNET, STSB, AUGMENTED, mean_of_weights=True),
    Line("fine-tuned, decontaminated, bfloat16", MPNET, SICK),
    MPNET_LABELS,
    MPNET_LABELS_SOUP,
    Line("all-MiniLM-L6: not fine-tuned", L6, BOTH, trained=False),
    Line("fine-tuned, decontaminated, bfloat16, five seeds", L6, BOTH),
    Line("fine-tuned on augmented pairs, too, five seeds", L6, STSB, AUGMENTED),
    Line(SOUP, L6, STSB, AUGMENTED, mean_of_weights=True),
    L6_LABELS,
    L6_LABELS_SOUP,
    Line("fine-tuned, labels, too, with the component, W_cf = 0.2", L6, SICK, LABELS, weight=0.2),
)


def focus_best() -> list[str]:
    """The encoders whose training pairs are decontaminated."""
    theirs = [slashed(*(THEIRS[dataset, metric] for metric in CORRELATIONS), digits=2) for dataset in BOTH]
    rows = [
        ["the paper's CF-BERT-large", *theirs, figure(THEIRS["sick", "accuracy"])],
        *(line.cells() for line in LINES),
    ]
    files = " ".join(map(source, (FOCUS, LABELS, AUGMENTED)))
    return [*grid(HEAD, rows), "", files]


TABLES: dict[str, Callable[[], list[str]]] = {"focus best": focus_best}
