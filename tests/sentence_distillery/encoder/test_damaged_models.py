"""Any directory is loaded as it is, or refused by its name: wrong kinds, types, sizes and values of a model's files."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentence_distillery.encoder.persistence.names import CONFIG, DENSE, MODULES, SETTINGS, SHA256, TOKENIZER, WEIGHTS
from sentence_distillery.encoder.persistence.tokenizer_file import read_tokenizer_file
from sentence_distillery.encoder.static_encoder import StaticEncoder
from sentence_distillery.io.artifacts import InputError

FILES = (CONFIG, MODULES, SETTINGS, TOKENIZER, WEIGHTS)
SENTENCE = "the storm closed the port"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def model(student: Path, tmp_path: Path) -> Path:
    """A copy of a small student of each kind."""
    return shutil.copytree(student, tmp_path / "model")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3_000_000_000)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "pipe": pipe,
    "device": device,
    "folder": folder,
    "sparse": sparse,
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "object": lambda path: path.write_text("{}"),
    "list": lambda path: path.write_text("[1]"),
    "deep": lambda path: path.write_text("[" * 100_000 + "]" * 100_000),
    "not UTF-8": lambda path: path.write_bytes(b'{"\xff": 1}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.fault(40)
def test_a_file_of_another_kind(model: Path, name: str, damage: str) -> None:
    """Refused with the file, or another library leaves it out and the vectors are the same."""
    expected = StaticEncoder.load(model).encode(SENTENCE)
    DAMAGES[damage](model / name)
    try:
        found = StaticEncoder.load(model).encode(SENTENCE)
    except InputError as error:
        assert str(model) in str(error)
    else:
        assert damage == "gone" or (name, damage) == (SETTINGS, "object")
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", [CONFIG, MODULES, SETTINGS, TOKENIZER])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(data=st.data())
@pytest.mark.fault(41)
def test_any_value_in_any_place(model: Path, name: str, data: st.DataObject) -> None:
    """One value is replaced by any other: the same vectors, or an error with the directory."""
    expected = StaticEncoder.load(model).encode(SENTENCE)
    copy = model.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    content = json.loads((copy / name).read_text(encoding="utf-8"))
    parent: Any = content
    while True:
        place = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
        if isinstance(parent[place], dict | list) and parent[place] and data.draw(st.booleans()):
            parent = parent[place]
        else:
            break
    if data.draw(st.booleans()) and isinstance(parent, dict):
        del parent[place]
    else:
        parent[place] = data.draw(JSON)
    (copy / name).write_text(json.dumps(content), encoding="utf-8")
    try:
        encoder = StaticEncoder.load(copy)
        found = encoder.encode(SENTENCE)
    except InputError as error:
        assert str(copy) in str(error)
    else:
        if found.shape == expected.shape or name != SETTINGS:  # which may cut to fewer dimensions
            assert np.array_equal(found, expected) or name == TOKENIZER


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "x"},
        {"kind": []},
        {"dimension": 7},
        {"token_dimension": None},
        {"vocabulary": "many"},
        {"step": "0.5"},
        {"step": -1.0},
        {"step": True},
        {"units": "a"},
        {SHA256: None},
        {SHA256: {}},
        {SHA256: ["a"]},
        {SHA256: {WEIGHTS: "0" * 64}},
    ],
    ids=str,
)
@pytest.mark.fault(41)
def test_a_config_of_another_model(static_student: Path, change: dict[str, object]) -> None:
    """config.json describes another model than the files beside it."""
    path = static_student / CONFIG
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | change), encoding="utf-8")
    if change == {SHA256: None}:  # saved before there was one
        StaticEncoder.load(static_student)
        return
    with pytest.raises(InputError, match=CONFIG.replace(".", r"\.")):
        StaticEncoder.load(static_student)


@pytest.mark.parametrize("place", [0.3, 0.6, 0.999])
@pytest.mark.parametrize("layer", ["", f"{DENSE}/"])
@pytest.mark.fault(41)
def test_one_flipped_bit(model: Path, layer: str, place: float) -> None:
    """Of a table or of a layer; whatever it does to the vectors, the file is refused."""
    path = model / layer / WEIGHTS
    if not path.exists():
        pytest.skip("this kind has no such layer")
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(str(model))):
        StaticEncoder.load(model)


@pytest.mark.parametrize("path", ["../other", "/etc", 5, None, ["1_Dense"]])
def test_a_module_outside_of_the_directory(static_student: Path, path: object) -> None:
    modules = json.loads((static_student / MODULES).read_text(encoding="utf-8"))
    modules[-1]["path"] = path
    (static_student / MODULES).write_text(json.dumps(modules), encoding="utf-8")
    with pytest.raises(InputError, match="is not a list of modules"):
        StaticEncoder.load(static_student)


def test_many_loads_share_what_they_read(model: Path) -> None:
    """200 encoders of the same files have one table and one vocabulary, and hold no file open."""
    before = len([*Path("/proc/self/fd").iterdir()])
    encoders = [StaticEncoder.load(model) for _ in range(200)]
    vectors = [encoder.encode(SENTENCE) for encoder in encoders]
    assert all(np.array_equal(vector, vectors[0]) for vector in vectors)
    assert len({id(encoder.stored) for encoder in encoders}) == 1
    assert len({id(encoder.model.tokens.native) for encoder in encoders}) == 1
    assert len([*Path("/proc/self/fd").iterdir()]) <= before  # fewer, if what an earlier test left was collected


def test_files_that_were_replaced_are_read_again(static_student: Path, tmp_path: Path) -> None:
    encoder = StaticEncoder.load(static_student)
    cut = StaticEncoder.load(static_student, truncate_dim=4)
    assert cut.stored is encoder.stored
    cut.save_pretrained(static_student)
    assert StaticEncoder.load(static_student).dimension == 4
    assert encoder.encode(SENTENCE).shape == (encoder.dimension,)


@pytest.mark.parametrize("word", ["a", "é", "ж", "Z9"])
@pytest.mark.fault(19)
def test_an_endless_word_is_unknown(static_student: Path, word: str) -> None:
    """Of five million characters; the words around it count as always."""
    encoder = StaticEncoder.load(static_student)
    endless = word * (5_000_000 // len(word))
    found = encoder.encode([f"the storm {endless} closed the port", "the storm " + word * 2000 + " closed the port"])
    assert np.array_equal(found[0], found[1])


def test_a_file_of_another_library_is_not_quoted_whole(tmp_path: Path) -> None:
    """Keras writes a tokenizer.json that is one string; `tokenizers` quotes it in its error."""
    (tmp_path / TOKENIZER).write_text(json.dumps(json.dumps({"class_name": "Tokenizer", "words": "storm " * 90_000})))
    with pytest.raises(InputError, match=r"tokenizer\.json is not a tokenizer: invalid type") as told:
        read_tokenizer_file(tmp_path / TOKENIZER).tokenizer()
    assert len(str(told.value)) < 1_000
