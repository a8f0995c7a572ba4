"""`make release`: its outputs, its refusals, and the directory in git."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer

from measurements import encoding as bench
from measurements.release import student as release
from measurements.release import tradeoff as pareto
from measurements.release.pareto import with_released
from measurements.release.student import Source
from measurements.release.tradeoff import Workload, mlp_head_rows, own_rows, released_rows, token_counts
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.distillation.export import export, write_model
from sentence_distillery.distillation.sizing import CHANNEL
from sentence_distillery.encoder.persistence.names import CONFIG
from sentence_distillery.encoder.static_encoder import VARIANT, StaticEncoder
from sentence_distillery.encoder.tokenizer import UNKNOWN, static_tokenizer
from sentence_distillery.evaluation.sets.data import EVALUATION_FINGERPRINTS, FINGERPRINTS, PAIRS, BenchmarkData
from sentence_distillery.io.artifacts import InputError, write_json, write_table
from sentence_distillery.io.ragged import Floats
from tests.sentence_distillery.distillation.conftest import files
from tests.sentence_distillery.evaluation.sets.conftest import real
from tests.workspace import ROOT

CARD = {
    "profile": "best",
    "language": "en",
    "teacher": {
        "maximum_length": 128,
        "dimension": 16,
        "reference": "package:x",
        "sha256": "0" * 64,
        "pooling": "mean",
        "additional": [],
    },
    "sentences": 3,
    "epochs": 1,
    "seed": 1,
}
SUBJECTS = ["storm", "ship", "bank", "court", "team", "farmer", "doctor", "minister", "dog", "child"]
VERBS = ["left", "saw", "praised", "warned", "met", "paid"]
VOCABULARY = [UNKNOWN, "the", *SUBJECTS, *VERBS]
SENTENCES = [f"the {one} {verb} the {other}" for one in SUBJECTS for verb in VERBS for other in SUBJECTS[:4]]
STORIES = [
    f"Yesterday the {one} and the {other} met. Nobody warned the {one}." for one in SUBJECTS for other in SUBJECTS
]


def table(seed: int = 1) -> Floats:
    vectors = np.random.default_rng(seed).normal(size=(len(VOCABULARY), 16)).astype(np.float32)
    vectors[0] = 0.0
    return vectors


def student(directory: Path, vectors: Floats, profile: str = "best") -> StaticEncoder:
    encoder = StaticEncoder(static_tokenizer(VOCABULARY), vectors)
    export(encoder, CARD | {"profile": profile}, directory / "student")
    return encoder


def write_benchmarks(truth: StaticEncoder, directory: Path) -> None:
    """STS-B and SICK whose ratings are the cosines of `truth`; of SICK the better half is entailed."""
    left, right = SENTENCES[:-1], SENTENCES[1:]
    one, other = truth.encode(left), truth.encode(right)
    scores = np.einsum("nd,nd->n", one, other).astype(np.float32)
    count = len(left)
    entailed = ["ENTAILMENT" if score > np.median(scores) else "NEUTRAL" for score in scores]
    for name, labels in (("stsb", [None] * count), ("sick", entailed)):
        columns = [["dev", "test"] * (count // 2) + ["dev"] * (count % 2), left, right, scores, labels]
        write_table(directory / f"{name}.parquet", pa.table(columns, schema=PAIRS))
    taken = [np.unique(fingerprints(SENTENCES))]
    write_table(directory / FINGERPRINTS, pa.table(taken, schema=EVALUATION_FINGERPRINTS))
    entry = {"kind": "pairs", "scale": [-1, 1], "rows": {"dev": 1, "test": 1}, "sha256": {}, "licence": "none stated"}
    write_json(directory / "provenance.json", {"sets": {"stsb": entry, "sick": entry}, "absent": {}, "pair_sets": []})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A student of the best profile, its words and its benchmark sets."""
    counts = np.arange(len(VOCABULARY) - 1, 0, -1)
    write_table(tmp_path / "words.parquet", pa.table({"word": VOCABULARY[1:], "count": counts}))
    write_benchmarks(student(tmp_path, table()), tmp_path / "benchmarks")
    return tmp_path


def make_release(directory: Path, profile: str = "best") -> dict[str, float]:
    corpus = ["data/external/news/news.parquet"]
    student, words, counted_in = directory / "student", directory / "words.parquet", {"stories": "CC0"}
    source = Source(student, words, profile, corpus, "float32", STORIES, counted_in)
    return release.release(source, BenchmarkData(directory / "benchmarks"), directory / "released")


def workload(directory: Path) -> Workload:
    return Workload(SENTENCES, BenchmarkData(directory / "benchmarks"))


def test_release(workspace: Path) -> None:
    figures = make_release(workspace)
    released = workspace / "released"
    loaded = StaticEncoder.load(released)
    assert loaded.stored.dtype == np.int8
    np.testing.assert_allclose(loaded.encode(SENTENCES) @ loaded.encode(SENTENCES).T, _cosines(), atol=2e-2)
    config = json.loads((released / CONFIG).read_text(encoding="utf-8"))
    assert config["figures"] == {name: pytest.approx(value, abs=1e-5) for name, value in figures.items()}
    assert config["trained_on"] == {"data/external/news/news.parquet": "mixed, research use"}
    assert config["counted_in"] == {"stories": "CC0"}
    assert config["lexical"] == {"dimension": 768, "weight": 0.0, "search_weight": 1.2}
    known = StaticEncoder.load(released, lexical_weight=1.2)
    assert known.dimension == 16 + 768 and loaded.dimension == 16
    the, storm, warned = (lexical_idf(known, word) for word in ("the", "storm", "warned"))
    assert 0 <= the < storm < warned  # a repeated sentence counts once
    assert figures["stsb/test/pearson"] > 0.99
    before = files(released)
    make_release(workspace)
    assert files(released) == before


def lexical_idf(encoder: StaticEncoder, word: str) -> float:
    assert encoder.lexical is not None
    return float(encoder.lexical.idf[encoder.tokenizer.token_to_id(word)])


def _cosines() -> Floats:
    vectors = StaticEncoder(static_tokenizer(VOCABULARY), table()).encode(SENTENCES)
    return vectors @ vectors.T


def test_rare_words_are_cut_into_pieces() -> None:
    """Common words, continuations and single characters keep their vectors; other words have those of their pieces."""
    vocabulary = [UNKNOWN, "storm", "zxqvstorm", "z", "##xqv", "##storm"]
    encoder = StaticEncoder(static_tokenizer(vocabulary), table()[: len(vocabulary)])
    common = release.with_common_words(encoder)
    assert sorted(common.tokenizer.get_vocab()) == sorted([UNKNOWN, "storm", "z", "##xqv", "##storm"])
    np.testing.assert_array_equal(common.encode(["the storm"]), encoder.encode(["the storm"]))
    pieces = table()[3:6].sum(axis=0)
    np.testing.assert_allclose(common.encode(["zxqvstorm"])[0], pieces / np.linalg.norm(pieces), atol=1e-6)


def test_a_release_gives_way_to_a_better_one_alone(workspace: Path) -> None:
    """Not to a worse student, nor to one of another profile."""
    worse_table = table() + np.float32(0.3) * table(seed=2)
    student(workspace, worse_table)
    worse = make_release(workspace)
    student(workspace, table())
    better = make_release(workspace)
    assert all(better[name] > value for name, value in worse.items())
    before = files(workspace / "released")
    vectors = StaticEncoder.load(workspace / "released").encode(SENTENCES)
    np.testing.assert_allclose(vectors @ vectors.T, _cosines(), atol=2e-2)

    student(workspace, worse_table)
    line = r"similarity \(stsb, sick\): 99\.\d\d -> \d\d\.\d\d, -\d\d\.\d\d \[-\d\d\.\d\d, -\d\d\.\d\d\]"
    with pytest.raises(InputError, match=rf"worse than the one in .*/released: {line}"):
        make_release(workspace)
    for of_student, of_run in (("demo", "best"), ("best", "demo")):
        student(workspace, table(), profile=of_student)
        with pytest.raises(InputError, match=r"has the profile 'demo', but a release needs 'best'"):
            make_release(workspace, profile=of_run)
    assert files(workspace / "released") == before


def test_without_benchmarks(workspace: Path) -> None:
    write_json(workspace / "benchmarks/provenance.json", {"sets": {}, "absent": {}, "pair_sets": []})
    with pytest.raises(InputError, match=r"lacks 'stsb', .*; run `make benchmarks`"):
        make_release(workspace)


def test_the_most_dimensions_that_fit(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = StaticEncoder.load(workspace / "student")
    assert release.largest_dimension(encoder) == 16
    tokenizer = len(encoder.tokenizer.to_str().encode())
    rows, factor = len(VOCABULARY), 4
    monkeypatch.setattr(release, "CARD_MEGABYTES", 0.0)
    monkeypatch.setattr(release, "MEGABYTES", (tokenizer + (15 + factor + CHANNEL) * rows) / 1e6)
    assert release.largest_dimension(encoder) == 8
    monkeypatch.setattr(release, "MEGABYTES", (tokenizer + (7 + factor + CHANNEL) * rows) / 1e6)
    with pytest.raises(InputError, match="leaves no room for vectors"):
        release.largest_dimension(encoder)


def test_a_row_for_each_size(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pareto, "DIMENSIONS", (8, 4))
    encoder = StaticEncoder.load(workspace / "student")
    rows = list(own_rows(encoder, workspace / "words.parquet", workload(workspace)))
    assert [(row["precision"], row["dimension"]) for row in rows] == [
        (precision, dimension) for precision in ("float32", "float16", "int8") for dimension in (16, 8, 4)
    ]
    assert rows[0]["stsb/test/pearson"] == pytest.approx(100, abs=0.01)
    quality = [row["stsb/test/pearson"] for row in rows]
    assert quality[0] > quality[1] > quality[2]  # type: ignore[operator]
    assert rows[0]["megabytes"] >= rows[3]["megabytes"] >= rows[6]["megabytes"]  # type: ignore[operator]
    counts = token_counts(encoder, workspace / "words.parquet")
    assert counts[:3].tolist() == [0, len(VOCABULARY) - 1, len(VOCABULARY) - 2]


def test_rows_for_what_ships(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(released_rows(workspace / "released", workload(workspace))) == []
    figures = make_release(workspace)
    whole, search = released_rows(workspace / "released", workload(workspace))
    assert (search["system"], search["dimension"], search["megabytes"]) == ("released-search", 784, whole["megabytes"])
    assert (whole["system"], whole["precision"], whole["dimension"]) == ("released", "int8", 16)
    assert whole["stsb/test/spearman"] == round(100 * figures["stsb/test/spearman"], 2)
    monkeypatch.setattr(pareto, "NARROW", 4)
    _, narrow, _ = released_rows(workspace / "released", workload(workspace))
    assert narrow["dimension"] == 4
    assert float(str(narrow["stsb/test/spearman"])) < float(str(whole["stsb/test/spearman"]))


def test_a_row_for_the_student_with_an_mlp_head(workspace: Path) -> None:
    directory = workspace / "mlp_head"
    write_json(directory / VARIANT, {"absent": "not trained in this test"})
    assert list(mlp_head_rows(directory, workload(workspace))) == []
    static = StaticEncoder.load(workspace / "student")
    hidden = (np.eye(static.dimension, 3, dtype=np.float32), np.eye(3, static.dimension, dtype=np.float32))
    write_model(StaticEncoder(static.tokenizer, static.table, hidden=hidden), {}, directory)
    write_json(directory / VARIANT, {"absent": None})
    (row,) = mlp_head_rows(directory, workload(workspace))
    assert (row["system"], row["precision"], row["dimension"]) == ("MLP head", "float32", static.dimension)
    own = next(own_rows(static, workspace / "words.parquet", workload(workspace)))
    assert row["stsb/test/spearman"] != own["stsb/test/spearman"]


def test_counts_of_other_words(workspace: Path) -> None:
    write_table(workspace / "words.parquet", pa.table({"word": ["other"], "count": [1]}))
    with pytest.raises(InputError, match="has no word of the student"):
        token_counts(StaticEncoder.load(workspace / "student"), workspace / "words.parquet")


def test_bench_times_a_fresh_process(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "LOADS", 1)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    times = bench.load_milliseconds(workspace / "student")
    assert list(times) == ["import", "load", "first_vector", "first_unknown_word"]
    assert all(value > 0 for value in times.values())


RELEASE = ROOT / "models/released"
EVERY_TEXT = ["", "?!", "The storm closed the port.", "Ünknownable wörds, 港が 👍🏽 ½", "x" * 500, "of " * 2_000]


def benchmark_sentences() -> list[str]:
    """Every sentence of STS-B's and SICK's files."""
    lines = {
        name: [line for path in real(name).glob(files) for line in path.read_text("utf-8").split("\n") if line]
        for name, files in (("stsb", "*.csv"), ("sick", "SICK_*.txt"))
    }
    stsb, sick = list(csv.reader(lines["stsb"])), [line.split("\t") for line in lines["sick"]]
    texts = [text for row in stsb for text in row[:2]] + [text for row in sick for text in row[1:3]]
    return list(dict.fromkeys(texts))


def test_the_released_directory() -> None:
    assert pareto.megabytes(RELEASE) <= release.MEGABYTES
    config = json.loads((RELEASE / CONFIG).read_text(encoding="utf-8"))
    assert config["profile"] == "best" and len(config["figures"]) == 8
    assert not [file for file in RELEASE.rglob("*") if file.suffix in (".bin", ".pt", ".pkl", ".py")]


@pytest.mark.parametrize("benchmarks", [False, True])
def test_the_released_directory_in_other_libraries(benchmarks: bool) -> None:
    texts = benchmark_sentences() if benchmarks else EVERY_TEXT
    ours = StaticEncoder.load(RELEASE).encode(texts)
    theirs = SentenceTransformer(str(RELEASE), device="cpu").encode(texts)
    assert theirs.dtype == np.float32
    np.testing.assert_allclose(theirs, ours, atol=1e-6)
    np.testing.assert_allclose(StaticModel.from_pretrained(RELEASE).encode(texts), ours, atol=1e-2)


def test_the_released_student_scores_what_its_card_says() -> None:
    """STS-B test, from the benchmark's own file."""
    with (real("stsb") / "stsb-en-test.csv").open(encoding="utf-8", newline="") as file:
        left, right, scores = (list(column) for column in zip(*csv.reader(file), strict=True))
    encoder = StaticEncoder.load(RELEASE)
    predicted = np.einsum("nd,nd->n", encoder.encode(left), encoder.encode(right))
    stated = json.loads((RELEASE / CONFIG).read_text(encoding="utf-8"))["figures"]["stsb/test/pearson"]
    assert np.corrcoef(predicted, np.array(scores, dtype=float))[0, 1] == pytest.approx(stated, abs=1e-4)


def test_a_release_takes_the_rows_of_the_former_one() -> None:
    """Its speeds stay those that were measured beside the peers."""
    rows: list[dict[str, object]] = [
        {"system": name, "dimension": "16", "load_ms": "5", "stsb": "1"} for name in ("own", "released", "GloVe")
    ]
    own, released, glove = with_released(rows, [{"system": "released", "dimension": 16, "load_ms": 9, "stsb": 2}])
    assert (own, glove) == (rows[0], rows[2])
    assert released == {"system": "released", "dimension": 16, "load_ms": "5", "stsb": 2}
    with pytest.raises(InputError, match="released of 16 dimensions, the release has not"):
        list(with_released(rows, []))
