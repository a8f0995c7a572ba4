"""Small students of both kinds, and a workspace with a small corpus and soft labels that no teacher had to make."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from reproductions.paper1.word_vectors.model import WordVectors
from reproductions.paper1.word_vectors.tokenizer import content_tokenizer
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.corpus.text import STOP_WORDS, content_tokens, tokenize
from sentence_distillery.distillation.export import export
from sentence_distillery.distillation.label_files import embedding_column, soft_label_schema, word_schema
from sentence_distillery.distillation.soft_labels import TEACHER, WORDS
from sentence_distillery.distillation.vocabulary import count_words
from sentence_distillery.encoder.native import loading
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.encoder.tokens import Tokens
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, PAIRS, PROVENANCE
from sentence_distillery.io.artifacts import write_json, write_table
from sentence_distillery.io.ragged import Floats
from stages.paths import BENCHMARKS, FINE_TUNED_LABELS, REFINED, SOFT_LABELS
from tests.reproductions.paper1.conftest import write_corpus, write_params

CARD = {
    "profile": "demo",
    "language": "en",
    "teacher": {"reference": "package:x", "sha256": "0" * 64, "pooling": "mean", "additional": []},
    "sentences": 3,
    "epochs": 1,
    "seed": 1,
}
SUBJECTS = ("storm", "ship", "bank", "court", "team", "farmer", "doctor", "minister")
VERBS = ("left", "saw", "praised", "warned", "met", "paid")
OBJECTS = ("harbour", "judge", "market", "village", "hospital", "stadium")
DOCUMENTS = [". ".join(f"The {s} {v} the {o} again" for v in VERBS for o in OBJECTS) + "." for s in SUBJECTS]
DIMENSION = 12


@pytest.fixture(scope="module", params=["native", "simple"])
def both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with the native core, and with the simple one that takes its place without a compiler."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "simple":
            patch.setenv(loading.SWITCH, "0")
            patch.setattr(Tokens, "native", None)  # also of models that were loaded before
        elif loading.core() is None:
            pytest.skip("the native core was not compiled")
        yield


def table(rows: int, columns: int) -> Floats:
    """Random token vectors, zero for the unknown token."""
    vectors = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    vectors[0] = 0.0
    return vectors


def static_encoder() -> StaticEncoder:
    words = ["the", "storm", "closed", "port", "cafe", "un", "x", "unk", "ing", "don", "t", "港", "δ", "❤", "½"]
    pieces = [f"##{piece}" for piece in (*"abcdefghijklmnopqrstuvwxyz0123456789", "known", "ing", "s", "é", "δ", "🏽")]
    vocabulary = list(dict.fromkeys([UNKNOWN, *words, *"abcdefghijklmnopqrstuvwyz0123456789", *pieces]))
    return StaticEncoder(static_tokenizer(vocabulary), table(len(vocabulary), 8))


def deep_encoder() -> StaticEncoder:
    static, rng = static_encoder(), np.random.default_rng(4)
    hidden = (rng.normal(size=(8, 5)).astype(np.float32), rng.normal(size=(5, 8)).astype(np.float32))
    return StaticEncoder(static.tokenizer, static.stored, hidden=hidden)


def paper_encoder() -> StaticEncoder:
    vocabulary = [UNKNOWN, "storm", "closed", "port", "don't", "cafe", "café", "港", "½", "x", "unk", "ing"]
    rng = np.random.default_rng(1)
    linear = (rng.normal(size=(6, 8)).astype(np.float32), rng.normal(size=6).astype(np.float32))
    return StaticEncoder(content_tokenizer(vocabulary, STOP_WORDS["en"]), table(len(vocabulary), 8), linear)


@pytest.fixture(scope="session", params=["static", "deep", "paper"])
def student(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a small student of each kind."""
    directory = tmp_path_factory.mktemp("students") / str(request.param)
    makers = {"static": static_encoder, "deep": deep_encoder, "paper": paper_encoder}
    export(makers[request.param](), CARD, directory)
    return directory


@pytest.fixture
def static_student(tmp_path: Path) -> Path:
    export(static_encoder(), CARD, tmp_path / "static")
    return tmp_path / "static"


def texts() -> list[list[str]]:
    """The sentences of each part of the corpus that `write_corpus` makes of DOCUMENTS."""
    return [[s.strip() for d in part for s in d.split(".") if s.strip()] for part in (DOCUMENTS[:4], DOCUMENTS[4:])]


def word_table() -> dict[str, Floats]:
    words = sorted(count_words(" ".join(DOCUMENTS).split()))
    rng = np.random.default_rng(2)
    return {word: rng.normal(size=DIMENSION).astype(np.float32) for word in words}


def write_soft_labels(constant: bool = False, directory: Path = SOFT_LABELS) -> None:
    """Write soft labels like a teacher's: means of fixed word vectors; `constant` makes them all equal."""
    words = word_table()
    for number, part in enumerate(texts()):
        vectors = np.stack([np.mean([words[word] for word in text.lower().split()], axis=0) for text in part])
        if constant:
            vectors[:] = 1.0
        sentence = [(d << 20) + p for d in range(4) for p in range(len(part) // 4)]
        columns = [pa.array(sentence, pa.int64()), embedding_column(vectors)]
        labels = pa.table(columns, schema=soft_label_schema(DIMENSION))
        write_table(directory / f"part-{number:05d}.parquet", labels)
    counts = count_words(text for part in texts() for text in part)
    columns = [
        pa.array(list(words)),
        pa.array([counts[word] for word in words]),
        embedding_column(np.stack(list(words.values()))),
    ]
    write_table(directory / WORDS, pa.table(columns, schema=word_schema(DIMENSION)))
    teacher = {"reference": "package:x", "revision": None, "sha256": "0" * 64, "pooling": "mean"}
    write_json(directory / TEACHER, teacher | {"maximum_length": 128, "dimension": DIMENSION, "additional": []})


def write_fine_tuned_labels() -> None:
    """Write those of fine-tuned teachers, which are equal to the others here."""
    write_soft_labels(directory=FINE_TUNED_LABELS)
    write_json(FINE_TUNED_LABELS / VARIANT, {"absent": None})


def write_refined(seed: int = 3) -> None:
    words = sorted({word for document in DOCUMENTS for word in content_tokens(tokenize(document))})
    vectors = np.random.default_rng(seed).normal(size=(len(words), 5)).astype(np.float32)
    WordVectors(words, np.ones(len(words), np.int64), vectors).save(REFINED, {})


def write_benchmarks(**splits: tuple[str, ...]) -> None:
    """Make pair sets by name, 30 pairs a split, scored by shared words; dev and test are for evaluation."""
    sentences = [text for part in texts() for text in part]
    evaluated: list[str] = []
    sets = {}
    for name, listed in splits.items():
        rows: list[tuple[str, str, str, float, None]] = []
        for split in listed:
            order = np.random.default_rng(len(rows)).permutation(len(sentences))
            pairs = [(f"{sentences[a]} {split}", f"{sentences[b]} {split}") for a, b in order[:60].reshape(-1, 2)]
            rows += [(split, *pair, 5 * _overlap(*pair), None) for pair in pairs]
            evaluated += [text for pair in pairs for text in pair if split != "train"]
        columns = [list(column) for column in zip(*rows, strict=True)]
        write_table(BENCHMARKS / f"{name}.parquet", pa.table(columns, schema=PAIRS))
        sets[name] = {"kind": "pairs", "scale": [0, 5], "rows": dict.fromkeys(listed, 30)}
    marks = pa.array(fingerprints(evaluated), pa.uint64())
    write_table(BENCHMARKS / "evaluation_fingerprints.parquet", pa.table([marks], schema=EVALUATION_FINGERPRINTS))
    write_json(BENCHMARKS / PROVENANCE, {"sets": sets, "absent": {}, "pair_sets": []})


def _overlap(one: str, other: str) -> float:
    words = [set(text.lower().split()) for text in (one, other)]
    return len(words[0] & words[1]) / len(words[0] | words[1])


def student_params(kind: str = "static", **changes: object) -> None:
    """params.yaml with a student small enough for a test."""
    if kind == "paper":
        write_params(paper_student={"epochs": 4, "batch_size": 32, "learning_rate": 0.05} | changes)
    else:
        write_params(student={"dimension": 6, "epochs": 4, "batch_size": 32, "learning_rate": 0.02} | changes)


@pytest.fixture
def workspace(on_one_thread: None, tmp_path: Path) -> Path:
    """The current directory: two parts of a corpus with soft labels, and refined word vectors; one thread."""
    write_corpus(DOCUMENTS[:4], part=0)
    write_corpus(DOCUMENTS[4:], part=1)
    write_soft_labels()
    write_refined()
    write_benchmarks(samples=("dev", "test"))
    return tmp_path


def files(directory: Path) -> dict[str, bytes]:
    """The content of every file below `directory`, by its path."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


REPOSITORY = Path(__file__).parents[3]


def subprocess_environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(REPOSITORY)}


def in_python(code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run code in a new interpreter, which finds the repository's packages."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=subprocess_environment())
