"""An encoder that is a function: named, called in chunks, and checked."""

import sys
from pathlib import Path

import numpy as np
import pytest

from sentence_distillery.io.artifacts import InputError
from sentence_distillery.teachers.functions import CHUNK, load_function

MODULE = """
import numpy as np

calls = []

def embed(texts):
    calls.append(len(texts))
    return [[float(text), 1] for text in texts]

def short(texts):
    return np.ones((len(texts) - 1, 2))

def flat(texts):
    return np.ones(len(texts))

def ragged(texts):
    return [[1.0] * (1 + place) for place in range(len(texts))]

def broken(texts):
    return [[np.nan if text == "b" else 1.0] for text in texts]
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_encoder.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "some_encoder", raising=False)


def test_rows_keep_their_order_over_chunks() -> None:
    texts = [str(number) for number in range(2 * CHUNK + 3)]
    found = load_function("some_encoder:embed")(texts)
    assert found.dtype == np.float32
    assert found.tolist() == [[float(text), 1.0] for text in texts]
    assert sys.modules["some_encoder"].calls == [CHUNK, CHUNK, 3]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("some_encoder:short", r"returns an array of \(1, 2\) for 2 texts"),
        ("some_encoder:flat", r"returns an array of \(2,\) for 2 texts"),
        ("some_encoder:ragged", "fails on 'a' and 1 more"),
        ("some_encoder:broken", "returns numbers that are not finite for 'b'"),
    ],
)
def test_what_a_function_must_return(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"{name} {problem}"):
        load_function(name)(["a", "b"])


@pytest.mark.parametrize("name", ["some_encoder:embedd", "no_such_encoder:embed"])
def test_a_function_that_is_not_there(name: str) -> None:
    with pytest.raises(
        InputError, match=f"The function {name} cannot be imported .*; put its module in the working directory"
    ):
        load_function(name)
