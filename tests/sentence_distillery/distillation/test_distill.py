"""The public `distill`: the bytes of the stages, every kind of text, and a killed call that resumes."""

import csv
import doctest
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sentence_distillery import cli
from sentence_distillery.corpus.fingerprints import fingerprints
from sentence_distillery.corpus.schema import ARTICLES, EVALUATION_FINGERPRINTS
from sentence_distillery.distillation import distill as module
from sentence_distillery.distillation.distill import LEXICAL_DIMENSION, as_teacher, distill, texts_to_embed
from sentence_distillery.distillation.label_files import embedding_array, sentence_ids
from sentence_distillery.encoder.persistence.names import WEIGHTS
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.ragged import Floats
from sentence_distillery.teachers.options import Teacher, TeacherError
from sentence_distillery.teachers.transformer import load_encoder
from stages import paths
from stages.corpus import clean
from stages.distillation import soft_labels
from stages.distillation import student as student_stage
from tests.halting import halted, halting_before_file
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT, write_params

from .conftest import SUBJECTS, in_python, subprocess_environment, write_benchmarks

PLACES = ("the harbour", "a village", "the old market", "our hospital", "the new stadium", "a court room")
VERBS = ("left", "saw", "praised", "warned of", "met people in")
SENTENCES = [
    f"On that day the {who} {verb} {place} with some friends." for who in SUBJECTS for verb in VERBS for place in PLACES
]
TEXTS = [" ".join(SENTENCES[start : start + 10]) for start in range(0, len(SENTENCES), 10)]
SMALL: dict[str, Any] = {"dimension": 6, "epochs": 3, "batch_size": 32, "maximum_length": 32}


pytestmark = pytest.mark.usefixtures("on_one_thread")


def saved(encoder: StaticEncoder, directory: Path = Path("saved")) -> bytes:
    """The weights as `save_pretrained` writes them."""
    encoder.save_pretrained(directory)
    return (directory / WEIGHTS).read_bytes()


def through_the_stages(
    teacher: Path | dict[str, Any],
    evaluated: Sequence[str] = (),
    share: float = 0.0,
    student: dict[str, Any] | None = None,
    **sections: Any,
) -> bytes:
    """The weights of the student that the stages make of TEXTS; the teacher is a transformer, or an entry's content."""
    transformer = {"reference": str(teacher), "revision": None, "sha256": None, "maximum_length": 32}
    write_params(
        encoders={"mine": transformer if isinstance(teacher, Path) else teacher},
        teacher="mine",
        clean={"near_duplicate_threshold": 0.8, "shard_documents": 1000},
        held_out={"share": share},
        soft_labels={"minimum_count": 3},
        student={"dimension": 6, "epochs": 3, "batch_size": 32} | (student or {}),
        fine_tuned_teacher={"enabled": False},
        fine_tuned_student={"enabled": False},
        shards={"processes": 1},
        **sections,
    )
    rows = [{"url": str(number), "source": "texts", "text": text} for number, text in enumerate(TEXTS)]
    write_table(paths.ARTICLES / "part-00000.parquet", pa.Table.from_pylist(rows, schema=ARTICLES))
    write_benchmarks(samples=("dev", "test"))
    marks = pa.array(fingerprints(evaluated), pa.uint64())
    target = paths.BENCHMARKS / "evaluation_fingerprints.parquet"
    write_table(target, pa.table([marks], schema=EVALUATION_FINGERPRINTS))
    for stage in (clean, soft_labels, student_stage):
        stage.main()
    return (paths.STUDENT / WEIGHTS).read_bytes()


@pytest.mark.fault(27)
def test_the_bytes_of_the_stages(tiny: Path) -> None:
    """The same texts through clean, soft_labels and student, and through distill."""
    expected = through_the_stages(tiny)
    assert json.loads((paths.COUNTERS / "student.json").read_text())["kept"] > 100
    assert saved(distill(TEXTS, tiny, **SMALL)) == expected
    kept = Path("kept")
    assert saved(distill(iter(TEXTS), tiny, working_directory=kept, **SMALL)) == expected
    assert sorted(each.name for each in kept.iterdir()) == ["kept", "sentences", "soft_labels", "student.safetensors"]


def test_started_from_another_encoder(tiny: Path) -> None:
    """By name as the stage does it, and from the directory of the same encoder."""
    expected = through_the_stages(tiny, student={"start_from": "released"})
    assert "| started from | token vectors of `released` |" in (paths.STUDENT / "README.md").read_text()
    assert saved(distill(TEXTS, tiny, start_from="released", **SMALL)) == expected
    assert saved(distill(TEXTS, tiny, start_from=ROOT / "models/released", **SMALL)) == expected


@pytest.mark.fault(18)
def test_what_evaluation_scores_on_is_left_out(tiny: Path) -> None:
    """By fingerprints, as the stage `clean` leaves it out."""
    evaluated = SENTENCES[::3]
    expected = through_the_stages(tiny, evaluated)
    encoder = distill(TEXTS, tiny, fingerprints=fingerprints(evaluated), **SMALL)
    assert saved(encoder) == expected != saved(distill(TEXTS, tiny, **SMALL))


def test_held_out_texts(tiny: Path) -> None:
    """As the stages hold them out; they have soft labels, but no student is trained on these."""
    expected = through_the_stages(tiny, share=0.2)
    kept = Path("kept")
    assert saved(distill(TEXTS, tiny, held_out=0.2, working_directory=kept, **SMALL)) == expected
    assert expected != saved(distill(TEXTS, tiny, **SMALL))
    table = pq.read_table(kept / "sentences/held_out.parquet")
    assert table.equals(pq.read_table(paths.SENTENCES / "held_out.parquet"))
    assert 0.1 * len(SENTENCES) < len(table) <= 0.2 * len(SENTENCES)
    labels = pq.read_table(paths.SOFT_LABELS / "held_out.parquet")
    assert labels["sentence"].to_pylist() == sentence_ids(table["document"], table["position"]).to_pylist()
    teacher = as_teacher(tiny, None, 32)
    assert isinstance(teacher, Teacher)
    encoder = load_encoder(teacher)
    (vectors,) = encoder.embed(encoder.token_ids(table["text"].to_pylist()), 10_000)
    np.testing.assert_allclose(embedding_array(labels["embedding"]), vectors, atol=2e-3)


def test_a_size_is_ordered(tiny: Path) -> None:
    """In the call and in the stage: the same bytes, and the same table of what was tried."""
    options = SMALL | {"dimension": 20}
    full = distill(TEXTS, tiny, **options)
    full.save_pretrained("full")
    whole = (
        sum(path.stat().st_size for path in Path("full").iterdir() if path.name in (WEIGHTS, "tokenizer.json")) / 1e6
    )
    ordered: dict[str, Any] = {"megabytes": round(whole * 0.6 + 0.012, 4), "table_precision": "int8"}
    smaller = distill(TEXTS, tiny, held_out=0.2, working_directory="kept", **options, **ordered)
    smaller.save_pretrained("smaller")
    size = sum(path.stat().st_size for path in Path("smaller").iterdir())
    assert size / 1e6 <= ordered["megabytes"] and smaller.stored.dtype == np.int8
    with Path("kept/sizes.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert int(rows[0]["dimension"]) == smaller.dimension
    size_of_stage = {"megabytes": ordered["megabytes"], "precision": "int8"}
    expected = through_the_stages(tiny, share=0.2, size=size_of_stage, student={"dimension": 20})
    assert saved(smaller) == expected
    assert (paths.CURVES / "student_size.csv").read_bytes() == Path("kept/sizes.csv").read_bytes()


def test_a_student_for_search(tiny: Path) -> None:
    """In the call and in the stages: the same bytes; without the channel it is the plain student."""
    expected = through_the_stages(tiny, student={"lexical_dimension": LEXICAL_DIMENSION})
    encoder = distill(TEXTS, tiny, for_search=True, **SMALL)
    assert encoder.encode_query(SENTENCES).shape[1] == SMALL["dimension"] + LEXICAL_DIMENSION
    assert saved(encoder) == expected
    np.testing.assert_array_equal(encoder.encode(SENTENCES), distill(TEXTS, tiny, **SMALL).encode(SENTENCES))


def test_every_kind_of_texts(tiny: Path) -> None:
    """A list, a generator, a folder, and a file with columns give the same student if they hold the same sentences."""
    Path("texts").mkdir()
    Path("texts/lines.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    Path("rows.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in SENTENCES), encoding="utf-8")
    options = SMALL | {"clean": False}
    expected = saved(distill(SENTENCES, tiny, **options))
    assert saved(distill((text for text in SENTENCES), tiny, **options)) == expected
    assert saved(distill("texts", tiny, **options)) == expected
    assert saved(distill([Path("rows.jsonl")], tiny, text_column="body", **options)) == expected


def test_several_teachers(tiny: Path) -> None:
    """Their dimensions add up; the student has its own."""
    other = Path("other")
    write_tiny_bert(other)
    second = Teacher(reference=str(other), revision=None, sha256=None, maximum_length=32)
    encoder = distill(TEXTS, tiny, additional_teachers=[second], **SMALL | {"dimension": 40})
    assert encoder.dimension == 40


def test_more_dimensions_than_the_teacher_has_are_refused_at_once() -> None:
    """Not after it has embedded a corpus, which takes long."""
    asked: list[str] = []

    def teacher(texts: list[str]) -> Floats:
        asked.extend(texts)
        return np.eye(32, dtype=np.float32)[np.arange(len(texts)) % 32]

    with pytest.raises(InputError, match=r"dimension = 40, but the teacher has only 32; lower it to 32 or less"):
        distill(TEXTS, teacher, revision="1", **SMALL | {"dimension": 40})
    assert not set(asked) & set(TEXTS)


def start(tiny: Path, settings: dict[str, Any], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a call in a separate process."""
    program = (
        "import json, sys, torch\n"
        "torch.set_num_threads(1)\n"
        "from sentence_distillery.distillation.distill import distill\n"
        "texts, teacher, settings = json.loads(sys.argv[1])\n"
        "distill(texts, teacher, working_directory='work', **settings)\n"
    )
    arguments = json.dumps([TEXTS, str(tiny), settings])
    command = [sys.executable, "-c", program, arguments]
    return subprocess.Popen(command, env=subprocess_environment() | environment, stderr=subprocess.PIPE)


@pytest.mark.fault(2)
def test_a_killed_call_goes_on(tiny: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After SIGKILL, the same call resumes from its checkpoint, to the bytes of an undisturbed one."""
    settings = SMALL | {"epochs": 6}
    process = start(tiny, settings, halting_before_file(tmp_path / "halting", "/student.safetensors", 2))
    assert halted(tmp_path / "halting", process) == process.pid
    process.kill()
    _, stderr = process.communicate()
    assert process.returncode == -9, stderr.decode()
    kept = {path.name: path.read_bytes() for path in Path("work/kept").rglob("*") if path.is_file()}
    assert kept
    caplog.set_level(logging.INFO)
    resumed = saved(distill(iter(TEXTS), tiny, working_directory="work", **settings))
    assert "resumed after" in caplog.text
    assert {path.name: path.read_bytes() for path in Path("work/kept").rglob("*") if path.is_file()} == kept
    assert resumed == saved(distill(TEXTS, tiny, **settings))


@pytest.mark.parametrize(("shown", "bars"), [(None, False), (True, True)])
def test_progress(tiny: Path, shown: bool | None, bars: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """One bar a step if requested, and no output of other libraries."""
    distill(TEXTS, tiny, show_progress=shown, **SMALL)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert ("soft labels" in captured.err and "epochs" in captured.err) == bars
    assert bool(captured.err) == bars
    assert "Loading" not in captured.err and "REPORT" not in captured.err


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (iter(["", " \n "]), InputError, "texts has no text: it is empty or blank"),
        (["A text.", None], TypeError, r"texts\[1\] is None \(NoneType\), neither a str nor a Path"),
        (b"bytes", TypeError, r"texts is b'bytes' \(bytes\); give texts"),
        ({"text": ["A text."]}, TypeError, r"texts are a str or an iterable of str, not \{'text'"),
        (np.array([["A text."]]), TypeError, "ndarray of 2 axes; give one column"),
        (map(Path("nowhere").read_text, ["utf-8"]), InputError, "^texts: .* fails with FileNotFoundError: .*nowhere"),
    ],
)
def test_texts_that_make_no_student(tiny: Path, texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        distill(texts, tiny, **SMALL)


@pytest.mark.fault(11)
def test_sentences_that_cannot_be_written(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk while cleaned sentences are written is an error, not an empty corpus."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sentence_distillery.corpus.cleaning.write_part", full)
    with pytest.raises(InputError, match=r"sentences could not be written: No space left on device"):
        distill(TEXTS, tiny, **SMALL)


def test_a_file_of_another_kind(tiny: Path) -> None:
    Path("texts.pdf").write_bytes(b"%PDF")
    with pytest.raises(InputError, match=r"texts\.pdf is not text but a PDF document; save its text"):
        distill(Path("texts.pdf"), tiny, **SMALL)


@pytest.mark.parametrize(
    ("teacher", "error", "message"),
    [
        ("some/model", TeacherError, r"some/model is not a directory here.* give revision, a commit"),
        ("", InputError, "teacher is empty; name one"),
        (None, TypeError, r"teacher is None \(NoneType\); give \"package:<name>\", a directory"),
    ],
)
def test_no_teacher(teacher: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        distill(TEXTS, teacher, **SMALL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start_from": "nowhere"}, "'nowhere' is not a directory on this machine"),
        ({"dimension": 0}, "dimension = 0: Input should be greater than or equal to 1"),
        ({"epochs": 0, "batch_size": 1}, "epochs = 0: .*; batch_size = 1: "),
        ({"precision": "float16"}, "precision = 'float16': Input should be 'float32' or 'bfloat16'"),
        ({"language": "english"}, "language = 'english': String should match pattern"),
        ({"language": "english", "clean": False}, "language = 'english'"),
        ({"language": "xx"}, "'xx' is unknown to py3langid"),
        ({"clean": False, "fingerprints": np.zeros(1, np.uint64)}, "fingerprints need clean=True"),
        ({"held_out": 0.2}, r"held_out = 0\.2 needs a working_directory, which keeps these texts; name one\."),
        ({"held_out": 0.2, "working_directory": "kept", "clean": False}, "held_out needs cleaning, which removes"),
        ({"working_directory": "own_file"}, "working_directory = own_file is not a directory"),
        ({"working_directory": "own_file/kept"}, "= own_file/kept cannot be made: Not a directory; name another"),
        ({"working_directory": "a" * 256}, "cannot be made: File name too long; name another directory"),
    ],
)
@pytest.mark.fault(13)
def test_options_out_of_their_range(tiny: Path, changes: dict[str, Any], message: str) -> None:
    """Before any work, with the option and the value."""
    Path("own_file").touch()
    with pytest.raises(InputError, match=message):
        distill(TEXTS, tiny, **SMALL | changes)


def test_no_directory_of_temporary_files(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "nowhere")
    with pytest.raises(InputError, match="The directory of temporary files, nowhere, cannot be used"):
        distill(TEXTS, tiny, **SMALL)


def test_the_examples(tiny: Path) -> None:
    """The module's own, with a transformer made from its configuration."""
    failed, attempted = doctest.testmod(module, extraglobs={"teacher": tiny})
    assert attempted > 4 and failed == 0


def test_what_it_imports_is_in_its_extra() -> None:
    """No package of the papers, the crawler or the pipeline."""
    program = (
        "import sys\n"
        f"import {module.__name__}\n"
        "others = {'onnx', 'gensim', 'stanza', 'scrapy', 'trafilatura', 'dvc', 'prefect', 'distributed'}\n"
        "print(sorted(others & set(sys.modules)))\n"
    )
    done = in_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_tokens_of_ones_own(tiny: Path, tmp_path: Path) -> None:
    """They get a vector, however rare they are; what cannot be one token is refused before the teacher runs."""
    own = ["Zebras", "harbour", "C++", "👍"]
    encoder = distill([*TEXTS, "On that day the zebras left the harbour."], tiny, vocabulary=own, **SMALL)
    tokens = encoder.tokenizer.get_vocab()
    for token in ("zebras", "harbour", "c++", "👍"):
        assert encoder.stored[tokens[token]].any()
        assert encoder.known(encoder.token_ids([token])).ids.tolist() == [tokens[token]]
    assert "c++" not in distill(TEXTS, tiny, **SMALL).tokenizer.get_vocab()
    listed = texts_to_embed(TEXTS, vocabulary=own)
    assert {"zebras", "harbour", "c++", "👍"} <= set(listed)
    with pytest.raises(InputError, match=r"vocabulary: 'New York' cannot be one token: .* cut into new, york"):
        distill(TEXTS, tiny, vocabulary=["port", "New York"], **SMALL)
    with pytest.raises(InputError, match="vocabulary is the text 'port'; give a list of tokens"):
        distill(TEXTS, tiny, vocabulary="port", **SMALL)
    file = tmp_path / "tokens.txt"
    file.write_text("Zebras\n\nC++\n", encoding="utf-8")
    (tmp_path / "texts.txt").write_text("\n".join(SENTENCES), encoding="utf-8")
    arguments = ["distill", str(tmp_path / "texts.txt"), "--vocabulary-file", str(file)]
    cli.main([*arguments, "--list-texts", str(tmp_path / "listed.parquet")])
    assert {"zebras", "c++"} <= set(pq.read_table(tmp_path / "listed.parquet")["text"].to_pylist())
    with pytest.raises(SystemExit, match="--vocabulary and --vocabulary-file are given; give one"):
        cli.main([*arguments, "--vocabulary", "99", "--list-texts", str(tmp_path / "listed.parquet")])
