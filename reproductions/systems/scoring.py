"""Score a system under every weighting on every benchmark set that is present, and measure its speed."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from reproductions.paper1.word_vectors.weighting import Weighting
from reproductions.systems.calibration import Calibration, calibrated_error, calibration
from reproductions.systems.data import CALIBRATED, EvaluationData
from reproductions.systems.options import Evaluate
from reproductions.systems.registry import Loader
from reproductions.systems.systems import TOKENS, StudentSystem, System, WordSystem, features, means
from reproductions.systems.weighted import Scheme, embed, fit_schemes, save_schemes
from sentence_distillery.evaluation.present import sample
from sentence_distillery.evaluation.protocols.sgd import PROTOCOL, SENTIMENT_METRICS, classify
from sentence_distillery.evaluation.protocols.similarity import correlations, cosines, on_five, similarity_figures
from sentence_distillery.evaluation.results import Result, as_result, count
from sentence_distillery.evaluation.scoring import speed
from sentence_distillery.evaluation.sets.data import DocumentSet, PairSet
from sentence_distillery.evaluation.tasks import scored
from sentence_distillery.io.counters import Counters
from sentence_distillery.io.ragged import Floats, unit_rows
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.runtime.progress import track

Seen = Callable[[str, str, PairSet, Floats], None]  # gets a system, a weighting, pairs and their cosines


def unseen(system: str, weighting: str, pairs: PairSet, predicted: Floats) -> None:
    """Do nothing with the cosines of a system."""


def pair_cosines(system: System, schemes: list[Scheme], pairs: PairSet) -> list[Floats]:
    """Return the cosine of each pair under each weighting, (pairs,) float32."""
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))  # many sentences are in several pairs
    row = {text: row for row, text in enumerate(texts)}
    left, right = ([row[text] for text in side] for side in (pairs.sentences1, pairs.sentences2))
    return [cosines(vectors[left], vectors[right]) for vectors in embed(system, schemes, texts)]


def calibrations(system: System, schemes: list[Scheme], pairs: PairSet) -> list[Calibration | Unavailable]:
    """Fit a calibration for each weighting on training pairs."""
    assert pairs.scores is not None and pairs.scale is not None
    ratings = on_five(pairs.scores, pairs.scale)
    return [calibration(predicted, ratings) for predicted in pair_cosines(system, schemes, pairs)]


def similarity_results(
    system: System,
    schemes: list[Scheme],
    pairs: PairSet,
    calibrated: Sequence[Calibration | Unavailable | None] = (None,) * len(Weighting),
    seen: Seen = unseen,
) -> Iterator[Result]:
    """Yield Pearson, Spearman and MAE under each weighting, and the calibrated MAE if there are calibrations."""
    assert pairs.scores is not None and pairs.scale is not None
    for scheme, fitted, predicted in zip(schemes, calibrated, pair_cosines(system, schemes, pairs), strict=False):
        seen(system.name, str(scheme.weighting), pairs, predicted)
        figures = similarity_figures(predicted, pairs.scores, pairs.scale)
        if fitted is not None:
            error = calibrated_error(fitted, predicted, pairs.scores, pairs.scale, figures["mae"])
            figures["mae_calibrated"] = error
        for metric, value in figures.items():
            protocol = str(scheme.weighting)
            yield Result(system.name, pairs.name, pairs.split, protocol, metric, value, len(pairs.scores))


def sentiment_results(system: System, splits: tuple[DocumentSet, DocumentSet], params: Evaluate) -> Iterator[Result]:
    """Yield precision, recall and F1 of an SGD classifier on the embeddings, and on tokens that have vectors."""
    transformer = not isinstance(system, WordSystem | StudentSystem)
    limit = params.transformer_documents if transformer else params.documents
    train, test = (sample(split, limit, params.seed) for split in splits)
    for protocol in (PROTOCOL,) if transformer else (PROTOCOL, TOKENS):
        if limit:
            train_features, test_features = (features(system, split.texts, protocol) for split in (train, test))
            figures = classify(train_features, train.labels, test_features, test.labels, params.seed)
        else:
            name = "transformer_documents" if transformer else "documents"
            reason = Unavailable(f"left out: evaluate.{name} is 0")
            figures = dict.fromkeys(SENTIMENT_METRICS, reason)
        for metric, value in figures.items():
            yield Result(system.name, test.name, "test", protocol, metric, value, len(test.texts))


def word_results(system: WordSystem, pairs: PairSet) -> Iterator[Result]:
    """Yield Pearson and Spearman of the word pairs that have both vectors; n is their number."""
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


def own_means(system: System, texts: list[str]) -> Floats:
    """Embed texts by the system's own mean in one call, which is timed."""
    return system.pool(system.token_ids(texts), [None])[0]


def unit_means(system: System, texts: list[str]) -> Floats:
    """Embed texts by the system's own mean, rows of unit length: classifiers and k-means depend on the length."""
    return unit_rows(means(system, texts))


def score(
    system: System, data: EvaluationData, params: Evaluate, weighting: Path, seen: Seen = unseen
) -> Iterator[Result]:
    """Compute all figures of a system.

    Args:
        system: The encoder of tokens.
        data: The corpus to fit weightings on, and the sets to score on.
        params: Weightings, sizes of samples and the seed.
        weighting: A directory; the token weights and directions of each weighting are saved there.
        seen: Is called with the cosines of each set under each weighting.

    Yields:
        A figure for each set, weighting and metric; the speed comes last.
    """
    schemes = fit_schemes(system, data.corpus, params)
    save_schemes(system, schemes, weighting)
    fitted = calibrations(system, schemes, data.calibration) if data.calibration else []
    for pairs in data.similarity:
        calibrated = fitted if fitted and pairs.name == CALIBRATED else [None] * len(schemes)
        yield from similarity_results(system, schemes, pairs, calibrated, seen)
    if isinstance(system, WordSystem):
        for pairs in data.words:
            yield from word_results(system, pairs)
    for documents in data.documents:
        yield from sentiment_results(system, documents, params)
    for task in data.tasks:
        for each in scored(lambda texts, _=None: unit_means(system, texts), task):
            yield as_result(system.name, *task.place, each, with_interval=False)
    sentences = data.corpus[: params.speed_sentences]
    yield speed(system.name, partial(own_means, system), sentences, params.speed_seconds)


def unavailable_results(name: str, reason: Unavailable, data: EvaluationData) -> Iterator[Result]:
    """Yield the reason in place of each figure that the system of this name would have."""
    for pairs in data.similarity:
        for weighting in Weighting:
            calibrated = data.calibration is not None and pairs.name == CALIBRATED
            for metric in ("pearson", "spearman", "mae", *(["mae_calibrated"] if calibrated else [])):
                place = (name, pairs.name, pairs.split, str(weighting), metric)
                yield Result(*place, reason, len(pairs.sentences1))
    for _, test in data.documents:
        for metric in SENTIMENT_METRICS:
            yield Result(name, test.name, "test", PROTOCOL, metric, reason, len(test.texts))
    for task in data.tasks:
        for protocol, metric in task.columns:
            yield Result(name, task.tested.name, task.tested.split, protocol, metric, reason, task.size)
    yield Result(name, "corpus", "", "encode", "sentences_per_second", reason, 0)


def score_all(
    systems: Sequence[tuple[str, Loader]],
    data: EvaluationData,
    params: Evaluate,
    weighting: Path,
    counters: Counters,
    look: Callable[[System], None] = lambda system: None,
    seen: Seen = unseen,
) -> Iterator[Result]:
    """Compute the figures of systems, one system at a time in memory.

    Args:
        systems: The name of each system, and its loader.
        data: As for `score`.
        params: As for `score`.
        weighting: As for `score`.
        counters: Count the figures, those without a value by their reasons.
        look: Is called with each system.
        seen: As for `score`.

    Yields:
        The figures of each system, or the reason in place of each.
    """
    for name, load in track(systems, len(systems), "systems"):
        system = load()
        if isinstance(system, Unavailable):
            results = unavailable_results(name, system, data)
        else:
            look(system)
            results = score(system, data, params, weighting, seen)
        for result in results:
            count(result, counters)
            yield result
        del system  # before the next one is loaded
