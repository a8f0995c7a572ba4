"""Verdicts on the claims of paper 1, from invented figures with a known verdict."""

from dataclasses import replace
from typing import Any

import pytest

from sentence_distillery.evaluation.results import Result
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.papers.paper1 import claims as module
from sentence_distillery.papers.paper1.claims import NOT, PARTLY, REPRODUCED, UNTESTED, Claim, Refinement, claims
from sentence_distillery.papers.paper1.published import PAPER_1, PAPER_1_SENTIMENT, our_name

FIGURES = {"pearson": 0.5, "spearman": 0.5, "mae": 1.5}
NO_EXAMPLES: dict[str, Any] = {"cosines": {}, "words": {}}
PRINTED = Refinement(True, {}, "")


def row(system: str, dataset: str, protocol: str, metric: str, value: float | str, paper: str = "1") -> Result:
    split = "test" if protocol != "encode" else ""
    figure = Unavailable(value) if isinstance(value, str) else value
    return Result(system, dataset, split, protocol, metric, figure, 1379, paper)


def stsb(system: str, protocol: str, paper: str = "1", **figures: float | str) -> list[Result]:
    return [row(system, "stsb", protocol, metric, value, paper) for metric, value in (FIGURES | figures).items()]


def paper_rows() -> list[Result]:
    """The figures that the paper prints, as if this run had found them."""
    rows = [
        r
        for (name, protocol), known in PAPER_1.items()
        for r in stsb(our_name(name), protocol, pearson=known.pearson, spearman=known.spearman, mae=known.mae)
    ]
    rows += [
        row(our_name(name), "imdb", "sgd", metric, getattr(known, metric))
        for name, known in PAPER_1_SENTIMENT.items()
        for metric in ("precision", "recall", "f1")
    ]
    rows += stsb("teacher", "mean", paper="", spearman=0.5)
    return rows + [
        row(name, "corpus", "encode", "sentences_per_second", speed, "")
        for name, speed in (("paper student", 900.0), ("teacher", 45.0))
    ]


def found(rows: list[Result], examples: dict[str, Any] = NO_EXAMPLES) -> dict[str, Claim]:
    return {claim.text: claim for claim in claims(rows, examples, PRINTED)}


def by_start(rows: list[Result], start: str, examples: dict[str, Any] = NO_EXAMPLES) -> Claim:
    (claim,) = (claim for text, claim in found(rows, examples).items() if text.startswith(start))
    return claim


def test_the_papers_own_figures_bear_its_claims_out() -> None:
    """Where they contradict each other in the paper, too: with them, TF-IDF lowers FastText's Spearman, DPCS raises
    the error of BERT, and MyModel's MAE under the mean is within the margin of SBERT's."""
    verdicts = {text: claim.verdict for text, claim in found(paper_rows()).items()}
    reproduced = {text for text, verdict in verdicts.items() if verdict == REPRODUCED}
    assert any(text.startswith("Under the mean, MyModel is ahead of Word2Vec") for text in reproduced)
    assert any(text.startswith("On IMDB, MyModel has the highest") for text in reproduced)
    assert any(text.startswith("On IMDB, Word2Vec finds") for text in reproduced)
    assert any(text.startswith("The distilled model preserves") for text in reproduced)
    assert any(text.startswith("Distillation keeps") for text in reproduced)
    assert by_start(paper_rows(), "TF-IDF weights").verdict == PARTLY
    assert "FastText 47.20 to 36.40" in by_start(paper_rows(), "TF-IDF weights").evidence
    assert by_start(paper_rows(), "DPCS lowers").verdict == PARTLY
    assert by_start(paper_rows(), "Under the mean, SBERT and").verdict == PARTLY  # 0.482 against 0.481 is not a lead


def test_other_numbers_of_reviews_are_not_compared() -> None:
    fewer = [replace(r, n=500) if (r.system, r.dataset) == ("SimCSE", "imdb") else r for r in paper_rows()]
    claim = by_start(fewer, "On IMDB, MyModel has the highest")
    assert claim.verdict == PARTLY
    assert claim.evidence.endswith("; not compared, with another number of reviews: SimCSE")


def test_without_figures_nothing_is_judged() -> None:
    assert {claim.verdict for claim in claims([], NO_EXAMPLES, PRINTED)} == {UNTESTED}
    assert all(claim.evidence for claim in claims([], NO_EXAMPLES, PRINTED))


def test_our_student_is_not_mymodel() -> None:
    """Our student's figures say nothing about the paper's model, however good they are."""
    rows = [replace(r, system="student") if r.system == "paper student" else r for r in paper_rows()]
    for start in ("With DPCS, MyModel", "Under the mean, MyModel", "On IMDB, MyModel", "Distillation keeps"):
        for text, claim in found(rows).items():
            if text.startswith(start):
                assert claim.verdict == UNTESTED


def test_calibrated_errors_stand_beside_the_plain_ones() -> None:
    """The verdict still follows the paper's own measure."""
    rows = paper_rows()
    for protocol, value in (("tf-idf", 0.9), ("dpcs", 0.7)):
        rows.append(row("paper student", "stsb", protocol, "mae_calibrated", value))
        rows.append(row("GloVe", "stsb", protocol, "mae_calibrated", 1.0))
    plain, more = (by_start(made, "DPCS lowers") for made in (paper_rows(), rows))
    assert more.verdict == plain.verdict
    assert more.evidence == f"{plain.evidence}; calibrated on STS-B train, for 1 of 2"
    assert "MAE calibrated 0.700" in by_start(rows, "With DPCS, MyModel").evidence


def test_an_absent_system_is_not_beaten() -> None:
    rows = [
        replace(r, value=Unavailable("weights not available here")) if r.system in ("BERT", "SBERT") else r
        for r in paper_rows()
    ]
    claim = by_start(rows, "With TF-IDF weights, MyModel")
    assert claim.verdict == PARTLY
    assert "without figures here: BERT, SBERT" in claim.evidence
    assert by_start(rows, "Under the mean, MyModel is slightly").verdict == UNTESTED


@pytest.mark.parametrize(("after", "verdict"), [(0.6, REPRODUCED), (0.503, NOT), (0.4, NOT)])
def test_refinement(after: float, verdict: str) -> None:
    rows = stsb("skip-gram", "mean") + stsb("refined", "mean", paper="", spearman=after)
    claim = by_start(rows, "Refinement by Kullback")
    assert claim.verdict == verdict
    assert f"Mean 50.00 to {after * 100:.2f}" in claim.evidence


def test_another_loss_than_the_printed_one() -> None:
    """A result of this project's own loss is not the paper's: partly at most."""
    rows = stsb("skip-gram", "mean") + stsb("refined", "mean", paper="", spearman=0.6)
    other = {claim.text: claim for claim in claims(rows, NO_EXAMPLES, Refinement(False, {}, ""))}
    claim = other["Refinement by Kullback-Leibler divergence makes word vectors better at similarity"]
    assert claim.verdict == PARTLY and "this project’s loss" in claim.evidence


@pytest.mark.parametrize(("last", "verdict"), [(0.42, REPRODUCED), (0.403, NOT), (0.1, NOT)])
def test_algorithm_1(last: float, verdict: str) -> None:
    """From its first iteration to its last, whatever is in between."""
    course = Refinement(False, {0: 0.4, 10: 0.9, 50: last}, "lee/test")
    claim = claims([], NO_EXAMPLES, course)[0]
    assert claim.verdict == verdict
    assert claim.evidence == f"Spearman under the mean on lee/test 40.00 to {last * 100:.2f} after 50 iterations"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([0.1, 0.7], [0.7, 0.2], REPRODUCED),
        ([0.1, 0.7], [0.7, 0.69], PARTLY),
        ([0.84, 0.74], [0.83, 0.74], NOT),
        ([None, 0.7], [None, 0.2], PARTLY),
        ([None, None], [None, None], UNTESTED),
    ],
)
def test_pairs(before: list[float | None], after: list[float | None], verdict: str) -> None:
    claim = by_start([], "Refinement draws", {"cosines": {"skip-gram": before, "refined": after}, "words": {}})
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("one", "other", "name", "expected"),
    [
        (0.51, 0.5, "pearson", 1),
        (0.504, 0.5, "pearson", 0),
        (1.3, 1.4, "mae", 1),
        (1.5, 1.4, "mae", -1),
        (1.42, 1.4, "mae", 0),
    ],
)
def test_better(one: float, other: float, name: str, expected: int) -> None:
    assert module.better(one, other, name) == expected


@pytest.mark.parametrize(("speed", "verdict"), [(450.0, REPRODUCED), (449.0, NOT)])
def test_ten_times_as_fast(speed: float, verdict: str) -> None:
    rows = [
        row(name, "corpus", "encode", "sentences_per_second", value)
        for name, value in (("paper student", speed), ("teacher", 45.0))
    ]
    assert by_start(rows, "The distilled model").verdict == verdict


def test_every_claim_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every figure of the paper reversed, no claim is reproduced except those of speed and of Word2Vec."""
    turned = [
        r if r.number is None or r.dataset == "corpus" else replace(r, value=(3 if r.metric == "mae" else 1) - r.number)
        for r in paper_rows()
    ]
    cosines = {"skip-gram": [0.7, 0.2], "refined": [0.1, 0.7]}
    verdicts = {claim.text: claim.verdict for claim in claims(turned, {"cosines": cosines, "words": {}}, PRINTED)}
    held = {text for text, verdict in verdicts.items() if verdict == REPRODUCED}
    assert held <= {
        "The distilled model preserves computational efficiency",
        "Distillation keeps the depth of the teacher’s semantics",
    }
