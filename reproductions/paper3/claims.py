"""Test the claims of paper 3 about sentences and their components (papers/claims.py).

A gain is that over W_cf = 0 on the same pairs, with its interval over 2,000 paired draws of the pairs, seeds together.
The paper prints figures without intervals: there a gain is the difference of two rows, and its sign decides. Only STS-B
and SICK count, with components as table 2 defines them. Of an encoder with gains in both orders of adding and pooling
those in the paper's order are judged.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reproductions.claims import PAIRED, Claim, Comparison, Finding, judge, judged, untested
from reproductions.paper3.gains import (
    AFTER,
    CROSSED,
    DIRECT,
    GAIN,
    TRAINED,
    UNTRAINED,
    order_of,
    series_name,
)
from sentence_distillery.evaluation.results import Result
from sentence_distillery.reporting.tables import label

TASKS = ("sick", "stsb")
CLAIMED = 0.2  # the weight that the paper calls the best
SMALL = (0.1, 0.2, 0.3, 0.4, 0.5)
LARGEST_LOSS = 0.06  # "When W_cf > 6.0, all the performance degradation exceeds six points"
ROUGHLY = 0.01  # "the results for all approaches remained roughly the same"
THEIRS = "Universal Sentence Encoder"
USE = (THEIRS, "USE")  # how the names of its versions start
SEMEVAL = 0.828  # Pearson of ECNU's first run on SICK-R, the best of SemEval-2014
NO_INTERVAL = "none, the differences of single figures"
NOT_RUN = "no cell of this run compares it"


@dataclass(frozen=True)
class Grid:
    """The figures of a grid on the paper's tasks, and their gains over W_cf = 0."""

    figures: Sequence[Result]
    gains: Sequence[Result]

    def of(self, metric: str, weights: Sequence[float], trained: bool) -> list[Result]:
        """Return gains in a metric at these weights, of encoders that are trained with the component or are not."""
        return [
            gain
            for gain in self.gains
            if gain.metric == GAIN.format(metric)
            and isinstance(gain.weight, float)
            and gain.weight in weights
            and (gain.strategy != UNTRAINED) == trained
        ]


def claims(rows: Sequence[Result]) -> list[Claim]:
    """Judge every claim of sections 3 to 5 by the rows of a grid."""
    own = [row for row in rows if row.dataset in TASKS and DIRECT not in row.protocol]
    known = [row for row in own if row.number is not None and row.seed is None]
    figures = [row for row in known if row.low is None and not row.metric.endswith("gain")]
    gains = [row for row in known if row.metric.endswith("gain")]
    return judge(CLAIMS, Grid(figures, gains or list(plain_gains(figures))), stand_ins(figures))


def plain_gains(figures: Sequence[Result]) -> Iterator[Result]:
    """Yield the differences of figures to that at W_cf = 0, for figures that were printed."""
    base = {_series(row): row for row in figures if row.weight == 0.0}
    for row in figures:
        start = base.get(_series(row))
        if start and row.weight and row.number is not None and start.number is not None:
            yield replace(row, metric=GAIN.format(row.metric), value=row.number - start.number)


def _series(row: Result) -> tuple[str, ...]:
    return row.encoder, row.pooling, row.dataset, row.metric, row.protocol, row.strategy


def stand_ins(figures: Sequence[Result]) -> str:
    """Name the encoders that stand in for the paper's."""
    names = dict.fromkeys(row.encoder for row in figures if row.encoder not in ("bert", "sbert", "bert-large", THEIRS))
    return f"{', '.join(names)} for BERT tuned on NLI and the Universal Sentence Encoder" if names else ""


def name_of(row: Result) -> str:
    """Name a gain: the encoder, how the component is added if not as in the paper, the set and the weight."""
    order = [AFTER] if order_of(row) == AFTER else []
    parts = [series_name(row.encoder, row.pooling), *order, label(row.dataset), f"W {row.weight:g}"]
    return ", ".join(parts)


def found(gains: Sequence[Result], turn: Callable[[Comparison], Comparison] = lambda each: each) -> Finding:
    """Judge gains; `turn` converts a gain to the claim's terms."""
    made = [turn(Comparison(name_of(row), row.number or 0.0, row.low, row.high)) for row in gains]
    basis = PAIRED if all(row.low is not None for row in gains) else NO_INTERVAL
    return judged(made, basis=basis, otherwise=NOT_RUN)


def paper_order(gains: Sequence[Result]) -> list[Result]:
    """Keep of each encoder and task the gains with the paper's order of adding and pooling, if it has some."""
    before = {_place(row) for row in gains if order_of(row) != AFTER}
    return [row for row in gains if order_of(row) != AFTER or _place(row) not in before]


def _place(row: Result) -> tuple[str, str, str]:
    """Return encoder, pooling and set; rows of earlier runs do not name the mean."""
    return row.encoder, row.pooling or "mean", row.dataset


def better(metric: str, weights: Sequence[float], trained: bool) -> Callable[[Grid], Finding]:
    """Test whether weights are better than 0 in a metric."""
    return lambda grid: found(paper_order(grid.of(metric, weights, trained)))


def worse(weights: Callable[[float], bool], by: float = 0.0) -> Callable[[Grid], Finding]:
    """Test whether weights are worse than 0 by more than `by`, in Pearson, with trained encoders."""

    def turn(each: Comparison) -> Comparison:
        low, high = (None if end is None else -end - by for end in (each.high, each.low))
        return Comparison(each.name, -each.gain - by, low, high, text=each.shown().removeprefix(f"{each.name} "))

    def check(grid: Grid) -> Finding:
        known = sorted(filter(weights, _weights(grid)))
        return found(paper_order(grid.of("pearson", known, trained=True)), turn)

    return check


def greatest_near(grid: Grid) -> Finding:
    """Test whether the best weight of each trained series with some of SMALL is between 0.1 and 0.3.

    It is open if the interval of the gain at the best weight holds 0, or if 0 is best and that at CLAIMED holds 0.
    """
    made = []
    series: dict[tuple[str, str, str], dict[float, Result]] = {}
    for row in paper_order(grid.of("pearson", sorted(_weights(grid)), trained=True)):
        key = (series_name(row.encoder, row.pooling), row.dataset, order_of(row))
        series.setdefault(key, {})[float(row.weight or 0.0)] = row
    for (encoder, task, order), gains in series.items():
        if CLAIMED in gains and len(gains.keys() & set(SMALL)) > 1:
            best = max([0.0, *gains], key=lambda weight: (gains[weight].number or 0.0) if weight else 0.0)
            row = gains[best or CLAIMED]
            name = ", ".join([encoder, *([AFTER] if order == AFTER else []), label(task)])
            near = 0.15 - abs(best - CLAIMED)
            if row.low is not None and row.high is not None and row.low <= 0 <= row.high:
                made.append(Comparison(name, near, -1.0, 1.0, text=f"best at {best:g}, within the noise"))
            else:
                made.append(Comparison(name, near, text=f"best at {best:g}"))
    return judged(made, basis="95 %, of the gain at that weight, 2,000 paired draws", otherwise=NOT_RUN)


def _weights(grid: Grid) -> set[float]:
    return {row.weight for row in grid.gains if isinstance(row.weight, float)}


def diminishing(grid: Grid) -> Finding:
    """Test whether the stronger of two encoders gains less: each with the next one by Pearson at W_cf = 0."""
    made = []
    for metric in ("pearson", "accuracy"):
        for task in TASKS:
            made += _falling(grid, metric, task)
    return judged(made, basis="none, differences of gains", otherwise="fewer than two encoders have gains in this run")


def _falling(grid: Grid, metric: str, task: str) -> list[Comparison]:
    """Compare the gains of encoders of rising strength, trained ones if there are two, else those at inference."""
    sides = [
        [row for row in paper_order(grid.of(metric, [CLAIMED], kind)) if row.dataset == task] for kind in (True, False)
    ]
    chosen = sides[0] if len(sides[0]) > 1 else sides[1]
    if any(row.encoder == THEIRS for row in grid.gains):  # the paper compares it with the trained ones
        chosen = [row for side in sides for row in side]
    start = {
        (row.encoder, row.pooling, row.strategy): row.number or 0.0
        for row in grid.figures
        if (row.metric, row.dataset, row.weight) == (metric, task, 0.0)
    }
    ranked = sorted(chosen, key=lambda row: start.get((row.encoder, row.pooling, row.strategy), 0.0))
    return [
        Comparison(
            f"{weak.encoder} and {strong.encoder}, {label(task)} {metric}",
            (weak.number or 0.0) - (strong.number or 0.0),
        )
        for weak, strong in pairwise(ranked)
    ]


def pooling(grid: Grid) -> Finding:
    """Test whether MEAN has a higher Pearson than MAX and CLS, at W_cf = 0 and 0.2."""
    figures = {
        (row.encoder, row.dataset, row.weight, row.strategy, order_of(row), row.pooling or "mean"): row.number or 0.0
        for row in grid.figures
        if row.metric == "pearson" and row.weight in (0.0, CLAIMED) and " by " not in row.protocol
    }
    made = []
    for (encoder, task, weight, strategy, order, how), value in figures.items():
        mean = figures.get((encoder, task, weight, strategy, order, "mean"))
        if how != "mean" and mean is not None and order != AFTER:
            made.append(Comparison(f"{encoder} over {how.upper()}, {label(task)}, W {weight:g}", mean - value))
    return judged(made, basis=NO_INTERVAL, otherwise="no cells with another pooling were run")


def distances(grid: Grid) -> Finding:
    """Test whether Spearman by Manhattan and Euclidean distance is within ROUGHLY of that by cosine."""
    made = []
    cosine = {
        (*_key(row), order_of(row)): row.number or 0.0
        for row in grid.figures
        if row.metric == "spearman" and " by " not in row.protocol
    }
    for row in grid.figures:
        _, _, distance = row.protocol.partition(" by ")
        same = cosine.get((*_key(row), order_of(row)))
        if row.metric == "spearman" and distance and row.weight in (0.0, CLAIMED) and same is not None:
            change = (row.number or 0.0) - same
            name = f"{name_of(row)} by {distance.partition(',')[0]}"
            text = Comparison("", change).shown().strip()
            made.append(Comparison(name, ROUGHLY - abs(change), text=text))
    return judged(made, basis="none; within a point counts as the same", otherwise="no cells by a distance were run")


def _at(grid: Grid, weight: float, metric: str) -> dict[tuple[str, str], Result]:
    """Return a figure at a weight by the name of its encoder, trained or not, and its set."""
    found: dict[tuple[str, str], Result] = {}
    rows = [row for row in grid.figures if (row.weight, row.metric) == (weight, metric)]
    plain = [row for row in rows if " by " not in row.protocol and not row.protocol.startswith("trained on")]
    for kind in (TRAINED, UNTRAINED):
        for row in paper_order([row for row in plain if row.strategy == kind]):
            name = series_name(row.encoder, row.pooling) + f", {UNTRAINED}" * (kind == UNTRAINED)
            found.setdefault((name, row.dataset), row)
    return found


def ahead_of_use(grid: Grid) -> Finding:
    """Test whether encoders that were trained on a task are ahead of the Universal Sentence Encoder, which was not."""
    made = []
    for metric in ("pearson", "accuracy"):
        rows = _at(grid, 0.0, metric)
        theirs = {task: row for (_, task), row in rows.items() if row.encoder.startswith(USE)}
        for (name, task), row in rows.items():
            if row.strategy != UNTRAINED and task in theirs:
                gain = (row.number or 0.0) - (theirs[task].number or 0.0)
                made.append(Comparison(f"{name}, {label(task)} {metric}", gain))
    return judged(made, basis=NO_INTERVAL, otherwise="no version of it was scored in this run")


def ahead_of_semeval(grid: Grid) -> Finding:
    """Test whether encoders trained with the component at 0.2 are ahead of the best run of SemEval-2014 on SICK-R."""
    rows = _at(grid, CLAIMED, "pearson")
    made = [
        Comparison(name, (row.number or 0.0) - SEMEVAL)
        for (name, task), row in rows.items()
        if row.strategy != UNTRAINED and task == "sick"
    ]
    return judged(made, basis="none, differences to a printed figure", otherwise=NOT_RUN)


def cross_encoders(grid: Grid) -> Finding:
    """Test whether a cross-encoder is ahead of the bi-encoder without the component, and behind the one with it."""
    made = []
    without, with_it = (_at(grid, weight, "pearson") for weight in (0.0, CLAIMED))
    for row in grid.figures:
        if row.strategy == CROSSED and row.metric == "pearson":
            place, name = (row.encoder, row.dataset), f"{row.encoder}, {label(row.dataset)}"
            for others, sign, said in ((without, 1, "over W 0"), (with_it, -1, "W 0.2 over it")):
                if place in others:
                    gain = sign * ((row.number or 0.0) - (others[place].number or 0.0))
                    made.append(Comparison(f"{name}, {said}", gain))
    return judged(made, basis=NO_INTERVAL, otherwise="no cross-encoder was scored in this run")


def _key(row: Result) -> tuple[object, ...]:
    return row.encoder, row.pooling, row.dataset, row.weight, row.strategy


CLAIMS: tuple[tuple[str, str, Callable[[Grid], Finding]], ...] = (
    (
        "Trained with the component at 0.2, encoders are better at similarity",
        "abstract, table 5",
        better("pearson", [CLAIMED], trained=True),
    ),
    (
        "With the component at inference alone, too",
        "table 5: Universal Sentence Encoder",
        better("pearson", [CLAIMED], trained=False),
    ),
    ("Trained with it, they are better at entailment", "table 6", better("accuracy", [CLAIMED], trained=True)),
    (
        "At inference alone, entailment is better, too",
        "table 6: Universal Sentence Encoder",
        better("accuracy", [CLAIMED], trained=False),
    ),
    ("Every weight from 0.1 to 0.5 is better than 0", "section 5, figure 3", better("pearson", SMALL, trained=True)),
    ("The best weight is near 0.2", "section 5, table 7", greatest_near),
    ("Beyond 0.5 it is worse than without", "section 5", worse(lambda weight: weight > 0.5)),
    ("From 6 on more than six points are lost", "section 5", worse(lambda weight: weight >= 6.0, LARGEST_LOSS)),
    ("The stronger the encoder, the less it gains", "section 4.5", diminishing),
    ("MEAN is a better pooling than MAX and CLS", "section 3.2.1", pooling),
    ("Manhattan and Euclidean distance make no difference", "section 3.2.1", distances),
    (
        "Training on NLI first is better by several points",
        "section 3.2.2",
        untested("both versions of BERT need a model hub; MiniLM and mpnet were already trained on NLI"),
    ),
    (
        "Averages of BERT’s outputs are worse than those of GloVe vectors at times",
        "section 4.3",
        untested("BERT needs a model hub; the encoders here were fine-tuned on sentences and are far ahead of GloVe"),
    ),
    (
        "SBERT is slightly weaker than BERT as a cross-encoder, and CF-BERT slightly better",
        "sections 4.3 and 4.4",
        cross_encoders,
    ),
    (
        "Encoders that are trained on the task are ahead of the Universal Sentence Encoder",
        "sections 4.3 and 4.5, tables 5 and 6",
        ahead_of_use,
    ),
    ("With the component, trained encoders exceed the best of SemEval-2014", "section 4.3, table 5", ahead_of_semeval),
    (
        "The largest encoder with the component is ahead of all other sentence models and entailment systems",
        "sections 4.3 and 4.4",
        untested("it is BERT-large, which needs a model hub; smaller or other encoders cannot stand for it here"),
    ),
    (
        "Over the weights, there is no significant difference between the base and the large encoder",
        "section 5",
        untested("both sizes of BERT need a model hub"),
    ),
    (
        "Training costs about what it costs without the component; the parser runs once",
        "section 4.5",
        untested(
            "the rows of the grid have no seconds; sentences and components are both encoded, half as many tokens more"
        ),
    ),
)
