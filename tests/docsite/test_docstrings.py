"""The docstrings of the public interface: arguments, results, errors, and examples that run."""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sentence_distillery as sd
from docsite import sections
from sentence_distillery.encoder.interface import Interface
from tests.workspace import ROOT

NAMES = (
    "load",
    "compress",
    "distill",
    "evaluate",
    "evaluate_on_texts",
    "fit_to_size",
    "quantize_embeddings",
    "texts_to_embed",
)


def interface() -> Iterator[tuple[str, Any]]:
    """Yield the functions of `sentence_distillery`, and the methods of an encoder, with their names."""
    for name in NAMES:
        yield name, getattr(sd, name)
    for owner in (sd.StaticEncoder, Interface):
        for name, member in vars(owner).items():
            function = member.__func__ if isinstance(member, classmethod) else member
            abstract = getattr(function, "__isabstractmethod__", False)
            if inspect.isfunction(function) and not name.startswith("_") and not abstract:
                yield f"{owner.__name__}.{name}", function


def test_every_public_function_is_looked_at() -> None:
    functions = {name for name in sd.__all__ if inspect.isfunction(getattr(sd, name))}
    assert functions == set(NAMES)
    assert len(dict(interface())) > 30


@pytest.mark.parametrize(
    ("name", "function"), list(interface()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_its_docstring_has_every_section(name: str, function: Any) -> None:
    text = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    assert re.match(r"[A-Z][^\n]*\.(\n\n|$)", text), "one sentence first"
    if given := [each for each in signature.parameters if each not in ("self", "cls")]:
        described = text.partition("Args:")[2]
        assert [each for each in given if not re.search(rf"^ +\*{{0,2}}{each}: ", described, re.M)] == []
    if signature.return_annotation not in (None, "None"):
        assert re.search(r"^(Returns|Yields):$", text, re.M)
    assert ">>> " in text, "an example"


CODE = """
class Public:
    @property
    def size(self) -> int: return 1
    def take(self, rows, *, all=False) -> int:
        \'\'\'Take rows.

        Args:
            rows: The rows.

        Returns:
            Their number.
        \'\'\'
        raise ValueError(rows)
    def _private(self, a): ...
def bare(): ...
"""


def test_missing_sections_are_named() -> None:
    found = dict(sections.functions(ast.parse(CODE)))
    assert list(found) == ["Public.take", "bare"]
    assert list(sections.problems(found["Public.take"])) == ["Args lacks all", "Raises is missing"]
    assert list(sections.problems(found["bare"])) == ["a docstring is missing"]


def test_the_public_interface_has_every_section() -> None:
    assert [offence for path in sections.files() for offence in sections.offences(path)] == []


# The examples of the other files run in the tests of their folders: encoder, protocols, distill, sizing, evaluate.
EXAMPLES = ("benchmarks/data.py", "domain/texts.py", "evaluation/tasks.py", "training/")


@pytest.mark.parametrize(
    "path",
    [path for path in sections.files() if path.relative_to(sections.PACKAGE).as_posix().startswith(EXAMPLES)],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_its_examples_run(path: Path, on_one_thread: None) -> None:
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = import_module(".".join(part for part in parts if part != "__init__"))
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize(
    "name",
    sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "docsite").rglob("*.py")
        if path.stem != "__init__"
    ),
)
def test_the_examples_of_the_documentation_run(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
