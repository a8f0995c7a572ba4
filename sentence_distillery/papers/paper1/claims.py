"""Test the claims of paper 1: each verdict is computed from the figures of this run.

    reproduced      the run shows what the paper says
    partly          it does for some of the systems, metrics or pairs that the claim is about
    not reproduced  it shows the opposite, or no difference
    not tested      the run lacks a figure that the claim needs, and says which

Two figures differ if they are more than half a point of a hundred apart (MARGIN), or 0.05 of MAE.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sentence_distillery.evaluation.results import Result
from sentence_distillery.papers.paper1.published import PAPER_1, our_name
from sentence_distillery.papers.paper1.reproduction import METRICS, values
from sentence_distillery.reporting.tables import PROTOCOLS, metric

MARGIN = {"pearson": 0.005, "spearman": 0.005, "f1": 0.005, "mae": 0.05}
CALIBRATED = "mae_calibrated"
RIVALS = tuple(dict.fromkeys(name for name, _ in PAPER_1 if name != "MyModel"))
REPRODUCED, PARTLY, NOT, UNTESTED = "reproduced", "partly", "not reproduced", "not tested"


@dataclass(frozen=True)
class Claim:
    """A claim, where the paper makes it, the verdict, and the figures behind it."""

    text: str
    place: str
    verdict: str
    evidence: str


@dataclass(frozen=True)
class Refinement:
    """Whether the refined vectors come from Algorithm 1 as printed, and its Spearman correlations by iteration.

    `course` is {iteration: Spearman} at the printed rate on the pairs of `benchmark`; empty if not measured.
    """

    as_printed: bool
    course: Mapping[float, float]
    benchmark: str


@dataclass(frozen=True)
class Run:
    """The figures of a run: results.csv by key, and cosines of the examples."""

    figures: Mapping[tuple[str, str, str, str, str], float]
    reviews: Mapping[str, int]  # the number of IMDB reviews that a system was trained on, and tested on
    examples: Mapping[str, Any]
    refinement: Refinement

    def stsb(self, system: str, protocol: str, name: str) -> float | None:
        """Look up a figure on STS-B test; `system` as the paper calls it, or ours."""
        return self.figures.get((our_name(system), "stsb", "test", protocol, name))


Finding = tuple[str, str]  # verdict, evidence


def claims(rows: Sequence[Result], examples: Mapping[str, Any], refinement: Refinement) -> list[Claim]:
    """Judge every claim of the abstract, the introduction and sections 3 to 5 that a figure can test."""
    reviews = {row.system: row.n for row in rows if row.dataset == "imdb"}
    run = Run(values(rows), reviews, examples, refinement)
    return [Claim(text, place, *check(run)) for text, place, check in CLAIMS]


def better(one: float, other: float, name: str) -> int:
    """Return 1 if `one` is the better figure of the metric, -1 if it is the worse, 0 within the margin."""
    gain = (one - other) * metric(name).better
    return (gain > MARGIN[name]) - (gain < -MARGIN[name])


def shown(value: float, name: str) -> str:
    return metric(name).text(value)


def _share(held: int, possible: int) -> str:
    """Return the verdict if `held` of `possible` comparisons come out as the paper says."""
    if possible == 0:
        return UNTESTED
    return REPRODUCED if held == possible else PARTLY if held else NOT


def algorithm_1(run: Run) -> Finding:
    """Test whether Algorithm 1 with the printed settings makes the vectors better at similarity."""
    course, benchmark = run.refinement.course, run.refinement.benchmark
    if len(course) < 2:
        return UNTESTED, "its course was not measured in this run"
    first, last = min(course), max(course)
    evidence = (
        f"Spearman under the mean on {benchmark} {shown(course[first], 'spearman')} to "
        f"{shown(course[last], 'spearman')} after {last:g} iterations"
    )
    return REPRODUCED if better(course[last], course[first], "spearman") > 0 else NOT, evidence


def _by_another_loss(run: Run, verdict: str, evidence: str) -> Finding:
    """Lower a verdict to partly if other vectors than those of Algorithm 1 were measured."""
    if run.refinement.as_printed or verdict == UNTESTED:
        return verdict, evidence
    return PARTLY if verdict == REPRODUCED else verdict, f"with this project’s loss, not the printed one: {evidence}"


def refined(run: Run) -> Finding:
    """Test whether refined vectors are better at similarity than skip-gram ones under each weighting of the paper."""
    parts, held, possible = [], 0, 0
    for protocol in ("mean", "tf-idf", "dpcs"):
        before, after = (run.stsb(system, protocol, "spearman") for system in ("skip-gram", "refined"))
        if before is not None and after is not None:
            possible += 1
            held += better(after, before, "spearman") > 0
            parts.append(f"{PROTOCOLS[protocol]} {shown(before, 'spearman')} to {shown(after, 'spearman')}")
    evidence = f"Spearman on STS-B test, before to after: {', '.join(parts)}" if parts else NO_STSB
    return _by_another_loss(run, _share(held, possible), evidence)


def pairs_before_after(run: Run) -> Finding:
    """Test table 1: the related pair comes closer, the unrelated one moves apart, by more than 0.05."""
    cosines = run.examples["cosines"]
    before, after = (cosines.get(name, [None, None]) for name in ("skip-gram", "refined"))
    moves = [b - a if a is not None and b is not None else None for a, b in zip(before[:2], after[:2], strict=True)]
    held = [move is not None and move * sign > 0.05 for move, sign in zip(moves, (1, -1), strict=True)]
    texts = [
        f"the {name} pair {a:.3f} to {b:.3f}" if a is not None and b is not None else f"the {name} pair has no vectors"
        for name, a, b in zip(("related", "unrelated"), before, after, strict=False)
    ]
    known = sum(move is not None for move in moves)
    verdict = UNTESTED if known == 0 else _share(sum(held), 2)
    evidence = f"cosine before to after: {' and '.join(texts)}; the paper has 0.13 to 0.72 and 0.74 to 0.20"
    return _by_another_loss(run, verdict, evidence)


def best_under(
    protocol: str, rivals: Sequence[str] = RIVALS, metrics: Sequence[str] = METRICS
) -> Callable[[Run], Finding]:
    """Test whether MyModel is better than each of `rivals` in each of `metrics`."""

    def check(run: Run) -> Finding:
        own = {name: run.stsb("MyModel", protocol, name) for name in metrics}
        if any(value is None for value in own.values()):
            return UNTESTED, NO_STSB
        named = own | {CALIBRATED: run.stsb("MyModel", protocol, CALIBRATED)}
        listed = ", ".join(
            f"{metric(name).label} {shown(value, name)}" for name, value in named.items() if value is not None
        )
        won, possible, lost, absent = 0, 0, [], []
        for rival in rivals:
            figures = {name: run.stsb(rival, protocol, name) for name in metrics}
            if any(value is None for value in figures.values()):
                absent.append(rival)
                continue
            for name, value in figures.items():
                assert value is not None
                possible += 1
                wins = better(own[name], value, name) > 0  # type: ignore[arg-type]
                won += wins
                if not wins:
                    lost.append(f"{rival} {metric(name).label} {shown(value, name)}")
        evidence = f"MyModel has {listed}; it is ahead in {won} of {possible} comparisons"
        evidence += f"; not of {', '.join(lost)}" if lost else ""
        evidence += f"; without figures here: {', '.join(absent)}" if absent else ""
        verdict = _share(won, possible)
        return PARTLY if verdict == REPRODUCED and absent else verdict, evidence

    return check


def transformers_ahead(run: Run) -> Finding:
    """Test whether SBERT and SimCSE have the higher Spearman under the mean."""
    own = run.stsb("MyModel", "mean", "spearman")
    if own is None:
        return UNTESTED, NO_STSB
    known = {name: value for name in ("SBERT", "SimCSE") if (value := run.stsb(name, "mean", "spearman")) is not None}
    if not known:
        return UNTESTED, "neither SBERT nor SimCSE has a figure in this run"
    held = sum(better(value, own, "spearman") > 0 for value in known.values())
    listed = ", ".join(f"{name} {shown(value, 'spearman')}" for name, value in known.items())
    verdict = _share(held, 2) if held else NOT
    return verdict, f"Spearman: {listed}, MyModel {shown(own, 'spearman')}"


def weighting(one: str, other: str, name: str) -> Callable[[Run], Finding]:
    """Test whether the weighting `one` is better than `other` for every system in the metric `name`."""

    def check(run: Run) -> Finding:
        systems = dict.fromkeys(key[0] for key in run.figures if key[1:4] == ("stsb", "test", one))
        both = {system: (run.stsb(system, other, name), run.stsb(system, one, name)) for system in systems}
        known = {system: (a, b) for system, (a, b) in both.items() if a is not None and b is not None}
        if not known:
            return UNTESTED, NO_STSB
        held = sum(better(b, a, name) > 0 for a, b in known.values())
        listed = ", ".join(f"{system} {shown(a, name)} to {shown(b, name)}" for system, (a, b) in known.items())
        evidence = (
            f"{metric(name).label}, {PROTOCOLS[other]} to {PROTOCOLS[one]}, better for {held} of {len(known)}: {listed}"
        )
        return _share(held, len(known)), evidence + (_calibrated(run, one, other) if name == "mae" else "")

    return check


def _calibrated(run: Run, one: str, other: str) -> str:
    """Count the systems for which the weighting `one` is better than `other` once cosines are calibrated."""
    systems = dict.fromkeys(key[0] for key in run.figures if key[1:] == ("stsb", "test", one, CALIBRATED))
    both = [(run.stsb(system, other, CALIBRATED), run.stsb(system, one, CALIBRATED)) for system in systems]
    known = [(a, b) for a, b in both if a is not None and b is not None]
    held = sum(better(b, a, "mae") > 0 for a, b in known)
    return f"; calibrated on STS-B train, for {held} of {len(known)}" if known else ""


def sentiment_best(run: Run) -> Finding:
    """Test whether MyModel has the best F1 on IMDB, of the systems that learnt from as many reviews."""
    f1 = {key[0]: value for key, value in run.figures.items() if key[1:] == ("imdb", "test", "sgd", "f1")}
    if our_name("MyModel") not in f1:
        return UNTESTED, NO_IMDB
    own = f1[our_name("MyModel")]
    there = [name for name in RIVALS if our_name(name) in f1]
    fewer = [name for name in there if run.reviews[our_name(name)] != run.reviews[our_name("MyModel")]]
    rivals = {name: f1[our_name(name)] for name in there if name not in fewer}
    won = sum(better(own, value, "f1") > 0 for value in rivals.values())
    verdict = _share(won, len(rivals))
    listed = ", ".join(f"{name} {shown(value, 'f1')}" for name, value in rivals.items())
    absent = [name for name in RIVALS if name not in there]
    notes = [("without figures here", absent), ("not compared, with another number of reviews", fewer)]
    missing = "".join(f"; {why}: {', '.join(names)}" for why, names in notes if names)
    return (
        PARTLY if verdict == REPRODUCED and missing else verdict,
        f"F1: MyModel {shown(own, 'f1')}, {listed}{missing}",
    )


def word2vec_fails(run: Run) -> Finding:
    """Test whether Word2Vec finds almost no positive review: recall 0.02 in the paper; here below 0.2."""
    recall, f1 = (run.figures.get(("skip-gram", "imdb", "test", "sgd", name)) for name in ("recall", "f1"))
    if recall is None or f1 is None:
        return UNTESTED, NO_IMDB
    return REPRODUCED if recall < 0.2 else NOT, f"recall {shown(recall, 'recall')}, F1 {shown(f1, 'f1')}"


def efficient(run: Run) -> Finding:
    """Test whether the distilled model needs a fraction of its teacher's time: here, a tenth or less."""
    student, teacher = (
        run.figures.get((our_name(name), "corpus", "", "encode", "sentences_per_second"))
        for name in ("MyModel", "teacher")
    )
    if student is None or teacher is None:
        return UNTESTED, "a speed is missing"
    evidence = f"{student:,.0f} sentences a second beside {teacher:,.0f} of the teacher"
    return REPRODUCED if student >= 10 * teacher else NOT, evidence


def keeps_the_teacher(run: Run) -> Finding:
    """Test whether the distilled model has its teacher's quality: here, nine tenths of its Spearman correlation."""
    student, teacher = (run.stsb(name, "mean", "spearman") for name in ("MyModel", "teacher"))
    if student is None or teacher is None:
        return UNTESTED, NO_STSB
    evidence = f"Spearman {shown(student, 'spearman')} of the teacher’s {shown(teacher, 'spearman')}"
    return REPRODUCED if student >= 0.9 * teacher else NOT, evidence


NO_STSB = "the figures on STS-B test that it needs are not in this run"
NO_IMDB = "the figures on IMDB that it needs are not in this run"

CLAIMS: tuple[tuple[str, str, Callable[[Run], Finding]], ...] = (
    ("Algorithm 1 at the printed rate makes word vectors better at similarity", "algorithm 1, section 5", algorithm_1),
    (
        "Refinement by Kullback-Leibler divergence makes word vectors better at similarity",
        "abstract, sections 3.1 and 5",
        refined,
    ),
    (
        "Refinement draws a related pair together and an unrelated one apart",
        "table 1, figures 2 and 3",
        pairs_before_after,
    ),
    (
        "Under the mean, MyModel is ahead of Word2Vec, GloVe and FastText in every metric",
        "table 4, section 4.3",
        best_under("mean", RIVALS[:3]),
    ),
    (
        "Under the mean, MyModel is slightly ahead of BERT in every metric",
        "table 4, section 4.3",
        best_under("mean", ("BERT",)),
    ),
    (
        "Under the mean, SBERT and SimCSE have the higher Spearman correlation",
        "table 4, section 4.3",
        transformers_ahead,
    ),
    ("With TF-IDF weights, MyModel is ahead of all in every metric", "abstract, table 5", best_under("tf-idf")),
    ("With DPCS, MyModel is ahead of all in every metric", "abstract, table 6, section 5", best_under("dpcs")),
    ("TF-IDF weights are better than the mean", "section 4.3", weighting("tf-idf", "mean", "spearman")),
    ("DPCS lowers the error further than TF-IDF weights", "table 6, section 4.3", weighting("dpcs", "tf-idf", "mae")),
    ("DPCS overcomes the limits of SIF", "sections 2.2 and 3.2", weighting("dpcs", "sif", "spearman")),
    ("On IMDB, MyModel has the highest F1 of all", "abstract, table 3", sentiment_best),
    ("On IMDB, Word2Vec finds next to no positive review", "table 3, section 4.3", word2vec_fails),
    ("Distillation keeps the depth of the teacher’s semantics", "abstract, sections 3.2 and 5", keeps_the_teacher),
    ("The distilled model preserves computational efficiency", "abstract, sections 3.2 and 5", efficient),
)
