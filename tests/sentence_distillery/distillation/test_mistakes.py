"""What a newcomer gets wrong, in each of the three ways to distil: one clear line, soon, and no traceback.

    command    sentence-distillery distill TEXTS --teacher TEACHER --output DIRECTORY
    call       sd.distill(texts, teacher)
    profile    python -m stages.params new mine --texts TEXTS --teacher TEACHER, which `make distil` begins with

Soon means: before the teacher embeds anything, so that no mistake waits for a cleaned corpus.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sentence_distillery import cli
from sentence_distillery.distillation import distill as module
from sentence_distillery.distillation.distill import distill
from sentence_distillery.io.artifacts import InputError
from stages import params, profiles
from tests.halting import halted, halting_before_file
from tests.tiny_bert import write_tiny_bert
from tests.workspace import ROOT

from .conftest import DOCUMENTS

WAYS = ("command", "call", "profile")
GERMAN = ("Der Sturm hat den Hafen geschlossen", "Die Bank hat ihre Zinsen gesenkt", "Die Schiffe warten im Hafen")
ENGLISH = [f"{sentence.strip()}." for document in DOCUMENTS for sentence in document.split(".") if sentence.strip()]
LINE = 600  # characters of a message at most


@dataclass(frozen=True)
class Mistake:
    """One mistake: the files of the directory, what is given, and the message in each way that has it.

    `message` is a regular expression; `ways` maps a way with another one to it. A mistake that is seen when texts are
    `cleaned` is not one of the profile, but of the stage `clean`.
    """

    message: str
    texts: str = "good.csv"
    teacher: str = "teacher"
    content: bytes | None = None
    make: Callable[[], None] = lambda: None
    ways: dict[str, str] = field(default_factory=dict)
    cleaned: bool = False


def csv(*texts: str) -> bytes:
    return "\n".join(["text", *texts, ""]).encode()


def unknown_pooling() -> None:
    write_tiny_bert(Path("pooled"))
    kinds = ("Transformer", ""), ("Pooling", "1_Pooling")
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in kinds]
    Path("pooled/modules.json").write_text(json.dumps(modules))
    Path("pooled/1_Pooling").mkdir()
    Path("pooled/1_Pooling/config.json").write_text('{"pooling_mode": "attention"}')


MISTAKES = {
    "column": Mistake(
        r"texts\.csv has no column 'text' \(it has body\); name the right one by text_column\.",
        ways=dict.fromkeys(("command", "profile"), r"it has body\); name the right one by --text-column\."),
        content=b"body\nThe storm closed the port.\n",
    ),
    "path": Mistake(
        r"nowhere\.csv does not exist; give a file or a directory",
        texts="nowhere.csv",
        ways={"call": r"texts = 'nowhere\.csv' \(str\) is not a file or a directory; give a path"},
    ),
    "encoding": Mistake(
        r"texts\.csv, line 2, byte 0 is not UTF-8\. Convert the file, as with `iconv", content=b"text\n\xe9t\xe9\n"
    ),
    "empty file": Mistake(r"texts\.csv is empty; give a file whose first line names its columns", content=b""),
    "no rows": Mistake(r"texts\.csv has no text: it is empty or blank\. Give", content=b"text\n"),
    "language": Mistake(
        r"0 of 60 sentences are left \(dropped: 60 language\).* Give more text; or set the language of your text, "
        r"now language = 'en'\.",
        ways={"command": r"or set the language of your text, now --language 'en'\."},
        content=csv(*(f"{GERMAN[number % 3]} seit {number} Tagen." for number in range(60))),
        cleaned=True,
    ),
    "one document": Mistake(
        r"1 of 1 sentences are left \(dropped: none\), but a student needs at least 2.* Give more text",
        content=csv("The storm closed the port of the city."),
        cleaned=True,
    ),
    "duplicates": Mistake(
        r"1 of 90 sentences are left \(dropped: 89 duplicate\).* Give more text; it must differ, since",
        content=csv(*["The storm closed the port of the city."] * 90),
        cleaned=True,
    ),
    "no teacher": Mistake(
        r"nowhere/at/all is not a directory; put the model there, or name another", teacher="nowhere/at/all"
    ),
    "no package": Mistake(
        r"The package 'no-such-teacher' is not installed; run `pip install", teacher="package:no-such-teacher"
    ),
    "no package's name": Mistake("package: names no package; name one, as in package:gt-", teacher="package:"),
    "pooling": Mistake(
        r"pooled/1_Pooling/config\.json: unknown pooling 'attention'; known: cls, .*Name another teacher",
        teacher="pooled",
        make=unknown_pooling,
    ),
}


@pytest.fixture
def directory(on_one_thread: None, tmp_path: Path) -> Path:
    """A teacher, a good corpus, and what stages.params needs; nothing is embedded on more than one thread."""
    write_tiny_bert(tmp_path / "teacher")
    (tmp_path / "good.csv").write_bytes(csv(*ENGLISH))
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    base = tmp_path / "conf/base.yaml"
    base.write_text(base.read_text(encoding="utf-8").replace("processes: null", "processes: 1"), encoding="utf-8")
    profiles.write(profiles.compose("demo"))
    return tmp_path


def arguments(way: str, texts: str, teacher: str) -> list[str]:
    if way == "profile":
        return ["new", "mine", "--texts", texts, "--teacher", teacher]
    return ["distill", texts, "--teacher", teacher, "--output", "student", "--dimension", "6", "--epochs", "1"]


def said(way: str, texts: str, teacher: str) -> str:
    """Return the message with which a way ends."""
    if way == "call":
        with pytest.raises(InputError) as refused:
            distill(texts, teacher, dimension=6, epochs=1)
        return str(refused.value)
    main = params.main if way == "profile" else cli.main
    with pytest.raises(SystemExit) as ended:
        main(arguments(way, texts, teacher))
    assert isinstance(ended.value.code, str)  # printed to standard error, with status 1
    return ended.value.code


CASES = [(name, way) for name, mistake in MISTAKES.items() for way in WAYS if way != "profile" or not mistake.cleaned]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_a_mistake(name: str, way: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line with the value, the file and the remedy; no sentence is embedded, and nothing is left behind."""
    monkeypatch.setattr(module, "label", lambda *_: pytest.fail("the teacher began to embed"))
    mistake = MISTAKES[name]
    mistake.make()
    texts = mistake.texts
    if mistake.content is not None:
        texts = "texts.csv"
        Path(texts).write_bytes(mistake.content)
    before = Path("params.yaml").read_bytes()
    line = said(way, texts, mistake.teacher)
    assert re.search(mistake.ways.get(way, mistake.message), line), line
    assert "\n" not in line and len(line) < LINE
    assert Path("params.yaml").read_bytes() == before
    assert not Path("student").exists() and not Path("conf/profile/mine.yaml").exists()


def test_a_mistyped_key(directory: Path) -> None:
    """regression: it counted as an edit to be saved, and `save` wrote it into a profile."""
    content = Path("params.yaml").read_text(encoding="utf-8")
    Path("params.yaml").write_text(content.replace("\n  dimension:", "\n  dimensoin:", 1), encoding="utf-8")
    for given in (arguments("profile", "good.csv", "teacher"), ["save", "mine"], []):
        with pytest.raises(SystemExit, match=r"dimensoin: unknown key; did you mean 'dimension'\?"):
            params.main(given)
    assert not Path("conf/profile/mine.yaml").exists()
    with pytest.raises(SystemExit) as ended:
        cli.main(["distill", "good.csv", "--teacher", "teacher", "--output", "student", "--dimensoin", "6"])
    assert ended.value.code == 2  # argparse prints the usage
    wrong: Any = {"dimensoin": 6}
    with pytest.raises(TypeError, match="dimensoin"):
        distill("good.csv", "teacher", **wrong)


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk(way: str, directory: Path) -> None:
    """A write that the system refuses names the path; no half of a student or a profile stays."""
    Path("good.csv").write_bytes(csv(*(f"{text[:-1]} {number}." for number in range(30) for text in ENGLISH)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, limits[1]))
    try:
        line = said(way, "good.csv", "teacher")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert re.search(r"could not be written: .*File too large.* free some space", line), line
    assert not Path("student").exists() and not Path("conf/profile/mine.yaml").exists()


@pytest.mark.parametrize("way", ["command", "profile"])
def test_interrupted(way: str, directory: Path) -> None:
    """Ctrl-C half way: one line, the status of a shell, and no file that is half-written."""
    module_name = "stages.params" if way == "profile" else "sentence_distillery.cli"
    place = "params.yaml" if way == "profile" else "/sentences"
    environment = halting_before_file(directory / "halting", place, 1)
    process = subprocess.Popen(
        [sys.executable, "-m", module_name, *arguments(way, "good.csv", "teacher")],
        env=os.environ | environment,
        stderr=subprocess.PIPE,
    )
    number = halted(directory / "halting", process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=60)
    assert number == process.pid and process.returncode == 130
    assert "nterrupted; no file is half-written. Run the command again." in errors.decode()
    assert "Traceback" not in errors.decode()
    assert not Path("student").exists() and not list(Path().glob(".*.partial"))


def test_resumed_with_another_teacher(directory: Path) -> None:
    """Nothing of the first teacher gets into the second student: shards and checkpoints are known by content."""
    write_tiny_bert(directory / "other")
    settings = json.loads(Path("other/config.json").read_text())
    Path("other/config.json").write_text(json.dumps(settings | {"layer_norm_eps": 0.5}))
    given: Any = {"dimension": 6, "epochs": 2}
    first = distill("good.csv", "teacher", working_directory="work", **given)
    second = distill("good.csv", "other", working_directory="work", **given)
    alone = distill("good.csv", "other", **given)
    assert (second.table == alone.table).all()
    assert not (second.table == first.table).all()
