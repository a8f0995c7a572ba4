"""The docstrings of the public interface: arguments, results, errors, and examples that run."""

import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe
import pytest

import sentence_distillery as sd
from docsite.docstrings import PACKAGE, Examples, public
from sentence_distillery.evaluation.sets.assembly import write_benchmarks
from sentence_distillery.evaluation.sets.benchmark import Sources
from sentence_distillery.evaluation.sets.options import OwnBenchmark
from sentence_distillery.evaluation.sets.own import own_benchmark
from sentence_distillery.io.counters import Counters
from tests.workspace import ROOT


def interface() -> Iterator[tuple[str, Any]]:
    """Yield the functions of `sentence_distillery`, and the methods of an encoder, with their names."""
    yield from ((name, member) for name in sd.__all__ if inspect.isfunction(member := getattr(sd, name)))
    for name, member in vars(sd.StaticEncoder).items():
        function = member.__func__ if isinstance(member, classmethod) else member
        if inspect.isfunction(function) and not name.startswith("_"):
            yield f"StaticEncoder.{name}", function


@pytest.mark.parametrize("function", [pytest.param(function, id=name) for name, function in interface()])
def test_its_docstring_has_every_section(function: Any) -> None:
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    assert re.match(r"[A-Z][^\n]*\.(\n\n|$)", text), "one sentence first"
    if given := [each for each in signature.parameters if each not in ("self", "cls")]:
        described = text.partition("Args:")[2]
        assert [each for each in given if not re.search(rf"^ +\*{{0,2}}{each}: ", described, re.M)] == []
    if signature.return_annotation not in (None, "None"):
        assert re.search(r"^(Returns|Yields):$", text, re.M)
    assert ">>> " in text, "an example"


def test_the_site_has_defaults_by_their_value_and_references_as_links() -> None:
    """`samples=SAMPLES`, `precision=SOFT_LABELS.precision` and `batch=STREAM_BATCH` say nothing to a reader."""
    package = griffe.load("sentence_distillery", extensions=griffe.load_extensions(Examples))
    defaults = {
        "evaluation.protocols.classification.few_shot": ("samples", "8"),
        "distillation.distill.distill": ("precision", "'float32'"),
        "encoder.static_encoder.StaticEncoder.encode_stream": ("batch", "32768"),
    }
    for path, (name, default) in defaults.items():
        function = package[path]
        assert function.parameters[name].default == default
    text = package["evaluation.protocols.classification.few_shot"].docstring.value
    assert "\n\n**Reference:**\n\nMuennighoff" in text


FAQ = {
    "queries": "id,text\n1,Is the port closed?\n",
    "documents": "id,text\na,The storm closed the port.\nb,Shares fell.\n",
    "judgements": "query,document,grade\n1,a,1\n",
}
COLUMNS = {name: name for name in ("id", "text", "query", "document", "grade")}


@pytest.fixture(scope="module")
def benchmark_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with data/benchmarks: the sets that come with the project, and a user's own."""
    directory = tmp_path_factory.mktemp("sets")
    for part, text in FAQ.items():
        (directory / f"{part}.csv").write_text(text, encoding="utf-8")
    own = OwnBenchmark(
        name="faq",
        task="retrieval",
        files={part: str(directory / f"{part}.csv") for part in FAQ},
        columns=COLUMNS,
        scale=None,
    )
    names = ["lee", "wordsim353", "simlex999", "samples"]
    sources = Sources(ROOT / "data/external", ROOT / "data/samples")
    write_benchmarks(names, sources, directory / "data/benchmarks", Counters("rows"), [own_benchmark(own)])
    return directory


# The examples of the other files run in the tests of their folders: encoder, protocols, distill, sizing, evaluate.
EXAMPLES = ("evaluation/sets/data.py", "domain/texts.py", "evaluation/tasks.py", "training/")
MODULES = [path for path in sorted(public()) if path.relative_to(PACKAGE).as_posix().startswith(EXAMPLES)]
MODULES += [path for path in sorted((ROOT / "docsite").rglob("*.py")) if path.stem != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_its_examples_run(
    path: Path, on_one_thread: None, benchmark_sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(benchmark_sets)
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = import_module(".".join(part for part in parts if part != "__init__"))
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
