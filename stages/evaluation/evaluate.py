"""Stage `evaluate`: every system under every weighting on every benchmark that is present, and its speed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from stages.artifacts import atomic_directory, read_table, table_parts, write_json
from stages.benchmarks.data import DocumentSet, Kind, PairSet, Split, available, load_documents, load_pairs, splits
from stages.corpus.schema import SENTENCES_DIRECTORY
from stages.corpus.text import tokenize
from stages.evaluation.examples import Examples
from stages.evaluation.published import PAPER_1, PAPER_1_SENTIMENT
from stages.evaluation.results import EXAMPLES, METRICS, RESULTS, Result, write_results
from stages.evaluation.sentiment import PROTOCOL, classify, features, sample
from stages.evaluation.similarity import Undefined, correlations, cosines, similarity_figures
from stages.evaluation.systems import Absent, System, TeacherSystem, WordSystem, loaders
from stages.evaluation.weighted import WEIGHTING, Scheme, embed, fit_schemes, save_schemes
from stages.params import Evaluate
from stages.progress import track
from stages.stage import stage
from stages.vectors.weighting import Weighting

SPLITS: tuple[Split, ...] = ("dev", "test")
PAPER_NAMES = {"skip-gram": "Word2Vec"} | {name: name for name in ("GloVe", "FastText", "BERT", "SBERT", "SimCSE")}
WARM_UP = 64  # sentences
FIRST_SAMPLE = 128  # sentences; the sample grows until it takes half a second
SAMPLE_SECONDS = 0.5
SENTIMENT_METRICS = ("precision", "recall", "f1")


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


def sentiment_results(
    system: System, splits: tuple[DocumentSet, DocumentSet], params: Evaluate, names: dict[str, str]
) -> Iterator[Result]:
    """Precision, recall and F1 of an SGD classifier on the embeddings, beside paper 1's where it has them."""
    transformer = isinstance(system, TeacherSystem)
    limit = params.transformer_documents if transformer else params.documents
    train, test = (sample(split, limit, params.seed) for split in splits)
    if limit:
        (train_vectors, test_vectors) = (features(system, split.texts) for split in (train, test))
        figures = classify(train_vectors, train.labels, test_vectors, test.labels, params.seed)
    else:
        name = "transformer_documents" if transformer else "documents"
        reason = Undefined(f"left out: evaluate.{name} is 0")
        figures = dict.fromkeys(SENTIMENT_METRICS, reason)
    for metric, value in figures.items():
        yield _with_sentiment(Result(system.name, test.name, "test", PROTOCOL, metric, value, len(test.texts)), names)


def _with_sentiment(result: Result, names: dict[str, str]) -> Result:
    """Set paper, table and published where paper 1's table 3 has the same system on IMDB."""
    figure = PAPER_1_SENTIMENT.get(names.get(result.system, ""))
    if figure is None or result.dataset != "imdb":
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


def document_sets() -> list[tuple[DocumentSet, DocumentSet]]:
    """The train and test split of every set that has both."""
    names = [name for name in available(kind="documents") if {"train", "test"} <= set(splits(name))]
    return [(load_documents(name, "train"), load_documents(name, "test")) for name in names]


@dataclass(frozen=True)
class Material:
    """What every system is scored on."""

    corpus: list[str]
    similarity: list[PairSet]
    words: list[PairSet]
    documents: list[tuple[DocumentSet, DocumentSet]]

    @classmethod
    def read(cls) -> "Material":
        return cls(read_corpus(), pair_sets("pairs"), pair_sets("words"), document_sets())

    def vocabulary(self) -> Iterator[str]:
        """Every word of it, with repetitions."""
        pairs = [text for found in (*self.similarity, *self.words) for text in (*found.sentences1, *found.sentences2)]
        documents = [text for found in self.documents for split in found for text in split.texts]
        for text in (*self.corpus, *pairs, *documents):
            yield from tokenize(text)


def score(
    system: System, material: Material, params: Evaluate, names: dict[str, str], weighting: Path
) -> Iterator[Result]:
    """All figures of a system; its weights are saved in `weighting`."""
    schemes = fit_schemes(system, material.corpus, params)
    save_schemes(system, schemes, weighting)
    for pairs in material.similarity:
        yield from similarity_results(system, schemes, pairs, names)
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
            for metric in ("pearson", "spearman", "mae"):
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


def main() -> None:
    with stage("evaluate", unit="figures") as (params, counters):
        material = Material.read()
        names = PAPER_NAMES | ({"student": "MyModel"} if params.student.kind == "paper" else {})
        systems = loaders(params, material.vocabulary)
        results: list[Result] = []
        examples = Examples()
        with atomic_directory(WEIGHTING) as weighting:
            for load in track(systems, len(systems), "systems"):
                system = load()
                if isinstance(system, Absent):
                    results += absent_results(system, material, names)
                else:
                    results += score(system, material, params.evaluate, names, weighting)
                    examples.add(system)
                del system  # before the next one is loaded
        for result in results:
            if isinstance(result.value, Undefined):
                counters.drop(str(result.value))
            else:
                counters.keep()
        write_results(RESULTS, results)
        write_json(METRICS, headline(results))
        write_json(EXAMPLES, examples.content())


if __name__ == "__main__":
    main()
