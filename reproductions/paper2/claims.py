"""Test the claims of paper 2: which strategy, pooling or combination is ahead of which (papers/claims.py).

The paper's tables did not survive in our copy, its text did. It compares accuracy and F1; accuracy decides here. A
matrix keeps the accuracy of each cell on n test pairs, not its predictions, so the interval of a difference is that of
two independent rates, +- 1.96 sqrt(p (1 - p) / n + q (1 - q) / n). The cells share their test pairs, so it is too wide:
a difference that it shows is there, and one that stays open could be decided by paired draws.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reproductions.claims import Claim, Comparison, Finding, judge, judged, untested
from reproductions.paper2.cell import BY_COSINE, HEADS, WHOLE, WITHOUT_LAYERS
from sentence_distillery.evaluation.results import Result

INDEPENDENT = "95 %, as if both accuracies had test pairs of their own, so wider than paired ones"
POOLINGS = ("mean", "max", "cls")
STRATEGIES = ("cosine", "siamese", "triplet", "logistic")
ALIKE = 0.01  # of accuracy: MEAN and CLS "show quite similar results"
ALL_FEATURES = "u,v,|u-v|,u*v"
PAPERS_ENCODERS = {"bert": "BERT", "roberta": "RoBERTa", "albert": "ALBERT"}
NOT_RUN = "the cells that it compares were not run"

Place = tuple[str, str]  # an encoder and a pooling
Strategy = tuple[str, str]  # the recipe of a start, and a strategy


@dataclass(frozen=True)
class Matrix:
    """The accuracies of a matrix, by place and strategy, those of table 4 apart, and the cost of comparing."""

    cells: Mapping[tuple[Place, Strategy], Result]
    by_cosine: Mapping[tuple[Place, Strategy], Result]
    features: Mapping[tuple[Place, Strategy], Result]
    cost: Mapping[str, Mapping[str, float]]

    @property
    def places(self) -> list[Place]:
        """The encoders with their poolings."""
        return list(dict.fromkeys(place for place, _ in self.cells))


def claims(rows: Sequence[Result], cost: Iterable[Mapping[str, float | str]]) -> list[Claim]:
    """Judge every claim of sections 3.3 and 4.2 and of the conclusions.

    Args:
        rows: The figures of a matrix.
        cost: The systems of reports/pair_cost.json.
    """
    own = [row for row in rows if row.split == "test" and row.number is not None and row.seed is None]
    matrix = Matrix(
        _by_cell(row for row in own if row.metric == "accuracy" and row.table != "4"),
        _by_cell(row for row in own if row.metric == BY_COSINE.format("accuracy")),
        _by_cell(row for row in own if row.metric == "accuracy" and row.table == "4"),
        {
            str(each["system"]): {name: float(value) for name, value in each.items() if name != "system"}
            for each in cost
        },
    )
    return judge(CLAIMS, matrix, stand_ins(matrix))


def _by_cell(rows: Iterable[Result]) -> dict[tuple[Place, Strategy], Result]:
    return {((row.encoder, row.pooling), (row.start, row.strategy)): row for row in rows}


def stand_ins(matrix: Matrix) -> str:
    """Name the encoders that stand in for the paper's; empty if it has those alone."""
    names = list(dict.fromkeys(encoder for encoder, _ in matrix.places if encoder not in PAPERS_ENCODERS))
    return (
        f"{', '.join(names)}, which were already fine-tuned on sentences, for {', '.join(PAPERS_ENCODERS.values())}"
        * bool(names)
    )


def difference(one: Result, other: Result, name: str) -> Comparison:
    """Compare two accuracies as independent rates."""
    assert one.number is not None and other.number is not None
    gain = one.number - other.number
    half = 1.96 * math.sqrt(sum(each * (1 - each) / row.n for each, row in ((one.number, one), (other.number, other))))
    return Comparison(name, gain, gain - half, gain + half)


def found(comparisons: Sequence[Comparison], superlative: bool = False) -> Finding:
    """Judge comparisons of cells."""
    return judged(comparisons, superlative=superlative, basis=INDEPENDENT, otherwise=NOT_RUN)


def ahead(one: Strategy, *others: Strategy, superlative: bool = False) -> Callable[[Matrix], Finding]:
    """Test whether a strategy is more accurate than others, with every encoder and pooling that has both."""

    def check(matrix: Matrix) -> Finding:
        made = [
            difference(matrix.cells[place, one], matrix.cells[place, other], named(place, other, len(others) > 1))
            for place in matrix.places
            for other in others
            if {(place, one), (place, other)} <= matrix.cells.keys()
        ]
        return found(made, superlative=superlative)

    return check


def named(place: Place, strategy: Strategy, which: bool) -> str:
    """Name a place, and which strategy it is compared with."""
    encoder, pooling = place
    return f"{encoder} {pooling.upper()}" + (f", over {' '.join(part for part in strategy if part)}" if which else "")


def pooling_worst(strategies: Sequence[Strategy]) -> Callable[[Matrix], Finding]:
    """Test whether MAX is less accurate than MEAN and than CLS under each of these strategies."""

    def check(matrix: Matrix) -> Finding:
        made = []
        for encoder in dict.fromkeys(encoder for encoder, _ in matrix.places):
            for strategy in strategies:
                worst = matrix.cells.get(((encoder, "max"), strategy))
                for pooling in ("mean", "cls"):
                    better = matrix.cells.get(((encoder, pooling), strategy))
                    if worst and better:
                        name = f"{encoder} {' '.join(part for part in strategy if part)}, {pooling.upper()}"
                        made.append(difference(better, worst, name))
        return found(made)

    return check


def poolings_alike(matrix: Matrix) -> Finding:
    """Test whether MEAN and CLS are within ALIKE of each other."""
    made = []
    for (place, strategy), one in matrix.cells.items():
        other = matrix.cells.get(((place[0], "cls"), strategy))
        if place[1] == "mean" and other and strategy[0] in ("", "combined"):
            apart = difference(one, other, f"{place[0]} {' '.join(part for part in strategy if part)}")
            made.append(
                Comparison(apart.name, ALIKE - abs(apart.gain), text=apart.shown().removeprefix(apart.name)[1:])
            )
    finding = found(made)
    basis = "none; within one point counts as similar" if made else ""
    return Finding(finding.verdict, finding.evidence, basis)


def features_best(matrix: Matrix) -> Finding:
    """Test whether all features together are more accurate than each other combination, without hidden layers."""
    made = []
    for (place, (trained, features)), other in matrix.features.items():
        best = matrix.features.get((place, (trained, ALL_FEATURES)))
        if best and features != ALL_FEATURES and trained in (HEADS, WHOLE):
            made.append(difference(best, other, f"{place[0]} {place[1].upper()}, over ({features}), {trained}"))
    return found(made, superlative=True)


def layers_alike(matrix: Matrix) -> Finding:
    """Test whether each head with hidden layers is as accurate as the one without, within the interval."""
    made = []
    for (place, (trained, features)), deeper in matrix.features.items():
        plain = matrix.features.get((place, (WITHOUT_LAYERS[trained], features)))
        if plain and trained not in (HEADS, WHOLE):
            apart = difference(deeper, plain, f"{place[0]} {place[1].upper()}, ({features}), {trained}")
            half = (apart.high - apart.low) / 2 if apart.low is not None and apart.high is not None else 0.0
            shown = apart.shown().removeprefix(apart.name)[1:]
            made.append(Comparison(apart.name, half - abs(apart.gain), text=shown))
    return found(made)


def vectors_by_cosine(matrix: Matrix) -> Finding:
    """Test whether vectors trained by logistic regression are more accurate by cosine than untrained ones."""
    made = [
        difference(row, matrix.cells[place, ("", "cosine")], f"{place[0]} {place[1].upper()}")
        for (place, strategy), row in matrix.by_cosine.items()
        if strategy == ("", "logistic") and (place, ("", "cosine")) in matrix.cells
    ]
    return judged(made, basis=INDEPENDENT, otherwise="no kept run has the accuracy by cosine of a model with a head")


def cost(matrix: Matrix) -> Finding:
    """Test whether comparing all pairs as joined sequences is dearer than encoding each sentence once."""
    if not {"joined", "alone"} <= matrix.cost.keys():
        return judged([], otherwise="the cost was not measured in this run")
    joined, alone = matrix.cost["joined"], matrix.cost["alone"]
    return judged(
        [
            Comparison(
                "10,000 sentences",
                joined["runs"] - alone["runs"],
                text=f"{joined['runs']:,.0f} runs of a cross-encoder, {alone['runs']:,.0f} of a bi-encoder",
            )
        ],
        basis="none, runs are counted; the paper cites 65 hours of a V100",
    )


COSINE, SIAMESE, TRIPLET, LOGISTIC = (("", name) for name in STRATEGIES)
COMBINED = [("combined", name) for name in STRATEGIES]
JOINED = ("combined", "pair")


def combined_better(matrix: Matrix) -> Finding:
    """Test whether each strategy is more accurate from the cross-encoder's weights than from the published ones."""
    made = [
        difference(matrix.cells[place, one], matrix.cells[place, other], f"{named(place, other, True)}")
        for place in matrix.places
        for one, other in zip(COMBINED[1:], (SIAMESE, TRIPLET, LOGISTIC), strict=True)
        if {(place, one), (place, other)} <= matrix.cells.keys()
    ]
    return found(made)


CLAIMS: tuple[tuple[str, str, Callable[[Matrix], Finding]], ...] = (
    ("Before training, MEAN and CLS are slightly better than MAX", "table 1, section 4.2.1", pooling_worst([COSINE])),
    (
        "Over all strategies, MAX is the worst pooling",
        "section 4.2.3",
        pooling_worst([COSINE, SIAMESE, TRIPLET, LOGISTIC, JOINED]),
    ),
    ("MEAN and CLS are quite similar", "section 4.2.3", poolings_alike),
    ("Siamese networks improve all encoders with all poolings", "table 2, section 4.2.1", ahead(SIAMESE, COSINE)),
    ("Triplet networks are much better than Siamese ones", "table 3, section 4.2.1", ahead(TRIPLET, SIAMESE)),
    ("Logistic regression is much better than triplets", "table 5, section 4.2.2", ahead(LOGISTIC, TRIPLET)),
    (
        "Logistic regression gains most with RoBERTa and ALBERT",
        "section 4.2.2",
        untested("RoBERTa and ALBERT need a model hub"),
    ),
    ("(u, v, |u-v|, u*v) is the best combination", "table 4, section 4.2.2", features_best),
    ("More hidden layers of the head make no significant difference", "section 4.2.2", layers_alike),
    ("Vectors trained by logistic regression also work by cosine", "section 4.2.2", vectors_by_cosine),
    (
        "Fine-tuned cross-encoders are more accurate than all of them",
        "table 6, section 4.2.4",
        ahead(JOINED, COSINE, SIAMESE, TRIPLET, LOGISTIC),
    ),
    ("Cross-encoders are impractical for the comparison of many sentences", "section 3.3", cost),
    (
        "The combined approach is significantly better than each strategy alone",
        "table 7, sections 4.2.5 and 5",
        combined_better,
    ),
    (
        "Fine-tuning as a cross-encoder improves the vectors themselves",
        "table 7, section 4.2.5",
        ahead(COMBINED[0], COSINE),
    ),
    (
        "Large versions, as their authors report them, are better than the base ones",
        "table 6, section 4.2.4",
        untested("table 6 is lost in our copy, and the large versions need a model hub"),
    ),
)
