"""Stage `evaluate`: every system under every weighting on every benchmark that is present, and its speed."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from stages.artifacts import atomic_directory, read_table, table_parts, write_json
from stages.benchmarks.data import Kind, PairSet, Split, available, load_pairs, splits
from stages.corpus.schema import SENTENCES_DIRECTORY
from stages.evaluation.published import PAPER_1
from stages.evaluation.results import METRICS, RESULTS, Result, write_results
from stages.evaluation.similarity import Undefined, correlations, cosines, similarity_figures
from stages.evaluation.systems import System, WordSystem, load_systems
from stages.evaluation.weighted import WEIGHTING, Scheme, embed, fit_schemes, save_schemes
from stages.progress import track
from stages.stage import stage

SPLITS: tuple[Split, ...] = ("dev", "test")
PAPER_NAMES = {"skip-gram": "Word2Vec"}  # our system -> its name in paper 1
WARM_UP = 64  # sentences
FIRST_SAMPLE = 128  # sentences; the sample grows until it takes half a second
SAMPLE_SECONDS = 0.5


def similarity_results(
    system: System, schemes: list[Scheme], pairs: PairSet, names: dict[str, str]
) -> Iterator[Result]:
    """Pearson, Spearman and MAE under each weighting, beside paper 1's where it has them."""
    assert pairs.scores is not None and pairs.scale is not None
    texts = list(dict.fromkeys([*pairs.sentences1, *pairs.sentences2]))  # many a sentence stands in several pairs
    row = {text: row for row, text in enumerate(texts)}
    left, right = ([row[text] for text in side] for side in (pairs.sentences1, pairs.sentences2))
    for scheme, vectors in zip(schemes, embed(system, schemes, texts), strict=True):
        figures = similarity_figures(cosines(vectors[left], vectors[right]), pairs.scores, pairs.scale)
        for metric, value in figures.items():
            yield _with_published(
                Result(system.name, pairs.name, pairs.split, str(scheme.weighting), metric, value, len(pairs.scores)),
                names,
            )


def _with_published(result: Result, names: dict[str, str]) -> Result:
    """Set paper, table and published where paper 1 has the same system and weighting on this set."""
    figure = PAPER_1.get((names.get(result.system, ""), result.protocol))
    if figure is None or (result.dataset, result.split) != ("stsb", "test"):
        return result
    return replace(result, paper="1", table=figure.table, published=getattr(figure, result.metric))


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
    """Sentences a second from text to embeddings, on a sample large enough to take half a second."""
    count = FIRST_SAMPLE
    system.pool(system.token_ids(sentences[:WARM_UP]), [None])
    while True:
        started = time.perf_counter()
        system.pool(system.token_ids(sentences[:count]), [None])
        seconds = time.perf_counter() - started
        if seconds >= SAMPLE_SECONDS or count >= len(sentences):
            rate = min(count, len(sentences)) / seconds
            return Result(system.name, "corpus", "", "encode", "sentences_per_second", rate, min(count, len(sentences)))
        count *= 4


def read_corpus() -> list[str]:
    schema = pa.schema([("text", pa.string())])
    return [text for part in table_parts(SENTENCES_DIRECTORY) for text in read_table(part, schema)["text"].to_pylist()]


def pair_sets(kind: Kind) -> list[PairSet]:
    """Every dev and test split that has scores."""
    names = [(name, split) for name in available(kind=kind) for split in SPLITS if split in splits(name)]
    return [pairs for name, split in names if (pairs := load_pairs(name, split)).scores is not None]


def headline(results: list[Result]) -> dict[str, float]:
    """Each system's own mean on each test split, and its speed, flat for `dvc metrics`."""
    return {
        "/".join(part for part in (result.system, result.dataset, result.metric) if part != "corpus"): result.value
        for result in results
        if result.split != "dev" and result.protocol in ("mean", "encode") and isinstance(result.value, float)
    }


def main() -> None:
    with stage("evaluate", unit="figures") as (params, counters):
        corpus = read_corpus()
        similarity, words = pair_sets("pairs"), pair_sets("words")
        names = PAPER_NAMES | ({"student": "MyModel"} if params.student.kind == "paper" else {})
        systems = load_systems(params)
        results: list[Result] = []
        with atomic_directory(WEIGHTING) as weighting:
            for system in track(systems, len(systems), "systems"):
                schemes = fit_schemes(system, corpus, params.evaluate)
                save_schemes(system, schemes, weighting)
                for pairs in similarity:
                    results += similarity_results(system, schemes, pairs, names)
                if isinstance(system, WordSystem):
                    results += [result for pairs in words for result in word_results(system, pairs)]
                results.append(speed(system, corpus[: params.evaluate.speed_sentences]))
        for result in results:
            if isinstance(result.value, Undefined):
                counters.drop(str(result.value))
            else:
                counters.keep()
        write_results(RESULTS, results)
        write_json(METRICS, headline(results))


if __name__ == "__main__":
    main()
