"""The public `evaluate_on_texts`, and its command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sentence_distillery as sd
from sentence_distillery.cli import main
from sentence_distillery.domain.measures import METRICS
from sentence_distillery.domain.texts import distinct
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError, write_table
from sentence_distillery.io.ragged import Floats
from sentence_distillery.io.unavailable import Unavailable
from sentence_distillery.teachers.options import AbsentModelError

PEOPLE = ("police", "government", "woman", "dog", "guitar", "people")
PLACES = ("harbour", "village", "market", "hospital", "stadium", "court", "water")
TEXTS = [f"The {who} in the storm left the {place}." for who in PEOPLE for place in PLACES]


pytestmark = pytest.mark.usefixtures("on_one_thread")


@pytest.fixture(scope="module")
def student(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> StaticEncoder:
    work = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISTILLERY_DEVICE", "cpu")
        return sd.distill(
            TEXTS, tiny, dimension=8, epochs=3, batch_size=16, maximum_length=32, clean=False, working_directory=work
        )


def test_figures_of_a_student(student: StaticEncoder, tiny: Path) -> None:
    results = sd.evaluate_on_texts(student, TEXTS, tiny, maximum_length=32, name="mine")
    assert [(row.protocol, row.metric) for row in results] == list(METRICS)
    assert {(row.system, row.dataset, row.split) for row in results} == {("mine", "texts", "")}
    figures = {(row.protocol, row.metric): row for row in results}
    recall = figures["neighbours", "recall_at_10"]
    assert recall.number is not None and recall.low is not None and recall.high is not None
    assert 10 / 41 < recall.low < recall.number < recall.high <= 1
    assert figures["neighbours", "recall_at_100"].value == Unavailable("42 texts, but recall@100 needs 101")
    assert (figures["words", "unknown_texts"].value, figures["words", "words_cut"].n) == (0.0, 42)


def test_a_teacher_that_is_an_encoder(student: StaticEncoder) -> None:
    """Any object with `encode`; the student agrees with itself."""
    for row in sd.evaluate_on_texts(student, TEXTS, student):
        if row.protocol != "words" and row.number is not None:
            assert row.number == pytest.approx(1.0), row.metric


def test_any_encoder(tiny: Path) -> None:
    class Letters:
        """A count of each letter; it has no tokenizer."""

        def encode(self, sentences: list[str]) -> Floats:
            return np.array([[text.count(letter) for letter in "abcdefgh"] for text in sentences], np.float32)

    figures = {row.metric: row.value for row in sd.evaluate_on_texts(Letters(), TEXTS, tiny, maximum_length=32)}
    assert isinstance(figures["recall_at_1"], float)
    assert figures["words_cut"] == Unavailable("it has no tokenizer of the library tokenizers")


def test_every_kind_of_texts(student: StaticEncoder, tiny: Path) -> None:
    Path("lines.txt").write_text("\n".join([*TEXTS, "", TEXTS[0].upper()]), encoding="utf-8")
    Path("rows.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in TEXTS), encoding="utf-8")
    write_table(Path("rows.parquet"), pa.table({"text": TEXTS}))
    expected = sd.evaluate_on_texts(student, TEXTS, tiny, maximum_length=32)
    given: list[tuple[Any, str | None]] = [
        ("lines.txt", None),
        ([Path("rows.jsonl")], "body"),
        (Path("rows.parquet"), "text"),
        ((text for text in TEXTS), None),
    ]
    for texts, column in given:
        assert sd.evaluate_on_texts(student, texts, tiny, maximum_length=32, text_column=column) == expected


def test_which_texts_are_drawn() -> None:
    texts = [*TEXTS, "  ", "?!", TEXTS[3].lower(), "the Police"]
    assert distinct(texts, 100, seed=1) == [*TEXTS, "the Police"]
    few = distinct(texts, 10, seed=1)
    assert len(few) == 10 and few == [text for text in texts if text in few]
    assert {text.lower() for text in distinct(texts[::-1], 10, seed=1)} == {text.lower() for text in few}
    assert set(distinct(texts, 10, seed=2)) != set(few)


@pytest.mark.parametrize(
    ("texts", "teacher", "error", "problem"),
    [
        (["One.", "one", "Two."], "tiny", InputError, "2 different texts, but at least 3 are needed; give more"),
        ([], "tiny", InputError, "0 different texts"),
        ("absent.csv", "tiny", InputError, r"absent\.csv' \(str\) is not a file or a directory"),
        ("One. " * 60, "tiny", InputError, r"\(str\) is not a file or a directory; give a path, or texts in a list"),
        ([1, 2, 3], "tiny", TypeError, r"texts\[0\] is 1 \(int\), neither a str nor a Path"),
        (TEXTS, "./nowhere", AbsentModelError, "nowhere is not a directory"),
        (TEXTS, 7, TypeError, "teacher is 7"),
    ],
)
def test_what_cannot_be_measured(
    texts: Any, teacher: Any, error: type[Exception], problem: str, student: StaticEncoder, tiny: Path
) -> None:
    with pytest.raises(error, match=problem):
        sd.evaluate_on_texts(student, texts, tiny if teacher == "tiny" else teacher, maximum_length=32)


@pytest.mark.parametrize("maximum", [2, 0, -1])
def test_too_few_to_compare(maximum: int, student: StaticEncoder, tiny: Path) -> None:
    with pytest.raises(InputError, match=f"maximum = {maximum} is too few; give at least 3"):
        sd.evaluate_on_texts(student, TEXTS, tiny, maximum=maximum)


def test_the_command(student: StaticEncoder, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    student.save_pretrained("mine")
    Path("texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    main(["evaluate", "--texts", "texts.txt", "--teacher", str(tiny), "--model", "mine", "--maximum", "20"])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["texts", f"{protocol} {metric}"] for protocol, metric in METRICS]
    assert lines[3][2].count(",") == 1 and lines[3][2].endswith("]")
    assert lines[4][2] == "undefined: 20 texts, but recall@100 needs 101"
    assert lines[3][3] == "n = 20"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--texts", "texts.txt"], "--texts needs --teacher, the encoder whose nearest neighbours count as correct."),
        (["--teacher", "x"], "--teacher x needs --texts, the files of texts on which both encoders are compared."),
        ([], "nothing to score: give --texts and --teacher, a file of pairs, or --sets with --benchmarks."),
    ],
)
def test_a_command_that_lacks_something(arguments: list[str], problem: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *arguments])
    assert caught.value.code == f"evaluate: {problem}"
