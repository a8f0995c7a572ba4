"""Encoders that are fine-tuned without the component, beside the best of paper 3: a table of docs/papers_2_and_3.md."""

from dataclasses import dataclass

from docsite.kept import results, single, source
from docsite.tables.cells import NONE, figure, grid, points, slashed, strong
from docsite.tables.paper3 import CORRELATIONS, FOCUS
from sentence_distillery.evaluation.results import MODEL_SOUP, Result
from sentence_distillery.papers.paper3.gains import AFTER, DIRECT, UNTRAINED
from sentence_distillery.papers.paper3.section import COLUMNS, PRINTED

LABELS, AUGMENTED = "component_focus/sick+labels", "component_focus/stsb+augmented"
PRINTED_BEST = PRINTED["CF-BERT-large, W_cf = 0.2"]
THEIRS = {place: value for place, value in zip(COLUMNS, PRINTED_BEST, strict=True) if value is not None}
BOTH, STSB, SICK = ("stsb", "sick"), ("stsb",), ("sick",)
MPNET, L6 = "mpnet", "minilm-l6"


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
        return [self.title, *(self._show(dataset, CORRELATIONS) for dataset in BOTH), self._show("sick", ("accuracy",))]

    def _show(self, dataset: str, metrics: tuple[str, ...]) -> str:
        return " / ".join(self._figure(dataset, each) for each in metrics) if dataset in self.sets else NONE

    def _figure(self, dataset: str, metric: str) -> str:
        """Show a figure and its spread over seeds, in bold if it is not below the paper's."""
        row = self._row(dataset, metric)
        spread = "" if row.spread is None else f" ± {figure(100 * row.spread, 2)}"
        return strong(f"{figure(points(row), 2)}{spread}", round(points(row), 2) >= THEIRS[dataset, metric])

    def _row(self, dataset: str, metric: str) -> Result:
        wanted = (self.encoder, dataset, self.weight, metric, self.trained, self.mean_of_weights)
        return single(self.run, [row for row in results(self.run) if _usual(row) and _cell(row) == wanted], wanted)


def _cell(row: Result) -> tuple[object, ...]:
    dataset, trained = row.dataset.partition("+")[0], row.strategy != UNTRAINED
    return row.encoder, dataset, row.weight, row.metric, trained, row.seed == MODEL_SOUP


def _usual(row: Result) -> bool:
    """Tell whether vectors were added after pooling, with every component, and compared as in the paper."""
    other = (" by " in row.protocol, DIRECT in row.protocol, row.protocol.startswith("trained on train"))
    return row.pooling in ("", "mean") and row.protocol.endswith(AFTER) and not any(other)


LINES = (
    Line("all-mpnet-base-v2: not fine-tuned", MPNET, BOTH, trained=False),
    Line("fine-tuned, decontaminated, bfloat16, two seeds", MPNET, STSB),
    Line("the mean of their weights", MPNET, STSB, mean_of_weights=True),
    Line("fine-tuned on augmented pairs, too, two seeds", MPNET, STSB, AUGMENTED),
    Line("the mean of their weights", MPNET, STSB, AUGMENTED, mean_of_weights=True),
    Line("fine-tuned, decontaminated, bfloat16", MPNET, SICK),
    Line("fine-tuned, labels, too, decontaminated, bfloat16, two seeds", MPNET, SICK, LABELS),
    Line("the mean of their weights", MPNET, SICK, LABELS, mean_of_weights=True),
    Line("all-MiniLM-L6: not fine-tuned", L6, BOTH, trained=False),
    Line("fine-tuned, decontaminated, bfloat16, five seeds", L6, BOTH),
    Line("fine-tuned on augmented pairs, too, five seeds", L6, STSB, AUGMENTED),
    Line("the mean of their weights", L6, STSB, AUGMENTED, mean_of_weights=True),
    Line("fine-tuned, labels, too, decontaminated, bfloat16, five seeds", L6, SICK, LABELS),
    Line("the mean of their weights", L6, SICK, LABELS, mean_of_weights=True),
    Line("fine-tuned, labels, too, with the component, W_cf = 0.2", L6, SICK, LABELS, weight=0.2),
)


def focus_best() -> list[str]:
    """What no run keeps of these encoders stands in a table of its own, by hand."""
    theirs = [slashed(*(THEIRS[dataset, metric] for metric in CORRELATIONS), digits=2) for dataset in BOTH]
    rows = [
        ["the paper's CF-BERT-large", *theirs, figure(THEIRS["sick", "accuracy"])],
        *(line.cells() for line in LINES),
    ]
    files = " ".join(map(source, (FOCUS, LABELS, AUGMENTED)))
    return [*grid(["", "STS-B: Pearson / Spearman", "SICK-R", "SICK-E"], rows), "", files]
