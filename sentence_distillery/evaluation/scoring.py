"""Stage `evaluate`: every system under every weighting on every benchmark that is present, and its speed."""

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from sentence_distillery.benchmarks.data import DocumentSet, PairSet
from sentence_distillery.benchmarks.metrics import (
    Calibration,
    Undefined,
    calibration,
    correlations,
    cosines,
    on_five,
    similarity_figures,
)
from sentence_distillery.evaluation.classification import PROTOCOL, TOKENS, classify, features, sample
from sentence_distillery.evaluation.data import CALIBRATED, Material
from sentence_distillery.evaluation.loading import Absent
from sentence_distillery.evaluation.options import Evaluate
from sentence_distillery.evaluation.results import Result
from sentence_distillery.evaluation.systems import StudentSystem, System, WordSystem
from sentence_distillery.evaluation.weighted import Scheme, embed, fit_schemes, save_schemes
from sentence_distillery.io.ragged import Floats
from sentence_distillery.papers.paper1.published import PAPER_1, PAPER_1_SENTIMENT
from sentence_distillery.word_vectors.weighting import Weighting

PAPER_NAMES = {"skip-gram": "Word2Vec", "paper student": "MyModel"} | {
    name: name for name in ("GloVe", "FastText", "BERT", "SBERT", "SimCSE")
}
WARM_UP = 64  # sentences
FIRST_SAMPLE = 128  # sentences; the sample grows until it takes long enough
SAMPLE_SECONDS = 0.2
RUNS = 5
SENTIMENT_METRICS = ("precision", "recall", "f1")


def pair_cosines(system: System, schemes: list[Scheme], pairs: PairSet) -> list[Floats]:
    """The cosine of each pair under each weighting, (pairs,)."""
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))  # many a sentence stands in several pairs
    row = {text: row for row, text in enumerate(texts)}
    left, right = ([row[text] for text in side] for side in (pairs.sentences1, pairs.sentences2))
    return [cosines(vectors[left], vectors[right]) for vectors in embed(system, schemes, texts)]


def calibrations(system: System, schemes: list[Scheme], pairs: PairSet) -> list[Calibration]:
    """One for each weighting, fitted on training pairs."""
    assert pairs.scores is not None and pairs.scale is not None
    gold = on_five(pairs.scores, pairs.scale)
    return [calibration(predicted, gold) for predicted in pair_cosines(system, schemes, pairs)]


def similarity_results(
    system: System,
    schemes: list[Scheme],
    pairs: PairSet,
    names: dict[str, str],
    calibrated: Sequence[Calibration | None] = (None,) * len(Weighting),
) -> Iterator[Result]:
    """Pearson, Spearman and MAE under each weighting, beside paper 1's where it has them."""
    assert pairs.scores is not None and pairs.scale is not None
    for scheme, fitted, predicted in zip(schemes, calibrated, pair_cosines(system, schemes, pairs), strict=False):
        figures = similarity_figures(predicted, pairs.scores, pairs.scale, fitted)
        for metric, value in figures.items():
            yield _with_published(
                Result(system.name, pairs.name, pairs.split, str(scheme.weighting), metric, value, len(pairs.scores)),
                names,
            )


def _with_published(result: Result, names: dict[str, str]) -> Result:
    """Set paper, table and published where paper 1 has the same system and weighting on this set."""
    figure = PAPER_1.get((names.get(result.system, ""), result.protocol))
    if figure is None or (result.dataset, result.split) != ("stsb", "test") or not hasattr(figure, result.metric):
        return result
    return replace(result, paper="1", table=figure.table, published=getattr(figure, result.metric))


def sentiment_results(
    system: System, splits: tuple[DocumentSet, DocumentSet], params: Evaluate, names: dict[str, str]
) -> Iterator[Result]:
    """Precision, recall and F1 of an SGD classifier, beside paper 1's where it has them.

    On the embeddings, and on the tokens where these have vectors of their own.
    """
    transformer = not isinstance(system, WordSystem | StudentSystem)
    limit = params.transformer_documents if transformer else params.documents
    train, test = (sample(split, limit, params.seed) for split in splits)
    for protocol in (PROTOCOL,) if transformer else (PROTOCOL, TOKENS):
        if limit:
            train_features, test_features = (features(system, split.texts, protocol) for split in (train, test))
            figures = classify(train_features, train.labels, test_features, test.labels, params.seed)
        else:
            name = "transformer_documents" if transformer else "documents"
            reason = Undefined(f"left out: evaluate.{name} is 0")
            figures = dict.fromkeys(SENTIMENT_METRICS, reason)
        for metric, value in figures.items():
            row = Result(system.name, test.name, "test", protocol, metric, value, len(test.texts))
            yield _with_sentiment(row, names)


def _with_sentiment(result: Result, names: dict[str, str]) -> Result:
    """Set paper, table and published where paper 1's table 3 has the same system on IMDB."""
    figure = PAPER_1_SENTIMENT.get(names.get(result.system, ""))
    if figure is None or (result.dataset, result.protocol) != ("imdb", PROTOCOL):
        return result
    return replace(result, paper="1", table="3", published=getattr(figure, result.metric))


def word_results(system: WordSystem, pairs: PairSet) -> Iterator[Result]:
    """Pearson and Spearman of the word pairs that have both vectors; n says how many they are."""
    assert pairs.scores is not None
    index = system.model.index
    known = [
        (index[one.lower()], index[other.lower()], row)
        for row, (one, other) in enumerate(zip(pairs.sentences1, pairs.sentences2, strict=True))
        if one.lower() in index and other.lower() in index
    ]
    left, right, rows = (list(column) for column in zip(*known, strict=True)) if known else ([], [], [])
    predicted = cosines(system.model.vectors[left], system.model.vectors[right])
    for metric, value in correlations(predicted, pairs.scores[rows]).items():
        yield Result(system.name, pairs.name, pairs.split, "cosine", metric, value, len(known))


def speed(system: System, sentences: list[str]) -> Result:
    """Sentences a second from text to embeddings, in one call without threads of ours: the median of RUNS on a sample
    that takes SAMPLE_SECONDS, the sentences over and over where there are too few."""

    def seconds(count: int) -> float:
        sample = list(islice(cycle(sentences), count))
        started = time.perf_counter()
        system.pool(system.token_ids(sample), [None])
        return time.perf_counter() - started

    seconds(WARM_UP)
    count = FIRST_SAMPLE
    while seconds(count) < SAMPLE_SECONDS:
        count *= 2
    rate = count / statistics.median(seconds(count) for _ in range(RUNS))
    return Result(system.name, "corpus", "", "encode", "sentences_per_second", rate, count)


def score(
    system: System, material: Material, params: Evaluate, names: dict[str, str], weighting: Path
) -> Iterator[Result]:
    """All figures of a system; its weights are saved in `weighting`."""
    schemes = fit_schemes(system, material.corpus, params)
    save_schemes(system, schemes, weighting)
    fitted = calibrations(system, schemes, material.calibration) if material.calibration else []
    for pairs in material.similarity:
        calibrated = fitted if fitted and pairs.name == CALIBRATED else [None] * len(schemes)
        yield from similarity_results(system, schemes, pairs, names, calibrated)
    if isinstance(system, WordSystem):
        for pairs in material.words:
            yield from word_results(system, pairs)
    for documents in material.documents:
        yield from sentiment_results(system, documents, params, names)
    yield speed(system, material.corpus[: params.speed_sentences])


def absent_results(absent: Absent, material: Material, names: dict[str, str]) -> Iterator[Result]:
    """A row with the reason for each figure that the system would have."""
    reason = Undefined(absent.reason)
    for pairs in material.similarity:
        for weighting in Weighting:
            calibrated = material.calibration is not None and pairs.name == CALIBRATED
            for metric in ("pearson", "spearman", "mae", *(["mae_calibrated"] if calibrated else [])):
                result = Result(
                    absent.name, pairs.name, pairs.split, str(weighting), metric, reason, len(pairs.sentences1)
                )
                yield _with_published(result, names)
    for _, test in material.documents:
        for metric in SENTIMENT_METRICS:
            result = Result(absent.name, test.name, "test", PROTOCOL, metric, reason, len(test.texts))
            yield _with_sentiment(result, names)
    yield Result(absent.name, "corpus", "", "encode", "sentences_per_second", reason, 0)


def headline(results: list[Result]) -> dict[str, float]:
    """Each system's own mean on each test split, and its speed, flat for `dvc metrics`."""
    return {
        "/".join(part for part in (result.system, result.dataset, result.metric) if part != "corpus"): result.value
        for result in results
        if result.split != "dev" and result.protocol in ("mean", "encode") and isinstance(result.value, float)
    }
