"""The docstrings of the public interface: what goes in, what comes out, and an example."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import sentence_distillery as sd
from sentence_distillery.encoder.interface import Interface

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
