"""What a run does not have, with its reason: in JSON, and in place of a figure."""

import doctest
from pathlib import Path

import pytest

from sentence_distillery.io import unavailable
from sentence_distillery.io.artifacts import InputError, write_json
from sentence_distillery.io.unavailable import Unavailable, from_json, from_text, read_unavailable, to_json, to_text

REASON = Unavailable("undefined: a reason, with commas: and colons")


@pytest.mark.parametrize("given", [None, REASON, Unavailable("")])
def test_there_and_back(given: Unavailable | None, tmp_path: Path) -> None:
    """Null says that everything is there; an empty reason is still one."""
    assert from_json(to_json(given)) == given
    write_json(tmp_path / "variant.json", to_json(given) | {"seeds": []})
    assert read_unavailable(tmp_path / "variant.json") == given


def test_the_text_of_a_figure() -> None:
    assert to_text(REASON) == "undefined: undefined: a reason, with commas: and colons"
    assert from_text(to_text(REASON)) == REASON
    assert from_text("0.5000") is None


@pytest.mark.parametrize("content", [{"reason": "none"}, ["absent"], "absent", 3])
def test_a_file_without_the_key(content: object, tmp_path: Path) -> None:
    """The error has the file, the key and the remedy, and no traceback of a KeyError."""
    path = tmp_path / "variant.json"
    write_json(path, content)
    problem = "absent: Field required" if isinstance(content, dict) else "the whole file: Input should be a valid dict"
    with pytest.raises(InputError, match=rf"variant\.json cannot be read: {problem}.*\. Restore"):
        read_unavailable(path)


def test_the_examples() -> None:
    assert doctest.testmod(unavailable) == doctest.TestResults(failed=0, attempted=5)
