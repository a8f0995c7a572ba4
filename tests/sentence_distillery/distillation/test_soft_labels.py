"""The soft_labels stage: its files, and the vectors of texts that a second run takes, makes again or removes."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
import yaml
from safetensors.torch import load, load_file, save_file

from sentence_distillery.distillation.glove import glove_words
from sentence_distillery.distillation.label_files import embedding_array, soft_label_schema, word_schema
from sentence_distillery.distillation.soft_labels import TEACHER, WORDS
from sentence_distillery.distillation.vocabulary import count_words
from sentence_distillery.encoder.tokenizer import words
from sentence_distillery.io.artifacts import read_table
from sentence_distillery.io.ragged import unit_rows
from sentence_distillery.teachers.label_store import AT_ONCE, KEPT_DAYS, LabelStore
from sentence_distillery.teachers.sentence_modules import WEIGHTS
from sentence_distillery.teachers.teachers import Embedder
from sentence_distillery.teachers.transformer import load_encoder
from stages.distillation import soft_labels
from stages.paths import KEPT_LABELS as KEPT
from stages.paths import SENTENCES, SOFT_LABELS
from tests.halting import halted, halting_before_file
from tests.reproductions.paper1.conftest import write_corpus, write_params
from tests.sentence_distillery.teachers.conftest import bert as bert
from tests.sentence_distillery.teachers.conftest import on_the_processor as on_the_processor
from tests.sentence_distillery.teachers.conftest import roberta as roberta
from tests.sentence_distillery.teachers.conftest import teacher

DOCUMENTS = ["The storm closed the port. A storm came.", "Ships wait. The harbour was shut by the gale."]
PARTS = 3


@pytest.fixture
def workspace(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: a corpus of three parts, and the tiny BERT as teacher."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(bert, "teacher")
    configure()
    for part in range(PARTS):
        write_corpus([f"{document} Part {part}." for document in DOCUMENTS], part=part)
    return tmp_path


SETTINGS: dict[str, object] = {"reference": "./teacher", "revision": None, "sha256": None, "maximum_length": 64}


def configure(
    shards: dict[str, object] | None = None,
    further: list[dict[str, object]] | None = None,
    words: int = 0,
    **changes: object,
) -> None:
    labels = {"minimum_count": 3, "additional_words": words, "additional_teachers": further or []}
    write_params(teacher=SETTINGS | changes, soft_labels=labels, shards=shards or {})


def written() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in SOFT_LABELS.iterdir()}


def counted() -> tuple[int, int]:
    """How many vectors the last run took from earlier ones, and how many it made."""
    costs = json.loads(Path("reports/costs/soft_labels.json").read_text(encoding="utf-8"))
    return int(costs["labels kept"]), int(costs["labels made"])


def test_files(workspace: Path) -> None:
    soft_labels.main()
    encoder = load_encoder(teacher("./teacher"))
    names = [f"part-0000{part}.parquet" for part in range(PARTS)]
    assert sorted(written()) == [*names, TEACHER, WORDS]
    for name in names:
        labels = read_table(SOFT_LABELS / name, soft_label_schema(16))
        texts = pq.read_table(SENTENCES / name)["text"].to_pylist()
        (expected,) = encoder.embed(encoder.token_ids(texts), 10_000)
        assert labels["sentence"].to_pylist() == [0, 1, 2, 1 << 20, (1 << 20) + 1, (1 << 20) + 2]
        np.testing.assert_allclose(embedding_array(labels["embedding"]), expected, atol=2e-3)
    card = json.loads((SOFT_LABELS / TEACHER).read_text(encoding="utf-8"))
    assert card == {
        "reference": "./teacher",
        "revision": None,
        "sha256": encoder.sha256,
        "pooling": "mean",
        "maximum_length": 64,
        "dimension": 16,
        "additional": [],
    }
    counters = json.loads(Path("reports/counters/soft_labels.json").read_text(encoding="utf-8"))
    assert (counters["total"], counters["kept"], counters["unit"]) == (18, 18, "sentences")


def test_words(workspace: Path) -> None:
    """Frequent words first, by their count; then the teacher's pieces; each as if it were a sentence."""
    soft_labels.main()
    table = read_table(SOFT_LABELS / WORDS, word_schema(16))
    vocabulary, counts = table["word"].to_pylist(), table["count"].to_pylist()
    expected = count_words(text for path in SENTENCES.iterdir() for text in pq.read_table(path)["text"].to_pylist())
    frequent = [word for word in vocabulary if expected[word] >= 3]
    assert vocabulary[:2] == ["the", "part"]
    assert set(frequent) == {word for word, count in expected.items() if count >= 3}
    assert vocabulary[: len(frequent)] == frequent
    assert counts == [expected[word] for word in vocabulary]
    assert len(set(vocabulary)) == len(vocabulary)
    assert not {"[CLS]", "[UNK]", "."} & set(vocabulary)
    assert all(words(word.removeprefix("##")) for word in vocabulary)
    encoder = load_encoder(teacher("./teacher"))
    row = next(row for row, word in enumerate(vocabulary) if word.startswith("##"))
    (vector,) = encoder.embed(encoder.token_ids([vocabulary[row].removeprefix("##")]), 100)
    np.testing.assert_allclose(embedding_array(table["embedding"])[row], vector[0], atol=2e-3)


def test_further_words(workspace: Path) -> None:
    """GloVe's most frequent words come last, each once and complete; those in the corpus are counted."""
    soft_labels.main()
    before = read_table(SOFT_LABELS / WORDS, word_schema(16))["word"].to_pylist()
    configure(words=50)
    soft_labels.main()
    table = read_table(SOFT_LABELS / WORDS, word_schema(16))
    vocabulary, counts = table["word"].to_pylist(), table["count"].to_pylist()
    assert vocabulary[: len(before)] == before
    further = vocabulary[len(before) :]
    assert len(further) == 50 and not set(further) & set(before)
    assert "'s" not in further and [word for word in glove_words() if word in set(further)] == further
    corpus = count_words(text for path in SENTENCES.iterdir() for text in pq.read_table(path)["text"].to_pylist())
    assert counts[len(before) :] == [corpus[word] for word in further]


def test_more_further_words_than_there_are(workspace: Path) -> None:
    configure(words=400_000)
    with pytest.raises(
        SystemExit, match=r"additional_words = 400,000, but GloVe has only [\d,]+ further words; lower it"
    ):
        soft_labels.main()


def test_two_teachers(workspace: Path, roberta: Path) -> None:
    """A cosine of soft labels is the mean of the teachers' cosines; the vectors of each teacher are kept."""
    soft_labels.main()
    first = counted()[1]
    configure(further=[SETTINGS | {"reference": str(roberta)}])
    soft_labels.main()
    assert counted()[0] >= first
    first = sum(counted())
    part = pq.read_table(SENTENCES / "part-00000.parquet")["text"].to_pylist()
    labels = read_table(SOFT_LABELS / "part-00000.parquet", soft_label_schema(32))
    label = unit_rows(embedding_array(labels["embedding"]).astype(np.float32))
    encoders = [load_encoder(teacher(reference)) for reference in ("./teacher", str(roberta))]
    alone = [unit_rows(encoder.embed(encoder.token_ids(part), 100)[0]) for encoder in encoders]
    expected = sum(vectors @ vectors.T for vectors in alone) / 2
    np.testing.assert_allclose(label @ label.T, expected, atol=3e-3)
    card = json.loads((SOFT_LABELS / TEACHER).read_text(encoding="utf-8"))
    assert (card["reference"], card["dimension"]) == ("./teacher", 32)
    assert [other["reference"] for other in card["additional"]] == [str(roberta)]
    soft_labels.main()
    assert counted() == (first, 0)


@pytest.mark.fault(27)
def test_the_same_bytes_twice(workspace: Path) -> None:
    """Whether its vectors are kept or made again, a run ends with the same bytes."""
    soft_labels.main()
    first, (_, made) = written(), counted()
    assert made > 0
    shutil.rmtree(SOFT_LABELS)  # as DVC does
    soft_labels.main()
    assert counted()[1] == 0
    assert written() == first
    shutil.rmtree(KEPT)
    soft_labels.main()
    assert counted()[1] == made
    assert written() == first


@pytest.mark.fault(27)
def test_the_same_bytes_on_a_cluster(workspace: Path, dask: tuple[str, list[int]]) -> None:
    """The embeddings of a cluster's workers are those that one process makes, and are kept like them."""
    reference = str(workspace / "teacher")
    configure(reference=reference)
    soft_labels.main()
    here, (_, made) = written(), counted()
    shutil.rmtree(KEPT)
    configure({"dask": dask[0]}, reference=reference)
    soft_labels.main()
    assert counted()[1] == made
    assert written() == here


def test_a_cluster_with_another_teacher(
    workspace: Path, dask: tuple[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that finds other weights under the same name must not be kept here."""
    configure({"dask": dask[0]}, reference=str(workspace / "teacher"))
    encoder = load_encoder(teacher(workspace / "teacher"))
    embedder = Embedder(encoder, teacher(workspace / "teacher"), "0" * 64, 100, "float32")
    monkeypatch.setattr("sentence_distillery.distillation.soft_labels.Embedder", lambda *_: embedder)
    with pytest.raises(SystemExit, match=r"soft_labels: A worker has other files of the teacher .*/teacher than"):
        soft_labels.main()
    assert not SOFT_LABELS.exists()


def test_parts_without_sentences_and_parts_alike(workspace: Path) -> None:
    part = SENTENCES / "part-00001.parquet"
    table = pq.read_table(part)
    for number in (1, 2):
        pq.write_table(table.slice(0, 0), SENTENCES / f"part-0000{number}.parquet")
    for number in (3, 4):
        pq.write_table(table, SENTENCES / f"part-0000{number}.parquet")
    soft_labels.main()
    rows = [pq.read_metadata(SOFT_LABELS / f"part-0000{number}.parquet").num_rows for number in range(5)]
    assert rows == [6, 0, 0, 6, 6]
    tables = [read_table(SOFT_LABELS / f"part-0000{number}.parquet", soft_label_schema(16)) for number in (3, 4)]
    assert tables[0].equals(tables[1])


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[60] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("change", [truncated, flipped, Path.unlink])
@pytest.mark.fault(15, 41)
def test_a_damaged_file_is_made_again(workspace: Path, change: Callable[[Path], None]) -> None:
    """One flipped bit in a kept vector is noticed."""
    soft_labels.main()
    before, (_, made) = written(), counted()
    (file,) = KEPT.iterdir()
    change(file)
    soft_labels.main()
    assert counted()[1] == made
    assert written() == before
    assert list(KEPT.iterdir()) == [file]


def test_only_new_texts_are_embedded(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A corpus that has grown, in another order and other parts, ends with the bytes of a run without kept vectors."""
    soft_labels.main()
    total = sum(counted())
    moved = pq.read_table(SENTENCES / "part-00001.parquet")
    write_corpus(["A fox crossed the road. Ships wait."], part=0)
    pq.write_table(moved, SENTENCES / "part-00003.parquet")
    write_corpus(["The judge left the court. Nobody was hurt."], part=1)
    caplog.set_level("INFO")
    soft_labels.main()
    taken, made = counted()
    assert taken > total / 2
    new = {"A fox crossed the road.", "The judge left the court.", "Nobody was hurt."}
    vocabulary = read_table(SOFT_LABELS / WORDS, word_schema(16)).num_rows
    assert len(new) <= made <= len(new) + vocabulary
    assert f"{taken:,} texts are labelled already, {made:,} are new" in caplog.text
    after = written()
    shutil.rmtree(KEPT)
    soft_labels.main()
    assert written() == after


def test_the_same_sentences_in_other_documents(workspace: Path) -> None:
    """A corpus that has grown at its front moves the numbers of its documents; that costs nothing."""
    soft_labels.main()
    part = SENTENCES / "part-00001.parquet"
    table = pq.read_table(part)
    pq.write_table(table.set_column(0, "document", [[number + 7 for number in table["document"].to_pylist()]]), part)
    soft_labels.main()
    assert counted()[1] == 0
    found = read_table(SOFT_LABELS / part.name, soft_label_schema(16))
    assert found["sentence"].to_pylist() == [
        position + (document << 20) for document in (7, 8) for position in range(3)
    ]


def other_length() -> None:
    configure(maximum_length=5)


def other_weights() -> None:
    weights = load_file(Path("teacher") / WEIGHTS)
    changed = {name: tensor + 0.5 for name, tensor in weights.items()}
    save_file(changed, Path("teacher") / WEIGHTS, metadata={"format": "pt"})


def other_tokenizer() -> None:
    file = Path("teacher/tokenizer.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    content["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(content), encoding="utf-8")


def other_precision() -> None:
    params = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    write_params(**params | {"soft_labels": params["soft_labels"] | {"precision": "bfloat16"}})


@pytest.mark.parametrize("change", [other_length, other_weights, other_tokenizer, other_precision])
def test_another_teacher_takes_nothing(workspace: Path, change: Callable[[], None]) -> None:
    soft_labels.main()
    before = written()
    change()
    soft_labels.main()
    assert counted()[0] == 0
    assert written() != before


@pytest.mark.fault(1)
def test_old_files_are_removed(workspace: Path) -> None:
    """Vectors that no run has used for long, partial files of a killed run; what a user has put there stays."""
    soft_labels.main()
    (file,) = KEPT.iterdir()
    old = time.time() - (KEPT_DAYS + 1) * 86_400
    for name in (".abc.labels.partial", "notes.txt"):
        (KEPT / name).write_bytes(b"half")
    (KEPT / "folder").mkdir()
    os.utime(file, (old, old))
    soft_labels.main()
    assert {*KEPT.iterdir()} == {file, KEPT / "folder", KEPT / "notes.txt"}  # the first was used now
    os.utime(file, (old, old))
    other_length()
    soft_labels.main()
    assert file not in KEPT.iterdir()


@pytest.mark.fault(1)
def test_killed_between_files(workspace: Path, tmp_path: Path) -> None:
    """After SIGKILL the final path is empty, complete files are kept, and the result equals one run's."""
    for part in range(PARTS):
        texts = [f"The storm number {part} closed port {row}. A ship waits for {row}." for row in range(1_200)]
        write_corpus(texts, part=part)
    process = subprocess.Popen(
        [sys.executable, "-m", "stages.distillation.soft_labels"],
        env=os.environ | halting_before_file(tmp_path / "halting", f"/{KEPT.name}/", 3),
        stderr=subprocess.PIPE,
    )
    assert halted(tmp_path / "halting", process) == process.pid
    process.kill()
    _, stderr = process.communicate()
    assert process.returncode == -9, stderr.decode()
    assert not SOFT_LABELS.exists()
    made = {path.name: path.stat().st_size for path in KEPT.glob("*.labels")}
    assert len(made) == 2
    soft_labels.main()
    assert counted()[0] >= 2 * AT_ONCE
    assert made.items() <= {path.name: path.stat().st_size for path in KEPT.iterdir()}.items()
    resumed = written()
    shutil.rmtree(KEPT)
    soft_labels.main()
    assert written() == resumed


@pytest.mark.fault(19, 22)
def test_an_embedding_that_is_not_finite(workspace: Path) -> None:
    """NaN in the teacher's weights, or numbers beyond float16, never reach a soft label."""
    for factor in (torch.nan, 1e6):
        tensors = load((Path("teacher") / WEIGHTS).read_bytes())
        tensors["encoder.layer.1.output.LayerNorm.weight"] *= factor
        save_file(tensors, Path("teacher") / WEIGHTS, metadata={"format": "pt"})
        with pytest.raises(SystemExit, match=r"\./teacher gives no finite float16 embedding of '"):
            soft_labels.main()
        assert not SOFT_LABELS.exists()
        assert not list(KEPT.glob("*"))


def test_many_files_of_vectors_are_not_open_at_once(bert: Path, tmp_path: Path) -> None:
    """regression: two million texts needed more open files than a process may have."""
    encoder, open_files = load_encoder(teacher(bert)), Path("/proc/self/fd")
    before = len([*open_files.iterdir()])
    texts = [f"Storm {number}." for number in range(9)]
    for number, text in enumerate(texts):
        LabelStore(encoder, "float32", tmp_path).add([text], np.full((1, encoder.dimension), number, np.float16))
    store = LabelStore(encoder, "float32", tmp_path)
    np.testing.assert_array_equal(store.vectors(texts)[:, 0], range(9))
    assert len([*open_files.iterdir()]) == before
