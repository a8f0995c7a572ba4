"""The scores of a system on a set, and a published figure that must be reproduced."""

import csv
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reproductions.paper1.published import PAPER_1, with_published
from reproductions.systems.calibration import calibrated_error, calibration
from reproductions.systems.data import EvaluationData
from reproductions.systems.options import Evaluate
from reproductions.systems.scoring import (
    calibrations,
    own_means,
    score,
    similarity_results,
    unavailable_results,
    word_results,
)
from reproductions.systems.systems import StudentSystem, TeacherSystem, WordSystem
from reproductions.systems.weighted import embed, fit_schemes
from sentence_distillery.evaluation.protocols.similarity import cosines, similarity_figures
from sentence_distillery.evaluation.scoring import FIRST_SAMPLE, RUNS, speed
from sentence_distillery.evaluation.sets.data import DocumentSet, PairSet
from sentence_distillery.io.ragged import TokenIds
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime import stopwatch
from sentence_distillery.teachers.sentence_modules import SentenceModules
from sentence_distillery.teachers.transformer import load_encoder
from stages.params import Params
from tests.reproductions.systems.test_weighted import CORPUS
from tests.sentence_distillery.evaluation.sets.conftest import real
from tests.workspace import demo_params

PARAMS = Evaluate(**demo_params()["evaluate"])


def pair_set(name: str = "stsb", split: str = "test") -> PairSet:
    left = ["the storm closed", "the dog plays", "harbour", "the storm"]
    right = ["the storm plays", "the dog", "the harbour", "dog"]
    return PairSet(name, split, left, right, np.array([3, 4, 5, 0], dtype=np.float32), None, (0.0, 5.0))


def word_set(left: list[str], right: list[str], scores: list[float]) -> PairSet:
    return PairSet("wordsim353", "test", left, right, np.array(scores, dtype=np.float32), None, (0.0, 10.0))


def test_a_row_for_each_weighting_and_metric(words: WordSystem) -> None:
    pairs, schemes = pair_set("lee"), fit_schemes(words, CORPUS, PARAMS)
    results = list(map(with_published, similarity_results(words, schemes, pairs)))
    assert [(result.protocol, result.metric) for result in results] == [
        (protocol, metric)
        for protocol in ("mean", "tf-idf", "sif", "dpcs", "dpcs+common")
        for metric in ("pearson", "spearman", "mae")
    ]
    assert {(result.system, result.dataset, result.split, result.n) for result in results} == {
        ("skip-gram", "lee", "test", 4)
    }
    assert {result.published for result in results} == {None}
    one, other = (embed(words, schemes, texts)[0] for texts in (pairs.sentences1, pairs.sentences2))
    assert pairs.scores is not None
    expected = similarity_figures(cosines(one, other), pairs.scores, (0.0, 5.0))
    assert {result.metric: result.value for result in results[:3]} == expected


def test_published_figures_stand_beside_ours(words: WordSystem, student: StudentSystem) -> None:
    """Only if system, weighting, metric and set are the paper's: STS-B test, its student and not our own."""
    for system, name in ((words, "Word2Vec"), (replace(student, name="paper student"), "MyModel")):
        schemes = fit_schemes(system, CORPUS, PARAMS)
        fitted = calibrations(system, schemes, pair_set(split="train"))
        for result in map(with_published, similarity_results(system, schemes, pair_set(), fitted)):
            if result.metric == "mae_calibrated":
                assert (result.paper, result.published) == ("", None)
                continue
            figure = PAPER_1.get((name, result.protocol))
            assert (result.paper, result.table) == (("1", figure.table) if figure else ("", ""))
            assert result.published == (getattr(figure, result.metric) if figure else None)
        for pairs in (pair_set(split="dev"), pair_set("sick")):
            assert {with_published(row).paper for row in similarity_results(system, schemes, pairs)} == {""}
    assert {with_published(row).paper for row in similarity_results(student, schemes, pair_set())} == {""}


def test_calibrated_on_other_pairs(words: WordSystem) -> None:
    """With the pairs under test themselves the calibration fits best of all; it changes nothing else."""
    schemes, pairs = fit_schemes(words, CORPUS, PARAMS), pair_set()
    plain = {(r.protocol, r.metric): r.value for r in similarity_results(words, schemes, pairs)}
    fitted = calibrations(words, schemes, replace(pairs, split="train"))
    found = {(r.protocol, r.metric): r.value for r in similarity_results(words, schemes, pairs, calibrated=fitted)}
    assert {key: value for key, value in found.items() if key[1] != "mae_calibrated"} == plain
    for protocol in ("mean", "tf-idf", "sif", "dpcs", "dpcs+common"):
        assert found[protocol, "mae_calibrated"] < found[protocol, "mae"]  # type: ignore[operator]


def test_calibration_by_hand() -> None:
    """Two scores in the wrong order share their mean; in between it is a line, beyond the ends it stays."""
    fitted = calibration(np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 3, 2], np.float32))
    assert not isinstance(fitted, Unavailable)
    found = fitted(np.array([0.1, 0.2, 0.3, 0.15, -1, 1], np.float32))
    np.testing.assert_allclose(found, [1, 2.5, 2.5, 1.75, 1, 2.5], atol=1e-5)


def test_calibrated_error() -> None:
    """A level of the cosines that is wrong everywhere costs nothing, their order still does, on the scale 0-5."""
    cosine, gold = np.linspace(0.5, 0.9, 20).astype(np.float32), np.linspace(0, 10, 20).astype(np.float32)
    scale = (0.0, 10.0)
    fitted = calibration(cosine, gold / np.float32(2))
    plain = similarity_figures(cosine, gold, scale)["mae"]
    assert isinstance(plain, float) and plain > 1
    assert calibrated_error(fitted, cosine, gold, scale, plain) == pytest.approx(0.0, abs=1e-5)
    reversed_ = calibrated_error(fitted, cosine[::-1], gold, scale, plain)
    assert reversed_ == pytest.approx(np.abs(gold - gold[::-1]).mean() / 2, abs=1e-4)
    nothing = similarity_figures(cosine[:0], gold[:0], scale)["mae"]
    assert calibrated_error(fitted, cosine[:0], gold[:0], scale, nothing) == Unavailable("0 pairs")


@pytest.mark.fault(20)
def test_a_constant_system(words: WordSystem) -> None:
    """A system with equal cosines for all pairs has a reason instead of correlations, and no NaN."""
    schemes = fit_schemes(words, CORPUS, PARAMS)[:1]
    same = replace(pair_set(), sentences1=["the dog"] * 4, sentences2=["the dog"] * 4)
    for result in similarity_results(words, schemes, same):
        assert isinstance(result.value, Unavailable) == (result.metric != "mae")


@pytest.mark.fault(19)
def test_unknown_sentences_have_a_cosine_of_zero(words: WordSystem) -> None:
    """A pair without a known word is scored, as 0, and not left out."""
    pairs = replace(pair_set(), sentences1=["qwxz", "the dog plays", "harbour", ""])
    results = list(similarity_results(words, fit_schemes(words, CORPUS, PARAMS), pairs))
    assert {result.n for result in results} == {4}
    assert all(isinstance(result.value, float) for result in results)


def test_word_pairs_with_both_vectors_count(words: WordSystem) -> None:
    pairs = word_set(["Storm", "dog", "tiger", "harbour"], ["harbour", "PLAYS", "dog", "the"], [9, 4, 7, 1])
    found = {result.metric: result for result in word_results(words, pairs)}
    row = words.model.index
    left, right = ([row[word] for word in side] for side in (["storm", "dog", "harbour"], ["harbour", "plays", "the"]))
    predicted = cosines(words.model.vectors[left], words.model.vectors[right])
    assert found["pearson"].value == pytest.approx(np.corrcoef(predicted, [9, 4, 1])[0, 1], abs=1e-5)
    assert {(result.n, result.protocol) for result in found.values()} == {(3, "cosine")}


@pytest.mark.parametrize(("left", "n"), [(["tiger", "cat"], 0), (["tiger", "dog"], 1)])
@pytest.mark.fault(20)
def test_too_few_known_words(left: list[str], n: int, words: WordSystem) -> None:
    """Without two known pairs there is no correlation, and n says why."""
    for result in word_results(words, word_set(left, ["storm", "storm"], [1, 2])):
        assert (result.n, result.value) == (n, Unavailable(f"{n} pairs"))


def test_speed(student: StudentSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that takes 0.2 s for 1000 sentences: ten are encoded repeatedly, in a sample that doubles
    until it takes long enough; n is their number."""
    encoded: list[int] = []
    token_ids = StudentSystem.token_ids

    def counted(system: StudentSystem, sentences: list[str]) -> TokenIds:
        encoded.append(len(sentences))
        return token_ids(system, sentences)

    monkeypatch.setattr(StudentSystem, "token_ids", counted)
    clock = SimpleNamespace(perf_counter=lambda: sum(encoded) * 0.2 / 1000)
    monkeypatch.setattr(stopwatch, "time", clock)
    few = speed("student", partial(own_means, student), CORPUS[:10], 0.2)
    assert (few.metric, few.protocol) == ("sentences_per_second", "encode")
    assert few.n == 8 * FIRST_SAMPLE == 1024
    assert few.value == pytest.approx(1000 / 0.2)
    assert encoded == [64, 128, 256, 512, 1024] + RUNS * [1024]


def test_packaged_teacher_scores_as_published() -> None:
    """all-MiniLM-L6-v2 on the test split of the STS Benchmark: Pearson 0.8274, Spearman 0.8203."""
    with (real("stsb") / "stsb-en-test.csv").open(encoding="utf-8", newline="") as file:
        left, right, scores = (list(column) for column in zip(*csv.reader(file), strict=True))
    system = TeacherSystem(load_encoder(Params(**demo_params()).teacher), batch_tokens=4096)
    one, other = (system.pool(system.token_ids(texts), [None])[0] for texts in (left, right))
    figures = similarity_figures(cosines(one, other), np.array(scores, dtype=np.float32), (0.0, 5.0))
    assert len(scores) == 1379
    assert figures["pearson"] == pytest.approx(0.8274, abs=5e-4)
    assert figures["spearman"] == pytest.approx(0.8203, abs=5e-4)


def test_a_teacher_with_another_pooling_has_its_own_vector_alone(teacher: TeacherSystem, tmp_path: Path) -> None:
    """Weights of tokens say nothing of the first token's output."""
    first = replace(teacher, encoder=replace(teacher.encoder, modules=SentenceModules(poolings=("cls",))))
    data = EvaluationData(CORPUS, [pair_set()], [], [])
    assert {row.protocol for row in score(first, data, PARAMS, tmp_path)} == {"mean", "encode"}


def test_an_unavailable_system_has_the_rows_of_a_present_one(teacher: TeacherSystem, tmp_path: Path) -> None:
    """Each has a reason instead of a value."""
    reviews = DocumentSet("imdb", "test", ["the storm", "dog plays"] * 4, ["1", "0"] * 4)
    train = replace(reviews, split="train")
    data = EvaluationData(CORPUS, [pair_set(), pair_set("lee")], [], [(train, reviews)], pair_set(split="train"))
    present = list(score(replace(teacher, name="BERT"), data, PARAMS, tmp_path))
    reason = Unavailable("weights not available here")
    absent = list(unavailable_results("BERT", reason, data))
    assert [replace(row, value=reason, n=0) for row in present] == [replace(row, n=0) for row in absent]
    assert {row.value for row in absent} == {reason}
    published = {(row.table, row.metric): row.published for row in map(with_published, absent) if row.table}
    assert published["4", "pearson"] == 0.451 and published["3", "f1"] == 0.76 and len(published) == 12


def test_words_that_the_run_asks_for() -> None:
    reviews = DocumentSet("imdb", "test", ["Superb"], ["1"])
    words = word_set(["Tiger"], ["cat"], [1.0])
    data = EvaluationData(["A storm."], [pair_set()], [words], [(reviews, reviews)])
    assert {"storm", "closed", "harbour", "tiger", "cat", "superb"} <= set(data.vocabulary())
