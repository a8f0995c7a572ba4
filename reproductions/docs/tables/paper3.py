"""The tables on paper 3 of reproductions/docs/papers_2_and_3.md, from reports/runs/component_focus/sick-stsb.csv."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from reproductions.docs.tables.cells import NONE, bounded, grid, points, slashed
from reproductions.docs.tables.rows import matching, only, results, single, source
from reproductions.paper3.gains import AFTER, BEFORE, DIRECT, TRAINED, UNTRAINED, order_of
from sentence_distillery.evaluation.results import Result

FOCUS = "component_focus/sick-stsb"
SETS = {"sick": "SICK-R", "stsb": "STS-B"}
CORRELATIONS = ("pearson", "spearman")
L3, L6 = "MiniLM-L3", "MiniLM-L6"
NAMES = {"minilm-l3": L3, "minilm-l6": L6, "mpnet": "mpnet", "student": "our static student"}
TRAINED_WITH_IT = "fine-tuned with it"


@dataclass(frozen=True)
class ShownEncoder:
    """An encoder with its component: its name in the runs, whether it was trained with it, and how they are added."""

    name: str
    trained: bool = False
    order: str = AFTER

    @property
    def title(self) -> str:
        return f"{NAMES[self.name]}, {TRAINED_WITH_IT if self.trained else 'not fine-tuned'}"

    def row(self, dataset: str, weight: float | str, metric: str) -> Result:
        """Return the kept row of a figure: the mean over the seeds if there are several."""
        wanted = (self.name, dataset, weight, metric, self.trained, self.order)
        return single(FOCUS, _usual_rows().get(wanted, []), wanted)

    def scores(self, dataset: str, weight: float | str) -> str:
        """Show Pearson and Spearman."""
        return slashed(*(points(self.row(dataset, weight, metric)) for metric in CORRELATIONS), digits=2)

    def gain(self, dataset: str, weight: float | str) -> str:
        """Show the gain in Pearson over a weight of 0."""
        return bounded(self.row(dataset, weight, "pearson gain"))


def is_usual(row: Result) -> bool:
    """Tell whether a row has mean pooling, every component, and the cosine and the folds of the paper."""
    other = (" by " in row.protocol, DIRECT in row.protocol, row.protocol.startswith("trained on train"))
    return row.pooling in ("", "mean") and not any(other)


@cache
def _usual_rows() -> dict[tuple[object, ...], list[Result]]:
    """Return the rows with mean pooling, cosine, every component and the settings of the paper, by their cell."""
    cells: dict[tuple[object, ...], list[Result]] = {}
    for row in results(FOCUS):
        if row.seed is None and is_usual(row):
            cell = (row.encoder, row.dataset, row.weight, row.metric, row.strategy != UNTRAINED, order_of(row))
            cells.setdefault(cell, []).append(row)
    return cells


# --- Gains at two tenths ---


@dataclass(frozen=True)
class Line:
    """A row of the table of gains: what its first two cells say, and which figures it has."""

    title: str
    place: str
    encoder: ShownEncoder
    dataset: str
    at_zero: bool = True

    def cells(self) -> list[str]:
        before = self.encoder.scores(self.dataset, 0.0) if self.at_zero else NONE
        return [
            self.title,
            self.place,
            before,
            self.encoder.scores(self.dataset, 0.2),
            self.encoder.gain(self.dataset, 0.2),
        ]


def _lines(title: str, encoder: ShownEncoder, place: str = "{}", on_stsb: str = "") -> list[Line]:
    """Return the lines of an encoder on both sets; only the first has its title."""
    titles = {"sick": title, "stsb": on_stsb}
    return [Line(titles[dataset], place.format(name), encoder, dataset) for dataset, name in SETS.items()]


def focus_gains() -> list[str]:
    """W_cf = 0.2 against 0 for each encoder, pooled vectors added."""
    l3, l6, mpnet = (ShownEncoder(name, trained=True) for name in ("minilm-l3", "minilm-l6", "mpnet"))
    lines = [
        *_lines(l3.title, l3, "{}, decontaminated"),
        *_untrained("minilm-l3"),
        *_lines(l6.title, l6, "{}, decontaminated"),
        *_untrained("minilm-l6"),
        Line(mpnet.title, "SICK-R, decontaminated", mpnet, "sick"),
        Line("", "STS-B, not decontaminated", mpnet, "stsb", at_zero=False),
        *_untrained("mpnet"),
        *_untrained("student"),
        *_lines(
            "mean of GloVe vectors (the paper's: 69.43 / 53.76)",
            ShownEncoder("glove"),
            on_stsb="(the paper's: 61.23 / 58.02)",
        ),
        *_lines("the same, content words only", ShownEncoder("glove-content")),
        *_lines("Universal Sentence ShownEncoder, multilingual v3", ShownEncoder("USE multilingual v3")),
    ]
    return _gains("W_cf = 0.2", lines)


def _untrained(name: str, order: str = AFTER) -> list[Line]:
    encoder = ShownEncoder(name, order=order)
    return _lines(encoder.title, encoder)


def _gains(title: str, lines: list[Line]) -> list[str]:
    head = ["encoder", "set", "W_cf = 0: Pearson / Spearman", title, "gain in Pearson"]
    return [*grid(head, (line.cells() for line in lines), words=2), "", source(FOCUS)]


def focus_before_pooling() -> list[str]:
    """The same in the paper's order, for encoders that are not fine-tuned."""
    return _gains("W_cf = 0.2, before pooling", [*_untrained("minilm-l3", BEFORE), *_untrained("minilm-l6", BEFORE)])


TRAINED_BEFORE: dict[tuple[str, str], tuple[float | str, ...]] = {  # the saved cells that are not in the grid
    ("minilm-l3", "sick"): (0.0, "tags"),
    ("minilm-l6", "sick"): (0.0, 0.2),
    ("minilm-l6", "stsb"): (0.0, 0.2),
}


def focus_trained_before_pooling() -> list[str]:
    """Encoders that were trained with the component in the paper's order."""
    rows = []
    for (name, dataset), weights in TRAINED_BEFORE.items():
        encoder = ShownEncoder(name, trained=True, order=BEFORE)
        for weight in weights:
            first = weight == weights[0]
            place = f"{NAMES[name]}, {SETS[dataset]}" if first else ""
            shown = LEARNT[weight] if isinstance(weight, str) else f"{weight:g}"
            gain = "" if first else encoder.gain(dataset, weight)
            rows.append([place, shown, encoder.scores(dataset, weight), gain])
    head = ["encoder and set", "W_cf", f"{TRAINED_WITH_IT}: Pearson / Spearman", "gain in Pearson"]
    return [*grid(head, rows, words=2), "", source(FOCUS)]


def focus_components() -> list[str]:
    """Gains with and without prepositional objects, in both orders."""
    head = ["encoder and set", *(f"{order}: with them" if kind == "" else "without" for order, kind in _components())]
    rows = [
        [f"{NAMES[encoder]}, {name}", *(_component_gain(encoder, dataset, *kind) for kind in _components())]
        for encoder in ("minilm-l3", "minilm-l6")
        for dataset, name in SETS.items()
    ]
    return [*grid(head, rows), "", source(FOCUS)]


def _components() -> list[tuple[str, str]]:
    return [(order, kind) for order in (BEFORE, AFTER) for kind in ("", f"{DIRECT}, ")]


def _component_gain(encoder: str, dataset: str, order: str, kind: str) -> str:
    protocol = f"component focus, {kind}{order}"
    cell = {"encoder": encoder, "dataset": dataset, "weight": 0.2, "strategy": UNTRAINED, "protocol": protocol}
    found = [row for pooling in ("", "mean") for row in matching(FOCUS, metric="pearson gain", pooling=pooling, **cell)]
    return bounded(single(FOCUS, found, cell))


# --- Weights that are learnt ---

LEARNT = {"one": "one weight", "roles": "one for each role", "tags": "one for each part of speech", "gate": "a gate"}


def focus_learnt() -> list[str]:
    """Gains of a weight that was learnt for a frozen encoder."""
    rows = [
        [NAMES[encoder] if dataset == "sick" else "", name, *(_learnt(encoder, dataset, kind) for kind in LEARNT)]
        for encoder in ("minilm-l3", "minilm-l6", "student")
        for dataset, name in SETS.items()
    ]
    return [*grid(["encoder", "set", *LEARNT.values()], rows, words=2), "", source(FOCUS)]


def _learnt(encoder: str, dataset: str, kind: str) -> str:
    cell = {"encoder": encoder, "dataset": dataset, "weight": kind, "strategy": UNTRAINED}
    return bounded(only(FOCUS, metric="pearson gain", **cell))


def focus_learnt_together() -> list[str]:
    """Weights that L3 learnt together with itself on SICK."""
    head = ["W_cf", "Pearson / Spearman", "gain in Pearson"]
    rows = [[LEARNT[kind].removesuffix(" weight"), *_together(kind)] for kind in ("one", "roles", "gate")]
    return [*grid(head, rows), "", source(FOCUS)]


def _together(kind: str) -> list[str]:
    cell = {"encoder": "minilm-l3", "dataset": "sick", "weight": kind, "strategy": TRAINED}
    scores = (points(only(FOCUS, metric=metric, **cell)) for metric in CORRELATIONS)
    return [slashed(*scores, digits=2), bounded(only(FOCUS, metric="pearson gain", **cell))]


TABLES: dict[str, Callable[[], list[str]]] = {
    "focus gains": focus_gains,
    "focus before pooling": focus_before_pooling,
    "focus trained before pooling": focus_trained_before_pooling,
    "focus components": focus_components,
    "focus learnt": focus_learnt,
    "focus learnt together": focus_learnt_together,
}
